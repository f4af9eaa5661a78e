"""What of a response is said: in ASCII spellings, and without what it thinks, quotes or hides."""

from __future__ import annotations

import re

# Characters that mean the same as an ASCII spelling. Compatibility normalisation (NFKC) would go too far:
# it makes "x2" of x².
_COMMANDS = (
    "×times ÷div ·cdot ⋅cdot ±pm ∓mp ∞infty √sqrt ≤le ≥ge ≠neq ≈approx ∈in ∪cup ∩cap ∅emptyset ∖setminus …ldots "
    "⋯cdots ⟨langle ⟩rangle ∠angle △triangle ⌊lfloor ⌋rfloor ⌈lceil ⌉rceil αalpha βbeta γgamma δdelta εepsilon "
    "ζzeta ηeta θtheta ϑtheta ιiota κkappa λlambda μmu νnu ξxi πpi ρrho σsigma τtau υupsilon φphi ϕphi χchi ψpsi "
    "ωomega ΓGamma ΔDelta ΘTheta ΛLambda ΠPi ΣSigma ΦPhi ΨPsi ΩOmega"
)
_FRACTIONS = "¼1/4 ½1/2 ¾3/4 ⅐1/7 ⅑1/9 ⅒1/10 ⅓1/3 ⅔2/3 ⅕1/5 ⅖2/5 ⅗3/5 ⅘4/5 ⅙1/6 ⅚5/6 ⅛1/8 ⅜3/8 ⅝5/8 ⅞7/8"
# Of each script the digit nought, which nine others follow; the last five are mathematical alphabets.
_NOUGHTS = (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6)
# Without a width, marks of the direction of writing, places for a hyphen.
_NOTHING = (
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x206A),
    0xFEFF,
    0xAD,
    0xFE0E,
    0xFE0F,
    0x61C,
)
_SPACES = (0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
_OTHERS = {
    "\u2044": "/",
    "\u2215": "/",
    "\u2236": ":",
    "\u2032": "'",
    "\u2033": "''",
    "\u2217": "*",
    "\u2234": " ",
}

_SPELLINGS: dict[int, str] = str.maketrans(_OTHERS) | {
    **{0xFF01 + i: chr(0x21 + i) for i in range(94)},
    **{nought + i: str(i) for nought in _NOUGHTS for i in range(10)},
    **dict.fromkeys((0x2212, *range(0x2010, 0x2014), 0xFE63), "-"),
    **dict.fromkeys(_SPACES, " "),
    **dict.fromkeys(_NOTHING, ""),
    **{ord(word[0]): f"\\{word[1:]} " for word in _COMMANDS.split()},
    **{ord(word[0]): rf"\frac{{{word[1]}}}{{{word[3:]}}}" for word in _FRACTIONS.split()},
    ord("°"): r"^\circ ",
    ord("ℝ"): r"\mathbb{R}",
    ord("ℤ"): r"\mathbb{Z}",
}
_RAISED = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207d\u207e\u207f"
_LOWERED = "\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089\u208a\u208b\u208d\u208e\u2099"
_FLAT = str.maketrans(_RAISED + _LOWERED, "0123456789+-()n" * 2)
_SCRIPT = re.compile(rf"(?P<raised>[{_RAISED}]+)|[{_LOWERED}]+")

# A tag in quotation marks, or of which a sentence speaks, opens and closes nothing.
_NOT_MENTIONED = r"(?![`\"'”]|\s+(?:tags?|blocks?|sections?|elements?)\b)"
_UNQUOTED = r"(?<![`\"'“])"
_THOUGHTS = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|scratchpad|reflection)"
_THOUGHT = re.compile(
    rf"{_UNQUOTED}(?:(?P<close></{_THOUGHTS}\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|"
    r"<\|channel\|>\s*final\s*<\|message\|>)|"
    rf"(?:<{_THOUGHTS}\s*>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>\s*analysis\b){_NOT_MENTIONED})",
    re.IGNORECASE,
)
# Of HTML, of Markdown, and of LaTeX where it would hide a box.
_COMMENT = re.compile(
    r"<!--(?s:.*?)(?:-->|\Z)|^\[(?://|comment)\]:[ \t]*(?:#|<>).*|^[ \t]*%.*?\\(?:boxed|fbox).*", re.MULTILINE
)
_TOOL = re.compile(
    r"<(tool_(?:response|result|output|call)|function_(?:results?|call)|observation|information)\s*>.*?(?:</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_ROLE = r"(?:\*\*|#{1,6}[ ]|\[)?"
_TURN = re.compile(
    # What another speaker says, and what follows where the model's turn has ended …
    rf"(?P<other>^[ \t]*{_ROLE}(?:[Uu]ser|[Hh]uman|USER|HUMAN)(?:\*\*|\])?:|^user[ \t]*$"
    r"|<\|(?:im_start|start_header_id|start)\|>\s*(?:user|system|tool|developer|ipython)"
    r"|<\|(?:user|system|tool|observation)\|>|<start_of_turn>\s*user|\[INST\]|<(?:user|human)>"
    r"|^#{2,3} Instruction:"
    r"|<\|(?:im_end|eot_id|endoftext|end_of_text|end)\|>|<end_of_turn>|</s>)"
    # … until it speaks again.
    rf"|^[ \t]*{_ROLE}(?:[Aa]ssistant|ASSISTANT|AI|Model)(?:\*\*|\])?:(?:\*\*)?|^assistant[ \t]*$"
    r"|<\|(?:im_start|start_header_id|start)\|>\s*assistant(?:<\|end_header_id\|>)?"
    r"|<\|assistant\|>|<start_of_turn>\s*model|\[/INST\]|</(?:user|human)>|<assistant>|^#{2,3} Response:",
    re.MULTILINE,
)
_TURN_SIGNS = ("<|", "ser", "uman", "USER", "HUMAN", "_turn>", "</s>", "INST]", "<human>", "Instruction:")
_FENCE = re.compile(
    r"^[ \t]*(?P<fence>`{3,20}+|~{3,20}+)[ \t]*+(?P<language>[^\s`]*+)[^\n`]*+\n(?P<code>.*?)"
    r"(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
# Fences that hold text; every other language is code, and what a program says is not the response's answer.
_TEXTS = frozenset(
    (
        "",
        "text",
        "txt",
        "plain",
        "plaintext",
        "latex",
        "tex",
        "math",
        "markdown",
        "md",
        "json",
        "xml",
        "html",
        "answer",
    )
)
_REMARK = re.compile(r"(?<![#\\&:])(?:#(?!#)|//)[ \t!].*|/\*(?s:.*?)(?:\*/|\Z)|^[ \t]*%.*", re.MULTILINE)
_TAG = re.compile(r"[<\[◁][/|]?[A-Za-z◁]")
ANSWER_TAG = re.compile(r"<(?P<close>/)?(?:final[_-]?)?answer\b[^<>\n]{0,80}>", re.IGNORECASE)
_ANSWERED = re.compile(r"\\boxed|####|^[ \t]*(?:A|Answer|\*\*Answer)\b.{0,4}:", re.MULTILINE)
_QUESTION = re.compile(r"^[ \t]*(?:\*\*)?(?:Q|Question|Problem)(?:\*\*)?:", re.MULTILINE)
_MENTION = re.compile(r"\s+(?:tags?|blocks?|sections?|elements?|and|or)\b|[`\"'”]|\s*(?:\.{3}|…)")


def readable(text: str) -> str:
    """The text in ASCII spellings, of it what is ``visible``.

    >>> readable("<think>It may be 5.</think>It is １２ − 5.")
    'It is 12 - 5.'
    """
    return visible(text if text.isascii() else _SCRIPT.sub(_script, text).translate(_SPELLINGS))


def visible(text: str) -> str:
    """The text without what does not belong to what a model says to its reader.

    Left out are: what it thought before it answered (``<think>``, ``<reasoning>`` and their like, also where
    only the closing tag is there or the opening one is never closed), comments of HTML, programs in code
    fences and comments in any fence, turns of users and tools within the response, and an answer tag that is
    never closed.

    >>> visible("It is 7. <!-- or 8 -->")
    'It is 7. '
    """
    has_tags = _TAG.search(text) is not None  # "<<6*12=72>>" holds none
    if has_tags:
        text = _without_thoughts(text)
        text = _TOOL.sub("\n", text)
    if "<!--" in text or "%" in text or "]:" in text:
        text = _COMMENT.sub("", text)
    if any(sign in text for sign in _TURN_SIGNS):
        text = _without_turns(text)
    if "```" in text or "~~~" in text:
        text = _FENCE.sub(_fenced, text)
    if has_tags:
        text = _without_open_tag(text)
    return _without_next_question(text) if "Q" in text or "Problem" in text else text


def _script(match: re.Match[str]) -> str:
    flat = match[0].translate(_FLAT)
    mark = "^" if match["raised"] else "_"
    return mark + (flat if len(flat) == 1 else f"{{{flat}}}")


def _without_thoughts(text: str) -> str:
    kept: list[str] = []
    at, is_open = 0, False
    for match in _THOUGHT.finditer(text):
        if match["close"]:
            # Thinking does not nest: the first tag that closes ends it, and whatever precedes one more was
            # thought too, since prompts often write the opening tag.
            if not is_open:
                kept.clear()
            at, is_open = match.end(), False
        elif not is_open:
            kept.append(text[at : match.start()])
            is_open = True
    return "".join(kept) + ("" if is_open else text[at:])


def _without_turns(text: str) -> str:
    kept: list[str] = []
    at, is_other = 0, False
    for match in _TURN.finditer(text):
        if not is_other:
            kept.append(text[at : match.start()])
        at, is_other = match.end(), match["other"] is not None
    return "\n".join([*kept, "" if is_other else text[at:]]) if kept else text


def _fenced(match: re.Match[str]) -> str:
    if match["language"].lower() not in _TEXTS:
        return "\n"
    return "\n" + _REMARK.sub("", match["code"]) + "\n"


def _without_open_tag(text: str) -> str:
    """The text up to an answer tag that is never closed, unless it only speaks of the tag."""
    opened = None
    for match in ANSWER_TAG.finditer(text):
        if match["close"]:
            opened = None
        elif opened is None and not _MENTION.match(text, match.end()):
            opened = match.start()
    return text if opened is None else text[:opened]


def _without_next_question(text: str) -> str:
    """The text up to where it goes on, as models do that complete a prompt of examples, with a question of its own."""
    answered = _ANSWERED.search(text)
    question = _QUESTION.search(text, answered.end()) if answered else None
    return text[: question.start()] if question else text

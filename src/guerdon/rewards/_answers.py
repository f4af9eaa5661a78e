"""Final answers: where in a response the answer stands, and what exactly is written there."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_TAIL = 5_000
"""Characters at the end of a response in which the last number is looked for."""
_SENTENCE = 1_000
"""Characters after "the answer is" in which it is looked for."""
_BOXES = 20


POLICIES = ("consistent", "last")
"""What to make of several answers: they must not contradict each other, or the last one alone counts."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a response gives as its answer."""

    text: str
    how: str
    """How the place where it was found is called, such as ``box`` or ``the answer is``."""
    rest: str = ""
    """What the sentence goes on with, where the answer opens one."""
    rivals: tuple[str, ...] = ()
    """The other answers that the response gives as final and does not withdraw; none with policy "last"."""
    together: str = ""
    """All of its answers as one list, where it gives them side by side: ``x = \\boxed{2}, y = \\boxed{3}``."""
    retracted: bool = False
    """Whether the response denies it, or takes it back and gives no other."""

    def is_right(self, equals: Callable[[str], bool]) -> bool:
        """Whether the response stands by an answer, and by no other, for which ``equals`` holds.

        >>> Answer("7", "box", rivals=("8",)).is_right("7".__eq__)
        False
        >>> Answer("7", "box", rivals=("8",), together="8, 7").is_right("8, 7".__eq__)
        True
        """
        if self.retracted:
            return False
        if self.together and equals(self.together):
            return True
        return equals(self.text) and all(equals(rival) for rival in self.rivals)


# Characters that mean the same as an ASCII spelling. Compatibility normalisation (NFKC) would go too far:
# it makes "x2" of x².
_SPELLINGS = str.maketrans(
    {
        **{chr(0xFF01 + i): chr(0x21 + i) for i in range(94)},
        **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\ufe63", "-"),
        **dict.fromkeys(
            "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000", " "
        ),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
        "\u2044": "/",
        "\u2215": "/",
        "\u00d7": r"\times ",
        "\u00f7": r"\div ",
        "\u00b7": r"\cdot ",
        "\u22c5": r"\cdot ",
        "\u00b1": r"\pm ",
        "\u03c0": r"\pi ",
        "\u221e": r"\infty ",
        "\u00b0": r"^\circ ",
        "\u00b2": "^2",
        "\u00b3": "^3",
        "\u00bd": r"\frac{1}{2}",
        "\u00bc": r"\frac{1}{4}",
        "\u00be": r"\frac{3}{4}",
        "\u2264": r"\le ",
        "\u2265": r"\ge ",
        "\u2260": r"\neq ",
        "\u221a": r"\sqrt ",
    }
)

_WRAPPERS = [("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("__", "__"), ("`", "`")]
_SPAN = re.compile(
    r"(?<!\\)(?:\$\$(?P<a>[^$]+)\$\$|\$(?P<b>(?:\\\$|[^$\n]|\n(?!\s*\n))+)\$|\\\((?P<c>.+?)\\\)|\\\[(?P<d>.+?)\\\])",
    re.DOTALL,
)
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
_LAST = re.compile(rf"(?<![\w.])[-+]?[$€£¥]?(?:{NUMBER})(?:\s*/\s*\d+(?:\.\d+)?)?(?:\s?\\?%)?", re.ASCII)
_OPENING = re.compile(
    rf"(?:[-+]?\s*(?:\\?\$|[€£¥])?\s*(?:{NUMBER})(?:\s?\\?%)?)"
    r"(?=\s*$|[.;:!?]?\s+(?!(?:or|and|to|by|plus|minus|times|over|mod|pi|sqrt)\b)[A-Za-z]{2}|[;:]\s|,\s+[A-Za-z])",
    re.ASCII,
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_HASHES = re.compile(r"####[ \t]*([-+$\\(\[{.\d€£¥][^\n]*)")
_HEADING = re.compile(r"\d+[.)]\s")
_PHRASE = re.compile(r"\banswer\s+(?:is|equals)\b[ \t]*:?\s*", re.IGNORECASE)
_LABEL = re.compile(
    r"^[ \t>]*(?:\*\*|__|#+[ \t])?(?:(?i:final answer|answer|ans)|A)(?:\*\*|__)?[ \t]*[:=](?:\*\*|__)?\s*",
    re.MULTILINE,
)
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_SENTENCE_END = re.compile(r"\.(?=\s|$)|\n")


def readable(text: str) -> str:
    """The text in ASCII spellings, without what a model thought before it answered.

    >>> readable("<think>It may be 5.</think>It is １２ − 5.")
    'It is 12 - 5.'
    """
    _, _, said = text.rpartition("</think>")
    said, _, _ = said.partition("<think>")
    return said.translate(_SPELLINGS)


def boxed(text: str) -> Answer | None:
    r"""The content of the last ``\boxed{…}`` that is closed; of nested ones the innermost.

    >>> boxed(r"so \boxed{4}, that is \boxed{\frac{8}{2}}").text
    '\\frac{8}{2}'
    """
    # Only so many, since each that is not closed is read to the end of the response.
    for match in list(_BOX.finditer(text))[: -_BOXES - 1 : -1]:
        if (end := _closing(text, match.end())) >= 0:
            return Answer(clean(text[match.end() : end]) + _percent_after(text[end + 1 :]), "box")
    return None


def _closing(text: str, at: int) -> int:
    """Where the brace is closed that opened before ``at``; -1 if nowhere."""
    depth = 1
    for match in _BRACE.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return match.start()
    return -1


def _after_hashes(text: str) -> Answer | None:
    for match in reversed(list(_HASHES.finditer(text))):
        # "#### 2. Second step" is a heading of Markdown.
        if not _HEADING.match(match[1]):
            return Answer(clean(match[1]), "####")
    return None


def _in_tag(text: str) -> Answer | None:
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, max(end, 0))
    return Answer(clean(text[start + 8 : end]), "<answer>") if start >= 0 else None


def _after_phrase(text: str) -> Answer | None:
    return _after(_PHRASE, text, "the answer is")


def _after_label(text: str) -> Answer | None:
    return _after(_LABEL, text, "Answer:")


def _after(pattern: re.Pattern[str], text: str, how: str) -> Answer | None:
    """What opens the sentence after the last match: a formula, a number, or else all of it."""
    if (found := _last_match(pattern, text)) is None:
        return None
    at = found.end()
    span = _SPAN.match(text, at)
    sentence_end = _SENTENCE_END.search(text, span.end() if span else at)
    end = sentence_end.start() if sentence_end else len(text)
    if span:
        rest = text[span.end() : end]
        return Answer(_formula(span) + _percent_after(rest), how, rest)
    sentence = text[at:end].strip("*_` \t")
    if opening := _OPENING.match(sentence[:_SENTENCE]):
        return Answer(clean(opening[0]), how, opening.string[opening.end() :])
    if len(_PROSE.findall(sentence[:_SENTENCE])) > 1 and (last := _last(sentence[:_SENTENCE])):
        return Answer(last.text, how)
    return Answer(clean(sentence), how)


def _formula(span: re.Match[str]) -> str:
    return clean(next(filter(None, span.groups())))


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)


def _percent_after(text: str) -> str:
    return r"\%" if re.match(r"\s?(?:\\?%|percent\b)", text) else ""


def _last(text: str) -> Answer | None:
    """The last formula or number."""
    tail = text[-_TAIL:]
    number, span = _last_match(_LAST, tail), _last_match(_SPAN, tail)
    # "$5 for one and $" lies between two amounts of money and is no formula.
    is_formula = span and not re.search(rf"{_PROSE.pattern}\s", span[0])
    if span and is_formula and (number is None or number.end() <= span.end()):
        return Answer(_formula(span) + _percent_after(tail[span.end() :]), "the last formula")
    return Answer(clean(number[0]), "the last number") if number else None


_FINDERS: Mapping[str, Callable[[str], Answer | None]] = {
    "boxed": boxed,
    "hashes": _after_hashes,
    "tag": _in_tag,
    "phrase": _after_phrase,
    "label": _after_label,
    "last": _last,
}
PLACES = tuple(_FINDERS)
"""Where answers are looked for, in this order."""


def final_answer(text: str, places: Sequence[str] = PLACES, policy: str = "consistent") -> Answer | None:
    """The answer in the first of the ``places`` that holds one; of several in one place the last.

    >>> final_answer("6 times 7 is 42.\\n#### 42").how
    '####'
    >>> final_answer("The answer is 42 because 6 times 7 is that.").text
    '42'
    """
    for place in places:
        if (answer := _FINDERS[place](text)) is not None:
            return answer
    return None


def clean(text: str) -> str:
    """The text without the marks around it: dollar signs of formulas, emphasis, a full stop.

    >>> clean(" **$42$**. ")
    '42'
    """
    before = None
    while text != before:
        before = text
        text = text.strip()
        if not text.endswith((r"\,", r"\:", r"\;")):
            text = text.rstrip(".,;:")
        for opening, closing in _WRAPPERS:
            inner = text[len(opening) : -len(closing)]
            if text.startswith(opening) and text.endswith(closing) and inner and closing not in inner:
                text = inner
                break
    return text

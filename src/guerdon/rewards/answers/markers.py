"""The marks by which a response says what its answer is: boxes, ``####``, tags, sentences, labels."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from guerdon.rewards.answers.formulas import (
    NUMBER,
    SPAN,
    MarkedAnswer,
    clean,
    formula_in,
    last,
    percent_after,
    words_of,
)
from guerdon.rewards.answers.retractions import denies
from guerdon.rewards.answers.visible import ANSWER_TAG

MOST = 20
"""Marks of a kind that are looked at, from the last one backwards."""
_MOST_WORDS = 100
"""Words such as "answer" that are looked at, from the last one backwards."""
_SENTENCE = 1_000
"""Characters after "the answer is" in which it is looked for."""

_OPENING = re.compile(
    rf"(?:[-+]?\s*(?:\\?\$|[€£¥])?\s*(?:{NUMBER})(?:\s?\\?%|(?:\s(?:hundred|[mb]illion|trillion|thousand|dozen))+\b)?)"
    r"(?=\s*$|\s*\([A-Za-z]{2}|[.;:!?]?\s+(?!(?:or|and|to|by|plus|minus|times|over|mod|pi|sqrt)\b)[A-Za-z]{2}|[;:]\s|,\s+[A-Za-z])",
    re.ASCII,
)
_BOX = re.compile(
    r"\\(?:boxed|fbox)(?![A-Za-z])\s*(?:\{|(?P<bare>[-+]?\d(?:[\d.,]*\d)?|[A-Za-z](?![A-Za-z])))"
)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_HASHES = re.compile(r"####[ \t]*([-+$\\(\[{.\d€£¥][^\n<]*(?:<(?!/)[^\n<]*)*)")
_HEADING = re.compile(r"\d+[.)]\s|\d+:?\s+(?:[A-Za-z]+[ :]+){3}")
_IS = r"(?:is|are|equals?|(?:would|will|should|must) be|(?:comes|works) out to(?: be)?|turns out to be)"
_PHRASE = re.compile(
    rf"\banswers?(?:\s{{1,9}}to\s(?:the|this|your)\s(?:problem|question|exercise))?\s{{1,9}}{_IS}\b[ \t]*:?\s*"
    r"|\b(?:respuesta|r[ée]ponse|risposta|resposta)(?: final| finale)?\s{1,9}(?:es|est|è|é)\b[ \t]*:?\s*"
    r"|\bantwort\s{1,9}(?:ist|lautet|beträgt)\b[ \t]*:?\s*"
    r"|(?:答案|答え|正解)(?:是|为|為|は)[ \t]*:?\s*|(?:정답은|답은)\s*|\bответ\s*[-—]\s*",
    re.IGNORECASE,
)
_PHRASE_WORDS = ("answer", "respuesta", "ponse", "posta", "antwort", "答", "正解", "답은", "ответ")
# Only where they end the response: of roots one may go on to speak.
_SOLUTIONS = re.compile(r"\b(?:solutions|roots|zeros)\sare\b[ \t]*:?\s*(?=[^\n]{1,200}\Z)")
_LAST_LINE = 300
_NAMES = (
    r"(?i:(?:the )?(?:final answer|answer|ans)|respuesta(?: final)?|r[ée]ponse(?: finale)?|risposta(?: finale)?|"
    r"resposta(?: final)?|antwort|ответ)|答案|答え?|答|정답|답|A"
)
_LABEL = re.compile(
    rf"^[ \t>]*(?:[-*][ \t]+)?(?:\*\*|__|#+[ \t](?:\*\*)?)?(?:{_NAMES})(?:\*\*|__)?[ \t]*[:=](?:\*\*|__)?\s*"
    r"|^[ \t]*(?:\*\*(?i:final answer|answer)\*\*|#+[ \t]+(?:\*\*)?(?i:final answer)(?:\*\*)?)[ \t]*\n\s*"
    r"|[{,]\s*\"(?i:final_answer|answer)\"\s*:\s*\"?"
    r"|\b(?i:final answer[ \t]*[:=]|answer[ \t]*=(?!=))(?:\*\*|__)?\s*",
    re.MULTILINE,
)
# Whatever is a label holds one of these; they are quick to look for.
_LABEL_SIGNS = re.compile(
    r"[Aa](?:[Nn](?:[Ss]|[Tt][Ww])|(?:\*\*|__)?[ \t]*[:=])|[Pp](?:[Uu][Ee]|[Oo][Nn])[Ss]|[Pp][Oo][Ss][Tt][Aa]"
    r"|[Оо][Тт][Вв]|[答답]"
)
_ASCII_SIGNS = ("ans", "antw", "a:", "a=", "a :", "a =", "a  ", "a\t", "a*", "a_", "pues", "pons", "posta")
_SENTENCE_END = re.compile(r"\.(?=\s|$)|\n|。|</")
_JSON_END = re.compile(r"\"?\s*(?:,\s*\"|\}\s*(?:$|```))|\"\s*\n", re.MULTILINE)
_BOLD = re.compile(r"(?<![\w)*])(\*\*|__|`)(?=\S)([^*_`\n]{1,300}?)(?<=\S)\1(?![\w(*])")
# What stands in a slot that only shows where the answer would go.
_PLACEHOLDER = re.compile(
    r"(?:\\text\s*\{)?\s*(?:[.…?_\s]|\\l?dots)*"
    r"(?:and|(?:your |the |final |my )*(?:answer|number|result)(?: here)?)?\s*\}?",
    re.IGNORECASE,
)
_AND = re.compile(r"\s*(?:[,;、]\s*(?:and\b)?|and\b|und\b|et\b|y\b|和)\s*", re.IGNORECASE)
_TURN = re.compile(r"[,;]\s+[A-Za-z]|\bbut\b|\brather\b")
# Between 3 and 7 there are others, and twice 7 is another.
_VAGUE = re.compile(
    r"(?:somewhere |anything |probably |roughly |about |just )?(?:between|either|neither|from|over|under|twice|half"
    r"|(?:the )?(?:square|cube) root|(?:greater|larger|bigger|higher|more|less|smaller|lower|fewer) than)\b"
    r"(?!.*(?:=|\b(?:which|that) (?:is|equals)\b))",
    re.IGNORECASE,
)
_ROUGHLY = re.compile(r"(?:about|approximately|roughly|around)\s+(?=[-+$\\\d.])", re.IGNORECASE)
# "10 minutes and 30 seconds" is one answer, and so is "7 squared".
_COMPOUND = re.compile(
    r"\s+[A-Za-z]+,?\s+and\s+(?:a\s+half|\d)|\s+(?:squared|cubed|factorial|(?:more|less|fewer) than|in base)\b"
)


def boxes(text: str) -> list[MarkedAnswer]:
    r"""The boxes that are closed; of nested ones the innermost.

    >>> [box.text for box in boxes(r"so \boxed{4}, that is \boxed{\boxed{\frac{8}{2}}} and \boxed{")]
    ['4', '\\frac{8}{2}']
    """
    if "boxed" not in text and "fbox" not in text:
        return []
    openings = deque(_BOX.finditer(text), maxlen=MOST)
    ends = _closings(text, [match for match in openings if match["bare"] is None])
    found: list[MarkedAnswer] = []
    for match in openings:
        end = match.end() if match["bare"] else ends.get(match.end())
        if end is None:
            continue
        inside = match["bare"] or text[match.end() : end]
        after = end if match["bare"] else end + 1
        value = clean(inside) + percent_after(text, after)
        found.append(MarkedAnswer("boxed", "box", value, match.start(), after))
    return [box for box in found if not any(box.start < inner.start < box.end for inner in found)]


def is_cut_off(text: str) -> bool:
    """Whether the response ends in the middle of its last box."""
    if ("boxed" not in text and "fbox" not in text) or text.rstrip().endswith((".", "!", "?", "$", "]", ")")):
        return False
    last = deque(_BOX.finditer(text), maxlen=1)
    return bool(last) and last[0]["bare"] is None and not _closings(text, last)


def _closings(text: str, openings: Iterable[re.Match[str]]) -> dict[int, int]:
    """Where the braces are closed with which the openings end, by the place behind them."""
    wanted = {match.end() for match in openings}
    found: dict[int, int] = {}
    stack: list[int] = []
    if not wanted:
        return found
    for match in _BRACE.finditer(text, min(wanted) - 1):
        if match[0] == "{":
            stack.append(match.end())
        elif match[0] == "}" and stack and (opened := stack.pop()) in wanted:
            found[opened] = match.start()
            if len(found) == len(wanted):
                break
    return found


def _hashes(text: str) -> list[MarkedAnswer]:
    if "####" not in text:
        return []
    return [
        MarkedAnswer("hashes", "####", clean(match[1]), match.start(), match.end())
        for match in deque(_HASHES.finditer(text), maxlen=MOST)
        # "#### 2. Second step" is a heading of Markdown.
        if not _HEADING.match(match[1])
    ]


def _tags(text: str) -> list[MarkedAnswer]:
    if "answer" not in text.lower():
        return []
    found: deque[MarkedAnswer] = deque(maxlen=MOST)
    opened = None
    for match in ANSWER_TAG.finditer(text):
        if not match["close"]:
            opened = match
        elif opened is not None:
            value = clean(text[opened.end() : match.start()])
            found.append(MarkedAnswer("tag", "<answer>", value, opened.start(), match.end()))
            opened = None
    return list(found)


def _phrases(text: str) -> list[MarkedAnswer]:
    folded = text.lower()
    found: list[re.Match[str]] = []
    if any(word in folded for word in _PHRASE_WORDS):
        found.extend(_PHRASE.finditer(text, _reach(folded)))
    if "s are" in folded[-_LAST_LINE:]:
        end = len(text.rstrip())
        found.extend(_SOLUTIONS.finditer(text, max(0, end - _LAST_LINE), end))
    return _sentences(found, text, "phrase", "the answer is")


def _reach(folded: str) -> int:
    """Where to start looking: behind it are as many words of phrases as may count."""
    places = {word: folded.rfind(word) for word in _PHRASE_WORDS}
    start = len(folded)
    for _ in range(_MOST_WORDS):
        word = max(places, key=places.__getitem__)
        if places[word] < 0:
            break
        start = places[word]
        places[word] = folded.rfind(word, 0, start)
    return max(0, start - _MOST_WORDS)


def _labels(text: str) -> list[MarkedAnswer]:
    return _sentences(_label_matches(text), text, "label", "Answer:")


def _label_matches(text: str) -> Iterator[re.Match[str]]:
    """The labels; only lines are looked through that hold what a label needs."""
    at = 0
    for sign in _signs(text):
        if sign < at:
            continue
        start = text.rfind("\n", at, sign) + 1 or at
        before = start
        while before > at and text[before - 1].isspace():
            before -= 1
        if before > at and text[before - 1] in "{,":  # of JSON, on the line before
            start = before - 1
        end = text.find("\n", sign)
        end = len(text) if end < 0 else end
        at = end
        for match in _LABEL.finditer(text, start, min(len(text), end + _SENTENCE)):
            if match.start() >= end:
                break
            at = max(end, match.end())
            yield match


def _signs(text: str) -> Sequence[int]:
    """Where there is what a label holds, in order."""
    if not text.isascii():
        return [match.start() for match in _LABEL_SIGNS.finditer(text)]
    # The same by string methods, a tenth of the time; only an ASCII text is as long in lower case.
    folded = text.lower()
    found = []
    for sign in _ASCII_SIGNS:
        at = folded.find(sign)
        while at >= 0:
            found.append(at)
            at = folded.find(sign, at + 1)
    return sorted(found)


def _sentences(found: Iterable[re.Match[str]], text: str, place: str, how: str) -> list[MarkedAnswer]:
    return [_stated(text, match, place, how) for match in deque(found, maxlen=MOST)]


def _stated(text: str, found: re.Match[str], place: str, how: str) -> MarkedAnswer:
    """What opens the sentence after a match: a formula, a number, or else all of it."""
    at = found.end()
    span = SPAN.match(text, at)
    sentence_end = (_JSON_END if '"' in found[0] else _SENTENCE_END).search(text, span.end() if span else at)
    end = sentence_end.start() if sentence_end else len(text)
    if span:
        if (listed := _listed(text, span, end)) is not None:
            return MarkedAnswer(place, how, listed, found.start(), end)
        rest = text[span.end() : end]
        value = formula_in(span) + percent_after(rest, 0)
        return MarkedAnswer(place, how, value, found.start(), span.end(), rest)
    sentence = text[at : min(end, at + MOST * _SENTENCE)]
    if "*" in sentence or "_" in sentence or "`" in sentence:
        sentence = _BOLD.sub(r"\2", sentence)
    sentence = sentence.strip("*_` \t")
    if roughly := _ROUGHLY.match(sentence):
        sentence = sentence[roughly.end() :]
    if denies(sentence):
        # "Not 7 but 8": what is denied ends where the sentence turns.
        turn = _TURN.search(text, at, end)
        return MarkedAnswer(
            place, how, clean(sentence), found.start(), turn.start() if turn else end, is_value=False
        )
    opening = _OPENING.match(sentence[:_SENTENCE])
    is_compound = opening is not None and _COMPOUND.match(opening.string, opening.end()) is not None
    if opening and not is_compound:
        rest = opening.string[opening.end() :]
        return MarkedAnswer(place, how, clean(opening[0]), found.start(), at + opening.end(), rest)
    words = words_of(sentence[:_SENTENCE])
    is_vague = _VAGUE.match(sentence) is not None
    if words > 1 and not is_compound and not is_vague and (picked := last(sentence[:_SENTENCE])):
        return MarkedAnswer(place, how, picked.text, found.start(), end, is_value=False)
    return MarkedAnswer(place, how, clean(sentence), found.start(), end, is_value=words <= 1 or is_compound)


def _listed(text: str, span: re.Match[str], end: int) -> str | None:
    """The formulas as one list, where the whole sentence is "$2$, $3$ and $5$"."""
    formulas = [formula_in(span)]
    while joint := _AND.match(text, span.end(), end):
        if (following := SPAN.match(text, joint.end(), end)) is None:
            return None
        span = following
        formulas.append(formula_in(span))
    return ", ".join(formulas) if len(formulas) > 1 and not text[span.end() : end].strip() else None


_FINDERS: Mapping[str, Callable[[str], list[MarkedAnswer]]] = {
    "boxed": boxes,
    "hashes": _hashes,
    "tag": _tags,
    "phrase": _phrases,
    "label": _labels,
}
PLACES = (*_FINDERS, "last")
"""Where answers are looked for, in this order."""


def marked_answers(text: str, places: Collection[str]) -> list[MarkedAnswer]:
    """The answers that are marked in one of the ``places``, in the order of the text.

    Of marks within each other, such as a box in a tag, the inner one says what the answer is.
    """
    found = sorted((mark for find in _FINDERS.values() for mark in find(text)), key=lambda mark: mark.start)
    kept: list[MarkedAnswer] = []
    for number, mark in enumerate(found):
        if mark.place not in places:
            continue
        inner = next((m for m in reversed(found[number + 1 :]) if m.start < mark.end and m.text), None)
        if inner is None:
            kept.append(mark)
        elif inner.place not in places:
            kept.append(replace(mark, text=inner.text, rest=inner.rest, is_value=inner.is_value))
    return kept


def is_placeholder(mark: MarkedAnswer) -> bool:
    """Whether the slot is empty or only shows where the answer would go."""
    return _PLACEHOLDER.fullmatch(mark.text) is not None

"""Where a response in words gives its answer: marked places, and what it takes back."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown, text_list

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"[{}]")
_HASHES = re.compile(r"^####[ \t]*([^\n]+)", re.MULTILINE)
_TAG = re.compile(r"<(?:final_)?answer>((?:(?!</?(?:final_)?answer>).)*)</(?:final_)?answer>", re.DOTALL)
_LABEL = re.compile(
    r"^[ \t>*_#]{0,8}(?i:(?:the )?(?:final |correct |right |best )?answer|ans)[*_]{0,2}[ \t]*:"
    r"[*_]{0,2}[ \t]*\n?([^\n]+)",
    re.MULTILINE,
)
_PHRASE = re.compile(
    r"\b(?:answer|option|choice)\s+(?:(?:here|to (?:the|this|your) question)\s+)?"
    r"(?:is|was|would be|should be|must be)\b[ \t]*+:?+\s*+(?=\S)",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|whether|suppose|supposing|assume|assuming|unless|(?<!I )think|thought)\b[^.,;!?\n]*$",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"\b(?:wait|actually|correction|sorry|oops|instead|on second thoughts?|let me (?:re\w+|check|correct)"
    r"|I was (?:wrong|mistaken)|I made an? (?:mistake|error)|(?:that|this|it|which)(?:['’]s| is| was) "
    r"(?:wrong|incorrect|not (?:right|correct)|a mistake)|rather)\b|\bno,|\bno\b[.:;—–-]",
    re.IGNORECASE,
)
_RETRACTED = re.compile(
    r"\b(?:(?:that|this|it|which|answer)(?:['’]s| is| was) (?:(?:actually|also|simply) )?"
    r"(?:wrong|incorrect|not (?:right|correct|true)|false|a mistake)"
    r"|I was (?:wrong|mistaken)|I (?:made an? (?:mistake|error)|take (?:it|that) back)|scratch that)\b",
    re.IGNORECASE,
)
_END = re.compile(r"((?<![.!?。！？])[.!?。！？]++[\"'”’)\]*_]*+)(?=\s|$|[\u3040-\u9fff])|\n+")
_SHORTENED = re.compile(
    r"(?:^|[\W\d_])(?:[^\W\d_a-z]|Mr|Mrs|Ms|Dr|Prof|St|Ste|Mt|Ft|Jr|Sr|No|Nos|vs|etc|approx|ca|Inc|Ltd|Co|Corp|Bros"
    r"|Gen|Col|Lt|Capt|Sgt|Rev|Hon|Gov|Sen|Rep|Pres|Vol|Op|feat|[A-Z](?:\.[A-Z])+|[ap]\.m|e\.g|i\.e"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)$"
)
_MOST = 100
"""Places of one kind that are looked at; of more, the last."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One place where a response gives its answer."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text; a full stop after an initial or a known abbreviation ends none.

    >>> sentences("J. K. Rowling wrote it. It sold well.")
    ['J. K. Rowling wrote it.', 'It sold well.']
    """
    found, start = [], 0
    for match in _END.finditer(text):
        if match[1] and match[1][0] == "." and _is_shortened(text, match.start()):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def _is_shortened(text: str, dot: int) -> bool:
    return _SHORTENED.search(text[max(0, dot - 12) : dot]) is not None


def _last(pattern: re.Pattern[str], text: str) -> deque[re.Match[str]]:
    return deque(pattern.finditer(text), maxlen=_MOST)


def _boxes(text: str) -> Iterator[Claim]:
    for match in _last(_BOX, text):
        depth = 1
        for brace in _BRACE.finditer(text, match.end(), match.end() + 5_000):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                yield Claim(text[match.end() : brace.start()], match.start(), brace.end())
                break


def _matches(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Claim]]:
    return lambda text: (Claim(match[1], *match.span()) for match in _last(pattern, text))


def _phrases(text: str) -> Iterator[Claim]:
    for match in _last(_PHRASE, text):
        sentence = next(iter(sentences(text[match.end() : match.end() + 1_000])), "")
        clause = text[max(0, match.start() - 200) : match.start()]
        if sentence and not sentence.endswith("?") and not _CONDITION.search(clause):
            yield Claim(sentence, match.start(), match.end() + len(sentence))


_FINDERS: Mapping[str, Callable[[str], Iterator[Claim]]] = {
    "boxed": _boxes,
    "tag": _matches(_TAG),
    "hashes": _matches(_HASHES),
    "label": _matches(_LABEL),
    "phrase": _phrases,
}
PLACES = (*_FINDERS, "all")
"""Where answers are looked for; ``all`` is the whole response."""


def places(value: Any, default: Sequence[str]) -> Sequence[str]:
    """The places that a parameter ``extract`` names. Raises InputError for others."""
    named = text_list(value, "extract")
    if unknown := [place for place in named if place not in PLACES]:
        raise InputError(f"extract knows {', '.join(PLACES)}, not {shown(unknown[0])}")
    return named or default


def claims(text: str, where: Sequence[str]) -> list[Claim]:
    """The answers in the first of the places that holds any, less those that are corrected afterwards.

    The last is the final one; others besides it contradict it where they differ. None are left where the
    final one is taken back.

    >>> [claim.text for claim in claims("Answer: Rome. No, that is wrong.\\nAnswer: Paris", ["label"])]
    ['Paris']
    """
    for place in where:
        if place == "all":
            return [Claim(text, 0, len(text))]
        if found := at_place(text, place):
            return not_retracted(text, found)
    return []


def at_place(text: str, place: str) -> list[Claim]:
    """All that stands at the places of one kind, also what is retracted later."""
    return list(_FINDERS[place](text))


def not_retracted(text: str, found: list[Claim]) -> list[Claim]:
    """Those of the claims, in their order, that are not retracted later."""
    if is_retracted(text[found[-1].end :]):
        return []
    left = found[-1:]
    for earlier, later in zip(found[-2::-1], found[:0:-1], strict=True):
        if _CORRECTED.search(text, earlier.start, max(earlier.end, later.start)):
            break
        left.insert(0, earlier)
    return left


def is_retracted(text: str) -> bool:
    """Whether a text takes back what stood before it."""
    return _RETRACTED.search(text) is not None


def bare(text: str) -> str:
    r"""The text of an answer without the marks around it: emphasis, quotes, formulas, a full stop.

    >>> bare(r" **\text{Paris}.** ")
    'Paris'
    """
    before = None
    while text != before:
        before = text
        text = text.strip().strip('*`"“”').rstrip(".,;:。").strip()
        for mark in ("$", "_", "'"):
            if len(text) > 2 and text[0] == text[-1] == mark:
                text = text[1:-1]
        if wrapped := re.fullmatch(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox)\s*\{([^{}]*)\}", text):
            text = wrapped[1]
        if text[:2] in (r"\(", r"\[") and text[-2:] in (r"\)", r"\]"):
            text = text[2:-2]
    return text

"""Which of the answers that a response gives are meant together, and which contradict each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from guerdon.rewards.answers.formulas import NUMBER, MarkedAnswer, clean

SLOTS = ("boxed", "hashes", "tag")
"""What a response fills to say what its answer is; "the answer is" may also be said of a step."""

_NEAR = 120
"""Characters around an answer that say what it is the answer to."""
_VALUE = rf"(?:\$(?P<formula>[^$\n]{{1,200}})\$|(?P<number>[-+]?(?:\\?\$)?(?:{NUMBER})(?:/\d+)?(?:\s?\\?%)?)(?![\w(]))"
_OR = r"(?:[Oo]r|else|otherwise|oder|ou|o|或|\\text\s*\{\s*or\s*\})"
_OR_SIGNS = (" or", "or ", "{or}", " ou ", " o ", "oder", "或", "or\n", "\no ", "\nou ")
_OR_AFTER = re.compile(
    rf"\s*+(?:\$\$?|\\\)|\\\])?\s*+[.,;(]?+\s*+{_OR}(?:\s+(?:else|maybe|possibly))?\s+{_VALUE}(?P<unit>\s*[A-Za-z]+)?",
    re.ASCII,
)
_OR_BEFORE = re.compile(
    rf"(?<![\w.]){_VALUE}\s*,?\s*{_OR}(?:\s+(?:else|maybe|possibly))?\s+(?:[A-Za-z]\s*=\s*)?(?:\$\$?|\\\(|\\\[)?\s*\Z",
    re.ASCII,
)
# What may follow each other here matches the same characters, white space above all: so nothing is given back.
_OF = r"(?:\([^()\n]{0,20}\))?"
_QUANTITY = rf"(?:\\[A-Za-z]++|[A-Za-z])[\w\\{{}}']*+{_OF}(?:\s*+[-+*/^]\s*+[\w\\{{}}'^]++{_OF}){{0,6}}"
_NAMED = re.compile(rf"(?<![\w\\])(?P<name>\d*{_QUANTITY})\s*(?:=|:|\bis\b)\s*(?:\$\$?|\\\(|\\\[|\*\*)?\s*\Z")
_ANY = frozenset(
    ("answer", "answers", "result", "solution", "value", "it", "this", "that", "which", "there", "and")
)
"""Names that anything has."""
_STEP = re.compile(
    r"(?:^[ \t>#*-]*|\b)(?:step|part|question|problem|item)\s*\(?\w+"
    r"|^[ \t>#*-]*\(?(?:[a-h]|[ivx]{1,4}|\d{1,2})[).](?=[\s*])",
    re.IGNORECASE | re.MULTILINE,
)
_BETWEEN = re.compile(
    r"\s*+(?:\$\$?|\\\)|\\\]|\.(?=\s*+\n))?\s*+"
    r"(?:(?:,|;|&|\band\b|\bor\b|\\q?quad|\\text\s*+\{[\s,]*+(?:and|or)[\s,]*+\})\s*+)*"
    rf"(?:\$\$?|\\\(|\\\[)?\s*+(?:{_QUANTITY}\s*+=\s*+)?(?:\$\$?|\\\(|\\\[)?\s*+"
)


def alternatives_beside(text: str, mark: MarkedAnswer) -> tuple[str, ...]:
    r"""The values that a response gives beside an answer with "or".

    >>> text = r"It is 7 or \boxed{8}."
    >>> alternatives_beside(text, MarkedAnswer("boxed", "box", "8", 11, 20))
    ('7',)
    """
    found = []
    near = text[max(0, mark.start - _NEAR) : mark.start]
    if any(sign in near for sign in _OR_SIGNS) and (before := _OR_BEFORE.search(near)):
        found.append(before["formula"] or before["number"])
    after = _OR_AFTER.match(text, mark.end) if mark.end < len(text) else None
    # "150 minutes or 2.5 hours" gives one answer in two units.
    if after and not (after["unit"] and re.search(r"(?<!\\)[A-Za-z]{2}", mark.text)):
        found.append(after["formula"] or after["number"])
    return tuple(clean(value) for value in found)


def is_on_the_way(text: str, mark: MarkedAnswer, main: MarkedAnswer) -> bool:
    r"""Whether an earlier answer is that of a step or a part, or the value of something else.

    >>> text = r"Step 1: \boxed{3}, Step 2: \boxed{8}"
    >>> is_on_the_way(text, MarkedAnswer("boxed", "box", "3", 8, 17), MarkedAnswer("boxed", "box", "8", 27, 36))
    True
    """
    step = _step(text, mark)
    if step is not None and step != _step(text, main):
        return True
    mine, final = _name(text, mark), _name(text, main)
    return mine is not None and mine not in _ANY and final is not None and mine != final


def are_side_by_side(text: str, boxes: Sequence[MarkedAnswer]) -> bool:
    """Whether there are several boxes with nothing between them but "and" and the names of what they hold."""
    return len(boxes) > 1 and all(
        _BETWEEN.fullmatch(text, one.end, other.start) for one, other in pairwise(boxes)
    )


def are_parts(text: str, boxes: Sequence[MarkedAnswer]) -> bool:
    """Whether there are several boxes and each stands in a part of its own, ``(a)`` and ``(b)``."""
    if len(boxes) < 2:
        return False
    parts = [_step(text, box) for box in boxes]
    named = {part for part in parts if part is not None and "step" not in part}
    return len(named) == len(parts)


def _step(text: str, mark: MarkedAnswer) -> str | None:
    """What its line calls the step or part that an answer belongs to."""
    opened = max(text.rfind("\n", 0, mark.start) + 1, mark.start - _NEAR)
    found = _STEP.findall(text, opened, mark.start)
    return found[-1].strip().casefold() if found else None


def _name(text: str, mark: MarkedAnswer) -> str | None:
    """The name of what an answer is said to be the value of."""
    found = _NAMED.search(text, max(0, mark.start - _NEAR), mark.start)
    return "".join(found["name"].split()).lower() if found else None

"""What both sorts of rewritings of a gold answer need: those that give it, and those that do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from guerdon.accuracy.suites._gold_answers import GoldAnswer

WANTED = 14
"""Rewritings of each sort that a gold gets."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One response made from a gold answer."""

    kind: str
    """What was done."""
    response: str


def box(answer: str) -> str:
    """The plainest response with an answer."""
    return rf"So the answer is \boxed{{{answer}}}."


def chosen(rewrites: Iterator[Rewrite], general: Iterator[Rewrite], turn: int) -> list[Rewrite]:
    """``WANTED`` rewritings with different texts: at least five general ones, the rest made for the gold.

    Which of them a gold gets goes round with ``turn``, so that all kinds come up.
    """
    special, common = _distinct(rewrites), _distinct(general)
    special = _turned(special, turn)[: WANTED - 5]
    texts = {rewrite.response for rewrite in special}
    return special + [r for r in _turned(common, turn) if r.response not in texts][: WANTED - len(special)]


def _distinct(rewrites: Iterator[Rewrite]) -> list[Rewrite]:
    return list({rewrite.response: rewrite for rewrite in rewrites}.values())


def _turned(rewrites: list[Rewrite], turn: int) -> list[Rewrite]:
    at = turn % len(rewrites) if rewrites else 0
    return rewrites[at:] + rewrites[:at]


def near_miss(gold: GoldAnswer) -> str:
    """The gold with one thing about it changed, so that it is another answer."""
    if gold.words:
        return _other_word(gold.words)
    # The first whole number is one more; what stands in a command, such as a root's index, does not count.
    found = re.search(r"(?<![\\A-Za-z_.\d])\d+(?!\d*\])", gold.text)
    if found:
        return f"{gold.text[: found.start()]}{int(found[0]) + 1}{gold.text[found.end() :]}"
    if gold.opening or len(gold.parts) > 1 or r"\overline" in gold.text:
        return "17"
    return f"{gold.text} + 1"


def _other_word(word: str) -> str:
    if len(word) == 1:
        return "B" if word != "B" else "C"
    others = {"even": "odd", "odd": "even", "neither": "even", "Monday": "Thursday", "east": "west"}
    return others.get(word, "nothing of the sort")

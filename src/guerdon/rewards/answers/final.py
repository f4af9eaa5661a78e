"""Final answers: where in a response the answer stands, what exactly is written there, and what speaks against it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from guerdon.rewards.answers.alternatives import (
    SLOTS,
    alternatives_beside,
    are_parts,
    are_side_by_side,
    is_on_the_way,
)
from guerdon.rewards.answers.formulas import NUMBER, MarkedAnswer, clean, last
from guerdon.rewards.answers.markers import PLACES, is_cut_off, is_placeholder, marked_answers
from guerdon.rewards.answers.retractions import denies, is_denied, reconsidered, taken_back
from guerdon.rewards.answers.visible import readable

__all__ = ["NUMBER", "PLACES", "POLICIES", "FinalAnswer", "clean", "final_answer", "readable"]

POLICIES = ("consistent", "last")
"""What to make of several answers: they must not contradict each other, or the last one alone counts."""

_FIGURES = re.compile(r"\d|\\(?!text|math|mbox)[A-Za-z]")
_CHOICE = re.compile(r"^\(?[A-H][).:]\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """What a response gives as its answer."""

    text: str
    how: str
    """How the place where it was found is called, such as ``box`` or ``the answer is``."""
    rest: str = ""
    """What the sentence goes on with, where the answer opens one."""
    alternatives: tuple[str, ...] = ()
    """The other answers that the response gives as final and does not withdraw; none with policy "last"."""
    together: str = ""
    """All of its answers as one list where it gives them side by side, as in "one is 2 and the other 3"."""
    retracted: bool = False
    """Whether the response denies it, or takes it back and gives no other."""

    def is_right(self, equals: Callable[[str], bool]) -> bool:
        """Whether the response stands by an answer, and by no other, for which ``equals`` holds.

        >>> FinalAnswer("7", "box", alternatives=("8",)).is_right("7".__eq__)
        False
        >>> FinalAnswer("7", "box", alternatives=("8",), together="8, 7").is_right("8, 7".__eq__)
        True
        """
        if self.retracted:
            return False
        if self.together and equals(self.together):
            return True
        return equals(self.text) and all(equals(alternative) for alternative in self.alternatives)


def final_answer(text: str, places: Sequence[str] = PLACES, policy: str = "consistent") -> FinalAnswer | None:
    r"""The answer in the first of the ``places`` that holds one; of several in one place the last.

    An answer that the response denies or takes back counts only if there is no other. With the policy
    "consistent" the answer's ``alternatives`` are

    - every other box, line after ``####`` and answer tag, except an earlier one that is given as a step, a
      part or the value of something else (``Step 1: …``, ``(a) …``, ``x = …`` before ``x + y = …``);
    - every value that a later "the answer is" or ``Answer:`` gives; an earlier one was on the way;
    - the alternative in "7 or 8".

    >>> final_answer("6 times 7 is 42.\n#### 42").how
    '####'
    >>> final_answer("The answer is 42 because 6 times 7 is that.").text
    '42'
    >>> final_answer(r"\boxed{7}, then \boxed{8}").alternatives
    ('7',)
    >>> final_answer(r"\boxed{7}? No, that is wrong: \boxed{8}").alternatives
    ()
    """
    found = marked_answers(text, places)
    empty = [mark for mark in found if is_placeholder(mark)]
    given = [mark for mark in found if not is_placeholder(mark)]
    live, since = _standing(text, given)
    # "The answer is right because 3 + 4 = 7" counts only where no sentence gives the answer alone.
    stated = [mark for mark in live if mark.is_value] or live
    for place in places:
        if place == "last":
            if not is_cut_off(text) and (mark := last(text, max(since, empty[-1].end if empty else 0))):
                return _unmarked(text, mark, policy)
        elif of_place := [mark for mark in stated if mark.place == place]:
            return _marked(text, of_place[-1], live, policy)
    if given:
        return FinalAnswer(given[-1].text, given[-1].how, given[-1].rest, retracted=True)
    return FinalAnswer("", empty[-1].how) if empty else None


def _standing(text: str, given: Sequence[MarkedAnswer]) -> tuple[list[MarkedAnswer], int]:
    """The marks that the response stands by, and where what it has retracted ends."""
    since, stop = 0, len(text)
    for mark in reversed(given):
        if (place := taken_back(text, mark.end, stop)) is not None:
            since = place
            break
        if stop < len(text) and reconsidered(text, mark.end, stop):
            since = stop
            break
        stop = mark.start
    denied = [mark for mark in given if denies(mark.text) or is_denied(text, mark.start)]
    live = [mark for mark in given if mark.start >= since and mark not in denied]
    return live, max([since, *(mark.end for mark in denied)])


def _unmarked(text: str, mark: MarkedAnswer, policy: str) -> FinalAnswer:
    alternatives = alternatives_beside(text, mark) if policy == "consistent" else ()
    denied = is_denied(text, mark.start) or taken_back(text, mark.end, len(text)) is not None
    return FinalAnswer(mark.text, mark.how, alternatives=alternatives, retracted=denied)


def _marked(text: str, main: MarkedAnswer, live: Sequence[MarkedAnswer], policy: str) -> FinalAnswer:
    if policy == "last":
        return FinalAnswer(main.text, main.how, main.rest)
    boxes = [mark for mark in live if mark.place == "boxed"]
    are_one = main in boxes and are_side_by_side(text, boxes)
    others = [mark for mark in live if mark is not main and _contradicts(text, mark, main, are_one)]
    alternatives = [_CHOICE.sub("", mark.text) for mark in others]
    either = alternatives_beside(text, main)
    alternatives += either
    parts = are_one or are_parts(text, boxes)
    listed = [box.text for box in boxes] if parts else [main.text, *either]
    together = ", ".join(listed)
    # Of whatever else the response says, nothing may contradict the list.
    is_list = len(listed) > 1 and set(alternatives) <= {*listed, together}
    return FinalAnswer(
        main.text,
        main.how,
        main.rest,
        alternatives=tuple(dict.fromkeys(alternatives)),
        together=together if is_list else "",
    )


def _contradicts(text: str, mark: MarkedAnswer, main: MarkedAnswer, are_one: bool) -> bool:
    """Whether the response gives two answers as final, should their values differ."""
    if mark.start > main.start and mark.place not in SLOTS:
        # "The answer is B" and "Answer: half" may say in words what the main answer says in figures.
        return mark.is_value and (_FIGURES.search(mark.text) is not None or not _FIGURES.search(main.text))
    if mark.start > main.start:
        return True
    return mark.place in SLOTS and (are_one or not is_on_the_way(text, mark, main))

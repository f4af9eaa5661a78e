"""What is known of a test's values before it runs, and what finding out may cost."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.sandbox.grading.operations import NotPlainError

_STEPS = 300_000
"""What following the code may cost: its loops may be nested, and its functions call each other twice."""
_SIZE = 4_000_000
"""Items and characters of a value; one that holds another twice doubles with each line."""
_TERMS = 100_000
"""Parts of what is asserted of answers."""
ITEMS_A_STEP = 64

Answers = Sequence[Callable[[], Any]]
"""For each call a function that returns its value, or raises because there is none."""
Term = Callable[[Answers], Any]


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is known."""

    value: Any
    size: int = field(default=1, compare=False)
    """Items and characters that it has at most."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """A value that will be known when the program has answered."""

    term: Term
    size: int = 1
    """Terms that it consists of."""


def literal(value: Any) -> Constant:
    """What a literal of the code stands for."""
    return Constant(value, len(value) if isinstance(value, str | bytes) else 1)


def constantly(value: Any) -> Term:
    """The term that is a value, whatever the answers are."""
    return lambda _: value


def terms_of(things: Sequence[Constant | Deferred]) -> list[Term]:
    """The things as terms."""
    return [thing.term if isinstance(thing, Deferred) else constantly(thing.value) for thing in things]


def total_size(parts: Sequence[Constant | Deferred]) -> int:
    """The size of what consists of these parts."""
    return 1 + sum(part.size for part in parts)


def size_of_result(op: ast.operator, left: Constant, right: Constant) -> int:
    """The size of what an operator makes of two constants: an item may be repeated."""
    whole = [abs(side.value) for side in (left, right) if isinstance(side.value, int)]
    times = max(1, whole[0]) if isinstance(op, ast.Mult) and len(whole) == 1 else 1
    return (left.size + right.size) * times


class ReadingBudget:
    """What is left of the work that reading one test may take. Every method raises NotPlainError beyond it."""

    def __init__(self) -> None:
        self._left = _STEPS

    def charge(self, steps: int) -> None:
        """Counts so many steps."""
        self._left -= steps
        if self._left < 0:
            raise NotPlainError("a long run")

    def constant(self, value: Any, size: int) -> Constant:
        """A value that consists of constants of that size."""
        size += len(value) if isinstance(value, range) else 0
        if size > _SIZE:
            raise NotPlainError("a large value")
        return Constant(value, size)

    def deferred(self, term: Term, parts: Sequence[Constant | Deferred]) -> Deferred:
        """A term that consists of these parts."""
        size = total_size([part for part in parts if isinstance(part, Deferred)])
        if size > _TERMS:
            raise NotPlainError("a long run")
        return Deferred(term, size)

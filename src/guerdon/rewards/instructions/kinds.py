"""What a kind of verifiable instruction is: its id, its arguments, and the function that checks a text."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown

RELATIONS = ("less than", "at least")


class CheckResult(NamedTuple):
    """What checking one text against one instruction found."""

    followed: bool
    says: str
    """What there is, in a few words, such as ``commas: 3``."""


Reader = Callable[[Any], Any]
"""From an argument's value in a data set to what the check takes; ValueError says what it must be."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of instruction."""

    id: str
    check: Callable[..., CheckResult]
    arguments: Mapping[str, Reader] | None
    """The reader of each argument; None for a kind that takes whatever there is, as it comes."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A kind with its arguments, ready to check texts."""

    id: str
    check: Callable[..., CheckResult]
    arguments: Mapping[str, Any]

    def __call__(self, text: str) -> CheckResult:
        return self.check(text, **self.arguments)


class KindTable(dict[str, Kind]):
    """Kinds of instructions by id; each module of checks has one."""

    def kind(
        self, id: str, **arguments: Reader
    ) -> Callable[[Callable[..., CheckResult]], Callable[..., CheckResult]]:
        """Makes the decorated function the check of the kind ``id``, with a reader for each of its arguments."""

        def entered(check: Callable[..., CheckResult]) -> Callable[..., CheckResult]:
            self[id] = Kind(id, check, arguments)
            return check

        return entered


def known_kind(id: str, kinds: Mapping[str, Kind]) -> Kind:
    """The kind of an id. Raises InputError for one that is unknown."""
    found = kinds.get(id)
    if found is None:
        raise InputError(f"{shown(id)} is not a kind of instruction; {_nearest(id, kinds)}")
    return found


def instruction(id: str, given: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Instruction:
    """The instruction of a kind with arguments from a row. Raises InputError where they do not fit."""
    found = known_kind(id, kinds)
    values = {name: value for name, value in given.items() if not _absent(value)}
    if found.arguments is None:
        return Instruction(id, found.check, values)
    if missing := [name for name in found.arguments if name not in values]:
        raise InputError(f"{id} needs {' and '.join(missing)}: give it in kwargs")
    if unknown := [str(name) for name in values if name not in found.arguments]:
        takes = f"takes {', '.join(found.arguments)}" if found.arguments else "takes no arguments"
        raise InputError(f"{id} {takes}, not {', '.join(unknown)}")
    read = {name: _read(id, name, reader, values[name]) for name, reader in found.arguments.items()}
    return Instruction(id, found.check, read)


def _nearest(id: str, kinds: Iterable[str]) -> str:
    return (
        f"the nearest known ones are {', '.join(difflib.get_close_matches(id, list(kinds), n=3, cutoff=0))}"
    )


def _absent(value: Any) -> bool:
    """Whether an argument is one that a table has a column for and this row no value: null, or NaN for it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _read(id: str, name: str, reader: Reader, value: Any) -> Any:
    try:
        return reader(value)
    except ValueError as error:
        raise InputError(f"{name} of {id} must be {error}, not {shown(value)}") from None


# Readers of arguments.


def whole(value: Any) -> int:
    """A whole number of 0 or more; tables with gaps hold them as floating-point numbers."""
    if isinstance(value, bool) or not hasattr(value, "__float__") or not 0 <= value < math.inf or value % 1:
        raise ValueError("a whole number of 0 or more")
    return int(value)


def positive(value: Any) -> int:
    """A whole number of 1 or more."""
    try:
        number = whole(value)
    except ValueError:
        number = 0
    if not number:
        raise ValueError("a whole number of 1 or more")
    return number


def relation(value: Any) -> str:
    """``less than`` or ``at least``."""
    if value not in RELATIONS:
        raise ValueError('"less than" or "at least"')
    return str(value)


def phrase(value: Any) -> str:
    """A text with something in it, without the white space around it; a list of a single text is one too."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def phrases(value: Any) -> list[str]:
    """One or more texts."""
    if isinstance(value, str) or not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise ValueError("a list of texts")
    found = list(value)
    if not found or not all(isinstance(item, str) and item.strip() for item in found):
        raise ValueError("a list of one or more texts, none of them empty")
    return found


def character(value: Any) -> str:
    """A single character; a letter in lower case."""
    if not isinstance(value, str) or len(value.strip()) != 1:
        raise ValueError("a single character")
    return value.strip().lower()


# What checks share.


def nth_of(nth: int, count: int, name: str, names: str) -> None:
    """Refuses a place beyond the last one."""
    if nth > count:
        raise InputError(f"{name} is {nth}, and {names} only {count}")


def compared(count: int, wanted: int, how: str, noun: str) -> CheckResult:
    """Whether a count is ``less than`` or ``at least`` what is wanted."""
    followed = count < wanted if how == "less than" else count >= wanted
    return CheckResult(followed, f"{noun}: {count}, expected {how} {wanted}")


def exactly(count: int, wanted: int, noun: str) -> CheckResult:
    """Whether a count is what is wanted."""
    return CheckResult(count == wanted, f"{noun}: {count}, expected {wanted}")

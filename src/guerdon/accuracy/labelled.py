"""A suite of a user's own rows: answers of any kind with a column that says which are right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.accuracy.suite import CatalogueVerifier, LabelledCase, Suite
from guerdon.errors import InputError

_RIGHT = frozenset({"1", "true", "yes", "right", "correct", "pass", "passed"})
_WRONG = frozenset({"0", "false", "no", "wrong", "incorrect", "fail", "failed"})


def labelled(
    rows: Iterable[Mapping[str, Any]],
    rewards: Sequence[CatalogueVerifier],
    *,
    label: str = "label",
    kind: str | None = None,
    name: str = "rows",
    title: str = "",
) -> Suite:
    """A suite of rows in chat form; ``label`` is the column that says whether an answer is right.

    A label is true or false, 1 or 0, or one of the words right, wrong, correct, incorrect, pass, fail, yes,
    no. The rewards do not see that column. ``kind`` is a column that the table can be broken down by.

    Raises InputError, with the number of the row, for a row without a label that can be read.

    >>> rows = [{"messages": [{"role": "assistant", "content": "4"}], "ground_truth": "4", "label": "right"}]
    >>> [case.right for case in labelled(rows, [CatalogueVerifier("math", "math")]).cases(None)]
    [True]
    """
    cases = list(_cases(rows, label, kind))
    if not cases:
        raise InputError(f"{name} holds no rows")
    return Suite(name, title or name, (), lambda folder: cases, tuple(rewards))


def _cases(rows: Iterable[Mapping[str, Any]], label: str, kind: str | None) -> Iterable[LabelledCase]:
    seen: set[str] = set()
    for number, given in enumerate(rows, 1):
        row = {**given, **_nested(given)}
        for column in filter(None, (label, kind)):
            if column not in row:
                names = ", ".join(sorted(map(str, row)))
                raise InputError(f'row {number} has no column "{column}"; its columns: {names}')
        right = read_label(row[label])
        if right is None:
            raise InputError(
                f'row {number}: the column "{label}" must say right or wrong (true, false, 1, 0), '
                f"not {row[label]!r:.60}"
            )
        identity = str(given.get("id", number))
        identity = identity if identity not in seen else f"{identity} (row {number})"
        seen.add(identity)
        yield LabelledCase(identity, _without(given, label), right, "" if kind is None else str(row[kind]))


def _nested(row: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = row.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _without(row: Mapping[str, Any], label: str) -> dict[str, Any]:
    plain = {name: value for name, value in row.items() if name != label}
    if nested := _nested(row):
        plain["metadata"] = {name: value for name, value in nested.items() if name != label}
    return plain


def read_label(value: Any) -> bool | None:
    """Whether a label says right; None where it says neither.

    >>> [read_label(value) for value in (True, 0, 1.0, "Correct", "maybe", 0.5, None)]
    [True, False, True, True, None, None, None]
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _RIGHT else False if word in _WRONG else None


def suite_name(path: str) -> str:
    """What a suite of a file is called."""
    return Path(path).name.partition(".")[0] or "rows"

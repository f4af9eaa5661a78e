"""Which samples of a run answer the same prompt: by a column, else by equal prompts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.data.paths import ABSENT, unknown_column, value_at
from guerdon.errors import InputError
from guerdon.scoring.statistics.summary import EQUAL_PROMPTS
from guerdon.types import Sample

GROUP_COLUMNS = ("group_id", "group", "run.group")
"""Columns that say which samples belong together; the last one is that of the samples of a training run."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """How samples are grouped: by one of several columns, else by their prompts."""

    columns: tuple[str, ...]

    @classmethod
    def of(cls, head: Sequence[Any], group_by: str | None) -> Grouping:
        """The grouping of a run by its first samples; raises InputError where none of them has ``group_by``.

        >>> Grouping.of([{"messages": [], "group": 1}], None).name
        'column group'
        """
        rows = [row for row in head if isinstance(row, Mapping | Sample)]
        if group_by is None:
            return cls(tuple(n for n in GROUP_COLUMNS if any(_value(row, n) is not None for row in rows)))
        if group_by != "prompt" or any(_has(row, "prompt") for row in rows):
            if rows and not any(_has(row, group_by) for row in rows):
                raise InputError(f"group_by: {unknown_column(group_by, _names(rows))}")
            return cls((group_by,))
        return cls(())

    @property
    def name(self) -> str:
        """What the groups are, in words."""
        return f"column {self.columns[0]}" if self.columns else EQUAL_PROMPTS

    def group(self, row: Mapping[Any, Any] | Sample) -> Any:
        """The group of a sample or of a row in chat form; None for none."""
        if not self.columns:
            return _prompt_key(row)
        for name in self.columns:
            if (value := _value(row, name)) is not None:
                return value if isinstance(value, str | int | float) else str(value)
        return None


def _value(row: Mapping[Any, Any] | Sample, name: str) -> Any:
    value: Any = ABSENT
    for columns in _holders(row):
        if value in (ABSENT, None):
            value = value_at(columns, name)
    return None if value is ABSENT else value


def _has(row: Mapping[Any, Any] | Sample, name: str) -> bool:
    return any(value_at(columns, name) is not ABSENT for columns in _holders(row))


def _holders(row: Mapping[Any, Any] | Sample) -> Iterable[Mapping[Any, Any]]:
    if isinstance(row, Sample):
        own = {"id": row.id, "ground_truth": row.ground_truth, "answer": row.answer}
        return ({n: v for n, v in own.items() if v is not None}, row.metadata)
    nested = row.get("metadata")
    return (row, nested) if isinstance(nested, Mapping) else (row,)


def _names(rows: Iterable[Mapping[Any, Any] | Sample]) -> list[str]:
    return list(dict.fromkeys(str(name) for row in rows for columns in _holders(row) for name in columns))


def _prompt_key(row: Mapping[Any, Any] | Sample) -> str | None:
    """A hash of all that comes before the response, the same in every process; None where nothing does.

    The hash and not the text, since it is kept for every prompt of a run.
    """
    before: Any
    if isinstance(row, Sample):
        before = row.original_messages
    else:
        before, messages = row.get("original_messages"), row.get("messages")
        if before is None:
            before = messages[:-1] if isinstance(messages, list) else None
    if not isinstance(before, list) or not before:
        return None
    digest = hashlib.blake2b(digest_size=6)
    for message in before:
        if not isinstance(message, Mapping):
            return None
        # With their lengths and kinds, so that no text can pass for another one, or for several messages.
        role, content = str(message.get("role")), message.get("content")
        text = content if isinstance(content, str) else repr(content)
        head = f"{len(role)} {len(text)} {isinstance(content, str):d}"
        digest.update(f"{head}\0{role}{text}\0".encode(errors="surrogatepass"))
    return digest.hexdigest()

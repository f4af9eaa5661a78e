"""Rows, Samples and bare responses read as the samples of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from guerdon.errors import BindingError, InputError
from guerdon.reward.binding.signature import missing_parameter
from guerdon.reward.function import RewardFunction
from guerdon.scoring.engine.base import PendingSample
from guerdon.scoring.outcome import failure
from guerdon.scoring.rows import digest_of
from guerdon.scoring.texts import NO_TEXT, SampleText
from guerdon.types import Sample

_GROUP_COLUMNS = ("group_id", "group")


def check_first_rows(reward: RewardFunction, head: list[Any]) -> None:
    """Raise before anything runs where no row is readable, or a parameter of the reward is missing."""
    good: list[Sample] = []
    first: InputError | None = None
    for row in head:
        try:
            good.append(_as_sample(row))
        except InputError as error:
            first = first or error
    if first is not None and not good:
        raise first
    if good and (lack := reward.missing(good)) is not None:
        parameter, columns = lack
        raise BindingError(missing_parameter(reward.name, parameter, columns), parameter=parameter)


def _as_sample(row: Any) -> Sample:
    return row if isinstance(row, Sample) else Sample.from_row(_as_row(row))


def _as_row(row: Any) -> Any:
    return {"messages": [{"role": "assistant", "content": row}]} if isinstance(row, str) else row


def pending_samples(
    rows: Iterable[Any],
    group_by: str | None,
    digests: bool,
    read_text: Callable[[Any], SampleText] = lambda _: NO_TEXT,
) -> Iterator[PendingSample]:
    """Each row with its position, id, group and text, and with its digest where ``digests`` is set.

    A row that is not a row comes as the failure that says so.
    """
    for position, given in enumerate(rows):
        row = _as_row(given)
        identity: Any
        columns: Mapping[Any, Any]
        if isinstance(row, Sample):
            identity, columns = row.id, row.metadata
        elif isinstance(row, Mapping):
            identity, columns = row.get("id"), row
        else:
            error = f"a row must be an object with messages, not {type(row).__name__}"
            yield PendingSample(position, failure(InputError.kind, error), position, "" if digests else None)
            continue
        if not isinstance(identity, str | int):
            identity = position
        elif type(identity) not in (str, int):  # numpy's text, say, which no file takes as it is
            identity = str(identity) if isinstance(identity, str) else int(identity)
        try:
            digest = digest_of(row) if digests else None
        except RecursionError:
            yield PendingSample(
                position, failure(InputError.kind, "the row is nested too deep"), identity, ""
            )
            continue
        yield PendingSample(position, row, identity, digest, _group_of(columns, group_by), read_text(row))


def _group_of(columns: Mapping[Any, Any], group_by: str | None) -> Any:
    names = _GROUP_COLUMNS if group_by is None else (group_by,)
    nested = columns.get("metadata")
    if nested is None and group_by is None and "group_id" not in columns and "group" not in columns:
        return None
    for name in names:
        value = columns.get(name)
        if value is None and isinstance(nested, Mapping):
            value = nested.get(name)
        if value is not None:
            return value if isinstance(value, str | int | float) else str(value)
    return None

"""The parameter names of the field's calling conventions, and what each name reads of a sample.

Parameters are bound by name, so the conventions differ only in the names that they use:

- pointwise: ``messages``, ``original_messages``, ``ground_truth`` (Reward Kit); ``response`` or
  ``completion``, ``prompt``, ``answer`` (agent-tunix); ``solution_str``, ``data_source``, ``extra_info``
  (verl); ``metadata``, ``step``, ``id``; any column of the data set.
- batched, every argument a list: ``completions``, ``prompts`` (TRL, Tunix); ``queries``, ``prompts``,
  ``labels`` (OpenRLHF); ``solution_strs`` and its like (verl); ``rollouts_messages`` or any pointwise name
  with ``mode="batch"`` (Reward Kit).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from guerdon.types import Sample


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"  # by name: there is one, also in another process


MISSING: Final = _Missing()
"""What a getter gives where the sample has no such value."""

Getter = Callable[[Sample], Any]

BATCH_NAMES = frozenset({"completions", "queries", "rollouts_messages", "solution_strs"})
COMPLETION_NAMES = frozenset({"messages", "response", "completion", "solution_str"})


def _truth(sample: Sample) -> Any:
    metadata = sample.metadata
    for value in (sample.ground_truth, sample.answer, metadata.get("ground_truth"), metadata.get("answer")):
        if value is not None:
            return value
    return MISSING


def _answer(sample: Sample) -> Any:
    return sample.answer if sample.answer is not None else _truth(sample)


def _response(sample: Sample) -> Any:
    return sample.response if sample.messages else MISSING


def _prompt(sample: Sample) -> Any:
    if prompt := sample.prompt:
        return prompt
    return sample.metadata.get("prompt", "" if sample.messages else MISSING)


def _messages(sample: Sample) -> Any:
    return list(sample.messages) if sample.messages else MISSING


def _original(sample: Sample) -> Any:
    return list(sample.original_messages) if sample.messages else MISSING


# Getters are pickled for worker processes, so they are functions of this module and partials of such.
def column(name: str) -> Getter:
    """The getter of a column."""
    return functools.partial(_column_value, name)


def optional_column(name: str) -> Getter:
    """The getter of a column for a parameter with a default, which also replaces a null.

    Tables have every column in every row, and mixed data sets leave null what a row does not have.
    """
    return functools.partial(_non_null_value, name)


def lowered_value(lower: Callable[[Any], Any], getter: Getter, sample: Sample) -> Any:
    """What a getter finds, not above what the caller set."""
    value = getter(sample)
    return value if value is MISSING else lower(value)


def not_supplied(_source: Any) -> Any:
    """The getter for what no sample supplies."""
    return MISSING


def _column_value(name: str, sample: Sample) -> Any:
    return sample.metadata.get(name, MISSING)


def _non_null_value(name: str, sample: Sample) -> Any:
    value = sample.metadata.get(name)
    return MISSING if value is None else value


def _metadata(sample: Sample) -> Any:
    return dict(sample.metadata)


def _data_source(sample: Sample) -> Any:
    return sample.metadata.get("data_source", "")


def _id(sample: Sample) -> Any:
    return MISSING if sample.id is None else sample.id


POINTWISE: Mapping[str, Getter] = {
    "messages": _messages,
    "original_messages": _original,
    "ground_truth": _truth,
    "answer": _answer,
    "response": _response,
    "completion": _response,
    "solution_str": _response,
    "prompt": _prompt,
    "metadata": _metadata,
    "extra_info": _metadata,
    "data_source": _data_source,
    "id": _id,
}
"""What a pointwise function may name besides columns."""

STANDARD_NAMES = frozenset({*POINTWISE, "step"})


def columns_of(sample: Sample) -> list[str]:
    """The names under which a sample offers values."""
    names = [n for n in ("ground_truth", "answer", "id") if getattr(sample, n) is not None]
    return sorted([*(["messages"] if sample.messages else []), *names, *map(str, sample.metadata)])

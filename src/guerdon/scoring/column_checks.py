"""A reward's parameters held to the columns of its samples, before anything is scored."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, cast

from guerdon.data.detection import TRUTH_NAMES, TRUTHS, normal
from guerdon.errors import BindingError, InputError
from guerdon.reward.binding.conventions import STANDARD_NAMES, columns_of
from guerdon.reward.binding.signature import missing_parameter
from guerdon.reward.function import RewardFunction
from guerdon.types import Sample

_READ_ALL = frozenset({"metadata", "extra_info", "extra_infos"})
"""Parameters that hold all columns."""
_NEAR = 0.9
"""How alike a parameter and a column must be to be taken for the same name: ``solutions`` and ``solution``."""


def check_parameters(reward: RewardFunction, samples: Sequence[Sample]) -> None:
    """Raise BindingError for a parameter that none of the samples supplies: a required one, or a misspelt one.

    >>> def right(response, groundtruth=None): return response == groundtruth
    >>> message = {"role": "assistant", "content": "4"}
    >>> try:
    ...     check_parameters(RewardFunction(right), [Sample.from_row({"messages": [message], "ground_truth": "4"})])
    ... except BindingError as error:
    ...     print(str(error).partition(";")[0])
    right has a parameter 'groundtruth', which no column supplies, so every sample would get its default
    """
    if not samples:
        return
    if (lack := reward.missing(samples)) is not None:
        parameter, columns = lack
        raise BindingError(missing_parameter(reward.name, parameter, columns), parameter=parameter)
    for component in reward.components:
        check_parameters(cast(RewardFunction, component.reward), samples)
    if not reward.components and (misspelt := _misspelt(reward, samples)) is not None:
        parameter, column = misspelt
        raise BindingError(
            f"{reward.name} has a parameter {parameter!r}, which no column supplies, so every sample would get its "
            f"default; did you mean {column!r}? Rename one of them, or give the parameter a value: "
            f"--param {parameter}=…, in Python {parameter}=…",
            parameter=parameter,
        )


def _misspelt(reward: RewardFunction, samples: Sequence[Sample]) -> tuple[str, str] | None:
    """A parameter that no sample supplies, and a column of nearly that name that the reward does not read either."""
    reads = reward.reads
    if reads is None or not _READ_ALL.isdisjoint(reads):
        return None
    there = {name for sample in samples for name in columns_of(sample)}
    if TRUTH_NAMES.isdisjoint(reads):
        used = {*reads, *(STANDARD_NAMES - TRUTH_NAMES)}
    else:
        used = {*reads, *STANDARD_NAMES, *(name for name in there if normal(name) in TRUTHS)}
    free = {_letters(name): name for name in sorted(there - used)}
    for name in sorted(reads - there - STANDARD_NAMES):
        near = difflib.get_close_matches(_letters(name), free, n=1, cutoff=_NEAR)
        if near and _digits(near[0]) == _digits(name):
            return name, free[near[0]]
    return None


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def refuse_columns_as_parameters(parameters: Mapping[str, Any], samples: Any) -> None:
    """Raise InputError for a parameter that holds a value for each sample, of what samples hold themselves."""
    if isinstance(samples, str | Path) or not isinstance(samples, Sized):
        return
    count = len(samples)
    for name, value in parameters.items():
        if (
            name not in STANDARD_NAMES
            or not isinstance(value, Sized)
            or isinstance(value, str | bytes | Mapping)
        ):
            continue
        is_conversation = isinstance(value, list) and all(isinstance(part, Mapping) for part in value)
        if len(value) == count > 1 and not is_conversation:
            raise InputError(
                f"{name}= is one value for all samples, and holds {count} as there are samples; give each sample its "
                f'own in rows: [{{"response": r, "{name}": v}} for r, v in zip(responses, values)]'
            )

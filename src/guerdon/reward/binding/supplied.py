"""The arguments that a sample or a batch supplies to a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from guerdon.errors import BindingError
from guerdon.reward.binding.conventions import MISSING, columns_of
from guerdon.reward.binding.signature import Parameter, Signature, missing_parameter
from guerdon.types import Sample


def supplied(
    signature: Signature,
    fixed: Mapping[str, Any],
    steps: Iterable[tuple[Parameter, Callable[[Any], Any]]],
    source: Any,
    explicit: Mapping[str, Any],
) -> dict[str, Any]:
    """The fixed arguments, and what a sample or a batch supplies for all other parameters.

    Raises BindingError that names the missing parameter and the columns there are.
    """
    values = dict(fixed)
    for parameter, getter in steps:
        if parameter.name in explicit:
            continue
        value = getter(source)
        if value is not MISSING:
            values[parameter.name] = value
        elif parameter.required:
            columns = columns_of(source if isinstance(source, Sample) else source[0])
            raise BindingError(
                missing_parameter(signature.name, parameter.name, columns), parameter=parameter.name
            )
    return values

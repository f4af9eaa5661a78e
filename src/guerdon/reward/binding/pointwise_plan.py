"""How a pointwise function is called for one sample: a plan of (parameter, getter), made once."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from guerdon.reward.binding.annotations import MessageConverter, message_form
from guerdon.reward.binding.conventions import (
    COMPLETION_NAMES,
    MISSING,
    POINTWISE,
    Getter,
    column,
    columns_of,
    lowered_value,
    not_supplied,
    optional_column,
)
from guerdon.reward.binding.signature import Parameter, Signature, refuse_unknown
from guerdon.reward.binding.supplied import supplied
from guerdon.types import Message, Sample


class PointwisePlan:
    """How one function is called for one sample: built once, run for every sample."""

    def __init__(self, signature: Signature, fixed: Mapping[str, Any]) -> None:
        self.signature = signature
        self.fixed = dict(fixed)
        refuse_unknown(signature, fixed)
        self._steps = [(p, self._getter(p)) for p in signature.parameters if p.name not in self.fixed]
        self._positional = [p.name for p in signature.parameters if p.positional_only]
        self._given = {*signature.names, *self.fixed}
        # **kwargs must not repeat the completion under another name, or a function that passes them on
        # to a helper would hand it the completion twice.
        carries = bool(COMPLETION_NAMES & set(signature.names))
        hidden = {"solution_str", "extra_info", "data_source"} | (COMPLETION_NAMES if carries else set())
        self._extra = {n: g for n, g in POINTWISE.items() if n not in self._given and n not in hidden}

    def _getter(self, parameter: Parameter) -> Getter:
        if parameter.is_setting:
            return not_supplied
        getter = POINTWISE.get(parameter.name)
        if getter is None:
            getter = column(parameter.name) if parameter.required else optional_column(parameter.name)
        if parameter.lowered is not None:
            return functools.partial(lowered_value, parameter.lowered, getter)
        if parameter.name in ("messages", "original_messages"):
            convert = message_form(parameter.annotation)
            return getter if convert is None else functools.partial(_converted, convert, getter)
        return getter

    def arguments(self, sample: Sample, explicit: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments of the call; explicit values win over fixed over the sample's.

        Raises BindingError that names the missing parameter and the columns there are.
        """
        values = supplied(self.signature, self.fixed, self._steps, sample, explicit)
        if explicit:
            for name, value in explicit.items():
                if name in self._given:
                    values[name] = self._as_annotated(name, value)
        if self.signature.takes_kwargs:
            self._add_extra(values, sample, explicit)
        return [values.pop(name) for name in self._positional if name in values], values

    def _as_annotated(self, name: str, value: Any) -> Any:
        """An explicit value; a copy where several components of a composition are given the same one."""
        if name in ("messages", "original_messages") and isinstance(value, list):
            convert = message_form(self.signature.annotation_of(name))
            if convert is not None and all(isinstance(m, Message) for m in value):
                return convert(value)
            return list(value)
        return dict(value) if type(value) is dict and name == "metadata" else value

    def _add_extra(self, values: dict[str, Any], sample: Sample, explicit: Mapping[str, Any]) -> None:
        for name, value in explicit.items():
            if name not in self._given and name not in COMPLETION_NAMES:
                values[name] = value
        for name, getter in self._extra.items():
            if name not in values and (value := getter(sample)) is not MISSING:
                values[name] = value
        for name, value in sample.metadata.items():
            if name not in values and name not in self._given and isinstance(name, str):
                values[name] = value

    def missing(self, samples: Iterable[Sample]) -> tuple[str, list[str]] | None:
        """A required parameter that none of the samples supplies, and the columns that there are."""
        columns: set[str] = set()
        open_parameters = {p.name: g for p, g in self._steps if p.required}
        for sample in samples:
            columns.update(columns_of(sample))
            for name in [n for n, g in open_parameters.items() if g(sample) is not MISSING]:
                del open_parameters[name]
            if not open_parameters:
                return None
        return (next(iter(open_parameters)), sorted(columns)) if open_parameters and columns else None


def _converted(convert: MessageConverter, getter: Getter, sample: Sample) -> Any:
    messages = getter(sample)
    return messages if messages is MISSING else convert(messages)

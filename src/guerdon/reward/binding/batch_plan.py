"""How a batched function is called for a list of samples: a plan of (parameter, getter), made once."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from guerdon.reward.binding.annotations import MessageConverter, message_form, wants_chat
from guerdon.reward.binding.conventions import (
    MISSING,
    POINTWISE,
    Getter,
    column,
    columns_of,
    lowered_value,
    not_supplied,
)
from guerdon.reward.binding.signature import Parameter, Signature, refuse_unknown
from guerdon.reward.binding.supplied import supplied
from guerdon.types import Sample

BatchGetter = Callable[[Sequence[Sample]], Any]

_MESSAGE_LISTS = frozenset({"messages", "original_messages", "rollouts_messages"})


class BatchPlan:
    """How a batched function is called for a list of samples; every argument is a list but the step."""

    def __init__(self, function: Callable[..., Any], signature: Signature, fixed: Mapping[str, Any]) -> None:
        self.signature = signature
        self.fixed = dict(fixed)
        refuse_unknown(signature, fixed)
        self._chat = any(
            wants_chat(function, p.annotation) for p in signature.parameters if p.name == "completions"
        )
        self._steps = [(p, self._getter(p)) for p in signature.parameters if p.name not in self.fixed]
        self._positional = [p.name for p in signature.parameters if p.positional_only]

    def _getter(self, parameter: Parameter) -> BatchGetter:
        if parameter.is_setting:
            return not_supplied
        special: Mapping[str, BatchGetter] = {
            "completions": self._completions,
            "prompts": self._prompts,
            "queries": _queries,
            "labels": _each(POINTWISE["ground_truth"]),
            "rollouts_messages": _each(POINTWISE["messages"]),
            "solution_strs": _each(POINTWISE["response"]),
            "data_sources": _each(POINTWISE["data_source"]),
            "ground_truths": _each(POINTWISE["ground_truth"]),
            "extra_infos": _each(POINTWISE["metadata"]),
            "step": _step,
            "mode": _mode,
            "trainer_state": _trainer_state,
            "log_extra": _log,
            "log_metric": _log,
        }
        getter = special[parameter.name] if parameter.name in special else _each(_one(parameter))
        convert = message_form(parameter.annotation) if parameter.name in _MESSAGE_LISTS else None
        if convert is not None:
            return functools.partial(_converted_lists, convert, getter)
        return getter

    def _completions(self, samples: Sequence[Sample]) -> Any:
        if called_with_lists(samples):
            return MISSING
        if self._chat:
            return [[s.messages[-1].to_dict()] if s.messages else [] for s in samples]
        return [s.response for s in samples]

    def _prompts(self, samples: Sequence[Sample]) -> list[Any]:
        if self._chat:
            return [[m.to_dict() for m in s.original_messages] for s in samples]
        if "queries" in self.signature.names:  # OpenRLHF's queries start with their prompt
            return [_prompt_text(s) for s in samples]
        return [s.prompt for s in samples]

    def arguments(
        self, samples: Sequence[Sample], explicit: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments of the call. Raises BindingError as PointwisePlan does.

        ``explicit`` holds lists where the samples are place-holders of a call with lists; else what was
        said of one sample, which that sample holds too.
        """
        if not called_with_lists(samples):
            explicit = {name: value for name, value in explicit.items() if name in self.fixed}
        values = supplied(self.signature, self.fixed, self._steps, samples, explicit)
        for name, value in explicit.items():
            if name in self.signature.names or self.signature.takes_kwargs:
                convert = message_form(self.signature.annotation_of(name)) if name in _MESSAGE_LISTS else None
                values[name] = value if convert is None else [convert(messages) for messages in value]
        if self.signature.takes_kwargs:
            columns = {n for s in samples for n in s.metadata if isinstance(n, str)}
            for name in sorted(columns - set(values) - set(self.signature.names)):
                values[name] = [s.metadata.get(name) for s in samples]
            for name in ("ground_truth", "answer"):
                if name not in values and (column := _each(POINTWISE[name])(samples)) is not MISSING:
                    values[name] = column
        return [values.pop(name) for name in self._positional if name in values], values

    def missing(self, samples: Iterable[Sample]) -> tuple[str, list[str]] | None:
        """A required parameter that none of the samples supplies, and the columns that there are."""
        batch = list(samples)
        for parameter, getter in self._steps:
            if batch and parameter.required and getter(batch) is MISSING:
                return parameter.name, sorted({name for s in batch for name in columns_of(s)})
        return None


def called_with_lists(samples: Sequence[Sample]) -> bool:
    """Whether samples only stand for the entries of the lists that a batched function is called with."""
    return not any(sample.messages for sample in samples)


def _one(parameter: Parameter) -> Getter:
    getter = POINTWISE.get(parameter.name) or column(parameter.name)
    lower = parameter.lowered
    return getter if lower is None else functools.partial(lowered_value, lower, getter)


def _each(getter: Getter) -> BatchGetter:
    return functools.partial(_values_of_each, getter)


def _values_of_each(getter: Getter, samples: Sequence[Sample]) -> Any:
    values = [getter(sample) for sample in samples]
    if all(value is MISSING for value in values):
        return MISSING
    return [None if value is MISSING else value for value in values]


def _converted_lists(convert: MessageConverter, getter: BatchGetter, samples: Sequence[Sample]) -> Any:
    found = getter(samples)
    return found if found is MISSING else [convert(messages) for messages in found]


def _queries(samples: Sequence[Sample]) -> Any:
    if called_with_lists(samples):
        return MISSING
    return [_prompt_text(sample) + sample.response for sample in samples]


def _step(samples: Sequence[Sample]) -> Any:
    return samples[0].metadata.get("step", MISSING) if samples else MISSING


def _mode(samples: Sequence[Sample]) -> str:
    return "train"


def _prompt_text(sample: Sample) -> str:
    """The context as OpenRLHF has it in a query: the text before the completion."""
    return "".join(m.text for m in sample.original_messages)


def _trainer_state(samples: Sequence[Sample]) -> Any:
    step = _step(samples)
    return types.SimpleNamespace(global_step=0 if step is MISSING else step)


def _log(samples: Sequence[Sample]) -> Callable[..., None]:
    return _log_nothing


def _log_nothing(*args: Any, **kwargs: Any) -> None:
    """TRL's logging hooks outside a trainer: there is no log to write to."""

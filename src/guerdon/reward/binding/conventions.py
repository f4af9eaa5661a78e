"""How a function's parameters are bound to what a sample offers, in any of the field's conventions.

A function is inspected once and becomes a plan: a tuple of (parameter, getter). Parameters are bound by
name, so the conventions differ only in the names that they use:

- pointwise: ``messages``, ``original_messages``, ``ground_truth`` (Reward Kit); ``response`` or
  ``completion``, ``prompt``, ``answer`` (agent-tunix); ``solution_str``, ``data_source``, ``extra_info``
  (verl); ``metadata``, ``step``, ``id``; any column of the data set.
- batched, every argument a list: ``completions``, ``prompts`` (TRL, Tunix); ``queries``, ``prompts``,
  ``labels`` (OpenRLHF); ``solution_strs`` and its like (verl); ``rollouts_messages`` or any pointwise name
  with ``mode="batch"`` (Reward Kit).
"""

from __future__ import annotations

import difflib
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from guerdon.errors import BindingError
from guerdon.reward.binding.annotations import (
    MessageConverter,
    hints_of,
    message_form,
    settings_of,
    wants_chat,
)
from guerdon.reward.options import RewardOptions
from guerdon.types import Message, Sample


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"  # by name: there is one, also where a plan has travelled to another process


MISSING: Final = _Missing()
"""What a getter gives where the sample has no such value."""

Getter = Callable[[Sample], Any]
BatchGetter = Callable[[Sequence[Sample]], Any]

BATCH_NAMES = frozenset({"completions", "queries", "rollouts_messages", "solution_strs"})
_MESSAGE_LISTS = frozenset({"messages", "original_messages", "rollouts_messages"})
COMPLETION_NAMES = frozenset({"messages", "response", "completion", "solution_str"})


def _truth(sample: Sample) -> Any:
    for value in (sample.ground_truth, sample.answer):
        if value is not None:
            return value
    return sample.metadata.get("ground_truth", sample.metadata.get("answer", MISSING))


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


def _in_form(form: MessageConverter, getter: Getter, sample: Sample) -> Any:
    messages = getter(sample)
    return messages if messages is MISSING else form(messages)


# Getters travel to worker processes, so they are functions of this module and partials of such.
def _column(name: str) -> Getter:
    return functools.partial(_value_in_column, name)


def _nothing(_source: Any) -> Any:
    return MISSING


def _value_in_column(name: str, sample: Sample) -> Any:
    return sample.metadata.get(name, MISSING)


def _set_in_column(name: str, sample: Sample) -> Any:
    """The value of a column for a parameter with a default, which holds too where the column is null.

    Tables have every column in every row, and mixed data sets leave null what a row does not have.
    """
    value = _value_in_column(name, sample)
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


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a user's function."""

    name: str
    required: bool
    positional_only: bool
    annotation: Any
    is_setting: bool = False
    """Whether it is given by the caller only, never by a sample."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What matters of a function's signature."""

    name: str
    parameters: tuple[Parameter, ...]
    takes_kwargs: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)

    def annotation_of(self, name: str) -> Any:
        """The annotation of a parameter; None where there is no such parameter."""
        return next((p.annotation for p in self.parameters if p.name == name), None)

    @property
    def is_batched(self) -> bool:
        """Whether the parameter names are those of a batched convention."""
        return bool(BATCH_NAMES & set(self.names))


def signature_of(function: Callable[..., Any], name: str) -> Signature:
    """The signature of a callable. Raises BindingError where Python cannot tell it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise BindingError(
            f"{name} has no signature that can be read; wrap it in a function with named parameters"
        ) from None
    hints = hints_of(function)
    settings = settings_of(function)
    found = []
    gathered = ""
    takes_kwargs = False
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            takes_kwargs = True
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            gathered = parameter.name
        else:
            found.append(
                Parameter(
                    parameter.name,
                    parameter.default is inspect.Parameter.empty,
                    parameter.kind is inspect.Parameter.POSITIONAL_ONLY,
                    hints.get(parameter.name, parameter.annotation),
                    parameter.name in settings,
                )
            )
    if gathered and not takes_kwargs and all(not parameter.required for parameter in found):
        raise BindingError(
            f"{name} takes its arguments as *{gathered}, but they are given by name: "
            "name those that it needs, or take **kwargs"
        )
    return Signature(name, tuple(found), takes_kwargs)


def _refuse_unknown(signature: Signature, fixed: Mapping[str, Any]) -> None:
    unknown = [name for name in fixed if name not in signature.names]
    if unknown and not signature.takes_kwargs:
        raise BindingError(no_such_parameter(signature, unknown[0]), parameter=unknown[0])


def _supplied(
    signature: Signature,
    fixed: Mapping[str, Any],
    steps: Iterable[tuple[Parameter, Callable[[Any], Any]]],
    source: Any,
    explicit: Mapping[str, Any],
) -> dict[str, Any]:
    """The fixed arguments, and what a sample or a batch supplies where the caller says nothing himself.

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


class Plan:
    """How one function is called for one sample: built once, run for every sample."""

    def __init__(self, signature: Signature, fixed: Mapping[str, Any]) -> None:
        self.signature = signature
        self.fixed = dict(fixed)
        _refuse_unknown(signature, fixed)
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
            return _nothing
        getter = POINTWISE.get(parameter.name)
        if getter is None:
            getter = functools.partial(
                _value_in_column if parameter.required else _set_in_column, parameter.name
            )
        if parameter.name in ("messages", "original_messages"):
            form = message_form(parameter.annotation)
            return getter if form is None else functools.partial(_in_form, form, getter)
        return getter

    def arguments(self, sample: Sample, explicit: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments of the call; explicit values win over fixed over the sample's.

        Raises BindingError that names the missing parameter and the columns there are.
        """
        values = _supplied(self.signature, self.fixed, self._steps, sample, explicit)
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
            form = message_form(self.signature.annotation_of(name))
            if form is not None and all(isinstance(m, Message) for m in value):
                return form(value)
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


class BatchPlan:
    """How a batched function is called for a list of samples; every argument is a list but the step."""

    def __init__(self, function: Callable[..., Any], signature: Signature, fixed: Mapping[str, Any]) -> None:
        self.signature = signature
        self.fixed = dict(fixed)
        _refuse_unknown(signature, fixed)
        self._chat = any(
            wants_chat(function, p.annotation) for p in signature.parameters if p.name == "completions"
        )
        self._steps = [(p, self._getter(p)) for p in signature.parameters if p.name not in self.fixed]
        self._positional = [p.name for p in signature.parameters if p.positional_only]

    def _getter(self, parameter: Parameter) -> BatchGetter:
        if parameter.is_setting:
            return _nothing
        special: Mapping[str, BatchGetter] = {
            "completions": self._completions,
            "prompts": self._prompts,
            "queries": _queries,
            "labels": _each(_truth),
            "rollouts_messages": _each(_messages),
            "solution_strs": _each(_response),
            "data_sources": _each(POINTWISE["data_source"]),
            "ground_truths": _each(_truth),
            "extra_infos": _each(_metadata),
            "step": _step,
            "mode": _mode,
            "trainer_state": _trainer_state,
            "log_extra": _log,
            "log_metric": _log,
        }
        if parameter.name in special:
            getter = special[parameter.name]
        else:
            getter = _each(POINTWISE.get(parameter.name) or _column(parameter.name))
        form = message_form(parameter.annotation) if parameter.name in _MESSAGE_LISTS else None
        if form is not None:
            return functools.partial(_lists_in_form, form, getter)
        return getter

    def _completions(self, samples: Sequence[Sample]) -> list[Any]:
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
        """Positional and keyword arguments of the call. Raises BindingError as Plan does.

        ``explicit`` holds lists where the samples are place-holders of a call with lists; else what was
        said of one sample, which that sample holds too.
        """
        if not called_with_lists(samples):
            explicit = {name: value for name, value in explicit.items() if name in self.fixed}
        values = _supplied(self.signature, self.fixed, self._steps, samples, explicit)
        for name, value in explicit.items():
            if name in self.signature.names or self.signature.takes_kwargs:
                form = message_form(self.signature.annotation_of(name)) if name in _MESSAGE_LISTS else None
                values[name] = value if form is None else [form(messages) for messages in value]
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


def _each(getter: Getter) -> BatchGetter:
    return functools.partial(_values_of_each, getter)


def _values_of_each(getter: Getter, samples: Sequence[Sample]) -> Any:
    values = [getter(sample) for sample in samples]
    if all(value is MISSING for value in values):
        return MISSING
    return [None if value is MISSING else value for value in values]


def _lists_in_form(form: MessageConverter, getter: BatchGetter, samples: Sequence[Sample]) -> Any:
    found = getter(samples)
    return found if found is MISSING else [form(messages) for messages in found]


def _queries(samples: Sequence[Sample]) -> list[str]:
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


def columns_of(sample: Sample) -> list[str]:
    """The names under which a sample offers values."""
    names = [n for n in ("ground_truth", "answer", "id") if getattr(sample, n) is not None]
    return sorted([*(["messages"] if sample.messages else []), *names, *map(str, sample.metadata)])


def missing_parameter(function: str, parameter: str, columns: Sequence[str]) -> str:
    """The sentence for a required parameter that nothing supplies."""
    there = ", ".join(columns[:20]) or "none"
    more = f" and {len(columns) - 20} more" if len(columns) > 20 else ""
    close = difflib.get_close_matches(parameter, columns, n=1)
    hint = f"; map one to it, such as {parameter}={close[0]}" if close else ""
    return (
        f"{function} needs {parameter!r}, which nothing supplies and which has no default; "
        f"the columns there are: {there}{more}{hint}"
    )


def no_such_parameter(signature: Signature, name: str, others: Sequence[str] = ()) -> str:
    """The sentence for an argument that neither a function takes nor, by ``others``, its class."""
    names = [*others, *signature.names]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; it takes {', '.join(names) or 'none'}"
    if name in RewardOptions.__dataclass_fields__:
        hint = f"; as an option it is given to the decorator: reward_function({name}=…)"
    return f"{signature.name} has no parameter {name!r}{hint}"

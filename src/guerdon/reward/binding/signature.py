"""The signature of a user's function, and the messages for arguments that do not fit it."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.errors import BindingError
from guerdon.reward.binding.annotations import ceilings_of, hints_of, settings_of
from guerdon.reward.binding.conventions import BATCH_NAMES, COMPLETION_NAMES
from guerdon.reward.options import RewardOptions


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a user's function."""

    name: str
    required: bool
    positional_only: bool
    annotation: Any
    is_setting: bool = False
    """Whether it is given by the caller only, never by a sample."""
    lowered: Callable[[Any], Any] | None = None
    """What makes a sample's value one that is not above the default; None where a sample may have any."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's signature, as far as binding needs it."""

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
    """The signature of a callable. Raises BindingError if it has none that Python can read."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise BindingError(
            f"{name} has no signature that can be read; wrap it in a function with named parameters"
        ) from None
    hints = hints_of(function)
    settings, ceilings = settings_of(function), ceilings_of(function)
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
                    _lowered(ceilings.get(parameter.name), parameter.default),
                )
            )
    if gathered and not takes_kwargs and all(not parameter.required for parameter in found):
        raise BindingError(
            f"{name} takes its arguments as *{gathered}, but they are given by name: "
            "name those that it needs, or take **kwargs"
        )
    return Signature(name, tuple(found), takes_kwargs)


def _lowered(by: Callable[[Any, Any], Any] | None, default: Any) -> Callable[[Any], Any] | None:
    return None if by is None else functools.partial(_not_above, by, default)


def _not_above(by: Callable[[Any, Any], Any], default: Any, value: Any) -> Any:
    return by(value, default)


def refuse_unknown(signature: Signature, fixed: Mapping[str, Any]) -> None:
    """Raise BindingError for a fixed argument that the function does not take, and for a fixed response."""
    for name in fixed:
        if name in COMPLETION_NAMES or name in BATCH_NAMES:
            raise BindingError(
                f"{name} is what is scored: it comes from each sample and is no parameter", parameter=name
            )
    unknown = [name for name in fixed if name not in signature.names]
    if unknown and not signature.takes_kwargs:
        raise BindingError(no_such_parameter(signature, unknown[0]), parameter=unknown[0])


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

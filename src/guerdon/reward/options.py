"""RewardOptions: the options of a reward, which ``reward_function`` takes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from guerdon.errors import BindingError

Mode = Literal["pointwise", "batch"]
OnError = Literal["result", "raise"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardOptions:
    """The options of a reward besides its function."""

    name: str | None = None
    id: str | None = None
    """The id under which a control plane knows the reward."""
    mode: Mode | None = None
    """``batch`` for a function that scores lists; decided by the parameter names unless given."""
    metadata_schema: type[BaseModel] | None = None
    """Checked against the sample's metadata before every call."""
    requirements: tuple[str, ...] = ()
    """What must be installed where the reward is deployed, as pip requirement lines."""
    timeout: float | None = None
    """Seconds that one call may take; also a direct call, which then runs in a worker process."""
    enforces_timeout: bool = False
    """That a call bounds its own time, and ends within ``timeout``, or, where it is async, yields and can be
    cancelled: a direct one then needs no worker process."""
    concurrency: int | None = None
    """How many calls of an async reward may be in flight at once."""
    scale: tuple[float, float] | None = None
    """The lowest and the highest score that there can be, infinities included; ``guerdon.testing.check_reward``
    checks the reward against it."""
    prepare: Callable[..., object] | None = None
    """Called with the fixed parameters in each worker process before its first sample, to load a model, say; what
    it raises ends the run before it starts."""
    check: Callable[..., object] | None = None
    """Called with the fixed parameters where the reward is made; raises InputError for values that do not fit. Without
    it, the annotations of the function decide."""
    reach: Callable[..., object] | None = None
    """Called with the fixed parameters once before a run, to see that what the reward needs is there: a package, a
    server; what it raises ends the run before it starts."""
    on_error: OnError = "result"
    """What a direct call does with an exception: a result with an ``error``, or raise it."""

    allow_any_ending: bool = False
    """Whether conversations are scored that do not end with the assistant; they are malformed samples otherwise."""

    def __post_init__(self) -> None:
        if self.mode not in (None, "pointwise", "batch"):
            raise BindingError(f'mode must be "pointwise" or "batch", not {self.mode!r}')
        if self.on_error not in ("result", "raise"):
            raise BindingError(f'on_error must be "result" or "raise", not {self.on_error!r}')
        if not isinstance(self.allow_any_ending, bool):
            raise BindingError(f"allow_any_ending must be True or False, not {self.allow_any_ending!r}")
        if self.timeout is not None and not (is_number(self.timeout) and 0 < self.timeout < math.inf):
            raise BindingError(f"timeout must be a positive number of seconds, not {self.timeout!r}")
        if self.scale is not None and not _is_scale(self.scale):
            raise BindingError(f"scale must be the lowest and the highest score, not {self.scale!r}")
        count = self.concurrency
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise BindingError(f"concurrency must be a whole number of 1 or more, not {self.concurrency!r}")
        schema = self.metadata_schema
        if schema is not None and not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            raise BindingError(f"metadata_schema must be a pydantic model class, not {schema!r}")
        if self.prepare is not None and not callable(self.prepare):
            raise BindingError(f"prepare must be a function of the parameters, not {self.prepare!r}")
        if self.check is not None and not callable(self.check):
            raise BindingError(f"check must be a function of the parameters, not {self.check!r}")
        if self.reach is not None and not callable(self.reach):
            raise BindingError(f"reach must be a function of the parameters, not {self.reach!r}")
        if self.name is not None and (not isinstance(self.name, str) or not self.name.strip()):
            raise BindingError(f"name must be a non-empty string, not {self.name!r}")
        if self.id is not None and not isinstance(self.id, str):
            raise BindingError(f"id must be a string, not {self.id!r}")


def _is_scale(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    return all(is_number(end) for end in value) and bool(value[0] < value[1])


def requirement_lines(given: Any) -> tuple[str, ...]:
    """pip requirement lines from a list of them or from the text of a requirements file."""
    if isinstance(given, str):
        given = given.split("\n")
    lines = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(line, str) for line in lines):
        raise BindingError(f"requirements must be a list of pip's requirement lines, not {given!r}")
    return tuple(line.strip() for line in lines if line.strip())


def is_number(value: Any) -> bool:
    """Whether a value is a real number; a fraction and numpy's numbers are, True and False are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)

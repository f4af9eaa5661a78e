"""The decorator that makes a reward of a function, and what a type checker knows of the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypedDict, Unpack, overload

from pydantic import BaseModel

from guerdon.errors import BindingError
from guerdon.reward.function import RewardFunction
from guerdon.reward.options import Mode, OnError, RewardOptions, requirement_lines
from guerdon.types import EvaluateResult

Awaited = Coroutine[Any, Any, EvaluateResult]
_Pointwise = EvaluateResult | float | tuple[float, Mapping[str, Any]] | Mapping[str, Any] | None


class OptionArguments(TypedDict, total=False):
    """The keyword arguments of ``reward_function``: the fields of RewardOptions, requirements also as a list."""

    name: str | None
    id: str | None
    mode: Mode | None
    metadata_schema: type[BaseModel] | None
    requirements: Sequence[str] | str
    timeout: float | None
    enforces_timeout: bool
    concurrency: int | None
    scale: tuple[float, float] | None
    prepare: Callable[..., object] | None
    check: Callable[..., object] | None
    reach: Callable[..., object] | None
    on_error: OnError
    allow_any_ending: bool


class Decorator(Protocol):
    """``reward_function`` with its options, with an overload for each kind of function."""

    @overload
    def __call__(self, func: Callable[..., Awaitable[Any]], /) -> RewardFunction[Awaited]: ...
    @overload
    def __call__(self, func: Callable[..., _Pointwise], /) -> RewardFunction[EvaluateResult]: ...
    @overload
    def __call__(self, func: Callable[..., Any], /) -> RewardFunction: ...


@overload
def reward_function(func: Callable[..., Awaitable[Any]], /) -> RewardFunction[Awaited]: ...
@overload
def reward_function(func: Callable[..., _Pointwise], /) -> RewardFunction[EvaluateResult]: ...
@overload
def reward_function(func: Callable[..., Any], /) -> RewardFunction: ...
@overload
def reward_function(
    func: None = None,
    /,
    **options: Unpack[OptionArguments],
) -> Decorator: ...


def reward_function(func: Any = None, /, **options: Any) -> Any:
    """Make a RewardFunction of a function, bare or with options (see RewardOptions).

    >>> @reward_function
    ... def brief(response: str) -> float:
    ...     return 1.0 if len(response) < 100 else 0.0
    >>> brief("Yes.").score
    1.0
    >>> @reward_function(name="says_please", timeout=2)
    ... async def polite(messages) -> bool:
    ...     return "please" in messages[-1].content
    >>> polite.name, polite.is_async
    ('says_please', True)

    Raises BindingError for an option that does not exist or does not fit, and for a function whose
    parameters cannot be read.
    """
    known = RewardOptions.__dataclass_fields__
    if unknown := sorted(set(options) - set(known)):
        raise BindingError(
            f"reward_function has no option {', '.join(unknown)}; there are {', '.join(known)}"
        )
    options["requirements"] = requirement_lines(options.get("requirements") or ())
    given = RewardOptions(**options)
    if func is None:
        return lambda function: RewardFunction(function, options=given)
    if not callable(func):
        raise BindingError(f"reward_function decorates functions, not a {type(func).__name__}")
    return RewardFunction(func, options=given)

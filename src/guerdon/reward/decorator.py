"""The decorator that makes a reward of a function, and what a type checker knows of the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, overload

from pydantic import BaseModel

from guerdon.errors import BindingError
from guerdon.reward.function import RewardFunction
from guerdon.reward.options import Mode, OnError, RewardOptions, requirement_lines
from guerdon.types import EvaluateResult

Later = Coroutine[Any, Any, EvaluateResult]
_Pointwise = EvaluateResult | float | tuple[float, Mapping[str, Any]] | Mapping[str, Any] | None


class Decorator(Protocol):
    """``reward_function`` with its options, with an overload for each kind of function."""

    @overload
    def __call__(self, func: Callable[..., Awaitable[Any]], /) -> RewardFunction[Later]: ...
    @overload
    def __call__(self, func: Callable[..., _Pointwise], /) -> RewardFunction[EvaluateResult]: ...
    @overload
    def __call__(self, func: Callable[..., Any], /) -> RewardFunction: ...


@overload
def reward_function(func: Callable[..., Awaitable[Any]], /) -> RewardFunction[Later]: ...
@overload
def reward_function(func: Callable[..., _Pointwise], /) -> RewardFunction[EvaluateResult]: ...
@overload
def reward_function(func: Callable[..., Any], /) -> RewardFunction: ...
@overload
def reward_function(
    func: None = None,
    /,
    *,
    name: str | None = None,
    id: str | None = None,
    mode: Mode | None = None,
    metadata_schema: type[BaseModel] | None = None,
    requirements: Sequence[str] | str = (),
    timeout: float | None = None,
    enforces_timeout: bool = False,
    concurrency: int | None = None,
    scale: tuple[float, float] | None = None,
    prepare: Callable[..., object] | None = None,
    on_error: OnError = "result",
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

"""A reward as a plain function in a calling convention of the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guerdon.checks import finite
from guerdon.errors import BindingError
from guerdon.reward.scorers.component import RewardLike
from guerdon.types import EvaluateResult, Message, Sample

OnFailure = str | float | None


def plain_function(reward: RewardLike, target: str, on_failure: OnFailure = None) -> Callable[..., Any]:
    """``reward`` as a plain function with its name, for one of ``PLAIN_FUNCTIONS``.

    ``on_failure`` is ``"raise"`` (the default), ``"skip"`` (None in place of a score) or a number. Raises
    BindingError for anything else.
    """
    policy = "raise" if on_failure is None else on_failure
    if policy not in ("raise", "skip"):
        try:
            policy = finite(policy)
        except ValueError:
            raise BindingError(
                f'on_failure must be "raise", "skip" or a number, not {on_failure!r}'
            ) from None
    function = PLAIN_FUNCTIONS[target](reward, policy)
    function.__name__ = function.__qualname__ = reward.name
    function.__doc__ = reward.__doc__
    return function


def _number(result: EvaluateResult, policy: OnFailure) -> float | None:
    if result.score is not None:
        return result.score
    if policy == "raise":
        return result.unwrap()
    return None if result.error is None or policy == "skip" else float(policy or 0.0)


def _plain(value: Any) -> Any:
    """numpy's scalars and arrays as Python's own values, for the trainers that hand them over."""
    return value.tolist() if hasattr(value, "tolist") else value


def _messages(prompt: Any, completion: Any) -> list[Any]:
    before = [Message(role="user", content=prompt)] if isinstance(prompt, str) and prompt else []
    context = before if isinstance(prompt, str) or prompt is None else list(prompt)
    if isinstance(completion, str):
        return [*context, Message(role="assistant", content=completion)]
    return [*context, *completion]


def _sample(prompt: Any, completion: Any, columns: Mapping[str, Any]) -> Sample:
    row: dict[str, Any] = {"messages": _messages(_plain(prompt), _plain(completion))}
    row.update({name: _plain(value) for name, value in columns.items() if name not in row})
    if not isinstance(row.get("id"), str | int | None):
        row.pop("id")
    return Sample.from_row(row)


def _response(reward: RewardLike, policy: OnFailure) -> Callable[..., Any]:
    def function(response: str, prompt: str = "", answer: Any = None, **metadata: Any) -> float | None:
        return _number(reward.evaluate(_sample(prompt, response, {"answer": answer, **metadata})), policy)

    return function


def _reward_kit(reward: RewardLike, policy: OnFailure) -> Callable[..., Any]:
    def function(
        messages: Sequence[Any],
        original_messages: Sequence[Any] | None = None,
        ground_truth: Any = None,
        **kwargs: Any,
    ) -> EvaluateResult:
        row = {
            "messages": list(messages),
            "original_messages": original_messages,
            "ground_truth": ground_truth,
        }
        result = reward.evaluate(Sample.from_row({**kwargs, **row}))
        if result.failed and policy == "raise":
            result.unwrap()
        return result

    return function


PLAIN_FUNCTIONS: Mapping[str, Callable[[Any, OnFailure], Callable[..., Any]]] = {
    "response": _response,
    "reward-kit": _reward_kit,
}
"""The conventions of functions that need no adapter: ``f(response, prompt, answer)`` and Reward Kit's."""

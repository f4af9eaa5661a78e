"""A reward in the shape of a function that another system calls: the conventions, outwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guerdon.checks import finite
from guerdon.errors import BindingError, InputError
from guerdon.reward.composite import Rated
from guerdon.types import EvaluateResult, Message, Sample

OnFailure = str | float | None


def as_function(reward: Rated, convention: str, on_failure: OnFailure = None) -> Callable[..., Any]:
    """``reward`` as a real function with the reward's name; see RewardFunction.as_function."""
    known = str(convention).lower().replace("_", "-")
    make = _MAKERS.get(known)
    if make is None:
        raise BindingError(f"unknown convention {convention!r}; there are {', '.join(sorted(_MAKERS))}")
    default: OnFailure = "skip" if known in ("trl", "tunix") else "raise"
    policy = default if on_failure is None else on_failure
    if policy not in ("raise", "skip"):
        try:
            policy = finite(policy)
        except ValueError:
            raise BindingError(
                f'on_failure must be "raise", "skip" or a number, not {on_failure!r}'
            ) from None
    function = make(reward, policy)
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


def _batched(reward: Rated, policy: OnFailure) -> Callable[..., Any]:
    def function(
        prompts: Sequence[Any] | None = None, completions: Sequence[Any] = (), **columns: Any
    ) -> list[float | None]:
        completions = _plain(completions)
        count = len(completions)
        if prompts is not None and len(prompts) != count:
            raise InputError(f"{len(prompts)} prompts for {count} completions")
        given = prompts if prompts is not None else [None] * count
        rows = {n: _plain(v) for n, v in columns.items()}
        per_row = {n: v for n, v in rows.items() if isinstance(v, list | tuple) and len(v) == count}
        step_now = getattr(columns.get("trainer_state"), "global_step", None)
        step = {} if step_now is None else {"step": step_now}
        samples = [
            _sample(given[i], completions[i], {**step, **{n: v[i] for n, v in per_row.items()}})
            for i in range(count)
        ]
        return [_number(result, policy) for result in reward.evaluate_batch(samples)]

    return function


def _verl(reward: Rated, policy: OnFailure) -> Callable[..., Any]:
    def function(
        data_source: str, solution_str: str, ground_truth: Any, extra_info: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        columns = {"data_source": data_source, "ground_truth": ground_truth, **(extra_info or {}), **kwargs}
        result = reward.evaluate(_sample(columns.pop("prompt", None), solution_str, columns))
        score = _number(result, policy)
        return {**{name: metric.score for name, metric in result.metrics.items()}, "score": score}

    return function


def _openrlhf(reward: Rated, policy: OnFailure) -> Callable[..., Any]:
    def function(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **kwargs: Any) -> Any:
        samples = []
        for query, prompt, label in zip(queries, prompts, labels, strict=True):
            response = query[len(prompt) :] if query.startswith(prompt) else query
            samples.append(_sample(prompt, response, {"ground_truth": label}))
        results = reward.evaluate_batch(samples)
        scores = [_number(result, policy) for result in results]
        names = sorted({name for result in results for name in result.metrics})
        logs = {n: [r.metrics[n].score if n in r.metrics else None for r in results] for n in names}
        return {"rewards": scores, "scores": list(scores), "extra_logs": logs}

    return function


def _response(reward: Rated, policy: OnFailure) -> Callable[..., Any]:
    def function(response: str, prompt: str = "", answer: Any = None, **metadata: Any) -> float | None:
        return _number(reward.evaluate(_sample(prompt, response, {"answer": answer, **metadata})), policy)

    return function


def _reward_kit(reward: Rated, policy: OnFailure) -> Callable[..., Any]:
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


_MAKERS: Mapping[str, Callable[[Any, OnFailure], Callable[..., Any]]] = {
    "trl": _batched,
    "tunix": _batched,
    "verl": _verl,
    "openrlhf": _openrlhf,
    "response": _response,
    "reward-kit": _reward_kit,
}

"""Evaluators of LangChain's OpenEvals as rewards."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from guerdon.errors import BindingError, InputError, InvalidResultError
from guerdon.reward.binding.returns import to_result
from guerdon.reward.function import RewardFunction
from guerdon.reward.loading.callables import is_async_callable
from guerdon.reward.options import RewardOptions
from guerdon.reward.scorers.component import CallArguments
from guerdon.trainers.foreign.base import ForeignScorer, accepted, columns_of, truth_of
from guerdon.types import EvaluateResult, Sample


def from_openevals(
    evaluator: Callable[..., Any], *, name: str | None = None, key: str | None = None, **parameters: Any
) -> RewardFunction:
    """A reward that is an evaluator of OpenEvals, or any function in its form.

    The prompt is its ``inputs``, the response its ``outputs``, the ground truth its ``reference_outputs``;
    columns go by their names, ``parameters`` are further fixed arguments. Evaluators of trajectories get the
    messages, those of structured outputs the response read as JSON. Of an evaluator that gives several
    results, ``key`` says which is the score; all of them are metrics. A comment is kept as the reason.

    Raises BindingError for what is not a function.

    Example::

        from openevals import exact_match
        reward = from_openevals(exact_match)
        reward(response="4", ground_truth="4").score   # 1.0
    """
    if not callable(evaluator) or isinstance(evaluator, type):
        raise BindingError(f"this {type(evaluator).__name__} is not an evaluator of OpenEvals")
    return RewardFunction.of_scorer(OpenEvalsScorer(evaluator, parameters, key), RewardOptions(name=name))


def scorer_of(target: Any, fixed: Mapping[str, Any]) -> OpenEvalsScorer | None:
    """The scorer around an evaluator of OpenEvals; None for what is none, such as what makes one."""
    if not inspect.isfunction(target) or "outputs" not in inspect.signature(target).parameters:
        return None
    return OpenEvalsScorer(target, fixed, None)


class OpenEvalsScorer(ForeignScorer):
    """Calls an evaluator with what it takes by name."""

    package = "openevals"

    def __init__(self, evaluator: Callable[..., Any], fixed: Mapping[str, Any], key: str | None) -> None:
        super().__init__(_name_of(evaluator), evaluator, fixed)
        self.is_async = is_async_callable(evaluator)
        self._key = key
        part = str(evaluator.__module__).split(".")[1:2]
        is_own = str(evaluator.__module__).partition(".")[0] == "openevals"
        self._form = part[0] if part and is_own else ""
        # Those that ask no model hand what they are given by name on to a function that does not take it.
        self._is_strict = is_own and not str(evaluator.__module__).endswith(".llm")

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._fixed if self._key is None else {**self._fixed, "key": self._key}

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        return self._result(self.wrapped(**self._arguments(sample, explicit)))

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        return self._result(await self.wrapped(**self._arguments(sample, explicit)))

    def _arguments(self, sample: Sample, explicit: CallArguments) -> dict[str, Any]:
        offered = {
            **columns_of(sample, explicit),
            "inputs": sample.prompt,
            "outputs": self._outputs(sample),
            "reference_outputs": truth_of(sample),
            **self._fixed,
        }
        if self._form == "json":
            offered["reference_outputs"] = _from_json(offered["reference_outputs"], "the ground truth")
        known = inspect.signature(self.wrapped).parameters
        if self._is_strict:
            return {name: value for name, value in offered.items() if name in known}
        return accepted(self.wrapped, offered)

    def _outputs(self, sample: Sample) -> Any:
        if self._form == "trajectory":
            return [message.to_dict() for message in sample.messages]
        return _from_json(sample.response, "the response") if self._form == "json" else sample.response

    def _result(self, value: Any) -> EvaluateResult:
        if not isinstance(value, list):
            return self._one(value)
        by_key = {str(item["key"]): self._one(item) for item in value}
        key = self._key if self._key is not None or len(by_key) != 1 else next(iter(by_key))
        if key not in by_key:
            names = ", ".join(by_key) or "none"
            raise InvalidResultError(
                f"{self.name} gives {len(by_key)} results ({names}); say which one is the score with key=",
                reward=self.name,
            )
        chosen = by_key[key]
        metrics = {
            n: {"score": r.score, "reason": r.reason} for n, r in by_key.items() if r.score is not None
        }
        return to_result({"score": chosen.score, "reason": chosen.reason, "metrics": metrics}, self.name)

    def _one(self, item: Any) -> EvaluateResult:
        if isinstance(item, Mapping) and "score" in item:
            return to_result({"score": item["score"], "reason": item.get("comment")}, self.name)
        return to_result(item, self.name)


def _from_json(value: Any, what: str) -> Any:
    """A value that may have come as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is not JSON: {error}") from None


def _name_of(evaluator: Callable[..., Any]) -> str:
    """The evaluator's name; of one that a function made, what that function makes."""
    maker, _, inner = getattr(evaluator, "__qualname__", "evaluator").partition(".<locals>.")
    if not inner:
        return maker
    return re.sub(r"^create_(async_)?|_evaluator$", "", maker)

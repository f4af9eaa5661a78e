"""Scorers of Braintrust's autoevals as rewards."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping
from typing import Any

from guerdon.errors import BindingError, ExecutionError, InputError
from guerdon.reward.binding.returns import to_result
from guerdon.reward.function import RewardFunction
from guerdon.reward.loading.callables import constructor_names
from guerdon.reward.options import RewardOptions
from guerdon.reward.scorers.component import CallArguments
from guerdon.trainers.foreign.base import (
    ForeignScorer,
    columns_of,
    instantiate,
    refuse_parameters,
    slug,
    truth_of,
)
from guerdon.types import EvaluateResult, Sample

_RESERVED = ("self", "output", "expected")


def from_autoevals(scorer: Any, *, name: str | None = None, **parameters: Any) -> RewardFunction:
    """A reward that is a scorer of autoevals: an instance of one, or its class with ``parameters``.

    The response is its ``output``, the ground truth its ``expected``, the prompt its ``input``; columns go by
    their names. A score of None is "does not apply", a rationale is kept as the reason. A NumericDiff reads
    numbers from text; text that is not a number fails the sample. Scorers that ask a model are async.

    Raises BindingError for what is not a scorer of autoevals.

    Example::

        from autoevals import Levenshtein
        reward = from_autoevals(Levenshtein)
        reward(response="hello wrld", ground_truth="hello world").score   # 0.909
    """
    found = scorer_of(scorer, parameters)
    if found is None:
        raise BindingError(f"this {type(scorer).__name__} is not a scorer of autoevals")
    return RewardFunction.of_scorer(found, RewardOptions(name=name))


def scorer_of(target: Any, fixed: Mapping[str, Any]) -> AutoevalsScorer | None:
    """The scorer around one of autoevals'; None for what is none."""
    cls = target if isinstance(target, type) else type(target)
    if not _named(cls, "Scorer"):
        return None
    if isinstance(target, type):
        names = constructor_names(target)
        target = instantiate(target, {n: v for n, v in fixed.items() if n in names})
        return AutoevalsScorer(target, fixed, {n: v for n, v in fixed.items() if n not in names})
    return AutoevalsScorer(target, fixed, fixed)


def _named(cls: type, name: str) -> bool:
    """Whether a class is autoevals' own of that name, or derived from it."""
    return any(b.__name__ == name and b.__module__.partition(".")[0] == "autoevals" for b in cls.__mro__)


class AutoevalsScorer(ForeignScorer):
    """Calls ``eval``, or ``eval_async`` where that is more than the former in a coroutine."""

    package = "autoevals"

    def __init__(self, scorer: Any, fixed: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        super().__init__(slug(scorer._name()), scorer, fixed)
        self._call = dict(call)
        cls = type(scorer)
        own = next(b for b in cls.__mro__ if "_run_eval_async" in vars(b))
        self.is_async = own.__name__ != "Scorer"
        called = cls._run_eval_async if self.is_async else cls._run_eval_sync
        taken = list(inspect.signature(called).parameters.values())[2:]
        self._takes_all = any(p.kind is p.VAR_KEYWORD for p in taken)
        self._names = [p.name for p in taken if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self._second = next((p.name for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD), "")
        self._is_number = _named(cls, "NumericDiff")
        self._is_list = _named(cls, "ListContains")
        if unknown := [n for n in call if not self._takes_all and n not in (*self._names, "expected")]:
            refuse_parameters(self.name, dict.fromkeys(unknown))

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        output, second, more = self._arguments(sample, explicit)
        return self._result(self.wrapped.eval(output, second, **more))

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        output, second, more = self._arguments(sample, explicit)
        return self._result(await self.wrapped.eval_async(output, second, **more))

    def _arguments(self, sample: Sample, explicit: CallArguments) -> tuple[Any, Any, dict[str, Any]]:
        offered = {"input": sample.prompt, **columns_of(sample, explicit), **self._call}
        more = {n: v for n, v in offered.items() if n not in _RESERVED}
        # eval gives its second argument on by position, whatever the scorer calls it: ValidJSON's is a schema.
        second = self._second
        value = self._call.get("expected", truth_of(sample)) if second == "expected" else None
        if second and second != "expected":
            value = more.pop(second, None)
        if not self._takes_all:
            more = {n: v for n, v in more.items() if n in self._names}
        output, expected = self._read(sample.response, value)
        return output, expected, more

    def _read(self, output: str, expected: Any) -> tuple[Any, Any]:
        """Response and ground truth as values where the scorer compares values."""
        if self._is_number:
            return _number(output, "the response"), _number(expected, "the ground truth")
        if self._is_list or isinstance(expected, dict | list):
            try:
                value = json.loads(output)
            except (ValueError, RecursionError):
                if self._is_list:
                    raise InputError(f"{self.name} needs a list in JSON; the response is not one") from None
            else:
                return value, expected
        return output, expected

    def _result(self, score: Any) -> EvaluateResult:
        if not hasattr(score, "metadata"):
            return to_result(score, self.name)
        if score.error is not None:
            raise ExecutionError(f"{self.name} failed: {score.error}", reward=self.name)
        details = score.metadata or {}
        numbers = {n: v for n, v in details.items() if type(v) in (int, float) and math.isfinite(v)}
        reason = details.get("rationale") or details.get("reason")
        return to_result({"score": score.score, "reason": reason, "metrics": numbers}, self.name)


def _number(value: Any, what: str) -> Any:
    """A number out of text; None stays, which the scorer itself refuses."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    try:
        return float(str(value))
    except ValueError:
        raise InputError(f"{what} is not a number: {str(value)[:80]!r}") from None

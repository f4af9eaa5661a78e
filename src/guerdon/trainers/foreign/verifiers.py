"""Rubrics and task rewards of verifiers as rewards."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from guerdon.errors import BindingError
from guerdon.reward.binding.returns import to_result
from guerdon.reward.function import RewardFunction
from guerdon.reward.loading.callables import is_async_callable
from guerdon.reward.options import RewardOptions
from guerdon.reward.scorers.base import Scorer
from guerdon.reward.scorers.component import CallArguments, Component, named_components
from guerdon.reward.scorers.composite import OnFailure
from guerdon.reward.scorers.sums import Weighted
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.trainers.foreign.base import (
    ForeignScorer,
    accepted,
    columns_of,
    fingerprint_data_of,
    refuse_parameters,
    truth_of,
)
from guerdon.types import EvaluateResult, Sample


def from_verifiers(rubric: Any, *, name: str | None = None, on_failure: OnFailure = "fail") -> RewardFunction:
    """A reward that is a ``Rubric`` of verifiers, or the rewards of a ``Task``.

    Every function is a component under its name, with its weight; metrics are components of weight 0. The
    response is the ``completion``, the ground truth the ``answer``, columns are the row. Where verifiers scores a
    function that raises as 0, the sample fails here; ``on_failure="skip"`` shares a failed component's weight out.
    A task class, a task and a task set are read as ``@vf.reward`` and ``@vf.metric`` methods, judges and functions
    that the configuration plugs in; each sample becomes a task with its columns and a trace of one turn.

    Raises BindingError for what is neither, for functions that score a group of rollouts together, and for task
    rewards that need the runtime in which the rollout took place.

    Example::

        import verifiers as vf
        rubric = vf.Rubric(funcs=[exact, brief], weights=[1.0, 0.2])
        reward = from_verifiers(rubric)
        reward(prompt="2 + 2?", response="4", answer="4").metrics["exact"].score
    """
    scorer = scorer_of(rubric, {}, on_failure)
    if scorer is None:
        raise BindingError(f"this {type(rubric).__name__} is not a rubric, task or task set of verifiers")
    return RewardFunction.of_scorer(scorer, RewardOptions(name=name))


def scorer_of(target: Any, fixed: Mapping[str, Any], on_failure: OnFailure = "fail") -> Scorer | None:
    """The scorer for a rubric, a task or a task set; None for what is none."""
    cls = target if isinstance(target, type) else type(target)
    kinds = {b.__name__ for b in cls.__mro__ if b.__module__.partition(".")[0] == "verifiers"}
    if "Rubric" in kinds:
        if isinstance(target, type):
            raise BindingError(f"{cls.__name__} is a rubric class; pass an instance")
        refuse_parameters(cls.__name__, fixed)
        return RubricSum(_components_of(target), on_failure, name="rubric")
    if kinds & {"Task", "Taskset"}:
        from guerdon.trainers.foreign.verifiers_task import components_of

        refuse_parameters(cls.__name__, fixed)
        return RubricSum(components_of(target), on_failure, name="task")
    return None


class RubricSum(Weighted):
    """The sum of weight × score, as verifiers adds up the functions of a rubric."""

    def __init__(self, components: tuple[Component, ...], on_failure: OnFailure, *, name: str) -> None:
        super().__init__(components, on_failure)
        self.name = name


def _components_of(rubric: Any) -> tuple[Component, ...]:
    found = [
        (RewardFunction.of_scorer(RubricFunction(owner, function), RewardOptions()), weight)
        for owner, function, weight in _functions(rubric)
    ]
    if not found:
        raise BindingError(f"the {type(rubric).__name__} has no reward functions")
    return named_components(found)


def _functions(rubric: Any) -> list[tuple[Any, Callable[..., Any], float]]:
    """The functions of a rubric, or of a group's rubrics, each with the rubric that calls it and its weight."""
    if (members := getattr(rubric, "rubrics", None)) is not None:
        return [found for member in members for found in _functions(member)]
    scoring = next(b for b in type(rubric).__mro__ if "score_rollout" in vars(b))
    if scoring.__name__ != "Rubric":
        raise BindingError(
            f"{scoring.__name__} scores rollouts in a way of its own; "
            "write a function that calls it, and make a reward of that"
        )
    for function in rubric.funcs:
        if rubric._is_group_func(function):
            raise BindingError(
                f"{getattr(function, '__name__', function)} scores a group of rollouts together, "
                "and a reward scores one sample; leave it out of the rubric"
            )
    return [(rubric, f, float(w)) for f, w in zip(rubric.funcs, rubric.weights, strict=True)]


class RubricFunction(ForeignScorer):
    """One function of a rubric, called with what it names of a rollout."""

    package = "verifiers"

    def __init__(self, rubric: Any, function: Callable[..., Any]) -> None:
        super().__init__(getattr(function, "__name__", type(function).__name__), function, {})
        self._rubric = rubric
        self.is_async = is_async_callable(function)

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        value = self.wrapped(**accepted(self.wrapped, self._objects(sample, explicit)))
        if inspect.isawaitable(value):
            raise BindingError(
                f"{self.name} is a plain function that gives an awaitable; write it as async def"
            )
        return to_result(value, self.name)

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        value = await self.wrapped(**accepted(self.wrapped, self._objects(sample, explicit)))
        return to_result(value, self.name)

    def _objects(self, sample: Sample, explicit: CallArguments) -> dict[str, Any]:
        """What verifiers offers a function by name: of the rollout, of the row, and the rubric's own objects."""
        state = self._state(sample, explicit)
        if hasattr(self._rubric, "score_objects"):
            return dict(self._rubric.score_objects(state))
        named = {n: state[n] for n in ("prompt", "completion", "answer", "info", "task")}
        return {**state["input"], **named, "state": state, **self._rubric.class_objects}

    def _state(self, sample: Sample, explicit: CallArguments) -> Any:
        columns = columns_of(sample, explicit)
        truth = columns.pop("answer", truth_of(sample))
        context = sample.original_messages
        row = {
            **columns,
            "prompt": [self._message(m.to_dict()) for m in context],
            "answer": "" if truth is None else truth,
            "info": columns.get("info") or {},
            "example_id": sample.id if sample.id is not None else 0,
        }
        state = _part(self._rubric, "types", "State", dict)(input=row)
        completion = sample.messages[len(context) :] or sample.messages[-1:]
        state["completion"] = [self._message(m.to_dict()) for m in completion]
        state["is_completed"], state["trajectory"] = True, []
        for name in ("prompt", "answer", "info"):
            if name not in state:
                state[name] = row[name]
        state["task"] = columns.get("task")
        return state

    def _message(self, message: dict[str, Any]) -> Any:
        return _part(self._rubric, "utils.message_utils", "from_raw_message", dict)(message)

    def fingerprint_data(self, snapshot: DependencySnapshot) -> Any:
        objects = self._rubric.class_objects
        used = {
            name: fingerprint_data_of(objects[name], self.package, snapshot)
            for name in accepted(self.wrapped, objects)
        }
        return [fingerprint_data_of(self.wrapped, self.package, snapshot), used]


def _part(rubric: Any, module: str, name: str, otherwise: Any) -> Any:
    """A part of the release of verifiers that the rubric is of; ``otherwise`` where that has none."""
    base = next(b for b in type(rubric).__mro__ if b.__name__ == "Rubric")
    root = base.__module__.partition(".rubrics")[0]
    try:
        return getattr(importlib.import_module(f"{root}.{module}"), name, otherwise)
    except ModuleNotFoundError:
        return otherwise

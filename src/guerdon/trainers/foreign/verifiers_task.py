"""The rewards of a verifiers task, each scored on a trace that is made of a sample."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from guerdon.errors import BindingError
from guerdon.reward.binding.returns import to_result
from guerdon.reward.function import RewardFunction
from guerdon.reward.options import RewardOptions
from guerdon.reward.scorers.component import CallArguments, Component, named_components
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.trainers.foreign.base import ForeignScorer, columns_of, fingerprint_data_of, truth_of
from guerdon.types import EvaluateResult, MetricResult, Sample


def components_of(target: Any) -> tuple[Component, ...]:
    """The rewards of a task, a task class or a task set, with their weights; its metrics weigh 0.

    Raises BindingError where one needs a runtime, or where there is none.
    """
    cls, config = _task_of(target)
    prototype = _prototype(cls, config if config is not None else cls.config_type()())
    hooks = [(fn.__name__, float(getattr(fn, "_vf_weight", 1.0)), fn) for fn in prototype.hooks("reward")]
    hooks += [(j.reward_name, float(j.config.weight), j.score) for j in prototype.plugged_judges()]
    if not hooks:
        raise BindingError(f"{cls.__name__} has no rewards")
    hooks += [(fn.__name__, 0.0, fn) for fn in prototype.hooks("metric")]
    found = []
    for name, weight, function in hooks:
        runtime = inspect.signature(function).parameters.get("runtime")
        if runtime is not None and runtime.default is inspect.Parameter.empty:
            raise BindingError(
                f"{name} of {cls.__name__} needs the runtime of its rollout, which a sample does not have"
            )
        found.append((RewardFunction.of_scorer(TaskReward(cls, prototype.config, name), _AS_IS), weight))
    return named_components(found)


_AS_IS = RewardOptions()


def _task_of(target: Any) -> tuple[Any, Any]:
    """The task class of what was given, and the configuration where that came along."""
    cls = target if isinstance(target, type) else type(target)
    config = None if isinstance(target, type) else target.config
    if hasattr(cls, "task_type"):
        return cls.task_type(), getattr(config, "task", None)
    return cls, config


class TaskReward(ForeignScorer):
    """One reward, metric or judge of a task."""

    package = "verifiers"
    is_async = True

    def __init__(self, cls: Any, config: Any, name: str) -> None:
        super().__init__(name, cls, {})
        self._config = config

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        raise TypeError(f"{self.name} is async")

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        invoke = import_module("verifiers.v1.utils.decorators").invoke
        data = self._data(sample, explicit)
        task = self.wrapped(data, self._config)
        value = await invoke(self._hook(task), {"task": data, "trace": _trace_of(task, sample)})
        if not isinstance(value, Mapping):
            return to_result(value, self.name)
        result = to_result(float(sum(value.values())), self.name)
        result.metrics.update({str(name): MetricResult(item) for name, item in value.items()})
        return result

    def _hook(self, task: Any) -> Callable[..., Any]:
        hooks = {fn.__name__: fn for kind in ("metric", "reward") for fn in task.hooks(kind)}
        judges = {judge.reward_name: judge.score for judge in task.plugged_judges()}
        found: Callable[..., Any] = {**judges, **hooks}[self.name]
        return found

    def _data(self, sample: Sample, explicit: CallArguments) -> Any:
        """The task's data: its fields by the names of the columns, the prompt as the conversation so far."""
        kind = self.wrapped.data_type()
        truth = truth_of(sample)
        given = {"answer": truth, "ground_truth": truth, **columns_of(sample, explicit)}
        fields = {name: given[name] for name in kind.model_fields if given.get(name) is not None}
        return kind.model_validate(
            {**fields, "prompt": [_message(m.to_dict()) for m in sample.original_messages]}
        )

    def fingerprint_data(self, snapshot: DependencySnapshot) -> Any:
        function = inspect.unwrap(self._hook(_prototype(self.wrapped, self._config)))
        return [fingerprint_data_of(function, self.package, snapshot), self._config.model_dump(mode="json")]


def _prototype(cls: Any, config: Any) -> Any:
    """A task without data, which knows its rewards."""
    prototype = cls.__new__(cls)
    prototype.config = config
    return prototype


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """A message in verifiers' form, which has a function call's name and arguments beside its id."""
    calls = [
        {"id": str(call.get("id") or i), **(call.get("function") or call)}
        for i, call in enumerate(message.get("tool_calls") or ())
    ]
    kept = {n: message[n] for n in ("role", "content", "tool_call_id", "name") if message.get(n) is not None}
    return {**kept, **({"tool_calls": calls} if calls else {})}


def _trace_of(task: Any, sample: Sample) -> Any:
    """A finished rollout that has the sample's messages; those after the context were sampled."""
    graph, traces = import_module("verifiers.v1.graph"), import_module("verifiers.v1.trace")
    config = import_module("verifiers.v1.configs.agent").WireAgentConfig()
    first = min(len(sample.original_messages), len(sample.messages) - 1)
    nodes = [
        graph.MessageNode(parent=i - 1 if i else None, message=_message(m.to_dict()), sampled=i >= first)
        for i, m in enumerate(sample.messages)
    ]
    about = traces.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash)
    return traces.Trace(task=about, agent=traces.AgentInfo(config=config), nodes=nodes, is_completed=True)

"""Rewards made of rewards: what each composition asks of its components and makes of their verdicts."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

from guerdon.checks import finite
from guerdon.errors import BindingError, InputError
from guerdon.reward.scorers.base import CallArguments, Scorer
from guerdon.reward.scorers.event_loop import gather
from guerdon.reward.versioning.version import DependencySnapshot
from guerdon.types import EvaluateResult, MetricResult, Sample

T = TypeVar("T")
OnFailure = Literal["fail", "skip"]
DEFAULT_TIMEOUT = 10.0
"""Seconds that a component without a deadline of its own counts for in a composition that has one."""


class RewardLike(Protocol):
    """What a component must offer; every RewardFunction does."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def is_async(self) -> bool: ...
    @property
    def returns_awaitable(self) -> bool: ...
    @property
    def is_batch(self) -> bool: ...
    @property
    def timeout(self) -> float | None: ...
    @property
    def mergeable(self) -> Composite | None: ...
    def prepare(self) -> None: ...
    def evaluate(self, sample: Sample, explicit: CallArguments = ...) -> EvaluateResult: ...
    async def aevaluate(self, sample: Sample, explicit: CallArguments = ...) -> EvaluateResult: ...
    def evaluate_batch(
        self, samples: Sequence[Sample], explicit: CallArguments = ...
    ) -> list[EvaluateResult]: ...
    async def aevaluate_batch(
        self, samples: Sequence[Sample], explicit: CallArguments = ...
    ) -> list[EvaluateResult]: ...
    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None: ...


@dataclass(frozen=True, slots=True)
class Component:
    """A reward inside a composition: under what name, and with what weight."""

    name: str
    reward: RewardLike
    weight: float | None = None


def named_components(rewards: Sequence[tuple[RewardLike, float | None]]) -> tuple[Component, ...]:
    """Components under their rewards' names; a name that comes again gets ``_2``, ``_3``, …"""
    taken: set[str] = set()
    components = []
    for reward, weight in rewards:
        base = reward.name.replace("/", ".")
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        components.append(Component(name, reward, weight))
    return tuple(components)


class Composite(Scorer):
    """Scores every component, side by side where they are async, and combines the verdicts."""

    op = "composite"

    def __init__(self, components: tuple[Component, ...], on_failure: OnFailure = "fail") -> None:
        if not components:
            raise BindingError(f"{self.op} needs at least one reward")
        if on_failure not in ("fail", "skip"):
            raise BindingError(f'on_failure must be "fail" or "skip", not {on_failure!r}')
        self.components = components
        self.on_failure: OnFailure = on_failure
        self.is_async = any(c.reward.is_async for c in components)
        self.is_batch = any(c.reward.is_batch for c in components)
        self.timeout = _joint_timeout([c.reward for c in components])

    @property
    def returns_awaitable(self) -> bool:
        return any(c.reward.returns_awaitable for c in self.components)

    @abstractmethod
    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        """The verdict made of the components' verdicts, none of which has failed."""

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        return self._conclude([c.reward.evaluate(sample, explicit) for c in self.components], sample)

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        results = await gather(c.reward.aevaluate(sample, explicit) for c in self.components)
        return self._conclude(results, sample)

    def score_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        columns = [c.reward.evaluate_batch(samples, explicit) for c in self.components]
        return [self._conclude(row, s) for row, s in zip(zip(*columns, strict=True), samples, strict=True)]

    async def ascore_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        columns = await gather(c.reward.aevaluate_batch(samples, explicit) for c in self.components)
        return [self._conclude(row, s) for row, s in zip(zip(*columns, strict=True), samples, strict=True)]

    def _conclude(self, results: Sequence[EvaluateResult], sample: Sample) -> EvaluateResult:
        return self._settle(list(zip(self.components, results, strict=True)), sample)

    def _settle(self, verdicts: list[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        """Deal with failures and with what does not apply, combine the rest, add the metrics."""
        failed = [(c, r) for c, r in verdicts if r.failed]
        if failed and (self.on_failure == "fail" or len(failed) == len(verdicts)):
            return _failure_of(*failed[0], _metrics(verdicts))
        scored = [(c, r) for c, r in verdicts if r.score is not None]
        if not scored:
            return EvaluateResult(reason="no component applies")
        scored = self._reweighted(scored, failed)
        result = self.combine(scored, sample)
        result.metrics.update(_metrics(scored))
        silent = [c.name for c, r in verdicts if r.score is None and not r.failed]
        if silent and result.score is not None:  # it has no metric that would show it
            note = f"without what does not apply: {', '.join(silent)}"
            result.reason = f"{result.reason}; {note}" if result.reason else note
        if failed:
            words = "; ".join(f"{c.name}: {r.error}" for c, r in failed)
            weights = ", weights renormalised" if scored[0][0].weight is not None else ""
            note = f"skipped {len(failed)} of {len(verdicts)} components{weights} ({words})"
            result.reason = f"{result.reason}; {note}" if result.reason else note
        return result

    def _reweighted(
        self, scored: list[tuple[Component, EvaluateResult]], failed: list[tuple[Component, EvaluateResult]]
    ) -> list[tuple[Component, EvaluateResult]]:
        """The weights of failed components shared out over the rest, in proportion."""
        kept = sum(abs(c.weight or 0.0) for c, _ in scored)
        lost = sum(abs(c.weight or 0.0) for c, _ in failed)
        if not lost or not kept:
            return scored
        factor = (kept + lost) / kept
        return [(replace(c, weight=(c.weight or 0.0) * factor), r) for c, r in scored]

    def fingerprint_data(self, snapshot: DependencySnapshot) -> Any:
        parts = [[c.name, snapshot.record_reward(c.reward), c.weight] for c in self.components]
        return [self.op, parts, self.on_failure, self.settings()]

    def settings(self) -> Mapping[str, Any]:
        """The numbers that the composition was made with, besides the weights."""
        return {}

    @property
    def parameters(self) -> Mapping[str, Any]:
        weights = {c.name: c.weight for c in self.components}
        parts = {c.name: {"version": c.reward.version} for c in self.components}
        for name, weight in weights.items():
            if weight is not None:
                parts[name]["weight"] = weight  # type: ignore[assignment]
        return {"op": self.op, "components": parts, **self.settings()}

    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None:
        found = (component.reward.missing(samples) for component in self.components)
        return next((m for m in found if m is not None), None)


def _joint_timeout(rewards: Sequence[RewardLike]) -> float | None:
    """The deadline for all components: those of sync ones add up, async ones run side by side."""
    if all(r.timeout is None for r in rewards):
        return None
    one_by_one = sum(r.timeout or DEFAULT_TIMEOUT for r in rewards if not r.is_async)
    return one_by_one + max((r.timeout or DEFAULT_TIMEOUT for r in rewards if r.is_async), default=0.0)


def _metrics(verdicts: Sequence[tuple[Component, EvaluateResult]]) -> dict[str, MetricResult]:
    metrics: dict[str, MetricResult] = {}
    for component, result in verdicts:
        if result.score is not None:
            metrics[component.name] = MetricResult(
                result.score, reason=result.reason, weight=component.weight
            )
            for name, metric in result.metrics.items():
                metrics[f"{component.name}/{name}"] = metric
    return metrics


def _failure_of(
    component: Component, result: EvaluateResult, metrics: dict[str, MetricResult]
) -> EvaluateResult:
    failure = EvaluateResult(
        None,
        None,
        metrics,
        error=f"component {component.name!r} failed: {result.error}",
        error_kind=result.error_kind,
    )
    if "_exception" in result.__dict__:
        failure.__dict__["_exception"] = result.__dict__["_exception"]
    return failure


class Weighted(Composite):
    """The sum of weight × score over the components, plus a constant."""

    op = "weighted"

    def __init__(
        self, components: tuple[Component, ...], on_failure: OnFailure = "fail", bias: float = 0.0
    ) -> None:
        super().__init__(components, on_failure)
        numbers = [bias, *(c.weight for c in components if c.weight is not None)]
        if not all(math.isfinite(number) for number in numbers):
            raise BindingError("the weights and the constant of a sum must be finite numbers")
        self.bias = bias

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        terms = [(c.weight or 0.0) * (r.score or 0.0) for c, r in verdicts]
        return EvaluateResult(math.fsum([*terms, self.bias]))

    def settings(self) -> Mapping[str, Any]:
        return {"bias": self.bias} if self.bias else {}


class Product(Composite):
    """The product of the scores."""

    op = "product"

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        return EvaluateResult(math.prod(r.score or 0.0 for _, r in verdicts))


class Extremum(Composite):
    """The least or the greatest of the scores."""

    def __init__(
        self, op: Literal["minimum", "maximum"], components: tuple[Component, ...], on_failure: OnFailure
    ) -> None:
        self.op = op
        super().__init__(components, on_failure)

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        pick = min if self.op == "minimum" else max
        component, result = pick(verdicts, key=lambda verdict: verdict[1].score or 0.0)
        return EvaluateResult(result.score, f"from {component.name}")


class Transform(Composite):
    """One reward with its score put through a formula."""

    def __init__(self, component: Component) -> None:
        super().__init__((component,))

    @abstractmethod
    def apply(self, score: float) -> float:
        """The formula."""

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        result = verdicts[0][1]
        return EvaluateResult(self.apply(result.score or 0.0), result.reason)


class Clip(Transform):
    """The score held between two bounds."""

    op = "clip"

    def __init__(self, component: Component, low: float, high: float) -> None:
        super().__init__(component)
        if not low <= high:
            raise BindingError(f"clip needs low <= high, not {low} and {high}")
        self.low, self.high = low, high

    def apply(self, score: float) -> float:
        return min(max(score, self.low), self.high)

    def settings(self) -> Mapping[str, Any]:
        # JSON has no infinity, and a bound that is absent says the same.
        bounds = {"low": self.low, "high": self.high}
        return {name: bound for name, bound in bounds.items() if math.isfinite(bound)}


class Normalize(Transform):
    """The score clipped at ±3 standard deviations around the mean, then standardised."""

    op = "normalize"
    epsilon = 1e-8

    def __init__(self, component: Component, mean: float, std: float) -> None:
        super().__init__(component)
        if not std >= 0:
            raise BindingError(f"normalize needs a standard deviation of 0 or more, not {std}")
        self.mean, self.std = mean, std

    def apply(self, score: float) -> float:
        clipped = max(self.mean - 3 * self.std, min(self.mean + 3 * self.std, score))
        return (clipped - self.mean) / (self.std + self.epsilon)

    def settings(self) -> Mapping[str, Any]:
        return {"mean": self.mean, "std": self.std}


class ThresholdGate(Composite):
    """The second component's verdict where the first reaches a threshold, else the third's or a fixed score.

    One sample at a time, what the gate does not lead to is not called. In a batch every sample is
    scored, since a batched reward may depend on which samples it sees together.
    """

    op = "gate"

    def __init__(self, components: tuple[Component, ...], threshold: float, otherwise: float = 0.0) -> None:
        super().__init__(components)
        self.threshold, self.otherwise = threshold, otherwise

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        condition = self.components[0]
        first = condition.reward.evaluate(sample, explicit)
        if isinstance(next_one := self._decided(first), EvaluateResult):
            return next_one
        return self._settle(
            [(condition, first), (next_one, next_one.reward.evaluate(sample, explicit))], sample
        )

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        condition = self.components[0]
        first = await condition.reward.aevaluate(sample, explicit)
        if isinstance(next_one := self._decided(first), EvaluateResult):
            return next_one
        second = await next_one.reward.aevaluate(sample, explicit)
        return self._settle([(condition, first), (next_one, second)], sample)

    def _conclude(self, results: Sequence[EvaluateResult], sample: Sample) -> EvaluateResult:
        if isinstance(next_one := self._decided(results[0]), EvaluateResult):
            return next_one
        second = results[self.components.index(next_one)]
        return self._settle([(self.components[0], results[0]), (next_one, second)], sample)

    def _decided(self, first: EvaluateResult) -> EvaluateResult | Component:
        """The component whose turn it is, or the verdict where the condition alone decides."""
        condition, then, *otherwise = self.components
        if first.failed:
            return _failure_of(condition, first, {})
        if first.score is None:
            return EvaluateResult(reason=f"the condition {condition.name} does not apply")
        if first.score >= self.threshold:
            return then
        if otherwise:
            return otherwise[0]
        reason = f"gate shut: {condition.name} is {first.score:.4g}, below {self.threshold:.4g}"
        return EvaluateResult(self.otherwise, reason, _metrics([(condition, first)]))

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        _, first = verdicts[0]
        if len(verdicts) == 1:
            silent = self.components[1 if (first.score or 0.0) >= self.threshold else -1]
            return EvaluateResult(reason=f"{silent.name} does not apply")
        _, second = verdicts[1]
        return EvaluateResult(second.score, second.reason)

    def settings(self) -> Mapping[str, Any]:
        fixed = {} if len(self.components) > 2 else {"otherwise": self.otherwise}
        return {"threshold": self.threshold, **fixed}


class Curriculum(Composite):
    """The component whose turn it is at the training step."""

    op = "curriculum"

    def __init__(self, stages: Mapping[int, Component]) -> None:
        self.starts = sorted(stages)
        super().__init__(tuple(stages[start] for start in self.starts))
        if self.starts[0] > 0:
            raise BindingError(f"the first stage starts at step {self.starts[0]}; give one for step 0")

    def _stage(self, sample: Sample, explicit: CallArguments) -> Component:
        given = explicit.get("step", sample.metadata.get("step"))
        if given is None:
            raise InputError(
                "a curriculum needs the training step: give the row a column step, or call it with step="
            )
        try:
            step = finite(given, "the training step")
        except ValueError as error:
            raise InputError(str(error)) from None
        if step < 0:
            raise InputError(f"the training step must be 0 or more, not {given!r}")
        return [c for start, c in zip(self.starts, self.components, strict=True) if start <= step][-1]

    def _by_stage(self, samples: Sequence[Sample], explicit: CallArguments) -> dict[str, list[int]]:
        """The positions of the samples that each stage has to score."""
        positions: dict[str, list[int]] = {}
        for i, sample in enumerate(samples):
            positions.setdefault(self._stage(sample, explicit).name, []).append(i)
        return positions

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        stage = self._stage(sample, explicit)
        return self._settle([(stage, stage.reward.evaluate(sample, explicit))], sample)

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        stage = self._stage(sample, explicit)
        return self._settle([(stage, await stage.reward.aevaluate(sample, explicit))], sample)

    def score_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        found: dict[int, EvaluateResult] = {}
        by_name = {component.name: component for component in self.components}
        for name, positions in self._by_stage(samples, explicit).items():
            part = [samples[i] for i in positions]
            results = by_name[name].reward.evaluate_batch(part, explicit)
            found.update(self._settled(by_name[name], positions, results, part))
        return [found[i] for i in range(len(samples))]

    async def ascore_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        found: dict[int, EvaluateResult] = {}
        by_name = {component.name: component for component in self.components}
        for name, positions in self._by_stage(samples, explicit).items():
            part = [samples[i] for i in positions]
            results = await by_name[name].reward.aevaluate_batch(part, explicit)
            found.update(self._settled(by_name[name], positions, results, part))
        return [found[i] for i in range(len(samples))]

    def _settled(
        self, stage: Component, positions: list[int], results: list[EvaluateResult], samples: list[Sample]
    ) -> dict[int, EvaluateResult]:
        """The stage's results with its name and metrics, by position in the batch."""
        rows = zip(positions, results, samples, strict=True)
        return {i: self._settle([(stage, result)], sample) for i, result, sample in rows}

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        component, result = verdicts[0]
        return EvaluateResult(
            result.score, f"stage {component.name}" + (f": {result.reason}" if result.reason else "")
        )

    def settings(self) -> Mapping[str, Any]:
        return {"starts": self.starts}

    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None:
        return None  # which component runs depends on each sample's step

"""The scorer of a composition: it scores every component and combines the verdicts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from guerdon.errors import BindingError
from guerdon.reward.scorers.base import Scorer
from guerdon.reward.scorers.component import CallArguments, Component, RewardLike
from guerdon.reward.scorers.event_loop import gather
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.types import EvaluateResult, MetricResult, Sample

OnFailure = Literal["fail", "skip"]
DEFAULT_TIMEOUT = 10.0
"""Seconds that a component without a deadline of its own counts for in a composition that has one."""


class Composite(Scorer):
    """Scores every component, side by side where they are async, and combines the verdicts."""

    op = "composite"

    def __init__(self, components: tuple[Component, ...], on_failure: OnFailure = "fail") -> None:
        if not components:
            raise BindingError(f"{self.op} needs at least one reward")
        if on_failure not in ("fail", "skip"):
            raise BindingError(f'on_failure must be "fail" or "skip", not {on_failure!r}')
        self.name = self.op
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
            return component_failure(*failed[0], component_metrics(verdicts))
        scored = [(c, r) for c, r in verdicts if r.score is not None]
        if not scored:
            return EvaluateResult(reason="no component applies")
        scored = self._reweighted(scored, failed)
        result = self.combine(scored, sample)
        result.metrics.update(component_metrics(scored))
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


def component_metrics(verdicts: Sequence[tuple[Component, EvaluateResult]]) -> dict[str, MetricResult]:
    """The scores and metrics of components, those of nested ones as ``a/b``."""
    metrics: dict[str, MetricResult] = {}
    for component, result in verdicts:
        if result.score is not None:
            metrics[component.name] = MetricResult(
                result.score, reason=result.reason, weight=component.weight
            )
            for name, metric in result.metrics.items():
                metrics[f"{component.name}/{name}"] = metric
    return metrics


def component_failure(
    component: Component, result: EvaluateResult, metrics: dict[str, MetricResult]
) -> EvaluateResult:
    """The failure of a whole that one of its components failed."""
    return result.with_error(f"component {component.name!r} failed: {result.error}", metrics)

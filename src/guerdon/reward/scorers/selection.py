"""Compositions that choose which component decides: by a condition, or by the training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.checks import finite
from guerdon.errors import BindingError, InputError
from guerdon.reward.scorers.component import CallArguments, Component
from guerdon.reward.scorers.composite import Composite, component_failure, component_metrics
from guerdon.types import EvaluateResult, Sample


class ThresholdGate(Composite):
    """The second component's verdict where the first reaches a threshold, else the third's or a fixed score.

    One sample at a time, the branch that the condition does not select is not called. In a batch every sample is
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
            return component_failure(condition, first, {})
        if first.score is None:
            return EvaluateResult(reason=f"the condition {condition.name} does not apply")
        if first.score >= self.threshold:
            return then
        if otherwise:
            return otherwise[0]
        reason = f"gate shut: {condition.name} is {first.score:.4g}, below {self.threshold:.4g}"
        return EvaluateResult(self.otherwise, reason, component_metrics([(condition, first)]))

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

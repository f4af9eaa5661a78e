"""Runs made on the spot: batches as an adapter reports them, with curves like those of real runs."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from guerdon import reward_function
from guerdon.train.diagnostics.step_statistics import Observation
from guerdon.train.diagnostics.trends import Alarm, Trends
from guerdon.trainers.adapter import Adapter, ScoredBatch
from guerdon.types import EvaluateResult, MetricResult, Provenance, Sample

GROUP = 8
PROMPTS = 8


@reward_function(name="echo", timeout=None)
def echo(response: str, ground_truth: str = "") -> float:
    """1 where the response is the ground truth."""
    return float(response == ground_truth)


@dataclass(frozen=True, kw_only=True)
class Course:
    """How a run goes: each field a function from the step's share of the run, 0 to 1, to a level."""

    accuracy: Callable[[float], float]
    length: Callable[[float], float] = lambda at: 120.0
    failing: Callable[[float], float] = lambda at: 0.0
    format: Callable[[float], float] | None = None
    weights: tuple[float, float] = (0.7, 0.3)


def sigmoid(low: float, high: float, middle: float = 0.5, width: float = 0.08) -> Callable[[float], float]:
    """A curve of learning."""
    return lambda at: low + (high - low) / (1 + math.exp(-(at - middle) / width))


def line(start: float, end: float, after: float = 0.0) -> Callable[[float], float]:
    """From one level to another, linearly after a share of the run."""
    return lambda at: start if at < after else start + (end - start) * (at - after) / (1 - after)


def observations(course: Course, at: float, luck: random.Random) -> list[Observation]:
    """The samples of one step: groups of prompts that differ in difficulty."""
    seen = []
    drift = luck.gauss(0, 0.02)  # the policy wanders from step to step
    for prompt in range(PROMPTS):
        hardness = luck.gauss(0, 0.15)
        for _ in range(GROUP):
            if luck.random() < course.failing(at):
                seen.append(Observation(None, "timeout", {}, str(prompt), 100))
                continue
            right = float(luck.random() < course.accuracy(at) + hardness + drift)
            metrics: dict[str, tuple[float, float | None]] = {}
            score = right
            if course.format is not None:
                form = float(luck.random() < course.format(at) + drift)
                a, b = course.weights
                metrics = {"accuracy": (right, a), "format": (form, b)}
                score = a * right + b * form
            length = max(int(luck.gauss(course.length(at), 0.3 * course.length(at))), 1)
            seen.append(Observation(score, None, metrics, str(prompt), length))
    return seen


def alarms(course: Course, steps: int = 300, seed: int = 0) -> list[tuple[int, Alarm]]:
    """What a whole run is warned of, with the step."""
    luck, trends, found = random.Random(seed), Trends(), []
    for step in range(1, steps + 1):
        for seen in observations(course, step / steps, luck):
            trends.add(step, seen)
        found += [(step, alarm) for alarm in trends.end_step(step).raised]
    return found


@dataclass
class Verdict:
    """What a sample of a batch is to have come to."""

    completion: str = "4"
    score: float | None = 1.0
    kind: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    prompt: str = "2 + 2?"
    truth: object = "4"
    columns: Mapping[str, object] = field(default_factory=dict)
    reason: str | None = None


@functools.cache
def _adapter() -> Adapter:
    return Adapter(echo, workers=0)


def batch(
    verdicts: Sequence[Verdict], *, mode: str = "train", step: int | None = None, seconds: float = 0.25
) -> ScoredBatch:
    """A batch as an adapter hands it to its observer."""
    adapter = _adapter()
    made_by = Provenance("echo", adapter.reward.version, {})
    samples, results = [], []
    for v in verdicts:
        messages = [{"role": "user", "content": v.prompt}, {"role": "assistant", "content": v.completion}]
        samples.append(Sample(messages, ground_truth=v.truth, metadata=dict(v.columns)))
        if v.kind is not None:
            results.append(EvaluateResult(error="it broke", error_kind=v.kind, provenance=made_by))
        else:
            metrics = {n: MetricResult(x, weight=0.5, reason=f"{n} is {x}") for n, x in v.parts.items()}
            results.append(EvaluateResult(v.score, reason=v.reason, metrics=metrics, provenance=made_by))
    return ScoredBatch(
        samples=samples, results=results, seconds=seconds, step=step, mode=mode, adapter=adapter
    )


def codes(found: Iterable[tuple[int, Alarm]], *severities: str) -> set[str]:
    """The codes of warnings, of some severities or of all."""
    return {alarm.code for _, alarm in found if not severities or alarm.severity in severities}

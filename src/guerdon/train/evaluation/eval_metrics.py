"""How often a model is right: accuracy, partial and format accuracy, pass@k, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from guerdon.reward.function import RewardFunction
from guerdon.scoring.statistics.intervals import wilson
from guerdon.scoring.statistics.summary import Lengths
from guerdon.types import EvaluateResult

PARTIAL = 0.5
"""A sample whose share of the full score is at least this is partially right."""
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the problems with Wilson's 95 % interval, all from 0 to 1."""

    value: float
    low: float
    high: float
    of: int
    """Problems that it is a share of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Criterion:
    """What of a verdict says that an answer is right."""

    component: str | None
    """The metric that is looked at; None looks at the score."""
    full: float = 1.0
    """The score of a right answer."""

    def right(self, result: EvaluateResult) -> bool | None:
        """None where nothing is said: the sample failed, or has no such metric."""
        share = self.share(result)
        if share is None:
            return None
        metric = result.metrics.get(self.component) if self.component is not None else None
        if metric is not None and metric.success is not None:
            return metric.success
        return share >= 1 - _SLACK

    def share(self, result: EvaluateResult) -> float | None:
        """The part of the full score that was reached."""
        if result.score is None:
            return None
        if self.component is None:
            return result.score / self.full
        metric = result.metrics.get(self.component)
        return None if metric is None else metric.score / self.full


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalCriteria:
    """What counts as accurate and what as well formatted."""

    accuracy: Criterion
    format: Criterion | None

    @classmethod
    def of(
        cls, reward: RewardFunction, accuracy: str | None = None, format: str | None = None
    ) -> EvalCriteria:
        """By default the component whose name has ``format`` in it stands for the format, and the heaviest of
        the others, the first of equals, for accuracy; of a reward without components the score.
        """
        parts = {component.name: component for component in reward.components}
        formats = [name for name in parts if "format" in name]
        other = {n: p.weight for n, p in parts.items() if n not in formats}
        if accuracy is None and other and len(parts) > 1:
            accuracy = max(other, key=lambda name: abs(other[name] or 0.0))
        form = format or (formats[0] if formats and formats[0] != accuracy else None)
        behind = parts[accuracy].reward if accuracy in parts else reward
        return cls(
            accuracy=Criterion(component=accuracy, full=_full(behind)),
            format=None if form is None else Criterion(component=form),
        )


def _full(reward: Any) -> float:
    """The highest score of a reward's scale, where it has one that ends above 0; else 1."""
    scale = getattr(getattr(reward, "options", None), "scale", None)
    top = scale[1] if scale else None
    return float(top) if top and math.isfinite(top) and top > 0 else 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalMetrics:
    """How a model did on a set of problems, each of which it answered ``passes`` times."""

    step: int
    """The training step of the model, 0 before training."""
    problems: int
    passes: int
    failed: int
    """Samples whose reward failed; they count in no figure but this one."""
    reward: float | None
    """Mean score over the samples that have one."""
    accuracy: Share | None
    """Samples with the full score."""
    partial: Share | None
    """Samples with at least half of it."""
    format: Share | None
    """None where the reward has no component for the format."""
    pass_at: dict[int, Share]
    """By k: at least one of k samples is right."""
    right: list[float | None]
    """The share of right samples of each problem, in order; None where all failed."""
    lengths: Lengths | None = None
    """The length of the answers against their scores."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def compute_metrics(
    results: Sequence[Sequence[EvaluateResult]], criteria: EvalCriteria, *, step: int, passes: int
) -> EvalMetrics:
    """The figures of the verdicts, given by problem.

    Shares are means over problems of the problem's own share, so that no problem counts more where samples of
    another failed; their intervals are Wilson's with the number of problems, which errs on the wide side.
    """
    flat = [result for group in results for result in group]
    scores = [result.score for result in flat if result.score is not None]
    right = [_counted(criteria.accuracy.right(r) for r in group) for group in results]
    accuracy = criteria.accuracy
    return EvalMetrics(
        step=step,
        problems=len(results),
        passes=passes,
        failed=sum(result.failed for result in flat),
        reward=sum(scores) / len(scores) if scores else None,
        accuracy=_mean(c / n for c, n in right if n),
        partial=_mean(_shares(results, lambda r: _at_least(accuracy.share(r)))),
        format=None if criteria.format is None else _mean(_shares(results, criteria.format.right)),
        pass_at=_pass_at(right, passes),
        right=[c / n if n else None for c, n in right],
    )


def _at_least(share: float | None) -> bool | None:
    return None if share is None else share >= PARTIAL - _SLACK


def _counted(said: Iterable[bool | None]) -> tuple[int, int]:
    """How many are right, of how many that say anything."""
    known = [value for value in said if value is not None]
    return sum(known), len(known)


def _shares(
    results: Sequence[Sequence[EvaluateResult]], said: Callable[[EvaluateResult], bool | None]
) -> Iterable[float]:
    for group in results:
        count, of = _counted(said(result) for result in group)
        if of:
            yield count / of


def _mean(shares: Iterable[float]) -> Share | None:
    values = list(shares)
    if not values:
        return None
    low, high = wilson(min(sum(values), len(values)), len(values))
    return Share(sum(values) / len(values), low, high, len(values))


def _pass_at(right: Sequence[tuple[int, int]], passes: int) -> dict[int, Share]:
    """pass@k for 1, 2, 4, … and the number of passes, over the problems with at least k verdicts."""
    ks = sorted({*(2**i for i in range(passes.bit_length()) if 2**i <= passes), passes})
    found = {k: _mean(pass_at_k(n, c, k) for c, n in right if n >= k) for k in ks}
    return {k: share for k, share in found.items() if share is not None}


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that one of ``k`` samples is right, of which ``c`` of ``n`` were; unbiased.

    Raises ValueError where ``k`` is more than ``n``.

    Source: Chen et al. (2021), Evaluating large language models trained on code, section 2.1.

    >>> pass_at_k(4, 1, 1), pass_at_k(4, 1, 2), pass_at_k(4, 3, 2)
    (0.25, 0.5, 1.0)
    """
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError(f"there is no pass@{k} of {c} right samples among {n}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)

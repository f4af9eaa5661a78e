"""The confusion matrix of verdicts against labels, and the rates that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from guerdon.scoring.statistics.intervals import wilson


@dataclass(frozen=True, slots=True)
class Rate:
    """A proportion, its sample size and its 95 % interval."""

    value: float | None
    """From 0 to 1; None where ``n`` is 0."""
    n: int
    low: float
    high: float

    @classmethod
    def of(cls, successes: int, n: int) -> Rate:
        """The proportion of ``successes`` in ``n``, with its Wilson interval."""
        return cls(successes / n if n else None, n, *wilson(successes, n))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(slots=True)
class ConfusionCounts:
    """A verifier's verdicts on labelled answers; a right answer is a positive.

    A failure (an exception, a deadline) and "does not apply" are not verdicts: they lower the coverage and
    nothing else.

    >>> counts = ConfusionCounts()
    >>> for right, verdict in ((True, True), (True, True), (True, False), (False, True), (False, False)):
    ...     counts.add(right, verdict)
    >>> counts.add(True, None, failed=True)
    >>> counts.cases, round(counts.precision.value, 3), round(counts.recall.value, 3), counts.accuracy.value
    (6, 0.667, 0.667, 0.6)
    >>> round(counts.coverage.value, 3)
    0.833
    """

    true_positives: int = 0
    """Right answers that the verifier accepts."""
    false_negatives: int = 0
    """Right answers that it rejects."""
    false_positives: int = 0
    """Wrong answers that it accepts."""
    true_negatives: int = 0
    """Wrong answers that it rejects."""
    failed_positives: int = 0
    """Right answers on which it failed."""
    failed_negatives: int = 0
    """Wrong answers on which it failed."""
    undecided_positives: int = 0
    """Right answers to which it does not apply."""
    undecided_negatives: int = 0
    """Wrong answers to which it does not apply."""

    def add(self, right: bool, verdict: bool | None, *, failed: bool = False) -> None:
        """Count one case: its label, and the verdict, or None and whether a failure is the reason."""
        if failed or verdict is None:
            name = f"{'failed' if failed else 'undecided'}_{'positives' if right else 'negatives'}"
        else:
            name = f"{'true' if verdict == right else 'false'}_{'positives' if verdict else 'negatives'}"
        setattr(self, name, getattr(self, name) + 1)

    @property
    def right(self) -> int:
        """Answers that are right."""
        return self.true_positives + self.false_negatives + self.failed_positives + self.undecided_positives

    @property
    def wrong(self) -> int:
        """Answers that are wrong."""
        return self.false_positives + self.true_negatives + self.failed_negatives + self.undecided_negatives

    @property
    def cases(self) -> int:
        """All of them."""
        return self.right + self.wrong

    @property
    def decided(self) -> int:
        """Answers with a verdict."""
        return self.true_positives + self.false_negatives + self.false_positives + self.true_negatives

    @property
    def failed(self) -> int:
        """Answers on which it failed."""
        return self.failed_positives + self.failed_negatives

    @property
    def undecided(self) -> int:
        """Answers to which it does not apply."""
        return self.undecided_positives + self.undecided_negatives

    @property
    def coverage(self) -> Rate:
        """The share of the cases with a verdict."""
        return Rate.of(self.decided, self.cases)

    @property
    def precision(self) -> Rate:
        """Of the answers that it accepts, the share that are right."""
        return Rate.of(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> Rate:
        """Of the right answers with a verdict, the share that it accepts."""
        return Rate.of(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def false_positive_rate(self) -> Rate:
        """Of the wrong answers with a verdict, the share that it accepts."""
        return Rate.of(self.false_positives, self.false_positives + self.true_negatives)

    @property
    def accuracy(self) -> Rate:
        """Of the answers with a verdict, the share where it equals the label."""
        return Rate.of(self.true_positives + self.true_negatives, self.decided)

    @property
    def f1(self) -> Rate:
        """The harmonic mean of precision and recall of "right".

        It is 2J/(1+J), J being the share that are both in the answers that are right or found right: J's
        interval gives that of F1.
        """
        union = self.true_positives + self.false_negatives + self.false_positives
        shared = Rate.of(self.true_positives, union)
        value = None if shared.value is None else _f1(shared.value)
        return Rate(value, union, _f1(shared.low), _f1(shared.high))

    def to_dict(self) -> dict[str, Any]:
        """The counts and the shares, as plain data for JSON."""
        shares = ("coverage", "precision", "recall", "accuracy", "f1", "false_positive_rate")
        return {
            "cases": self.cases,
            "right": self.right,
            "wrong": self.wrong,
            "counts": asdict(self),
            **{name: getattr(self, name).to_dict() for name in shares},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ConfusionCounts:
        """The counts out of what ``to_dict`` returned."""
        return cls(**{name: int(data["counts"][name]) for name in cls.__dataclass_fields__})


def _f1(shared: float) -> float:
    return 2 * shared / (1 + shared)

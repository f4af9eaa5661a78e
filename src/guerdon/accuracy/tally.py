"""Verdicts against labels, counted, and the shares that come of the counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from guerdon.scoring.statistics.intervals import wilson


@dataclass(frozen=True, slots=True)
class Rate:
    """A share, of how many, and its interval of 95 %."""

    value: float | None
    """From 0 to 1; None where there is nothing that it could be a share of."""
    n: int
    low: float
    high: float

    @classmethod
    def of(cls, successes: int, n: int) -> Rate:
        """The share of ``successes`` in ``n``."""
        return cls(successes / n if n else None, n, *wilson(successes, n))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(slots=True)
class Tally:
    """How often a verifier said what of right and of wrong answers.

    A failure (an exception, a deadline) and "does not apply" are no verdicts: they lower the coverage and
    nothing else. What a trainer would see of them is ``refused``: such an answer is not paid.

    >>> tally = Tally()
    >>> for right, verdict in ((True, True), (True, True), (True, False), (False, True), (False, False)):
    ...     tally.add(right, verdict)
    >>> tally.add(True, None, failed=True)
    >>> tally.cases, round(tally.precision.value, 3), round(tally.recall.value, 3), tally.accuracy.value
    (6, 0.667, 0.667, 0.6)
    >>> round(tally.coverage.value, 3)
    0.833
    """

    right_paid: int = 0
    """Right answers that it finds right."""
    right_refused: int = 0
    """Right answers that it finds wrong."""
    wrong_paid: int = 0
    """Wrong answers that it finds right."""
    wrong_refused: int = 0
    """Wrong answers that it finds wrong."""
    right_failed: int = 0
    """Right answers on which it failed."""
    wrong_failed: int = 0
    """Wrong answers on which it failed."""
    right_undecided: int = 0
    """Right answers of which it says that it does not apply to them."""
    wrong_undecided: int = 0
    """Wrong answers of which it says that it does not apply to them."""

    def add(self, right: bool, verdict: bool | None, *, failed: bool = False) -> None:
        """Count one case: the label, and the verdict or whether there is none because of a failure."""
        said = "failed" if failed else "undecided" if verdict is None else "paid" if verdict else "refused"
        name = f"{'right' if right else 'wrong'}_{said}"
        setattr(self, name, getattr(self, name) + 1)

    @property
    def right(self) -> int:
        """Answers that are right."""
        return self.right_paid + self.right_refused + self.right_failed + self.right_undecided

    @property
    def wrong(self) -> int:
        """Answers that are wrong."""
        return self.wrong_paid + self.wrong_refused + self.wrong_failed + self.wrong_undecided

    @property
    def cases(self) -> int:
        """All of them."""
        return self.right + self.wrong

    @property
    def decided(self) -> int:
        """Answers with a verdict."""
        return self.right_paid + self.right_refused + self.wrong_paid + self.wrong_refused

    @property
    def failed(self) -> int:
        """Answers on which it failed."""
        return self.right_failed + self.wrong_failed

    @property
    def undecided(self) -> int:
        """Answers to which it does not apply."""
        return self.right_undecided + self.wrong_undecided

    @property
    def coverage(self) -> Rate:
        """The share of the cases that it decides."""
        return Rate.of(self.decided, self.cases)

    @property
    def precision(self) -> Rate:
        """Of the answers that it finds right, the share that are."""
        return Rate.of(self.right_paid, self.right_paid + self.wrong_paid)

    @property
    def recall(self) -> Rate:
        """Of the right answers that it decides, the share that it finds right."""
        return Rate.of(self.right_paid, self.right_paid + self.right_refused)

    @property
    def wrongly_paid(self) -> Rate:
        """Of the wrong answers that it decides, the share that it finds right."""
        return Rate.of(self.wrong_paid, self.wrong_paid + self.wrong_refused)

    @property
    def accuracy(self) -> Rate:
        """Of the answers that it decides, the share on which it agrees with the label."""
        return Rate.of(self.right_paid + self.wrong_refused, self.decided)

    @property
    def f1(self) -> Rate:
        """The harmonic mean of precision and recall of "right".

        It is 2J/(1+J), J being the share that are both in the answers that are right or found right: J's
        interval gives that of F1.
        """
        union = self.right_paid + self.right_refused + self.wrong_paid
        shared = Rate.of(self.right_paid, union)
        value = None if shared.value is None else _f1(shared.value)
        return Rate(value, union, _f1(shared.low), _f1(shared.high))

    def to_dict(self) -> dict[str, Any]:
        """The counts and the shares, as plain data for JSON."""
        shares = ("coverage", "precision", "recall", "accuracy", "f1", "wrongly_paid")
        return {
            "cases": self.cases,
            "right": self.right,
            "wrong": self.wrong,
            "counts": asdict(self),
            **{name: getattr(self, name).to_dict() for name in shares},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        """What ``to_dict`` gave."""
        return cls(**{name: int(data["counts"][name]) for name in cls.__dataclass_fields__})


def _f1(shared: float) -> float:
    return 2 * shared / (1 + shared)

"""A reward on rows that people labelled: how far its scores can be trusted, and what they cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from guerdon.accuracy.agreement import best_threshold, kappa, spearman
from guerdon.accuracy.confusion import ConfusionCounts, Rate
from guerdon.accuracy.labelled import read_label
from guerdon.errors import InputError
from guerdon.types import EvaluateResult

Shape = Literal["verdicts", "grades", "pairs"]
FIRST, SECOND, TIE = "A", "B", "tie"
_PREFERRED = {
    **dict.fromkeys(("a", "1", "response_a", "model_a", "first"), FIRST),
    **dict.fromkeys(("b", "2", "response_b", "model_b", "second"), SECOND),
    **dict.fromkeys(("tie", "equal", "same"), TIE),
}
SUMMED = ("requests", "cached", "prompt_tokens", "completion_tokens", "cost")


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of all rows, of one shape."""

    shape: Shape
    values: tuple[Any, ...]
    """Booleans, numbers, or A, B and tie."""


def read_labels(rows: Iterable[Mapping[str, Any]], column: str, *, pairs: bool) -> Labels:
    """The labels in a column: right or wrong, numbers, or which of two responses is preferred.

    Raises InputError, with the number of the row, for a row without a label that can be read.
    """
    given = [_label(row, column, number) for number, row in enumerate(rows, 1)]
    if pairs:
        return Labels("pairs", tuple(_each(given, column, _preferred, "A, B or tie (or 1, 2)")))
    verdicts = [read_label(value) for value in given]
    if None not in verdicts:
        return Labels("verdicts", tuple(verdicts))
    return Labels(
        "grades", tuple(_each(given, column, _grade, "right or wrong (true, false, 1, 0), or a number"))
    )


def _label(row: Mapping[str, Any], column: str, number: int) -> Any:
    nested = row.get("metadata")
    found = {**(nested if isinstance(nested, Mapping) else {}), **row}
    if found.get(column) is None:
        names = ", ".join(sorted(map(str, found)))
        raise InputError(f'row {number} has no label in a column "{column}"; its columns: {names}')
    return found[column]


def _each(given: Sequence[Any], column: str, read: Any, words: str) -> Iterator[Any]:
    for number, value in enumerate(given, 1):
        if (label := read(value)) is None:
            raise InputError(f'row {number}: the column "{column}" must hold {words}, not {value!r:.60}')
        yield label


def _preferred(value: Any) -> str | None:
    return None if isinstance(value, bool) else _PREFERRED.get(str(value).strip().lower())


def _grade(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def without_label(row: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The row as the reward sees it."""
    plain = {name: value for name, value in row.items() if name != column}
    nested = plain.get("metadata")
    if isinstance(nested, Mapping):
        plain["metadata"] = {name: value for name, value in nested.items() if name != column}
    return plain


@dataclass(slots=True)
class Calibration:
    """What came of a reward on labelled rows."""

    shape: Shape
    threshold: float = 0.5
    counts: ConfusionCounts = field(default_factory=ConfusionCounts)
    """Of verdicts: at the threshold."""
    scored: list[tuple[float, Any]] = field(default_factory=list)
    """The score and the label of each row with both."""
    failures: Counter[str] = field(default_factory=Counter)
    """Rows that failed, by the kind of failure."""
    first_failure: str = ""
    undecided: int = 0
    """Rows to which the reward does not apply."""
    orders: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of pairs, by which response stood first: how often the judge agreed with the label, of how many."""
    consistent: int = 0
    """Pairs on which both orders gave the same."""
    both_orders: int = 0
    """Pairs that were asked in both orders."""
    bias: float = 0.0
    """Of pairs, the sum of who won by the place: 1 for the first, -1 for the second."""
    spent: dict[str, float] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows there were."""
        return len(self.scored) + self.failures.total() + self.undecided

    def add(self, label: Any, score: float | None, results: Sequence[EvaluateResult]) -> None:
        """Count one row: its label, its score (of a pair, over 0.5 where the first response is better)."""
        for result in results:
            for name in SUMMED:
                if name in result.metrics:
                    self.spent[name] = self.spent.get(name, 0.0) + result.metrics[name].score
        failed = next((result for result in results if result.failed), None)
        if self.shape == "verdicts":
            said = None if score is None else score >= self.threshold
            self.counts.add(label, said, failed=failed is not None)
        if failed is not None:
            self.failures[str(failed.error_kind)] += 1
            self.first_failure = self.first_failure or str(failed.error)
        elif score is None:
            self.undecided += 1
        else:
            self.scored.append((score, label))
            if self.shape == "pairs" and len(results) == 1:
                self._add_orders(label, results[0])

    def _add_orders(self, label: str, result: EvaluateResult) -> None:
        orders = {FIRST: "as_first", SECOND: "as_second"}
        if not all(name in result.metrics for name in orders.values()):
            return
        for place, name in orders.items():
            agreed, count = self.orders.get(place, (0, 0))
            self.orders[place] = agreed + (preferred(result.metrics[name].score) == label), count + 1
        self.both_orders += 1
        self.consistent += result.metrics["position_consistency"].score == 1.0
        self.bias += result.metrics["position_bias"].score

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON; what is not defined is null."""
        found: dict[str, Any] = {
            "labels": self.shape,
            "rows": self.rows,
            "scored": len(self.scored),
            "undecided": self.undecided,
            "failures": dict(self.failures),
            "first_failure": self.first_failure,
        }
        if self.shape == "verdicts":
            found.update(self._verdicts())
        elif self.shape == "grades":
            found["spearman"] = spearman(self.scored)
        else:
            found.update(self._pairs())
        return {**found, "spent": self.spent}

    def _verdicts(self) -> dict[str, Any]:
        best = best_threshold(self.scored)
        rates = {
            name: getattr(self.counts, name).to_dict() for name in ("accuracy", "precision", "recall", "f1")
        }
        fit = None
        if best is not None:
            fit = {"threshold": best.value, "accuracy": Rate.of(best.correct, len(self.scored)).to_dict()}
        said = [(score >= self.threshold, label) for score, label in self.scored]
        return {"threshold": self.threshold, **rates, "kappa": kappa(said), "best": fit}

    def _pairs(self) -> dict[str, Any]:
        said = [(preferred(score), label) for score, label in self.scored]
        decided = [pair for pair in said if TIE not in pair]
        orders = {place: Rate.of(*counts).to_dict() for place, counts in self.orders.items()}
        both = self.both_orders
        return {
            "agreement": _agreed(said),
            "agreement_without_ties": _agreed(decided),
            "ties": sum(verdict == TIE for verdict, _ in said),
            "kappa": kappa(said),
            "agreement_by_first_shown": orders,
            "position_consistency": Rate.of(self.consistent, both).to_dict() if both else None,
            "position_bias": self.bias / both if both else None,
        }


def preferred(score: float) -> str:
    """Which of two responses a score prefers."""
    return FIRST if score > 0.5 else SECOND if score < 0.5 else TIE


def _agreed(said: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return Rate.of(sum(verdict == label for verdict, label in said), len(said)).to_dict()


# Pairs of responses as rows for a reward.


def pair_rows(row: Mapping[str, Any], *, compares: bool) -> list[dict[str, Any]]:
    """The rows to score for a pair whose first response ends the conversation: one for a reward that compares,
    else one for each response. Raises InputError where there is no second response."""
    second = row.get("response_b")
    if not isinstance(second, str):
        raise InputError('a pair needs its second response as text in the column "response_b"')
    plain = {name: value for name, value in row.items() if name != "response_b"}
    if compares:
        return [{**plain, "reference_response": second}]
    messages = [*plain["messages"][:-1], {"role": "assistant", "content": second}]
    identity = plain.get("id")
    names = [None, None] if identity is None else [f"{identity}/{FIRST}", f"{identity}/{SECOND}"]
    pair = [plain, {**plain, "messages": messages}]
    return [{**one, **({} if name is None else {"id": name})} for one, name in zip(pair, names, strict=True)]


def pair_score(results: Sequence[EvaluateResult]) -> float | None:
    """The score of a pair from the results of its rows; over 0.5 where the first response is better."""
    scores = [result.score for result in results]
    if len(scores) == 1:
        return scores[0]
    first, second = scores
    if first is None or second is None:
        return None
    return 0.5 + (first > second) / 2 - (first < second) / 2

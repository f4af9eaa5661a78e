"""One verifier on the cases of one suite: counts, times, and what it disagrees on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.accuracy.confusion import ConfusionCounts
from guerdon.accuracy.suite import LabelledCase
from guerdon.accuracy.verifier import Verifier
from guerdon.errors import InputError
from guerdon.scoring.progress import OnProgress
from guerdon.scoring.run import score
from guerdon.types import EvaluateResult, Sample

TEXT_LIMIT = 20_000
"""Characters of a response or a ground truth that are written out."""


@dataclass(slots=True)
class Measurement:
    """What a verifier came to on a suite; or why it was left out, and then the counts are empty."""

    suite: str
    verifier: str
    catalogue: bool
    """False for another project's verifier."""
    version: str = ""
    """What decides its verdicts; "" where it was left out."""
    data: str = ""
    """A hash of the cases."""
    counts: ConfusionCounts = field(default_factory=ConfusionCounts)
    kinds: dict[str, ConfusionCounts] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    """How many failed, by the kind of failure."""
    first_failure: str = ""
    p50_ms: float | None = None
    """Milliseconds that half of the cases took at most, inside the worker process."""
    p99_ms: float | None = None
    left_out: str = ""
    """Why it did not run."""
    disagreements: list[dict[str, Any]] = field(default_factory=list)
    """Cases whose verdict is not the label, and failures; written out apart."""
    kept: bool = False
    """Whether it comes from an earlier run."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without the disagreements."""
        return {
            "suite": self.suite,
            "verifier": self.verifier,
            "catalogue": self.catalogue,
            "version": self.version,
            "data": self.data,
            "left_out": self.left_out,
            **self.counts.to_dict(),
            "failures": self.failures,
            "first_failure": self.first_failure,
            "p50_ms": self.p50_ms,
            "p99_ms": self.p99_ms,
            "disagreements": len(self.disagreements),
            "kinds": {name: counts.to_dict() for name, counts in self.kinds.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], disagreements: list[dict[str, Any]]) -> Measurement:
        """What ``to_dict`` gave, with the disagreements. Raises KeyError or the like where it is something else."""
        plain = (
            "suite",
            "verifier",
            "catalogue",
            "version",
            "data",
            "left_out",
            "first_failure",
            "p50_ms",
            "p99_ms",
        )
        return cls(
            **{name: data[name] for name in plain},
            counts=ConfusionCounts.from_dict(data),
            kinds={name: ConfusionCounts.from_dict(counts) for name, counts in data["kinds"].items()},
            failures=dict(data["failures"]),
            disagreements=disagreements,
            kept=True,
        )


def measure(
    verifier: Verifier,
    cases: Sequence[LabelledCase],
    *,
    suite: str = "",
    data: str = "",
    timeout: float | None = None,
    workers: int | None = None,
    progress: OnProgress | None = None,
) -> Measurement:
    """Score the cases with a verifier and compare with their labels.

    ``timeout``, ``workers`` and ``progress`` are those of ``guerdon.score``. Raises what ``guerdon.score``
    raises: Interrupted on Ctrl-C, BindingError where the reward needs a column that no case has.
    """
    if not cases:
        raise InputError(f"the suite {suite!r} has no cases")
    rows = [verifier.row(case) for case in cases]
    scores = score(
        verifier.reward,
        rows,
        timeout=timeout,
        workers=workers,
        on_error="result",
        text=False,
        progress=progress or False,
    )
    found = Measurement(suite, verifier.label, verifier.catalogue, verifier.version, data)
    for case, result in zip(cases, scores, strict=True):
        _count(found, verifier, case, result)
    statistics = scores.statistics()
    found.failures = dict(statistics.failures)
    if statistics.seconds is not None:
        found.p50_ms, found.p99_ms = statistics.seconds.p50 * 1000, statistics.seconds.p99 * 1000
    return found


def _count(found: Measurement, verifier: Verifier, case: LabelledCase, result: EvaluateResult) -> None:
    verdict = None if result.score is None else result.score >= verifier.threshold
    for counts in (found.counts, found.kinds.setdefault(case.kind, ConfusionCounts())):
        counts.add(case.right, verdict, failed=result.failed)
    if result.failed and not found.first_failure:
        found.first_failure = f"{case.id}: {result.error_kind}: {result.error}"
    if verdict != case.right:
        found.disagreements.append(_disagreement(found, case, verdict, result))


def _disagreement(
    found: Measurement, case: LabelledCase, verdict: bool | None, result: EvaluateResult
) -> dict[str, Any]:
    """One case for reading."""
    said = "failed" if result.failed else "undecided" if verdict is None else _word(verdict)
    try:
        sample = Sample.from_row(case.row)
        response, truth = sample.response, sample.ground_truth
        truth = sample.answer if truth is None else truth
    except InputError:
        response, truth = "", case.row.get("ground_truth")
    return {
        "suite": found.suite,
        "verifier": found.verifier,
        "id": case.id,
        "kind": case.kind,
        "label": _word(case.right),
        "verdict": said,
        "score": result.score,
        "reason": result.reason if result.error is None else f"{result.error_kind}: {result.error}",
        "response": response[:TEXT_LIMIT],
        "ground_truth": truth[:TEXT_LIMIT] if isinstance(truth, str) else truth,
    }


def _word(right: bool) -> str:
    return "right" if right else "wrong"

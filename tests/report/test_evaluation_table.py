"""The table of an evaluation on the terminal."""

from __future__ import annotations

from guerdon.report.evaluation import print_evaluation
from guerdon.scoring.statistics.summary import Lengths
from guerdon.train.evaluation.eval_metrics import Criterion, EvalCriteria, EvalMetrics, Share
from guerdon.train.evaluation.evaluate import Evaluation
from guerdon.types import Provenance
from support.console_work import console_of, written


def metrics(step: int, value: float, lengths: Lengths | None) -> EvalMetrics:
    share = Share(value, 0.0, 1.0, 4)
    return EvalMetrics(
        step=step, problems=4, passes=1, failed=0, reward=value, accuracy=share, partial=share, format=None,
        pass_at={}, right=[value] * 4, lengths=lengths,
    )  # fmt: skip


def test_length_stands_beside_the_score() -> None:
    lengths = Lengths(count=4, mean=123.45, p50=120.0, p95=160.0, max=160.0, correlation=0.8123)
    found = Evaluation(
        made_by=Provenance("right", "abc"),
        inference="greedy",
        criteria=EvalCriteria(accuracy=Criterion(component=None), format=None),
        before=metrics(0, 0.25, None),
        after=metrics(10, 0.75, lengths),
    )
    console = console_of(80)
    print_evaluation(found, console)
    rows = [line.split() for line in written(console).splitlines()]
    assert ["mean", "length", "-", "123.4"] in rows or ["mean", "length", "-", "123.5"] in rows
    assert ["length", "against", "score", "-", "0.81"] in rows
    assert ["mean", "reward", "0.25", "0.75"] in rows

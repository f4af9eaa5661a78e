"""Labels of every shape, and what a calibration makes of scores beside them."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.accuracy.calibration import (
    Calibration,
    pair_rows,
    pair_score,
    preferred,
    read_labels,
    without_label,
)
from guerdon.errors import InputError
from guerdon.types import EvaluateResult


def rows(*labels: Any) -> list[dict[str, Any]]:
    return [{"messages": [], "label": label} for label in labels]


@pytest.mark.parametrize(
    ("labels", "pairs", "shape", "values"),
    [
        ((True, "wrong", 1, "PASS", 0.0), False, "verdicts", (True, False, True, True, False)),
        ((1, 2, "3.5"), False, "grades", (1.0, 2.0, 3.5)),
        ((0, 0.5, 1), False, "grades", (0.0, 0.5, 1.0)),
        (("A", "b", "Tie", 1, "2", "model_b"), True, "pairs", ("A", "B", "tie", "A", "B", "B")),
    ],
)
def test_labels(labels: tuple[Any, ...], pairs: bool, shape: str, values: tuple[Any, ...]) -> None:
    found = read_labels(rows(*labels), "label", pairs=pairs)
    assert (found.shape, found.values) == (shape, values)


@pytest.mark.parametrize(
    ("labels", "pairs", "says"),
    [
        ((1, None), False, 'row 2 has no label in a column "label"; its columns: label, messages'),
        ((1, 2, "good"), False, 'row 3: the column "label" must hold right or wrong'),
        ((1, 2, float("nan")), False, "row 3"),
        (("A", "C"), True, "must hold A, B or tie (or 1, 2), not 'C'"),
        ((True,), True, "not True"),
        ((0,), True, "not 0"),
    ],
)
def test_labels_that_cannot_be_read(labels: tuple[Any, ...], pairs: bool, says: str) -> None:
    with pytest.raises(InputError) as refused:
        read_labels(rows(*labels), "label", pairs=pairs)
    assert says in str(refused.value)


def test_a_label_may_stand_in_the_metadata_and_the_reward_sees_neither() -> None:
    row = {"messages": [], "metadata": {"label": 1, "x": 2}}
    assert read_labels([row], "label", pairs=False).values == (True,)
    assert without_label({**row, "label": 1}, "label") == {"messages": [], "metadata": {"x": 2}}


def test_pairs_as_rows() -> None:
    user, one = {"role": "user", "content": "?"}, {"role": "assistant", "content": "1"}
    row = {"id": "p", "messages": [user, one], "response_b": "2"}
    assert pair_rows(row, compares=True) == [{"id": "p", "messages": [user, one], "reference_response": "2"}]
    other = {"role": "assistant", "content": "2"}
    assert pair_rows(row, compares=False) == [
        {"id": "p/A", "messages": [user, one]},
        {"id": "p/B", "messages": [user, other]},
    ]
    with pytest.raises(InputError, match="response_b"):
        pair_rows({"messages": [user, one]}, compares=True)


def scores(*values: float | None) -> list[EvaluateResult]:
    return [EvaluateResult(value) for value in values]


@pytest.mark.parametrize(
    ("results", "score", "who"),
    [
        (scores(0.75), 0.75, "A"),
        (scores(0.5), 0.5, "tie"),
        (scores(-3, -2), 0.0, "B"),
        (scores(7, 2), 1.0, "A"),
        (scores(2, 2), 0.5, "tie"),
    ],
)
def test_the_score_of_a_pair(results: list[EvaluateResult], score: float, who: str) -> None:
    assert pair_score(results) == score
    assert preferred(score) == who


def test_a_pair_with_a_response_without_a_score_has_none() -> None:
    assert pair_score(scores(1, None)) is None


def test_verdicts() -> None:
    found = Calibration("verdicts", threshold=0.75)
    for label, score in ((True, 1.0), (True, 0.75), (True, 0.5), (False, 0.75), (False, 0.0)):
        found.add(label, score, scores(score))
    found.add(True, None, scores(None))
    failed = EvaluateResult(error="no", error_kind="remote", metrics={"prompt_tokens": 7, "requests": 2})
    found.add(False, None, [failed])
    told = found.to_dict()
    assert (told["rows"], told["scored"], told["undecided"], told["failures"]) == (7, 5, 1, {"remote": 1})
    assert told["accuracy"]["value"] == 0.6
    assert told["precision"]["value"] == told["recall"]["value"] == pytest.approx(2 / 3)
    assert told["kappa"] == pytest.approx((0.6 - 0.52) / 0.48)  # 3/5 * 3/5 + 2/5 * 2/5 by chance
    assert told["best"]["threshold"] == 0.5
    assert told["best"]["accuracy"]["value"] == 0.8
    assert told["spent"] == {"prompt_tokens": 7.0, "requests": 2.0}


def test_grades() -> None:
    found = Calibration("grades")
    for label, score in ((1, 0.0), (2, 0.5), (5, 0.25), (5, 1.0)):
        found.add(float(label), score, scores(score))
    # Ranks 1, 2, 3.5, 3.5 and 1, 3, 2, 4.
    assert found.to_dict()["spearman"] == pytest.approx(3.0 / (4.5 * 5) ** 0.5)


def compared(as_first: float, as_second: float) -> EvaluateResult:
    metrics = {
        "as_first": as_first,
        "as_second": as_second,
        "position_consistency": float(as_first == as_second),
        "position_bias": float(as_first - as_second) if abs(as_first - as_second) == 1 else 0.0,
    }
    return EvaluateResult((as_first + as_second) / 2, metrics=metrics)


def test_pairs() -> None:
    found = Calibration("pairs")
    for label, result in (
        ("A", compared(1, 1)),
        ("B", compared(0, 0)),
        ("B", compared(1, 0)),  # the first place wins
        ("A", compared(0, 0)),
    ):
        found.add(label, result.score, [result])
    told = found.to_dict()
    assert (told["agreement"]["value"], told["agreement"]["n"], told["ties"]) == (0.5, 4, 1)
    assert (told["agreement_without_ties"]["value"], told["agreement_without_ties"]["n"]) == (
        pytest.approx(2 / 3),
        3,
    )
    assert {place: rate["value"] for place, rate in told["agreement_by_first_shown"].items()} == {
        "A": 0.5,
        "B": 0.75,
    }
    assert (told["position_consistency"]["value"], told["position_bias"]) == (0.75, 0.25)

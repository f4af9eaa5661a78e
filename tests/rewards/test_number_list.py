"""``number_list``: what cannot be read, shares, tolerance, adversarial responses.

The table of its verdicts is ``cases/number_list.jsonl``.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from guerdon.rewards.number_list import number_list


@pytest.mark.parametrize(
    ("gold", "says"),
    [
        ("", 'the ground truth "" is not a list of numbers'),
        ("none", 'the ground truth "none" is not a list of numbers'),
        ("1 or 2", "is not a list of numbers"),
        ([], "is not a list of numbers"),
        ([1, None], "is not a list of numbers"),
        ([True], "is not a list of numbers"),
        ([[1]], "is not a list of numbers"),
        ([float("inf")], "is not a list of numbers"),
        ({"a": 1}, "is not a list of numbers"),
    ],
)
def test_a_ground_truth_that_is_no_list(gold: Any, says: str) -> None:
    result = number_list("[1]", gold)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"tolerance": -1}, "tolerance must be a number of 0 or more, not -1"),
        ({"tolerance": "wide"}, "tolerance must be a number of 0 or more"),
        ({"duplicates": "twice"}, "duplicates must be one of count, ignore"),
        ({"scoring": "most"}, "scoring must be one of all, fraction"),
        ({"order_matters": "maybe"}, "order_matters must be true or false"),
        ({"extract": "end"}, "extract knows boxed"),
    ],
)
def test_parameters_that_make_no_sense(given: dict[str, Any], says: str) -> None:
    result = number_list("[1]", [1], **given)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


@pytest.mark.parametrize(
    ("response", "gold", "given", "score", "precision", "recall"),
    [
        ("[1, 2]", [1, 2], {}, 1.0, 1.0, 1.0),
        ("[1, 2]", [1, 2, 3, 4], {"scoring": "fraction"}, 2 / 3, 1.0, 0.5),
        ("[1, 2, 3, 4]", [1, 2], {"scoring": "fraction"}, 2 / 3, 0.5, 1.0),
        ("[2, 1, 3]", [1, 2, 3], {"scoring": "fraction", "order_matters": True}, 1 / 3, 1 / 3, 1 / 3),
        ("[1, 1, 2]", [1, 2, 2], {"scoring": "fraction"}, 2 / 3, 2 / 3, 2 / 3),
        ("[1, 1, 2]", [1, 2, 2], {"scoring": "fraction", "duplicates": "ignore"}, 1.0, 1.0, 1.0),
        # Each number is used once: 1.4 is near to 1 and to 2, 1 only to 1.
        ("[1, 1.4]", [1, 2], {"tolerance": 0.6}, 1.0, 1.0, 1.0),
        ("[1.5, 1.5]", [1, 9], {"scoring": "fraction", "tolerance": 0.5}, 0.5, 0.5, 0.5),
        ("no list", [1], {"scoring": "fraction"}, 0.0, 0.0, 0.0),
    ],
)
def test_shares(
    response: str, gold: list[int], given: dict[str, Any], score: float, precision: float, recall: float
) -> None:
    result = number_list(response, gold, **given)
    assert result.unwrap() == pytest.approx(score)
    assert result.metrics["precision"].score == pytest.approx(precision)
    assert result.metrics["recall"].score == pytest.approx(recall)


@pytest.mark.parametrize(
    "piece",
    ["1, ", "[", "(", "1 ", "- 1\n", "the answer is ", r"\boxed{", "9", "x = ", "\ud800", "\x00", "1,1"],
)
def test_a_megabyte_ends_soon(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    assert number_list(text, [1, 2]).score == 0
    assert time.process_time() - start < 5

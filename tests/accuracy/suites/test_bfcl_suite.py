"""The suite ``bfcl``: what it makes of possible answers, and that ``tool_calls`` has every case right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import guerdon
from guerdon.accuracy.suites import bfcl
from guerdon.accuracy.suites._bfcl_spellings import SPELLINGS, can_be_spelled, claimed
from guerdon.rewards.tool_calls.reward import tool_calls

TRUTH = [{"a.f": {"x": [1, 2], "y": ["", "p"], "z": [{"k": [5], "m": ["", 6]}]}}]


def test_accepted_answers_hold_every_value() -> None:
    answers = [dict(arguments) for ((_, arguments),) in bfcl.accepted(TRUTH)]
    assert answers == [
        {"x": 1, "y": "p", "z": {"k": 5, "m": 6}},
        {"x": 2, "z": {"k": 5}},
    ]


def test_parallel_answers_come_in_both_orders() -> None:
    truth = [{"f": {"x": [1]}}, {"g": {"y": [2]}}]
    calls = [("f", {"x": 1}), ("g", {"y": 2})]
    assert list(bfcl.accepted(truth)) == [calls, calls[::-1]]


def test_mutations_change_one_thing() -> None:
    truth = [{"f": {"x": [1, 2], "s": ["ab", "abx", ""]}}]
    kinds = Counter(kind for kind, _ in bfcl.mutated(truth, [("f", {"x": 1, "s": "ab"})]))
    # x + 1 and "abx" are accepted as well and thus no mutations; s may be left out.
    assert kinds == {
        "extra argument": 1,
        "argument missing": 1,
        "other argument": 2,
        "other sign": 1,
        "value cut": 1,
        "other type": 2,
        "other function": 1,
        "call missing": 1,
        "call twice": 1,
    }


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_read(spelling: str) -> None:
    calls = [
        ("f", {"s": 'it\'s "so" }', "n": 1.5, "b": True, "none": None, "l": ["a", {"k": []}]}),
        ("g.h", {}),
    ]
    truth = [{"name": name, "arguments": arguments} for name, arguments in calls]
    assert can_be_spelled(spelling, calls)
    assert tool_calls(messages=[SPELLINGS[spelling](calls)], ground_truth=truth).score == 1.0
    assert tool_calls(messages=[SPELLINGS[spelling](calls[:1])], ground_truth=truth).score == 0.0


def test_python_cannot_spell_every_name() -> None:
    assert not can_be_spelled("pythonic", [("get-weather", {})])
    assert not can_be_spelled("pythonic", [("f", {"from-date": 1})])
    assert can_be_spelled("hermes", [("get-weather", {})])


def test_claims_are_no_calls() -> None:
    calls = [("f", {"a": 1})]
    truth = [{"name": "f", "arguments": {"a": 1}}]
    for message in claimed(calls).values():
        assert tool_calls(messages=[message], ground_truth=truth).score == 0.0


@pytest.mark.slow
def test_every_case_is_right(data_dir: Path) -> None:
    cases = list(bfcl.SUITE.cases(data_dir))
    assert len(cases) > 20_000
    assert len({case.id for case in cases}) == len(cases)
    scores = guerdon.score("tool_calls", [dict(case.row) for case in cases], workers=1)
    wrong = [case.id for case, result in zip(cases, scores, strict=True) if result.score != float(case.right)]
    assert wrong == []

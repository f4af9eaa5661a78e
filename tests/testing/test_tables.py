"""``guerdon.testing``: what a case may expect, what is off, and cases that are malformed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import BindingError, InputError, NotApplicableError, ResolutionError
from guerdon.testing import assert_cases, cases, run_cases
from guerdon.types import EvaluateResult, MetricResult


def half(response: str, answer: Any = None) -> EvaluateResult:
    """0.5 with a metric, or what the response asks for."""
    if response == "skip":
        raise NotApplicableError("not my business")
    if response == "none":
        return EvaluateResult(reason="does not apply")
    if response == "fail":
        raise ValueError("no way")
    if response == "input":
        raise InputError("unreadable")
    return EvaluateResult(0.5, reason="half", metrics={"length": MetricResult(3, reason="3 words")})


def case(expected: Any, response: str = "x", **more: Any) -> dict[str, Any]:
    return {"response": response, "expected": expected, **more}


@pytest.mark.parametrize(
    "row",
    [
        case(0.5),
        case(0.5 + 9e-7),
        case({"score": 0.6, "tolerance": 0.1}),
        case({"score": 0.5}),
        case({"min": 0.2, "max": 0.5}),
        case({"min": 0.5}),
        case({"max": 0.5}),
        case(None, "none"),
        case({"error": "exception"}, "fail"),
        case({"error": "input"}, "input"),
        case({"error": True}, "fail"),
        case(0.5, expected_metrics={"length": 3}),
        case(0.5, expected_metrics={"length": {"min": 2, "max": 4}}),
        {"messages": [{"role": "assistant", "content": "x"}], "expected": 0.5},
    ],
    ids=json.dumps,
)
def test_as_expected(row: Mapping[str, Any]) -> None:
    (outcome,) = run_cases(half, [row], workers=0)
    assert (outcome.ok, outcome.diff) == (True, "")


@pytest.mark.parametrize(
    ("row", "diff"),
    [
        (case(1), "score: expected 1, got 0.5 (half)"),
        (case(0.5 + 2e-6), "score: expected 0.500002, got 0.5 (half)"),
        (case({"score": 0.7, "tolerance": 0.1}), "score: expected 0.7 ± 0.1, got 0.5 (half)"),
        (case({"min": 0.6, "max": 1}), "score: expected 0.6 to 1, got 0.5 (half)"),
        (case({"min": 0.6}), "score: expected at least 0.6, got 0.5 (half)"),
        (case({"max": 0.4}), "score: expected at most 0.4, got 0.5 (half)"),
        (case(None), "score: expected no score, since it does not apply, got 0.5 (half)"),
        (case({"error": "timeout"}), "score: expected a failure of kind timeout, got 0.5 (half)"),
        (case({"error": True}), "score: expected a failure, got 0.5 (half)"),
        (case(1, "none"), "score: expected 1, got no score, since it does not apply (does not apply)"),
        (
            case({"error": "timeout"}, "input"),
            "score: expected a failure of kind timeout, got a failure of kind input (unreadable",
        ),
        (case(None, "fail"), "score: expected no score, since it does not apply, got a failure of kind exception"),
        (case(0, "fail"), "score: expected 0, got a failure of kind exception (ValueError: no way"),
        (case(0.5, expected_metrics={"length": 4}), "metric length: expected 4, got 3 (3 words)"),
        (case(0.5, expected_metrics={"depth": 4}), "metric depth: expected 4, got none"),
        (
            case(1, expected_metrics={"length": 4}),
            "score: expected 1, got 0.5 (half)\nmetric length: expected 4, got 3 (3 words)",
        ),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_off(row: Mapping[str, Any], diff: str) -> None:
    (outcome,) = run_cases(half, [row], workers=0)
    assert not outcome.ok
    assert outcome.diff.startswith(diff)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"response": "x"}, 'the case has no "expected": give a number, null, or an object'),
        ({"prompt": "x", "expected": 1}, 'a case needs "messages", or a "response" and perhaps a "prompt"'),
        ({"messages": [], "expected": 1}, '"messages" is empty'),
        ({"messages": [{"content": "x"}], "expected": 1}, "messages[0].role: Field required"),
        (case(1, response=3), '"response" must be text, not a int; a conversation goes in "messages"'),  # type: ignore[arg-type]
        (case("high"), "\"expected\" must be a number, not 'high'"),
        (case([1]), '"expected" must be a number, not a list'),
        (case({}), '"expected" must be a number, null, or an object with score and tolerance'),
        (case({"score": 1, "max": 2}), "its keys: score, max"),
        (case({"min": 2, "max": 1}), '"expected" has a min of 2 over its max of 1'),
        (case({"score": 1, "tolerance": -1}), 'tolerance of "expected" must be 0 or more'),
        (case({"error": 3}), '"expected" with an error is {"error": KIND}, or true for any kind'),
        (case({"error": "timeout", "min": 1}), '"expected" with an error is {"error": KIND}'),
        (case(1, expected_metrics=[1]), '"expected_metrics" must be an object, not a list'),
        (case(1, expected_metrics={"a": "b"}), "the metric \"a\" must be a number, not 'b'"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_a_malformed_case_is_named_by_file_and_line(
    tmp_path: Path, row: Mapping[str, Any], says: str
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{json.dumps(case(0.5))}\n\n{json.dumps(row)}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        run_cases(half, path, workers=0)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert says in str(caught.value)
    with pytest.raises(InputError, match=r"^case 1: "):
        run_cases(half, [row], workers=0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cases.jsonl holds no cases"),
        ("{]\n", "cases.jsonl:1: not JSON"),
        ("[1]\n", "cases.jsonl:1: a row must be an object, not a list"),
        ('{"response": "x", "expected": NaN}\n', "cases.jsonl:1: NaN is not JSON"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        run_cases(half, path)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        ({"cases": "absent.jsonl"}, InputError, "there is no file or folder absent.jsonl"),
        ({"cases": []}, InputError, "the list holds no cases"),
        ({"cases": 3}, InputError, "cases must be a file or a list of rows, not a int"),
        ({"cases": {"response": "x"}}, InputError, "cases must be a file or a list of rows, not a dict"),
        ({"cases": ["x"]}, InputError, "case 1: a case must be an object, not a str"),
        ({"tolerance": -1}, InputError, "tolerance must be 0 or more, not -1"),
        ({"reward": "no.such:reward"}, ResolutionError, "no.such:reward"),
        ({"most": 3}, BindingError, "no parameter 'most'"),
    ],
)
def test_mistakes(wrong: dict[str, Any], kind: type[Exception], says: str) -> None:
    given: dict[str, Any] = {"reward": half, "cases": [case(1)], "workers": 0, **wrong}
    with pytest.raises(kind) as caught:
        run_cases(**given)
    assert says in str(caught.value)


def test_outcomes_carry_ids_lines_and_what_was_expected(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    rows = [
        case(0.5, id="first", prompt="2 + 2?"),
        case(None, "none"),
        case({"min": 0, "max": 1}),
        case({"error": True}, "fail"),
        case({"error": "input"}, "input"),
    ]
    path.write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    outcomes = run_cases(half, str(path), workers=0)
    assert [(o.id, o.line, o.expected, o.ok) for o in outcomes] == [
        ("first", 1, 0.5, True),
        (3, 3, None, True),
        (5, 5, "0 to 1", True),
        (7, 7, "error", True),
        (9, 9, "error: input", True),
    ]
    assert (outcomes[0].prompt, outcomes[0].response, outcomes[0].result.score) == ("2 + 2?", "x", 0.5)


def forever(response: str) -> float:
    while response == "loop":
        pass
    return 1.0


def test_deadlines_hold_and_parameters_arrive() -> None:
    rows = [case({"error": "timeout"}, "loop"), case(1)]
    assert [o.ok for o in run_cases(forever, rows, timeout=1, workers=1)] == [True, True]
    rows = [{"response": "so brief", "expected": 1}]
    assert run_cases("guerdon.rewards.length:length", rows, workers=0, maximum=2)[0].ok
    assert not run_cases("guerdon.rewards.length:length", rows, workers=0, maximum=1)[0].ok


def test_a_failed_assertion_lists_what_is_off() -> None:
    rows = [case(0.5), case(1, id="b", prompt="2 + 2?"), case(0, "y" * 1000)]
    with pytest.raises(AssertionError) as caught:
        assert_cases(half, rows, workers=0)
    first, *lines = str(caught.value).splitlines()
    assert first == "2 of 3 cases of the list are not as expected"
    assert lines[:4] == [
        "case b, line 2",
        "  prompt: '2 + 2?'",
        "  response: 'x'",
        "  score: expected 1, got 0.5 (half)",
    ]
    assert lines[4:6] == ["case 3, line 3", f"  response: '{'y' * 299}…'"]
    assert_cases(half, rows[:1], workers=0)


def test_each_case_of_a_file_as_a_test_of_its_own(tmp_path: Path) -> None:
    rows = [case(1, id="right"), case(0), case(1, id="other")]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [param.id for param in cases(tmp_path / "cases.jsonl")] == ["right", "line 2", "other"]
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "from guerdon.testing import assert_cases, cases\n"
        "@pytest.mark.parametrize('case', cases('cases.jsonl'))\n"
        "def test_one(case):\n"
        "    assert_cases(lambda response: 1.0, [case], workers=0)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "score: expected 0, got 1" in done.stdout


def test_a_table_may_hold_what_no_data_may(tmp_path: Path) -> None:
    table = tmp_path / "cases.jsonl"
    table.write_text('{"response": "\\ud800\\u0000", "expected": 2}\n')
    (outcome,) = run_cases(lambda response: len(response), table, workers=0)
    assert (outcome.ok, outcome.response) == (True, "\ud800\x00")

"""Scorers of autoevals, OpenEvals and DeepEval as rewards, with the packages themselves; nothing leaves the machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from interop.conftest import Interpreter
from interop.environments import PEERS, environment
from support.trainer_peers import run_peer

COLUMNS = [f"--{name}-column={name}" for name in ("prompt", "response", "answer")]
CHAT = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "4"}]

# Scorer, arguments of the call, score. What is under `more` is compared as far as it goes.
CASES: list[tuple[str, dict[str, Any], float | None, dict[str, Any]]] = [
    (
        "levenshtein",
        {"response": "hello wrld", "ground_truth": "hello world"},
        10 / 11,
        {"name": "levenshtein"},
    ),
    ("Levenshtein", {"response": "a", "ground_truth": "b"}, 0.0, {}),
    ("near", {"response": "45"}, 0.5, {}),
    ("exact", {"response": '{"a": 1}', "ground_truth": {"a": 1}}, 1.0, {"name": "exact_match"}),
    ("number", {"response": "105", "ground_truth": "100"}, 1 - 5 / 205, {"name": "numeric_diff"}),
    (
        "number",
        {"response": "many", "ground_truth": 4},
        None,
        {"error": "the response is not a number: 'many'"},
    ),
    ("valid", {"response": '{"a": 1}', "ground_truth": "no schema"}, 1.0, {}),
    ("valid", {"response": '{"a": 1}', "schema": {"required": ["b"]}}, 0.0, {}),
    ("choosy", {"response": "skip"}, None, {"error": None, "reason": "so it is"}),
    ("choosy", {"response": "go"}, 0.5, {"reason": "so it is", "metrics": {"seen": [2.0, None]}}),
    (
        "context",
        {"prompt": "?", "response": "4", "context": "2 4 6", "output": "theirs"},
        1.0,
        {"async": True},
    ),
    ("exact_match", {"response": "4", "ground_truth": "4"}, 1.0, {"name": "exact_match", "async": False}),
    ("exact_match_async", {"response": "5", "ground_truth": "4"}, 0.0, {"async": True}),
    ("exact_match", {"response": "5"}, None, {}),
    ("levenshtein_distance", {"response": "45", "ground_truth": "4", "inputs": "theirs"}, 0.5, {}),
    (
        "fields",
        {"response": '{"a": 1, "b": 2}', "ground_truth": {"a": 1, "b": 3}},
        0.5,
        {"name": "json_match"},
    ),
    ("fields", {"response": "{", "ground_truth": {"a": 1}}, None, {}),
    ("trajectory", {"messages": CHAT, "ground_truth": CHAT}, 1.0, {"name": "trajectory_match"}),
    ("ExactMatchMetric", {"prompt": "?", "response": "4", "ground_truth": 4}, 1.0, {"name": "exact_match"}),
    ("digits", {"prompt": "?", "response": "four"}, 0.0, {"metrics": {"pattern_match": [0.0, False]}}),
    ("length", {"prompt": "?", "response": "abc"}, 0.75, {"reason": "3 letters", "name": "length_of_answer"}),
    ("length", {"prompt": "?", "response": "fail"}, None, {"error": "ValueError: it fails"}),
    ("Length", {"prompt": "?", "response": "abc"}, 0.75, {}),
    ("judged", {"prompt": "?", "response": "abc"}, 0.25, {"async": True}),
]
ROWS: list[dict[str, Any]] = [{"scorer": name, "arguments": arguments} for name, arguments, _, _ in CASES]
BOTH_KEYS = {"response": '{"a": 1, "b": 2}', "ground_truth": {"a": 1, "b": 3}}
MORE: list[dict[str, Any]] = [
    {"scorer": "Length", "parameters": {"limit": 6}, "arguments": {"prompt": "?", "response": "abc"}},
    {"scorer": "each", "arguments": BOTH_KEYS},
    {"scorer": "each", "key": "json_match:a", "arguments": BOTH_KEYS},
    {"scorer": "length", "parameters": {"limit": 6}, "arguments": {}},
]


@pytest.fixture(scope="module")
def told(interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    rows = "".join(json.dumps(row) + "\n" for row in ROWS + MORE)
    folder = tmp_path_factory.mktemp("scorers")
    return run_peer(interpreter("scorers"), "scorers_run.py", folder=folder, given=rows)


@pytest.mark.parametrize(
    ("position", "case"), list(enumerate(CASES)), ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)]
)
def test_a_scorer_is_a_reward(
    told: dict[str, Any], position: int, case: tuple[str, dict[str, Any], float | None, dict[str, Any]]
) -> None:
    _, _, score, more = case
    result = told["results"][position]
    assert result.get("score") == (None if score is None else pytest.approx(score)), result
    assert {name: result[name] for name in more} == more
    if score is None and more.get("error", "") is not None:
        assert result["error"]


def test_parameters_keys_and_versions(told: dict[str, Any]) -> None:
    longer, several, one, made = told["results"][len(CASES) :]
    by_name = {case[0]: result for case, result in zip(CASES, told["results"], strict=False)}
    assert longer["score"] == 0.5
    assert longer["version"] != by_name["Length"]["version"]
    assert "json_match:a, json_match:b" in several["error"]
    assert "key=" in several["error"]
    assert one["score"] == 1.0
    assert one["metrics"]["json_match:b"] == [0.0, None]
    assert "takes no parameters: limit" in made["refused"]
    assert by_name["levenshtein"]["version"] == by_name["Levenshtein"]["version"]


def test_they_score_in_workers_and_say_nothing_to_anyone(told: dict[str, Any]) -> None:
    length, judged = told["workers"]
    assert [row[:2] for row in length] == [[1.0, None], [None, "ValueError: it fails"], [0.25, None]]
    assert [row[:2] for row in judged] == [[0.0, None], [None, "ValueError: it fails"], [0.75, None]]
    versions = {case[0]: result["version"] for case, result in zip(CASES, told["results"], strict=False)}
    assert {row[2] for row in length} == {versions["length"]}
    assert told["silent"] is True


def test_the_command_line_takes_them_from_a_file(interpreter: Interpreter, tmp_path: Path) -> None:
    rows = [{"prompt": "?", "response": reply, "answer": "4"} for reply in ("4", "5")]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    reward = f"{PEERS / 'scorer_objects.py'}::exact"
    done = subprocess.run(
        [
            interpreter("scorers"),
            "-m",
            "guerdon",
            "preview",
            reward,
            "--samples",
            "rows.jsonl",
            *COLUMNS,
        ],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert "mean 0.5" in done.stdout

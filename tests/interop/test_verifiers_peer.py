"""Rewards of ours in verifiers' tasks and rubrics, and verifiers' own as rewards: with the packages themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.conftest import Interpreter
from support.trainer_peers import BOTH, adapted, run_peer


def test_a_task_is_scored_by_verifiers(interpreter: Interpreter, tmp_path: Path) -> None:
    configuration = tmp_path / "rewards.toml"
    configuration.write_text(adapted(BOTH, "verifiers", tmp_path))
    told = run_peer(interpreter("verifiers"), "verifiers_tasks.py", str(configuration), folder=tmp_path)

    right, wrong, failed, slow, spaced = told["results"]
    # right has weight 2, the plugged one is 0.75 · exact + 0.25 / letters, theirs compares the stripped reply.
    assert right["rewards"] == pytest.approx({"right": 2.0, "exact": 1.0, "theirs": 1.0})
    assert wrong["rewards"] == pytest.approx({"right": 0.0, "exact": 0.25, "theirs": 0.0})
    assert failed["rewards"] == {"right": 0.0, "exact": 0.0, "theirs": 0.0}
    assert slow["rewards"] == {"right": 0.0, "exact": 0.0, "theirs": 0.0}
    assert spaced["rewards"]["right"] == 0.0
    assert spaced["rewards"]["theirs"] == 1.0
    assert [result["error"] for result in told["results"]] == [None] * 5
    keys = {"turns", "right/failed", "exact/failed", "exact/exact", "exact/brief"}
    assert [set(result["metrics"]) for result in told["results"]] == [keys] * 5
    assert [result["metrics"]["right/failed"] for result in told["results"]] == [0, 0, 1, 1, 0]
    assert right["metrics"]["exact/brief"] == 1.0
    assert failed["metrics"]["exact/brief"] == 0.25
    assert told["failures"] == {"exception": 1, "timeout": 1}
    assert "it fails" in told["stderr"]
    assert told["turns"] > 20, "the event loop was held up"
    assert [result["reward"] for result in told["threaded"]] == pytest.approx([4.0, 0.25])
    assert told["copied"] == 1.0
    assert told["names"][0] == "exact"
    assert told["names"][1].startswith("exact_")
    assert told["strict"]["ok"] is False
    assert "it fails" in told["strict"]["error"]
    assert told["strict"]["rewards"] == {"strict": None}


def test_a_rubric_scores_with_ours_and_is_a_reward(interpreter: Interpreter, tmp_path: Path) -> None:
    told = run_peer(interpreter("verifiers_rubric"), "verifiers_rubrics.py", folder=tmp_path)

    right, wrong, failed, slow = told["ours"]
    assert [state["reward"] for state in told["ours"]] == pytest.approx([2.0, 0.5, 0.0, 0.0])
    assert right["metrics"] == {"exact": 1.0, "exact/failed": 0.0, "exact/exact": 1.0, "exact/brief": 1.0}
    assert wrong["metrics"]["exact/exact"] == 0.0
    assert failed["metrics"]["exact/failed"] == slow["metrics"]["exact/failed"] == 1.0
    assert told["failures"] == {"exception": 1, "timeout": 1}

    theirs = told["theirs"]
    assert theirs["verdicts"] == theirs["by_verifiers"]
    assert theirs["weights"] == {"same": 1.0, "level": 0.5, "letters": 0.0, "same_2": 0.25}
    assert theirs["failed"] == "component 'same' failed: ValueError: it fails"
    assert theirs["versions"][0] == theirs["versions"][1] != theirs["versions"][2]
    assert "scores a group of rollouts together" in theirs["group"]
    assert theirs["named_by_path"] == theirs["versions"][0]

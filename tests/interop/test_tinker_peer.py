"""Rewards of ours in the tinker cookbook's rollouts, with the package itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.conftest import Interpreter
from support.trainer_peers import BOTH, adapted, run_peer


def test_groups_are_rolled_out_by_the_cookbook(interpreter: Interpreter, tmp_path: Path) -> None:
    adapted(BOTH, "tinker", tmp_path)
    told = run_peer(interpreter("tinker"), "tinker_envs.py", folder=tmp_path)

    assert told["lengths"] == [2, 2, True]
    first = told["first"]
    assert first["rewards"] == pytest.approx([1.0, 0.25, 0.0, 0.0])
    keys = {"exact/failed", "exact/exact", "exact/brief"}
    assert [set(metrics) for metrics in first["metrics"]] == [keys] * 4
    assert [metrics["exact/failed"] for metrics in first["metrics"]] == [0, 0, 1, 1]
    assert "it fails" in first["logs"][2]["exact/error"]
    assert first["errors"] == []
    assert told["failures"] == {"exception": 1, "timeout": 1}
    assert told["threaded"]["rewards"] == [1.0] * 4
    assert told["shared"], "a copy that arrives in the process has workers of its own"
    assert told["retried"]["rewards"] == pytest.approx([1.0, 0.25])
    assert "it fails" in told["retried"]["errors"][0]
    assert told["around"] == told["thinking"] == 1.0
    assert told["names"][0] == "exact"
    assert told["names"][1].startswith("exact_")
    assert told["tags"] == ["exact"]

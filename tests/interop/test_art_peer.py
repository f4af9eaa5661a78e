"""Rewards of ours on ART's trajectories, with the package itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interop.conftest import Interpreter
from support.trainer_peers import BOTH, adapted, run_peer


def test_groups_are_scored_as_art_gathers_them(interpreter: Interpreter, tmp_path: Path) -> None:
    adapted(BOTH, "art", tmp_path)
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    told = run_peer(interpreter("art"), "art_groups.py", folder=tmp_path, **offline)

    for group in (*told["default"], *told["threaded"]):
        assert sorted(group["rewards"]) == pytest.approx([0.0, 0.0, 0.25, 1.0])
        keys = {"exact/failed", "exact/exact", "exact/brief"}
        assert [set(metrics) for metrics in group["metrics"]] == [keys] * 4
        assert sum(metrics["exact/failed"] for metrics in group["metrics"]) == 2
        assert group["exceptions"] == []
        assert sorted(errors(group)) == [
            "exact error: component 'exact' failed: ValueError: it fails (rewards_of_ours.py, line 11)",
            "exact error: exact overran its deadline of 2 s and was ended",
        ]
    (skipped,) = told["skipping"]
    assert sorted(skipped["rewards"]) == pytest.approx([0.25, 1.0])
    assert len(skipped["exceptions"]) == 2
    assert any("it fails" in text for text in skipped["exceptions"])
    assert told["all_failed"] is None
    assert told["alone"] == 1.0
    assert told["failures"] == {"exception": 2, "timeout": 2}
    assert told["names"][0] == "exact"
    assert told["names"][1].startswith("exact_")


def errors(group: dict[str, Any]) -> list[str]:
    return [log for logs in group["logs"] for log in logs]

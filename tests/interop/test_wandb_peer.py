"""Tables of samples with the package of Weights & Biases itself."""

from __future__ import annotations

from pathlib import Path

from interop.conftest import Interpreter
from support.trainer_peers import run_peer


def test_an_offline_run_has_the_tables(interpreter: Interpreter, tmp_path: Path) -> None:
    found = run_peer(interpreter("wandb"), "wandb_tables.py", folder=tmp_path, WANDB_MODE="offline")
    table = found["adapter"]["samples"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert [row["response"] for row in rows] == ["x", "44", "4"]
    assert [row["score"] for row in rows] == [None, 0.0, 1.0]
    assert rows[0]["error"].startswith("exception: ValueError: half a pair: ?")
    assert [row[1] for row in found["train"]["samples"]["data"]] == ["4"]

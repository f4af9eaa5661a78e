"""The preset that learns sums, from the command line: a tiny model, TRL, one thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def guerdon(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "guerdon", *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.torch
@pytest.mark.slow(seconds=60)
def test_a_tiny_model_learns_sums_with_trl(tmp_path: Path) -> None:
    guerdon(tmp_path, "train", "+experiment=arithmetic", "run_dir=run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    curve = [row["reward/mean"] for row in rows if "reward/mean" in row]
    assert curve[0] < 0.15
    assert sum(curve[-10:]) / 10 > 0.8
    told = json.loads(guerdon(tmp_path, "evaluate", "run", "--json"))
    assert told["after"]["accuracy"]["value"] > told["before"]["accuracy"]["value"]
    guerdon(tmp_path, "train", "plot", "run")
    assert (tmp_path / "run" / "plot.png").read_bytes().startswith(b"\x89PNG")

"""Each fuzz target holds: for a few inputs here, and for ten minutes with guidance by coverage in ``make test-all``.

``GUERDON_FUZZ_CASES`` says how many inputs are tried here, ``GUERDON_FUZZ_SECONDS`` how long the guided runs take.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from fuzz import targets

CASES = int(os.environ.get("GUERDON_FUZZ_CASES") or 200)
SECONDS = int(os.environ.get("GUERDON_FUZZ_SECONDS") or 600)
TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", targets.names())
def test_what_must_hold_holds_for_the_seeds_and_inputs_like_them(name: str) -> None:
    target = targets.load(name)
    assert target.seeds
    for seed in (*target.seeds, b""):
        target.check(seed)

    @settings(
        max_examples=min(CASES, 1000), deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(targets.inputs(target.seeds))
    def holds(data: bytes) -> None:
        target.check(data)

    holds()


@pytest.mark.slow(seconds=SECONDS)
@pytest.mark.parametrize("name", targets.names())
def test_inputs_that_reach_new_code_break_nothing(name: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "fuzz.runner",
        name,
        "--seconds",
        str(SECONDS),
        "--artifacts",
        str(tmp_path),
    ]
    paths = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, errors="replace"
    )
    left = [(path.name, path.read_bytes()) for path in sorted(tmp_path.iterdir())]
    assert (done.returncode, left) == (0, []), f"{done.stdout[-2000:]}\n{done.stderr[-6000:]}"

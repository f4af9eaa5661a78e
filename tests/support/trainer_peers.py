"""Scripts that run in a trainer's environment with this project's source beside it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from guerdon.cli.app import app
from interop.environments import PEERS, environment

SOURCE = Path(__file__).resolve().parents[2] / "src"
RUN_SECONDS = 240
BOTH = f"{PEERS / 'rewards_of_ours.py'}::both"


def run_peer(
    python: Path, script: str, *arguments: str, folder: Path, given: str = "", **variables: str
) -> dict[str, Any]:
    """What a script of ``interop/peers`` prints as its last line, an object, run in ``folder`` on a ``given`` text."""
    paths = [str(SOURCE), str(folder)]
    done = subprocess.run(
        [str(python), "-W", "error::RuntimeWarning", str(PEERS / script), *arguments],
        cwd=folder,
        input=given,
        env={**environment(), "PYTHONPATH": ":".join(paths), "OMP_NUM_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])
    return {**told, "stderr": done.stderr}


def adapted(spec: str, trainer: str, folder: Path) -> str:
    """The lines that ``guerdon adapt`` prints, its thin file written into the folder."""
    arguments = ["adapt", spec, "--for", trainer, "--timeout", "2", "-o", str(folder), "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    lines: str = json.loads(done.stdout)["lines"]
    return lines

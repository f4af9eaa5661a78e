"""Scripts that run in a trainer's environment with this project's source beside it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from interop.environments import PEERS, environment

SOURCE = Path(__file__).resolve().parent.parent / "src"
RUN_SECONDS = 240


def run_peer(python: Path, script: str, *arguments: str, folder: Path, **variables: str) -> dict[str, Any]:
    """What a script of ``interop/peers`` prints as its last line, an object, run in ``folder``."""
    paths = [str(SOURCE), str(folder)]
    done = subprocess.run(
        [str(python), "-W", "error::RuntimeWarning", str(PEERS / script), *arguments],
        cwd=folder,
        env={**environment(), "PYTHONPATH": ":".join(paths), "OMP_NUM_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])
    return {**told, "stderr": done.stderr}

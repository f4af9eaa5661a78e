"""The checks of ``make check``, side by side: the outcome and the seconds of each, and its output where it fails."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PYTHON = sys.executable

HOUSE = ["tests/house/test_rules.py", "tests/house/test_project.py"]

# The longest first; the others take turns beside it.
CHECKS: Sequence[tuple[str, Sequence[str]]] = (
    ("mypy", [str(BIN / "mypy")]),
    ("import layers", [str(BIN / "lint-imports")]),
    ("rules of the house", [PYTHON, "-m", "pytest", "-q", "-p", "no:xdist", *HOUSE]),
    ("ruff check", [str(BIN / "ruff"), "check", "."]),
    ("ruff format", [str(BIN / "ruff"), "format", "--check", "."]),
    ("help page", [PYTHON, "-m", "guerdon.cli.help", "--check"]),
)
AT_ONCE = 2


def run(name: str, command: Sequence[str]) -> bool:
    """Run one check and print its outcome; True where it passes."""
    start = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    line = f"{name:20} {'passed' if done.returncode == 0 else 'FAILED'} {time.monotonic() - start:6.1f} s\n"
    # One write, so that two checks that end together do not mix their lines.
    sys.stdout.write(line if done.returncode == 0 else f"{line}{done.stdout.rstrip()}\n")
    sys.stdout.flush()
    return done.returncode == 0


def main() -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        passed = list(pool.map(lambda check: run(*check), CHECKS))
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()

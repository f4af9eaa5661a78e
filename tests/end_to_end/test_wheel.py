"""The wheel, installed into an environment of its own: the README as a newcomer walks it, in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from support import docs_runner

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXTRAS = "serve,client"
"""What the README installs for its examples. `guerdon train` needs gigabytes more; tests/documents runs it."""

pytestmark = [pytest.mark.peers, pytest.mark.slow(seconds=60)]


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GUERDON_", "PYTHON"))}
    return subprocess.run(
        [str(word) for word in command], cwd=folder, env=kept, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    done = run(*pip, "wheel", "--no-deps", "-w", folder, ROOT, folder=folder)
    if "No matching distribution" in done.stderr:
        pytest.skip("no package registry: the wheel cannot be built")
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def environment(wheel: Path, folder: Path, extras: str = "") -> Path:
    """The interpreter of a new environment with the wheel."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    done = run(python, "-m", "pip", "-q", "install", f"{wheel}{extras}", folder=folder)
    assert done.returncode == 0, done.stderr
    return python


def test_the_readme_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    python = environment(wheel, tmp_path / "environment", f"[{EXTRAS}]")
    assert f'pip install ".[{EXTRAS}]"' in README
    page, empty = tmp_path / "README.md", tmp_path / "empty"
    empty.mkdir()
    training = "console\n$ guerdon train"
    assert training in README
    page.write_text(README.replace(training, training.replace("console", "text")), encoding="utf-8")
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    done = run(
        "env",
        f"PATH={path}",
        "COLUMNS=80",
        "NO_COLOR=1",
        "GUERDON_SAY_AFTER=120",
        python,
        docs_runner.__file__,
        page,
        "report.json",
        folder=empty,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((empty / "report.json").read_text(encoding="utf-8"))
    assert report["ran"] >= 9
    assert not report["not_run"]


def test_the_core_alone(wheel: Path, tmp_path: Path) -> None:
    python = environment(wheel, tmp_path / "environment")
    empty = tmp_path / "empty"
    empty.mkdir()
    for command in (
        "examples all",
        "rewards",
        "score my_rewards.py::last_number conversations.jsonl",
        "config",
    ):
        done = run(python, "-m", "guerdon", *command.split(), folder=empty)
        assert done.returncode == 0, done.stderr
    needs = {"serve my_rewards.py::brief": "serve", "train +experiment=arithmetic": "train,trl"}
    for command, extra in needs.items():
        done = run(python, "-m", "guerdon", *command.split(), folder=empty)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith("Error: ")
        assert f'pip install "guerdon[{extra}]"' in done.stderr

"""A working directory with rewards and samples, and two ways to run the command line in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from guerdon.cli.app import app

REWARDS = '''
"""Rewards for the tests of the command line."""

import os


def exact(response, answer):
    """One point where the response is the answer. Nothing else counts.

    Scale: 0 or 1,
    and nothing between.

    >>> exact("4", "4")
    1.0
    """
    return float(response == answer)


def brief(response):
    return float(response == "a")


def careless(response):
    return float(response[0] == "a" and response == "a")


def length(response, *, most: int = 10, unit: str = "x"):
    """The share of the most characters"""
    return min(len(response) / most, 1.0)


def fails(response):
    raise ValueError("no \\x1b[31mway\\nhere")


def fails_on_b(response):
    if response == "b":
        raise ValueError("b is not for me")
    return 1.0


def needs_gold(response, gold_standard):
    return 1.0


def yields(response):
    yield 1.0


def noted(response, id):
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(f"{id}\\n")
    import time
    time.sleep(0.01)
    print("a word from the reward")
    return len(response) / 10


class Angry:
    def __init__(self):
        raise KeyError("temper")

    def __call__(self, response):
        return 1.0
'''


def row(response: str, **columns: Any) -> dict[str, Any]:
    """A row in chat form."""
    messages = [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": response}]
    return {"messages": messages, **columns}


def write_rows(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(item) + "\n" for item in rows), encoding="utf-8")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: my_rewards.py, and samples.jsonl with the responses a, b and c."""
    for name in list(os.environ):
        if name.startswith("GUERDON_") and name != "GUERDON_SAY_AFTER":
            monkeypatch.delenv(name)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "my_rewards.py").write_text(REWARDS, encoding="utf-8")
    write_rows(folder / "samples.jsonl", [row(r, id=f"s-{r}", answer="a") for r in "abc"])
    return folder


Run = Callable[..., Result]


@pytest.fixture
def guerdon(work: Path) -> Run:
    """Runs a command line in this process: ``guerdon("score", …, GUERDON_LIMIT="1")``."""

    def run(*args: str, **environment: str) -> Result:
        result = CliRunner(env=environment).invoke(app, args)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def start(
    *args: str, folder: Path, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[str]:
    """The command line in a process of its own, on which Ctrl-C works whatever started this one."""
    return subprocess.Popen(
        [sys.executable, "-m", "guerdon", *args],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )

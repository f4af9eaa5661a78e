"""What is being done is said where it takes a while, and only there."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guerdon.console.working import Working


def test_a_quick_job_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Working("loading", patience=5.0):
        pass
    assert capsys.readouterr().err == ""


def test_a_long_one_says_once_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with Working("loading the model", patience=0.05):
        time.sleep(0.3)
    assert capsys.readouterr().err == "loading the model …\n"


def test_an_error_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    work = Working("loading", patience=0.2)
    with pytest.raises(ValueError), work:
        raise ValueError
    time.sleep(0.4)
    work.stop()
    assert capsys.readouterr().err == ""


def test_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with Working("loading", patience=0.01):
        time.sleep(0.1)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_line_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Working("loading", patience=0.05):
        time.sleep(0.3)
    assert "loading … 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("score slow.py rows.jsonl --workers 0", "loading slow.py …"),
        ("score slow.py::late rows.jsonl --workers 0", "loading slow.py::late …"),
        ("test slow.py::late cases.jsonl --workers 0", "scoring the cases of cases.jsonl …"),
        ("preview slow.py::late --samples rows.jsonl --workers 0", "scoring with late …"),
        ("score slow.py::late rows.jsonl", "scoring …"),
    ],
)
@pytest.mark.slow(seconds=8)
def test_commands_say_what_takes_over_two_seconds(tmp_path: Path, command: str, says: str) -> None:
    source = "import time\ntime.sleep(2)\ndef late(response):\n    time.sleep(2)\n    return 1.0\n"
    (tmp_path / "slow.py").write_text(source, encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"response": "a", "prompt": "b"}\n', encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text('{"response": "a", "expected": 1}\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "guerdon", *command.split()],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "GUERDON_SAY_AFTER"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert says in done.stderr.splitlines()

"""Ctrl-C on a real run, and its completion: nothing is lost, nothing is scored twice."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from support.cli_work import row, start, write_rows

COUNT = 200


@pytest.fixture
def many(work: Path) -> Path:
    write_rows(work / "many.jsonl", [row("x" * (i % 10), id=f"s{i}") for i in range(COUNT)])
    return work


def command(output: str, folder: Path, notes: str, *more: str) -> subprocess.Popen[str]:
    return start(
        *("score", "my_rewards.py::noted", "many.jsonl", "-o", output, *more),
        folder=folder,
        environment={"NOTES": str(folder / notes)},
    )


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def verdicts(path: Path) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in json.loads(line).items() if k not in ("seconds", "checksum")}
        for line in lines(path)
    ]


def wait_for_lines(path: Path, count: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while len(lines(path)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ctrl_c_and_resume(many: Path) -> None:
    process = command("s.jsonl", many, "notes")
    wait_for_lines(many / "notes", 20, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    done = len(lines(many / "s.jsonl"))
    assert 20 <= done < COUNT
    assert f"Interrupted: {done} of {COUNT} samples are scored and kept" in err
    again = err.partition("continue with: ")[2].splitlines()[0]
    assert again == "guerdon score my_rewards.py::noted many.jsonl -o s.jsonl --resume"
    assert "Traceback" not in err
    assert out == ""

    process = start(*again.split()[1:], folder=many, environment={"NOTES": str(many / "notes")})
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert f"{COUNT - done} samples in" in err
    assert f"{done} were scored before" in err
    assert f"samples    {COUNT}" in out
    noted = lines(many / "notes")
    assert (len(noted), len(set(noted))) == (COUNT, COUNT)

    process = command("whole.jsonl", many, "other_notes")
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert verdicts(many / "s.jsonl") == verdicts(many / "whole.jsonl")


def test_ctrl_c_without_an_output(many: Path) -> None:
    process = start(
        *("score", "my_rewards.py::noted", "many.jsonl", "--json"),
        folder=many,
        environment={"NOTES": str(many / "notes")},
    )
    wait_for_lines(many / "notes", 20, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    summary = json.loads(out)
    assert summary["complete"] is False
    assert 20 <= summary["statistics"]["count"] < COUNT
    assert "with -o FILE they are kept" in err

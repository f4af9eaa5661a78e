"""The program as a process: quick to answer, quiet where a pipe closes, at home in the working directory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import guerdon as package
from support.cli_work import Run, start, write_rows

HEAVY = {"rich", "pyarrow", "cloudpickle", "guerdon.scoring.run", "guerdon.data", "guerdon.console"}


def loaded_by(*args: str) -> set[str]:
    code = (
        "import json, sys\nfrom guerdon.cli import main\n"
        f"try:\n    main({list(args)!r})\nexcept SystemExit:\n    print(json.dumps(list(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("args", [["--help"], ["score", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(args: list[str]) -> None:
    loaded = loaded_by(*args)
    assert "guerdon.cli.app" in loaded
    assert loaded & HEAVY == set()
    assert loaded_by("rewards") & HEAVY


def test_the_list_of_rewards_loads_no_reward() -> None:
    # Loading them all takes a second; a list is to be there in half of one.
    loaded = loaded_by("rewards")
    rewards = {name for name in loaded if name.startswith("guerdon.rewards.") and name.endswith(".reward")}
    heavy = {
        "guerdon.types",
        "guerdon.sandbox",
        "guerdon.scoring.run",
        "guerdon.serve",
        "pydantic.main",
        "asyncio",
    }
    assert rewards | loaded & heavy == set()
    assert "guerdon.reward.names" in loaded


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",)])
def test_help(guerdon: Run, args: tuple[str, ...]) -> None:
    result = guerdon(*args)
    assert result.exit_code == 0
    for command in ("preview", "score", "rewards", "test"):
        assert f"\n  {command} " in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("group", ["journal", "sandbox"])
def test_a_group_alone_shows_its_help(guerdon: Run, group: str) -> None:
    result = guerdon(group)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == guerdon(group, "--help").stdout


def test_version(guerdon: Run) -> None:
    assert guerdon("--version").stdout == f"guerdon {package.__version__}\n"


def test_a_console_script_finds_the_working_directory(work: Path, tmp_path: Path) -> None:
    script = tmp_path / "bin" / "guerdon"
    script.parent.mkdir()
    script.write_text("from guerdon.cli import main\nmain()\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), "score", "my_rewards:exact", "samples.jsonl", "--json"],
        capture_output=True,
        text=True,
        cwd=work,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reward"] == "exact"


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m guerdon --version"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("guerdon ")


def test_a_closed_pipe_is_no_error(work: Path) -> None:
    # The reader is gone before the first line, which is what `| true` comes to.
    args = ("score", "my_rewards.py::exact", "samples.jsonl", "--workers", "0")
    with start(*args, folder=work) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert "Error" not in errors
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


def test_a_full_disk_is_a_line(work: Path) -> None:
    write_rows(work / "more.jsonl", [{"messages": [{"role": "assistant", "content": "a"}]}] * 3)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "guerdon", "score", "my_rewards.py::length", "more.jsonl"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=work,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Error: cannot write: ")
    assert "Traceback" not in done.stderr

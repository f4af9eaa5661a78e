"""Naming a reward on the command line: a file alone, file.py:name, and the arguments the wrong way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli_work import Run

ONE = "def brief(response):\n    return (0.5, 'half')\n"


def test_the_only_reward_of_a_file_is_taken_and_named(guerdon: Run, work: Path) -> None:
    (work / "one.py").write_text(ONE, encoding="utf-8")
    result = guerdon("score", "one.py", "samples.jsonl", "--json", "--workers", "0")
    assert result.exit_code == 0
    assert "reward: one.py::brief" in result.stderr.splitlines()
    assert '"reward": "brief"' in result.stdout
    assert guerdon("score", "one.py:brief", "samples.jsonl", "--workers", "0").exit_code == 0


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("score", "my_rewards.py", "samples.jsonl"), "guerdon score my_rewards.py::exact samples.jsonl, or"),
        (("adapt", "my_rewards.py", "--for", "trl"), "guerdon adapt my_rewards.py::exact --for trl, or"),
        pytest.param(
            ("train", "training.reward_function=my_rewards.py"),
            "guerdon train training.reward_function=my_rewards.py::exact, or",
            marks=pytest.mark.torch,  # the backend's packages are looked for first
        ),
    ],
)
def test_several_rewards_are_listed_with_commands(guerdon: Run, args: tuple[str, ...], line: str) -> None:
    result = guerdon(*args)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("Error: my_rewards.py defines exact, brief, careless")
    assert line in result.stderr


@pytest.mark.parametrize("command", [("score",), ("judge", "calibrate"), ("test",)])
def test_swapped_arguments_are_told(guerdon: Run, command: tuple[str, ...]) -> None:
    for reward in ("my_rewards.py", "my_rewards.py::brief", "math"):
        result = guerdon(*command, "samples.jsonl", reward, "--timeout", "5")
        right = f"guerdon {' '.join(command)} {reward} samples.jsonl --timeout 5"
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (f"Error: samples.jsonl is data and {reward} is a reward; write: {right}\n")
    result = guerdon("preview", "samples.jsonl", "--samples", "my_rewards.py")
    assert result.stderr.endswith("write: guerdon preview my_rewards.py --samples samples.jsonl\n")
    result = guerdon("preview", "samples.jsonl", "--samples", "samples.jsonl")
    assert "samples.jsonl is a file, and not of Python" in result.stderr
    result = guerdon(*command, "samples.jsonl", "samples.jsonl")
    assert result.exit_code == 2
    assert "samples.jsonl is data, not a reward" in result.stderr

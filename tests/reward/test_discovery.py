"""The rewards of a file that is named alone, and ``file.py:name``."""

from __future__ import annotations

from pathlib import Path

import pytest

import guerdon
from guerdon.errors import ResolutionError
from guerdon.reward.discovery import full_path, rewards_in
from guerdon.reward.loading.modules import load_file
from guerdon.train.run.reward_spec import build_reward

IMPORTS = "import re\nfrom guerdon import RewardFunction, RewardServer, reward_function\n"
ONE = "def brief(response):\n    return 0.5\n"

FILES = {
    "a function": (ONE, ["brief"]),
    "what is imported is another's": ("from guerdon.rewards.length import length\n" + ONE, ["brief"]),
    "a private helper": (ONE + "def _tidy(response):\n    return 1\n", ["brief"]),
    "a helper that returns text": (ONE + "def tidy(response) -> str:\n    return ''\n", ["brief"]),
    "a helper without a response": (ONE + "def overlap(a, b):\n    return 1\n", ["brief"]),
    "a decorated one among plain ones": (
        ONE + "@reward_function\ndef own(response):\n    return 1\n",
        ["own"],
    ),
    "a composition": ("def _a(response):\n    return 1\nboth = RewardFunction(_a) * 0.5\n", ["both"]),
    "a batched one": ("def many(completions, **kwargs):\n    return [1.0] * len(completions)\n", ["many"]),
    "an async one": ("async def soon(messages):\n    return 1\n", ["soon"]),
    "a lambda": ("short = lambda completion: 1\n", ["short"]),
    "a class": ("class Ends:\n    def __call__(self, solution_str):\n        return 1\n", ["Ends"]),
    "a class of data": ("class Row:\n    response: str\n" + ONE, ["brief"]),
    "below a condition": ("if re:\n    def brief(response):\n        return 1\n", ["brief"]),
    "two": (ONE + "def long(response):\n    return 1\n", ["brief", "long"]),
    "none": ("def overlap(a, b):\n    return 1\nHALF = 0.5\n", []),
}


@pytest.mark.parametrize("what", FILES)
def test_what_a_file_defines(tmp_path: Path, what: str) -> None:
    body, rewards = FILES[what]
    file = tmp_path / "mine.py"
    file.write_text(IMPORTS + body, encoding="utf-8")
    assert rewards_in(load_file(file), IMPORTS + body) == rewards


def test_the_only_reward_of_a_file_wherever_a_name_resolves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(ONE, encoding="utf-8")
    ways = [
        guerdon.get_reward_function("mine.py"),
        guerdon.get_reward_function(Path("mine.py")),
        guerdon.get_reward_function("mine.py:brief"),
        guerdon.RewardFunction("mine.py"),
        guerdon.RewardFunction(func_path="mine.py:brief"),
        build_reward("mine.py"),
        build_reward([{"name": "mine.py:brief", "weight": 1}]),
    ]
    assert [way(response="").score for way in ways] == [0.5] * len(ways)
    assert guerdon.score("mine.py", ["x"])[0].provenance.reward == "brief"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (FILES["two"][0], "mine.py defines 2 rewards; name one of them: mine.py::brief, mine.py::long"),
        ("HALF = 0.5\n", "mine.py defines no reward: a function with a parameter response or completions"),
        ("def brief(", "mine.py, line 1: '(' was never closed"),
        ("raise KeyError('no')", "importing mine.py raised KeyError"),
    ],
)
def test_files_that_mean_no_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(body, encoding="utf-8")
    with pytest.raises(ResolutionError) as caught:
        guerdon.get_reward_function("mine.py")
    assert says in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ResolutionError, match=r"there is no file nowhere\.py"):
        full_path("nowhere.py")

"""``guerdon rewards``: the list, and all about one reward."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from guerdon.cli.commands.rewards import first_sentence
from support.cli_work import Run, start


@pytest.fixture
def plugins(work: Path) -> Path:
    """A folder with an installed package that offers four rewards, two of which cannot be loaded."""
    folder = work / "site"
    about = folder / "plugin-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n", encoding="utf-8")
    names = {
        "p_good": "good_plugin:good",
        "p_plain": "good_plugin:plain",
        "p_absent": "absent_plugin:f",
        "p_raises": "raising_plugin:f",
    }
    points = "".join(f"{name} = {target}\n" for name, target in names.items())
    (about / "entry_points.txt").write_text(f"[guerdon.rewards]\n{points}", encoding="utf-8")
    (folder / "good_plugin.py").write_text(
        'def good(response):\n    """One for\n    all. And more."""\n    return 1.0\n'
        "def plain(response):\n    return 1.0\n",
        encoding="utf-8",
    )
    (folder / "raising_plugin.py").write_text("raise RuntimeError('out of luck')\n", encoding="utf-8")
    return folder


def rewards(work: Path, plugins: Path, *args: str) -> tuple[int, str, str]:
    path = os.pathsep.join(filter(None, [str(plugins), os.environ.get("PYTHONPATH")]))
    process = start("rewards", *args, folder=work, environment={"PYTHONPATH": path})
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_the_list(work: Path, plugins: Path) -> None:
    status, out, err = rewards(work, plugins)
    assert status == 0, err
    lines = {line.split()[0]: line for line in out.splitlines() if line.startswith("p_")}
    assert lines["p_good"].split(maxsplit=1)[1] == "One for all."
    assert lines["p_plain"].split(maxsplit=1)[1] == "(no docstring)"
    assert "cannot be loaded" in lines["p_absent"]
    assert "cannot be loaded" in lines["p_raises"]
    text = " ".join(out.split())
    assert "No module named 'absent_plugin'" in text
    assert "RuntimeError: out of luck" in text
    assert max(map(len, out.splitlines())) <= 80
    assert "``" not in out


def test_the_list_for_machines(work: Path, plugins: Path) -> None:
    status, out, _ = rewards(work, plugins, "--json")
    assert status == 0
    entries = {entry["name"]: entry for entry in json.loads(out)}
    assert entries["p_good"] == {"name": "p_good", "summary": "One for all.", "error": None}
    assert "out of luck" in entries["p_raises"]["error"]


def test_one_that_cannot_be_loaded_is_the_users_error(work: Path, plugins: Path) -> None:
    status, out, err = rewards(work, plugins, "show", "p_raises")
    assert (status, out) == (2, "")
    assert err.startswith("Error: the reward 'p_raises' cannot be loaded from raising_plugin:f: RuntimeError")


def test_show(guerdon: Run) -> None:
    result = guerdon("rewards", "show", "my_rewards.py::exact")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["reward", "exact"]
    assert "scale       0 or 1, and nothing between." in lines
    assert "binds       response, answer" in lines
    assert lines.count('  >>> exact("4", "4")') == 1
    assert "  1.0" in lines


def test_show_a_composition_with_parameters(guerdon: Run) -> None:
    result = guerdon("rewards", "show", "accuracy_format", "--json")
    card = json.loads(result.stdout)
    assert card["summary"] == "Scores accuracy plus format: the weighted sum of the two."
    assert {"response", "ground_truth"} <= set(card["binds"])
    assert card["components"] == {"math": 1.0, "format": 0.5}
    names = [parameter["name"] for parameter in card["parameters"]]
    assert names == [
        "accuracy",
        "template",
        "outside",
        "prefix",
        "scoring",
        "accuracy_scoring",
        "accuracy_weight",
        "format_weight",
    ]


def test_show_what_no_row_gives_and_a_list(guerdon: Run) -> None:
    lines = guerdon("rewards", "show", "judge", COLUMNS="80").stdout.splitlines()
    assert "            votes: int = 1  (never from a row)" in lines
    assert "parameters  rubric: Any = None" in lines
    text = " ".join(" ".join(lines).split())
    assert any(line.startswith("  - `reference`: whether the final answer") for line in lines)
    assert "where the judge says NA the reward does not apply." in text


CARDS: dict[str, tuple[str, dict[str, Any]]] = {
    "a function": (
        "my_rewards.py::length",
        {
            "summary": "The share of the most characters",
            "scale": None,
            "binds": ["response"],
            "parameters": [
                {"name": "most", "annotation": "int", "default": "10", "setting": False, "ceiling": False},
                {"name": "unit", "annotation": "str", "default": "'x'", "setting": False, "ceiling": False},
            ],
            "kind": "sync, a sample at a time",
            "example": None,
        },
    ),
    "a function of every column": (
        "more.py::everything",
        {
            "binds": ["messages", "ground_truth?", "strict?", "every column"],
            "parameters": [
                {"name": "strict", "annotation": None, "default": "False", "setting": False, "ceiling": False}
            ],
        },
    ),
    "a class": (
        "more.py::Scorer",
        {
            "summary": "Scores by a scale.",
            "binds": ["response"],
            "parameters": [
                {"name": "scale", "annotation": "float", "default": "1.0", "setting": False, "ceiling": False}
            ],
        },
    ),
    "a batched function": (
        "more.py::batched",
        {"kind": "async, many samples at a time", "binds": ["completions", "every column"]},
    ),
    "a composition": ("more.py::both", {"components": {"everything": 0.75, "Scorer": 0.25}, "binds": []}),
}

MORE = '''
from guerdon import RewardFunction, weighted


def everything(messages, ground_truth=None, strict=False, **columns):
    return 1.0


class Scorer:
    """Scores by a scale."""

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def __call__(self, response):
        return self.scale


async def batched(completions, **kwargs):
    return [1.0 for _ in completions]


both = 0.75 * RewardFunction(everything) + 0.25 * RewardFunction(Scorer)
'''


@pytest.mark.parametrize("case", CARDS)
def test_what_is_known_of_a_reward(guerdon: Run, work: Path, case: str) -> None:
    (work / "more.py").write_text(MORE, encoding="utf-8")
    spec, expected = CARDS[case]
    result = guerdon("rewards", "show", spec, "--json")
    assert result.exit_code == 0, result.stderr
    card = json.loads(result.stdout)
    assert {key: card[key] for key in expected} == expected
    assert guerdon("rewards", "show", spec).stdout.startswith("reward ")


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("", ""),
        ("Counts", "Counts"),
        ("Counts words. Slowly.", "Counts words."),
        ("Counts 3.5 words!", "Counts 3.5 words!"),
        ("Counts\n  words,\nslowly.\n\nMore.", "Counts words, slowly."),
        ("Counts\n\nMore. Text.", "Counts"),
    ],
)
def test_the_first_sentence(docstring: str, sentence: str) -> None:
    assert first_sentence(docstring) == sentence


def test_a_reward_without_its_command_is_told_with_the_line_that_works(guerdon: Run) -> None:
    result = guerdon("rewards", "exact_match")
    assert result.exit_code == 2
    assert "write: guerdon rewards show exact_match" in result.stderr

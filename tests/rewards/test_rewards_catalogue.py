"""Every entry of the catalogue: what its docstring says, its table of cases, and the contract."""

from __future__ import annotations

import doctest
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.cli.commands.rewards import docstring_of
from guerdon.testing import assert_cases, check_reward
from guerdon.testing.rows import chat_of
from support.catalogue import Setting, setting_of

CASES = Path(__file__).parent / "cases"
NAMES = sorted(entry.name for entry in entry_points(group="guerdon.rewards"))
ROWS = 4
"""Rows of a table that go through the contract."""


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    """The marks of a test that scores with an entry."""
    return [pytest.mark.torch] if name == "reward_model" else []


SCORING = [pytest.param(name, marks=marks_of(name)) for name in NAMES]


@pytest.fixture
def setting(name: str, tmp_path: Path) -> Iterator[Setting]:
    with setting_of(name, tmp_path) as made:
        yield made


def table(name: str) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text("utf-8").split("\n") if line]


def scored(rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """A few rows with scores, spread over the table, the highest score first; they are short, so that this is."""
    short = [
        row
        for row in rows
        if isinstance(row["expected"], int | float) and len(json.dumps(row)) < 2000 and "id" in row
    ]
    spread = short[:: max(1, len(short) // ROWS)][:ROWS]
    return sorted(spread, key=lambda row: -row["expected"])


def test_there_is_a_catalogue() -> None:
    assert {"code", "format", "keywords", "length", "math", "sql"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_docstring(name: str) -> None:
    reward = guerdon.get_reward_function(name)
    text = docstring_of(reward)
    paragraphs = [paragraph.strip() for paragraph in text.split("\n\n")]
    assert paragraphs[0].startswith("Scores "), "the first sentence says what it scores"
    assert any(paragraph.startswith("Scale: ") for paragraph in paragraphs)
    assert any(paragraph.startswith("Source: ") for paragraph in paragraphs)
    assert doctest.DocTestParser().get_examples(text), "it has an example"
    assert reward.options.scale is not None, "it declares its scale"
    assert inspect.getmodule(reward.func) is not None


@pytest.mark.parametrize("name", SCORING)
def test_cases(name: str, setting: Setting) -> None:
    rows = table(name)
    assert len(rows) >= 9
    assert len({row.get("id") for row in rows}) == len(rows), "each case has an id of its own"
    assert_cases(name, rows, workers=1, timeout=setting.timeout, **setting.parameters)


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in NAMES])
def test_contract(name: str, setting: Setting) -> None:
    rows = scored(table(name))
    report = check_reward(
        name,
        rows,
        timeout=setting.timeout,
        ignore=setting.ignore,
        tolerance=setting.tolerance,
        malformed=setting.malformed,
        **setting.parameters,
    )
    assert (report.reward, report.rows) == (name, len(rows))
    assert report.scale is not None


@pytest.mark.sample(9, seconds=1)
@pytest.mark.parametrize("name", SCORING)
def test_use_does_not_change_the_version(name: str, setting: Setting) -> None:
    reward = guerdon.get_reward_function(name, **setting.parameters)
    before = reward.with_name("before").version
    rows = scored(table(name))
    scores = guerdon.score(reward, [chat_of(row) for row in rows], workers=0, timeout=setting.timeout)
    assert len(scores.scores) == len(rows)
    # Under another name it is told anew.
    assert reward.with_name("after").version == before


def test_the_libraries_are_loaded_where_they_are_used() -> None:
    code = (
        "import sys; import guerdon.rewards.language.reward, guerdon.rewards.length, guerdon.rewards.compositions\n"
        "print({'numpy', 'py3langid', 'tokenizers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

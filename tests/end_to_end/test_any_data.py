"""Data files as people have them: each is scored without an option, or refused with the options that work."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import guerdon
from guerdon.cli.app import app
from guerdon.errors import InputError
from guerdon.reward.registry import resolve
from guerdon.train.config.schema import TrainingConfig
from guerdon.train.data.problems import Problems, load_problems
from support.data_files import DATA_FILES, PROMPTS, DataFile

REWARD = '''
def right(response, ground_truth):
    """Whether the response holds the truth."""
    return float(ground_truth is not None and str(ground_truth) in response)
'''

_EACH = pytest.mark.parametrize("file", DATA_FILES.values(), ids=DATA_FILES)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rewards.py").write_text(REWARD, encoding="utf-8")
    return tmp_path


def run(*args: str) -> Result:
    result = CliRunner().invoke(app, args)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def with_advice(args: list[str], file: DataFile) -> Result:
    """The result of a command line, once it has followed the advice of each refusal."""
    for number in range(4):
        result = run(*args)
        if result.exit_code != 2:
            assert (number > 0) is bool(file.refused), result.stderr
            return result
        if number == 0:
            assert all(words in result.stderr for words in file.refused), result.stderr
            assert file.refused, result.stderr
        assert result.stderr.count("\n") == 1
        args += shlex.split(advice(result.stderr))
    raise AssertionError(result.stderr)


def advice(error: str) -> str:
    """The first of the options that an error offers."""
    found = re.search(r"--[a-z]+-column ('[^']+'|\S+)", error)
    assert found is not None, error
    return found[0].rstrip(",;")


def test_there_are_forty_files() -> None:
    assert len(DATA_FILES) >= 40


@_EACH
def test_guerdon_score(here: Path, file: DataFile) -> None:
    file.write(here / file.name)
    result = with_advice(["score", "rewards.py::right", file.name, "--workers", "0", "-o", "out.jsonl"], file)
    assert result.exit_code == 0
    rows = [json.loads(line) for line in (here / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["score"] for row in rows] == list(file.scores)
    said = [line for line in result.stderr.splitlines() if line.startswith("columns: ")]
    if not file.refused:
        assert said == ([] if file.line is None else [f"columns: {file.line}"])
    assert ("by equal prompts" in result.stdout) is (file.groups is not None)


@_EACH
def test_guerdon_preview(here: Path, file: DataFile) -> None:
    file.write(here / file.name)
    result = with_advice(["preview", "rewards.py::right", "--samples", file.name, "--workers", "0"], file)
    assert result.exit_code == 0
    assert "The answer is 4." in result.stdout
    assert not file.prompts or "What is 2 + 2?" in result.stdout or file.refused


@_EACH
def test_guerdon_score_in_python(here: Path, file: DataFile) -> None:
    file.write(here / file.name)
    columns: dict[str, str] = {}

    def score() -> guerdon.Scores:
        return guerdon.score("rewards.py::right", file.name, workers=0, columns=columns)

    while (error := refusal(score)) is not None:
        found = re.search(r"columns=(\{.*?\})", error)
        assert found is not None, error
        assert not columns.keys() & json.loads(found[1]).keys(), error
        columns |= json.loads(found[1])
    assert bool(columns) is bool(file.refused)
    scores = score()
    assert scores.scores == list(file.scores)
    if not file.refused:
        assert scores.columns == ([] if file.line is None else [f"columns: {file.line}"])


def refusal(call: Callable[[], Any]) -> str | None:
    """Why a call is refused; None if it is not."""
    try:
        call()
    except InputError as error:
        return str(error)
    return None


@_EACH
def test_a_reward_that_reads_no_truth_needs_none(here: Path, file: DataFile) -> None:
    file.write(here / file.name)
    (here / "rewards.py").write_text("def brief(response):\n    return 1.0\n", encoding="utf-8")
    if file.refused and not file.truth_refused:
        with pytest.raises(InputError):
            guerdon.score("rewards.py::brief", file.name, workers=0)
        return
    assert guerdon.score("rewards.py::brief", file.name, workers=0).scores == [1.0] * len(file.scores)


@_EACH
def test_training_finds_the_prompts(here: Path, file: DataFile) -> None:
    file.write(here / file.name)
    settings: dict[str, Any] = {"train_data_dir": file.name, "train_fraction": 1.0}

    def load() -> Problems:
        return load_problems(TrainingConfig(**settings), 1, resolve("rewards.py::right"))

    while (error := refusal(load)) is not None:
        found = re.search(r"training\.(\w+)=(\S+)", error)
        if found is None or found[2] == "NAME":
            assert not file.prompts, error
            return
        assert found[1] not in settings, error
        settings[found[1]] = found[2]
    problems = load()
    assert file.prompts
    asked = [_text(problem.prompt) for problem in (*problems.train, *problems.test)]
    assert set(PROMPTS) <= set(asked) or file.refused
    truths = {str(p.columns.get("ground_truth", p.columns.get("answer"))) for p in problems.train}
    assert {"4", "5"} <= truths


def _text(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else str(prompt[-1]["content"])

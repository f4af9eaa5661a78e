"""``guerdon examples``: the files of the documents, written out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guerdon.cli.commands.examples import EXAMPLES
from support.cli_work import Run

ROOT = Path(__file__).resolve().parents[3]
FIRST = ("my_rewards.py", "conversations.jsonl", "cases.jsonl")


@pytest.fixture
def empty(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = work / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_files_of_the_readme(guerdon: Run, empty: Path) -> None:
    result = guerdon("examples")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [f"wrote {name}" for name in FIRST]
    for name in FIRST:
        assert (empty / name).read_bytes() == (ROOT / "examples" / name).read_bytes()
    command = result.stderr.strip().removeprefix("next: guerdon ").split()
    assert guerdon(*command, "--workers", "0").exit_code == 0


def test_what_exists_is_not_replaced(guerdon: Run, empty: Path) -> None:
    (empty / "cases.jsonl").write_text("mine", encoding="utf-8")
    result = guerdon("examples")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: cases.jsonl exists already")
    assert [path.name for path in empty.iterdir()] == ["cases.jsonl"]
    assert (empty / "cases.jsonl").read_text(encoding="utf-8") == "mine"
    assert guerdon("examples", "--overwrite").exit_code == 0
    assert "expected" in (empty / "cases.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example(guerdon: Run, empty: Path, name: str) -> None:
    result = guerdon("examples", name, "-o", "here", "--json")
    assert result.exit_code == 0
    written = [Path(path) for path in json.loads(result.stdout)]
    assert written
    assert all(path.is_file() and path.parts[0] == "here" for path in written)
    assert not [path for path in written if "__pycache__" in path.parts]


def test_all_are_all_that_the_repository_has(guerdon: Run, empty: Path) -> None:
    guerdon("examples", "all", "-o", "here")
    files = {p.relative_to(ROOT / "examples") for p in (ROOT / "examples").rglob("*") if p.is_file()}
    written = {p.relative_to(empty / "here") for p in (empty / "here").rglob("*") if p.is_file()}
    assert written == {path for path in files if "__pycache__" not in path.parts}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("frist",), "did you mean first?"),
        (("--list", "first"), "--list writes nothing; leave out the name"),
        (("--list", "-o", "x"), "--list writes nothing; leave out --output"),
        (("--list", "--overwrite"), "--list writes nothing; leave out --overwrite"),
        (("-o", "../my_rewards.py"), "../my_rewards.py"),
    ],
)
def test_mistakes(guerdon: Run, empty: Path, args: tuple[str, ...], says: str) -> None:
    result = guerdon("examples", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert not list(empty.iterdir())


def test_the_list(guerdon: Run, empty: Path) -> None:
    assert [line.split()[0] for line in guerdon("examples", "--list").stdout.splitlines()] == [*EXAMPLES]
    assert json.loads(guerdon("examples", "--list", "--json").stdout)["servers"]

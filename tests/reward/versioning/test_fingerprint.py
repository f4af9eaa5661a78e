"""What changes a version: the source of a function and of what it refers to, in its package and folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guerdon import RewardFunction
from guerdon.reward.versioning.fingerprint import fingerprint
from support.versioned_source import BASE, changed, count, version_of


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("CHECKER.check(response) +", "CHECKER.check(response) -"),
        ("# a comment", "# another comment"),
        ('"""How good."""', '"""How bad."""'),
        ("response, scale=1,", "response, scale=2,"),
        ("shift=0", "shift=1"),
        ("LIMIT = 10", "LIMIT = 11"),
        ('"nor"}', '"yet"}'),
        ('"b": 2', '"b": 3'),
        ('"[0-9]+"', '"[0-9]*"'),
        ('re.compile("[0-9]+")', 're.compile("[0-9]+", re.A)'),
        ("min(cached(text), LIMIT)", "max(cached(text), LIMIT)"),
        ("return deepest(text)", "return 2 * deepest(text)"),
        ("return len(text)", "return len(text) + 1"),
        ("bonus = 0.5", "bonus = 0.25"),
        ('frozenset({"x", "y"})', 'frozenset({"x", "z"})'),
        ("self.bonus if self.strict else 0", "self.bonus"),
        ("        return 1\n", "        return 3\n"),
        ("        return 2\n", "        return 4\n"),
        ("CHECKER = Checker()", "CHECKER = Checker(strict=False)"),
        ("HIGH = 1", "HIGH = 2"),
        ("scale: float = 1.0", "scale: float = 2.0"),
    ],
)
def test_changed_by_what_decides_the_verdict(tmp_path: Path, old: str, new: str) -> None:
    assert version_of(tmp_path / "a", BASE) != version_of(tmp_path / "b", changed(old, new))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("closed", "make(3)", "make(4)"),
        ("closed", "len(response) > threshold", "len(response) < threshold"),
        ("Fields", "first: int = 1", "first: int = 2"),
        ("Fields", "return self.first", "return -self.first"),
    ],
)
def test_closures_and_classes(tmp_path: Path, name: str, old: str, new: str) -> None:
    first = version_of(tmp_path / "a", BASE, name)
    assert first == version_of(tmp_path / "b", BASE, name)
    assert first != version_of(tmp_path / "c", changed(old, new), name)


UNCHANGED = [
    BASE,
    "# a line before\n\nUNUSED = 5\n" + BASE,
    BASE.replace("\n", "\r\n"),
    changed("def evaluate(", "@reward_function\ndef evaluate("),
    changed("def evaluate(", "@reward_function(name='x', timeout=5, on_error='raise')\ndef evaluate("),
    changed('{"b": 2, "a": 1}', '{"a": 1, "b": 2}'),
    BASE + "\n\ndef unrelated():\n    return 7\n",
]


@pytest.mark.parametrize("source", UNCHANGED, ids=range(len(UNCHANGED)))
@pytest.mark.parametrize("file", ["reward.py", "main.py"])
def test_unchanged_by_place_surroundings_and_decorator(tmp_path: Path, source: str, file: str) -> None:
    place = version_of(tmp_path / "deep" / "er", source, file=file)
    assert version_of(tmp_path / "a", BASE) == place


def test_a_file_that_is_changed_in_place_at_once(tmp_path: Path) -> None:
    """The new source is as long as the old one, and as old as the clock can tell."""
    versions, scores = set(), []
    for score in range(5):
        source = f"def evaluate(response):\n    return {score}\n"
        versions.add(version_of(tmp_path, source))
        scores.append(RewardFunction(func_path=f"{tmp_path / 'reward.py'}::evaluate")(response="").score)
    assert len(versions) == 5
    assert scores == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_neighbouring_module_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = []
    for number, body in enumerate(("return 1", "return 2")):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.syspath_prepend(folder)
        (folder / "neighbour_of_reward.py").write_text(f"def grade(text):\n    {body}\n", encoding="utf-8")
        source = "import neighbour_of_reward as n\ndef evaluate(response):\n    return n.grade(response)\n"
        versions.append(version_of(folder, source))
        del sys.modules["neighbour_of_reward"]
    assert versions[0] != versions[1]


class Hostile:
    """Raises wherever it is looked at."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("no text")


def looping() -> Any:
    loop: list[Any] = []
    loop.append(loop)
    mapping: dict[str, Any] = {"loop": loop}
    mapping["self"] = mapping
    return mapping


@pytest.mark.parametrize(
    "value", [Hostile(), looping(), object(), open, sys, range(3), memoryview(b"x"), Ellipsis], ids=type
)
def test_parameters_of_any_kind_have_a_stable_fingerprint(value: Any) -> None:
    assert RewardFunction(count, step=value).version == RewardFunction(count, step=value).version
    assert " at 0x" not in str(fingerprint(value))


@pytest.mark.sample(1, seconds=3)
@pytest.mark.parametrize(
    "body",
    [
        "from helper_here import grade; return grade()",
        "import helper_here; return helper_here.grade()",
        "from folder_here import inner; return inner.grade()",
        "import folder_here.inner; return folder_here.inner.grade()",
        "from folder_here.inner import grade; return grade()",
    ],
)
def test_a_neighbour_that_is_imported_inside_the_function_counts(tmp_path: Path, body: str) -> None:
    def version(folder: str, grade: int) -> str:
        place = tmp_path / folder
        (place / "folder_here").mkdir(parents=True)
        (place / "folder_here" / "__init__.py").write_text("print('imported')\n")
        for file in ("helper_here.py", "folder_here/inner.py"):
            (place / file).write_text(f"def grade(): return {grade}\n")
        (place / "main_here.py").write_text(f"def f(response):\n    {body}\n")
        code = "from guerdon import *; print(get_reward_function('main_here.py::f').version)"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert version("a", 1) == version("b", 1) != version("c", 2)
    assert "imported" not in version("d", 1)

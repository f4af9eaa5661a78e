"""Which long tests continuous integration runs, on files and graphs made up for it; and what it does with its time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import choose_tests
from support.choose_tests import FAR, LongFile

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/guerdon/rewards/bleu.py", "guerdon.rewards.bleu"),
        ("src/guerdon/rewards/__init__.py", "guerdon.rewards"),
        ("tests/support/served.py", "support.served"),
        ("docs/accuracy.md", None),
        ("benchmarks/scoring.py", None),
    ],
)
def test_the_module_of_a_file(path: str, module: str | None) -> None:
    assert choose_tests.module_of(path) == module


def test_the_distance_of_each_module() -> None:
    importers = {"guerdon.a": {"guerdon.b", "x.test_a"}, "guerdon.b": {"guerdon.a", "x.test_b"}}
    far = choose_tests.distances(["guerdon.a"], importers)
    assert far == {"guerdon.a": 0, "guerdon.b": 1, "x.test_a": 1, "x.test_b": 2}


@pytest.mark.parametrize(
    ("path", "distance"),
    [
        ("tests/x/test_changed.py", 0),
        ("tests/serve/test_beside.py", 1),
        ("tests/x/test_b.py", 2),
        ("tests/x/test_other.py", FAR),
    ],
)
def test_the_distance_of_a_test_file(path: str, distance: int) -> None:
    changed = ["tests/x/test_changed.py", "src/guerdon/serve/run.py"]
    assert choose_tests.distance_of(path, changed, {"x.test_b": 2}) == distance


def test_the_closest_come_first_and_the_others_take_turns() -> None:
    files = [LongFile(f"tests/test_{n}.py", 1, 10.0, FAR) for n in range(6)]
    files.append(LongFile("tests/test_near.py", 1, 10.0, 1))
    orders = [[file.path for file in choose_tests.in_order(files, commit)] for commit in ("a", "b", "a")]
    assert orders[0][0] == orders[1][0] == "tests/test_near.py"
    assert orders[0] != orders[1]
    assert orders[0] == orders[2]


def test_what_does_not_fit_leaves_its_time_to_the_next() -> None:
    files = [LongFile(name, 1, seconds, 0) for name, seconds in (("a", 30.0), ("b", 40.0), ("c", 20.0))]
    fit, left_out = choose_tests.split_by_time(files, 50.0)
    assert [file.path for file in fit] == ["a", "c"]
    assert [file.path for file in left_out] == ["b"]


def test_the_package_and_the_tests_are_one_graph() -> None:
    importers = choose_tests.importers()
    assert "house.test_choose_tests" in importers["support.choose_tests"]
    assert "guerdon.rewards.bleu" in choose_tests.distances(["guerdon.reward.decorator"], importers)


LONG = """\
import time
import pytest

@pytest.mark.slow(seconds=0)
def test_quick(): pass

@pytest.mark.slow(seconds=10_000)
def test_long(): raise AssertionError

@pytest.mark.slow(seconds=0)
def test_endless(): time.sleep(300)
"""


@pytest.mark.slow(seconds=15)
@pytest.mark.parametrize(
    ("chosen", "status", "counts"),
    [
        ("test_quick or test_long", 0, {"passed": 1, "skipped": 1}),
        # Killed, so there is no record.
        ("test_endless", 124, {}),
    ],
)
def test_no_test_is_begun_too_late_and_none_runs_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, status: int, counts: dict[str, int]
) -> None:
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("GUERDON_CI", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-k '{chosen}'")
    monkeypatch.setattr(choose_tests, "ROOT", tmp_path)
    monkeypatch.setattr(choose_tests, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(choose_tests, "SPARE_SECONDS", 0.0)
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    peers\n    torch\n")
    (tmp_path / "test_it.py").write_text(LONG)
    record = tmp_path / "record.json"
    end = time.time() + (6 if status else 120)
    assert choose_tests.run([LongFile("test_it.py", 3, 0.0, 0)], end, 1, record) == status
    assert choose_tests.outcomes(record) == counts


def test_the_tests_are_listed_with_their_seconds(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(LONG)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "support.time_limit"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GUERDON_", "PYTEST_"))}
    subprocess.run(
        [*command, "--list-seconds=listed.json"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    assert json.loads((tmp_path / "listed.json").read_text()) == {"test_it.py": [0.0, 10000.0, 0.0]}

"""The version of a reward: changed by whatever decides its verdicts, and by nothing else."""

from __future__ import annotations

import datetime
import functools
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from pydantic import BaseModel

from guerdon import RewardFunction, clip, gate, get_reward_function, normalize, weighted
from guerdon.reward.loading.modules import load_file
from guerdon.reward.versioning.version import fingerprint

BASE = '''
import enum
import functools
import re
from dataclasses import dataclass
from pydantic import BaseModel
from guerdon import reward_function

LIMIT = 10
WORDS = {"and", "or", "but", "not", "nor"}
TABLE = {"b": 2, "a": 1}
PATTERN = re.compile("[0-9]+")

class Level(enum.Enum):
    HIGH = 1
    LOW = 0

class Settings(BaseModel):
    scale: float = 1.0

class Checker:
    bonus = 0.5
    allowed = frozenset({"x", "y"})

    def __init__(self, strict=True):
        self.strict = strict

    def check(self, text):
        return self.bonus if self.strict else 0

    @property
    def weight(self):
        return 1

    @functools.cached_property
    def kept(self):
        return 2

CHECKER = Checker()

def deepest(text):
    return len(text)

@functools.lru_cache
def cached(text):
    return deepest(text)

def helper(text):
    return min(cached(text), LIMIT)

def make(threshold):
    def closed(response):
        return len(response) > threshold
    return closed

closed = make(3)

@dataclass
class Fields:
    first: int = 1

    def __call__(self, response):
        return self.first

def evaluate(response, scale=1, *, shift=0):
    """How good."""
    # a comment
    found = PATTERN.findall(response)
    if any(word in WORDS for word in response.split()):
        return TABLE["a"] * scale + shift
    if Level.HIGH.value == 2:
        return Settings().scale
    nested = [helper(part) for part in found]
    return CHECKER.check(response) + CHECKER.weight + sum(nested)
'''


def version_of(
    folder: Path, source: str, name: str = "evaluate", file: str = "reward.py", **fixed: Any
) -> str:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / file).write_text(source, encoding="utf-8")
    return RewardFunction(getattr(load_file(folder / file), name), **fixed).version


def changed(old: str, new: str) -> str:
    assert BASE.count(old) == 1, old
    return BASE.replace(old, new)


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


PRINT = """
if __name__ == "__main__":
    import guerdon
    print([guerdon.RewardFunction(f).version for f in (evaluate, closed, Fields, CHECKER.check)])
"""


def run(folder: Path, *arguments: str, seed: str = "0") -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.stdout


def test_the_same_in_every_process_in_main_and_imported(tmp_path: Path) -> None:
    (tmp_path / "reward.py").write_text(BASE + PRINT, encoding="utf-8")
    module = load_file(tmp_path / "reward.py")
    functions = (module.evaluate, module.closed, module.Fields, module.CHECKER.check)
    here = str([RewardFunction(f).version for f in functions]) + "\n"
    assert run(tmp_path, "reward.py", seed="1") == here
    code = PRINT.replace('__name__ == "__main__"', "True")
    assert run(tmp_path, "-c", f"from reward import *\n{code}", seed="2") == here
    # Code without source: what is left to compare are its constants and instructions.
    text = f"exec(compile({BASE!r} + {PRINT!r}, 'nowhere', 'exec'))"
    first, second = (run(tmp_path, "-c", text, seed=seed) for seed in "34")
    assert first == second


def count(response: str, step: float = 1) -> float:
    return len(response) * step


class Shape(BaseModel):
    sides: int = 3


class Counter:
    def __init__(self, step: int, _hidden: int = 0) -> None:
        self.step, self._hidden = step, _hidden

    def __call__(self, response: str) -> float:
        return len(response) * self.step - self._hidden


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 2),
        (1, 1.0),
        (1, True),
        ("1", 1),
        (b"a", "a"),
        ([1, 2], [2, 1]),
        ([1], [1, None]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ({1, 2}, {1, 3}),
        (re.compile("a"), re.compile("a", re.I)),
        (Decimal("0.1"), Decimal("0.2")),
        (Fraction(1, 2), Fraction(1, 3)),
        (datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)),
        (bytearray(b"a"), bytearray(b"b")),
        (Path("a"), Path("b")),
        (Shape(), Shape(sides=4)),
        (Shape(), Counter(3)),
        (Counter(1), Counter(2)),
        (Counter(1, 1), Counter(1, 2)),
        (float("nan"), float("inf")),
        (0.0, -0.0),
        (functools.partial(count, step=1), functools.partial(count, step=2)),
        (lambda text: len(text), lambda text: -len(text)),
        (len, abs),
        (RewardFunction(count), RewardFunction(count, step=2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_parameter_counts(first: Any, second: Any) -> None:
    assert fingerprint(first) != fingerprint(second)
    assert RewardFunction(count, step=first).version != RewardFunction(count, step=second).version


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
def test_parameters_of_any_kind_have_a_picture_that_stays(value: Any) -> None:
    assert RewardFunction(count, step=value).version == RewardFunction(count, step=value).version
    assert " at 0x" not in str(fingerprint(value))


A, B = RewardFunction(count, name="a"), RewardFunction(Counter(2), name="b")


REWARDS: list[Callable[[], RewardFunction]] = [
    lambda: A,
    lambda: B,
    lambda: RewardFunction(count, step=2),
    lambda: RewardFunction(Counter, step=2),
    lambda: A + B,
    lambda: A + B + 1,
    lambda: A - B,
    lambda: A * B,
    lambda: weighted([A, B], weights=[0.5, 0.5]),
    lambda: weighted([A, B], weights=[0.5, 0.5], on_failure="skip"),
    lambda: weighted([A, B.with_name("c")], weights=[0.5, 0.5]),
    lambda: weighted([A, RewardFunction(Counter(3), name="b")], weights=[0.5, 0.5]),
    lambda: clip(A, 0, 1),
    lambda: clip(A, 0, 2),
    lambda: clip(A, 0),
    lambda: normalize(A),
    lambda: normalize(A, std=0.3),
    lambda: gate(A, B),
    lambda: gate(B, A),
    lambda: gate(A, B, threshold=0.6),
]


def test_rewards_that_differ_have_different_versions() -> None:
    versions = []
    for build in REWARDS:
        reward = build()
        assert re.fullmatch("[0-9a-f]{12}", reward.version)
        assert reward.version == build().version == reward.with_name("other").version
        versions.append(reward.version)
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize(
    "reward",
    [
        RewardFunction(count),
        RewardFunction(count, step=2).with_name("twice"),
        RewardFunction(Counter, step=2),
        RewardFunction(Counter(2)),
        RewardFunction(functools.partial(count, step=3)),
        0.5 * RewardFunction(count) + 0.25 * RewardFunction(Counter(2)),
        clip(RewardFunction(count), 0, 2),
        get_reward_function("test_version:count"),
        get_reward_function("length", maximum=2),
        0.5 * get_reward_function("keywords", required="abc") + 0.5 * get_reward_function("length"),
    ],
    ids=str,
)
def test_a_pickle_keeps_version_name_and_score(reward: RewardFunction) -> None:
    for dumps in (pickle.dumps, cloudpickle.dumps):
        back = pickle.loads(dumps(reward))
        assert (back.version, back.name, back) == (reward.version, reward.name, reward)
        assert back(response="abc").score == reward(response="abc").score


def test_a_closure_travels_with_its_version() -> None:
    step = 3
    reward = RewardFunction(lambda response: len(response) * step)
    code = "import pickle, sys; r = pickle.load(sys.stdin.buffer); print(r.version, r(response='ab').score)"
    done = subprocess.run([sys.executable, "-c", code], input=cloudpickle.dumps(reward), capture_output=True)
    assert done.stdout.decode().split() == [reward.version, "6.0"]


def test_a_schema_of_metadata_counts() -> None:
    from guerdon import reward_function

    class Other(BaseModel):
        sides: int = 4

    versions = {reward_function(metadata_schema=schema)(count).version for schema in (Shape, Other)}
    assert len({*versions, RewardFunction(count).version}) == 3


def _notebook(first: str, *cells: str) -> dict[str, Any]:
    """The names of a notebook whose cells ran one after the other, and the versions after each."""
    names: dict[str, Any] = {"__name__": "notebook"}
    versions = []
    for cell in (first, *cells):
        exec(cell, names)
        versions.append(names["reward"].version)
    return {**names, "versions": versions}


@pytest.mark.parametrize(
    "cell",
    [
        "LIMIT = 4",
        "WORDS.append('x')",
        "def helper(text): return len(text) + 1",
        "part = RewardFunction(lambda response: 3)",
        "def under(): return 2",
    ],
)
def test_a_cell_that_is_run_again_changes_the_version(cell: str) -> None:
    first = """
from guerdon import RewardFunction
LIMIT, WORDS = 3, []
def under(): return 1
def helper(text): return len(text)
part = RewardFunction(lambda response: under())
def f(response): return helper(response) + LIMIT + len(WORDS) + part(response=response).score
reward = RewardFunction(f)
whole = 0.5 * reward
whole.version
"""
    names = _notebook(first, "other = 1", cell)
    before, unrelated, after = names["versions"]
    assert before == unrelated != after
    assert names["reward"](response="a").version == after
    assert names["whole"](response="a").provenance == names["whole"].provenance
    assert names["whole"].parameters["components"]["f"]["version"] == after


def test_a_reward_that_calls_itself_has_one_version_at_any_depth() -> None:
    source = """
from guerdon import RewardFunction
def odd(response): return 0.0 if not response else even(response=response[1:]).score
def even(response): return 1.0 if not response else odd(response=response[1:]).score
odd, even = RewardFunction(odd), RewardFunction(even)
"""

    def deep(reward: RewardFunction, depth: int) -> str:
        return reward.version if not depth else deep(reward, depth - 1)

    first: dict[str, Any] = {"__name__": "notebook"}
    second: dict[str, Any] = {"__name__": "notebook"}
    exec(source, first)
    exec(source, second)
    assert first["odd"](response="abc").score == 1.0
    assert first["odd"].version == deep(second["odd"], 300)
    assert first["even"].version == deep(second["even"], 10) != first["odd"].version


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


def test_a_script_s_reward_goes_to_the_processes_of_a_pool(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("""
import multiprocessing
import pickle
import sys
import cloudpickle
from guerdon import reward_function

@reward_function
def size(response):
    return len(response)

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.apply(0.5 * size, ("abcd",)).score)
    assert pickle.loads(pickle.dumps(size)) is pickle.loads(pickle._dumps(size)) is size
    assert cloudpickle.loads(cloudpickle.dumps(size)) is not size
""")
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("2.0\n2.0\n", "")

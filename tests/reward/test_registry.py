"""Names and paths of rewards: what they lead to, and what is said where they lead nowhere."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import guerdon
from guerdon import RewardFunction, get_reward_function, register_reward_function, reward_function, weighted
from guerdon.errors import BindingError, ResolutionError, RewardError
from guerdon.reward.names import registered_names

SOURCE = """
from helper_beside_rewards import HALF
from guerdon import reward_function

def half(response, factor=1):
    return HALF * factor

@reward_function(name="decorated_name", on_error="raise")
def decorated(response):
    return 1.0

class Ends:
    def __init__(self, ending="."):
        self.ending = ending
    def __call__(self, response):
        return response.endswith(self.ending)
    @staticmethod
    def nothing(response):
        return 0.0

ends = Ends("!")
constant = 5
_private = 6
absent = None
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path with a module, a package, and rewards as folders."""
    (tmp_path / "helper_beside_rewards.py").write_text("HALF = 0.5\n", encoding="utf-8")
    (tmp_path / "some_rewards.py").write_text(SOURCE, encoding="utf-8")
    package = tmp_path / "reward_package"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "inner.py").write_text("def one(response):\n    return 1.0\n", encoding="utf-8")
    metric = tmp_path / "metrics" / "short"
    metric.mkdir(parents=True)
    (metric / "main.py").write_text(
        "def evaluate(response):\n    return len(response) < 3\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("helper_beside_rewards", "some_rewards", "reward_package", "reward_package.inner"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("path", "name", "score"),
    [
        ("some_rewards.py::half", "half", 0.5),
        ("./some_rewards.py::half", "half", 0.5),
        ("some_rewards:half", "half", 0.5),
        ("some_rewards.half", "half", 0.5),
        ("some_rewards.py::decorated", "decorated_name", 1.0),
        ("some_rewards:decorated", "decorated_name", 1.0),
        ("some_rewards.py::Ends", "Ends", 0.0),
        ("some_rewards:Ends.nothing", "nothing", 0.0),
        ("some_rewards.py::ends", "Ends", 1.0),
        ("reward_package.inner:one", "one", 1.0),
        ("reward_package.inner.one", "one", 1.0),
        ("reward_package/inner.py::one", "one", 1.0),
        ("metrics/short", "evaluate", 1.0),
        ("metrics/short/", "evaluate", 1.0),
        ("metrics/short/main.py::evaluate", "evaluate", 1.0),
        (Path("metrics/short"), "evaluate", 1.0),
    ],
    ids=str,
)
def test_paths(folder: Path, path: Any, name: str, score: float) -> None:
    ways: list[Callable[[], RewardFunction]] = [
        lambda: get_reward_function(path),
        lambda: RewardFunction(func_path=str(path)),
        lambda: RewardFunction(path),
        lambda: weighted(path).components[0].reward,  # type: ignore[return-value, list-item]
    ]
    for way in ways:
        reward = way()
        assert (reward.name, reward(response="a!").score) == (name, score)
    assert next(iter(guerdon.score(path, ["a!"], workers=0))).score == score


def test_an_absolute_path_and_one_with_colons(folder: Path) -> None:
    odd = folder / "a::b"
    odd.mkdir()
    (odd / "my rewards.py").write_text("def f(response):\n    return 0.25\n", encoding="utf-8")
    assert get_reward_function(f"{odd / 'my rewards.py'}::f")(response="").score == 0.25


def test_parameters(folder: Path) -> None:
    reward = get_reward_function("some_rewards.py::half", factor=3)
    assert (reward.parameters, reward(response="").score) == ({"factor": 3}, 1.5)
    assert get_reward_function("some_rewards:Ends", ending="a")(response="a").score == 1.0
    assert get_reward_function(reward, factor=5)(response="").score == 2.5
    assert get_reward_function(lambda response, k: k, k=2)(response="").score == 2.0
    with pytest.raises(BindingError, match="half has no parameter 'facto'; did you mean 'factor'"):
        get_reward_function("some_rewards.py::half", facto=3)
    with pytest.raises(BindingError, match="Ends has no parameter 'endin'; did you mean 'ending'"):
        get_reward_function("some_rewards.py::Ends", endin="a")
    with pytest.raises(BindingError, match="takes no parameters: factor"):
        get_reward_function(reward + reward, factor=1)


def test_options_survive_parameters(folder: Path) -> None:
    @reward_function(name="mine", timeout=3, on_error="raise")
    def scaled(response: str, k: float = 1) -> float:
        return k

    reward = get_reward_function(scaled, k=2)
    assert (reward.name, reward.timeout, reward.options.on_error) == ("mine", 3, "raise")
    assert reward.evaluate(guerdon.Sample(messages=[{"role": "assistant", "content": ""}])).score == 2.0


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "the name of a reward is empty"),
        ("  ", "the name of a reward is empty"),
        ("nowhere", "there is no reward 'nowhere'"),
        ("no such thing", "there is no reward 'no such thing'"),
        ("nowhere.py::f", "there is no file nowhere.py"),
        ("some_reward.py::half", "there is no file some_reward.py; did you mean some_rewards.py"),
        ("no/folder/x.py::half", "there is no file no/folder/x.py"),
        ("::half", "there is no file"),
        ("metrics::half", "there is no file metrics"),
        ("some_reward.py", "there is no file some_reward.py; did you mean some_rewards.py"),
        ("some_rewards.py::hal", "there is no 'hal' in some_rewards.py::hal; did you mean half?"),
        ("some_rewards.py::zzz", "it has: half"),
        ("some_rewards.py::absent", "there is no 'absent'"),
        ("some_rewards.py::", "there is no ''"),
        ("some_rewards:hal", "did you mean half?"),
        ("some_rewards.hal", "did you mean half?"),
        ("some_rewards:Ends.no", "there is no 'Ends.no'"),
        ("some_rewards:", "there is no ''"),
        (":half", "half"),
        ("no_module_here:f", "'no_module_here:f' leads nowhere: there is no module 'no_module_here'"),
        ("no_module_here.f", "there is no module 'no_module_here'"),
        ("reward_package.none:f", "there is no module 'reward_package.none'"),
        ("reward_package.none.f", "there is no module 'reward_package.none'"),
        ("..:f", "f"),
        ("a..b", "there is no reward 'a..b'"),
        ("metrics", "the folder metrics has no main.py"),
        ("metrics/shor", "there is no reward 'metrics/shor'"),
        ("\0", "there is no reward"),
        ("x" * 5000, "there is no reward"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_paths_that_lead_nowhere(folder: Path, path: str, says: str) -> None:
    for way in (lambda: get_reward_function(path), lambda: guerdon.score(path, ["x"])):
        with pytest.raises(ResolutionError) as caught:
            way()
        assert says in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def evaluate(response:\n    return 1\n", "main.py, line 1: "),
        ("x = 1\n  y = 2\n", "main.py, line 2: unexpected indent"),
        (
            "import no_such_dependency\n",
            "importing .*main.py raised ModuleNotFoundError: .*no_such_dependency",
        ),
        ("from helper_beside_rewards import nothing\n", "ImportError: cannot import name 'nothing'"),
        ("raise RuntimeError('broken')\n", "raised RuntimeError: broken"),
        ("raise SystemExit(3)\n", "raised SystemExit: 3"),
        ("import sys; sys.exit()\n", "raised SystemExit"),
        ("1 / 0\n", "raised ZeroDivisionError"),
        ("x = 1\n", "there is no 'evaluate' in .*; it has: nothing to call"),
        ("def evalute(response):\n    return 1\n", "did you mean evalute"),
        ("evaluate = 5\n", "this int is not a reward"),
        ("def evaluate(response):\n    yield 1\n", "is a generator function"),
        (b"\xff\xfe\x00", "main.*: "),
        (b"x = 1\0", "null bytes"),
        ("class Sad(Exception):\n    def __str__(self): 1 / 0\nraise Sad\n", "raised Sad"),
    ],
)
@pytest.mark.parametrize("form", ["folder", "file", "module"])
def test_files_that_cannot_be_loaded(folder: Path, source: str | bytes, says: str, form: str) -> None:
    metric = folder / "broken_metric"
    metric.mkdir()
    (metric / "main.py").write_bytes(source if isinstance(source, bytes) else source.encode())
    path = {
        "folder": "broken_metric",
        "file": "broken_metric/main.py::evaluate",
        "module": "broken_metric.main:evaluate",
    }
    with pytest.raises(RewardError) as caught:
        get_reward_function(path[form])
    text = str(caught.value).replace("broken_metric.main ", "broken_metric/main.py ")
    assert re.search(says, text), text
    assert "\n" not in text
    sys.modules.pop("broken_metric.main", None)
    sys.modules.pop("broken_metric", None)


def test_a_file_that_changed_is_loaded_anew_and_a_pickle_of_the_old_is_refused(folder: Path) -> None:
    file = folder / "changing.py"
    file.write_text("def f(response):\n    return 1.0\n", encoding="utf-8")
    path = "changing.py::f"
    old = get_reward_function(path)
    file.write_text("def f(response):\n    return 2.0\n", encoding="utf-8")
    new = get_reward_function(path)
    assert (old(response="").score, new(response="").score) == (1.0, 2.0)
    assert get_reward_function(path).func is new.func
    body = cloudpickle.dumps(old.func)
    sys.modules.pop(old.func.__module__)  # type: ignore[union-attr]
    with pytest.raises(ImportError, match=r"changing\.py changed on disk while it was in use; start again"):
        cloudpickle.loads(body)


# Names


def test_registering(folder: Path) -> None:
    half = register_reward_function("test-half", lambda response: 0.5)
    assert (half.name, get_reward_function("test-half")) == ("test-half", half)
    assert get_reward_function("test-half")(response="").score == 0.5
    assert "test-half" in registered_names()
    register_reward_function("test-half", "some_rewards.py::half")
    assert get_reward_function("test-half", factor=4).name == "test-half"
    assert get_reward_function("test-half", factor=4)(response="").score == 2.0
    register_reward_function("test-half-2", "test-half")
    assert get_reward_function("test-half-2")(response="").score == 0.5
    with pytest.raises(ResolutionError, match="did you mean test-half"):
        get_reward_function("test-haf")
    again = register_reward_function("test-half", lambda response: 0.75)
    assert get_reward_function("test-half") is again
    assert get_reward_function("test-half-2")(response="").score == 0.5


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "a/b", "a:b", "a\\b", "a\nb", "a\tb", "a\0b", "x.py", 5, None]
)
def test_names_that_cannot_be_registered(name: Any) -> None:
    with pytest.raises(BindingError, match="is not a name for a reward"):
        register_reward_function(name, lambda response: 1.0)


@pytest.mark.parametrize("target", [5, None, "nowhere", [len], lambda *a: 1])
def test_what_cannot_be_registered(target: Any) -> None:
    with pytest.raises(RewardError):
        register_reward_function("test-nothing", target)
    assert "test-nothing" not in registered_names()


ENTRY_POINTS = """[guerdon.rewards]
ep-plain = ep_rewards:plain
ep-decorated = ep_rewards:decorated
ep-gone = ep_rewards:gone
ep-no-module = ep_nowhere:f
ep-raises = ep_raises:f
ep-exits = ep_exits:f
ep-number = ep_rewards:number
"""
CODE = """
from guerdon import RewardError, get_reward_function, score
from guerdon.reward.names import registered_names
print([name for name in registered_names() if name.startswith("ep-")])
print(get_reward_function("ep-plain", k=3).name, [r.score for r in score("ep-plain", ["x"], workers=0, k=3)])
print(get_reward_function("ep-decorated").name, get_reward_function("ep-decorated")(response="").score)
for name in ("ep-gone", "ep-no-module", "ep-raises", "ep-exits", "ep-number", "ep-plai"):
    try:
        get_reward_function(name)
    except RewardError as error:
        print(type(error).__name__, error)
"""


def test_entry_points_of_another_package(tmp_path: Path) -> None:
    info = tmp_path / "site" / "other_rewards-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-rewards\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    files = {
        "ep_rewards.py": "from guerdon import reward_function\ndef plain(response, k=1):\n    return k\n"
        "@reward_function(name='other')\ndef decorated(response):\n    return 0.5\nnumber = 5\n",
        "ep_raises.py": "raise RuntimeError('broken')\n",
        "ep_exits.py": "raise SystemExit\n",
    }
    for name, source in files.items():
        (tmp_path / "site" / name).write_text(source)
    code = f"import sys; sys.path.append({str(tmp_path / 'site')!r})\n{CODE}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    names = ["ep-decorated", "ep-exits", "ep-gone", "ep-no-module", "ep-number", "ep-plain", "ep-raises"]
    assert lines[:3] == [str(names), "ep-plain [3.0]", "ep-decorated 0.5"]
    cannot = "ResolutionError the reward '{}' cannot be loaded from {}: "
    expected = [
        cannot.format("ep-gone", "ep_rewards:gone") + "AttributeError: ",
        cannot.format("ep-no-module", "ep_nowhere:f") + "No module named 'ep_nowhere'",
        cannot.format("ep-raises", "ep_raises:f") + "RuntimeError: broken",
        cannot.format("ep-exits", "ep_exits:f") + "SystemExit",
        "BindingError ",
        "ResolutionError there is no reward 'ep-plai'; did you mean ep-plain",
    ]
    assert len(lines) == 9
    for line, start in zip(lines[3:], expected, strict=True):
        assert line.startswith(start)


@pytest.mark.parametrize("name", ["name", "mode", "options", "endpoint", "model_id", "func", "func_path"])
def test_a_parameter_may_have_any_name(name: str) -> None:
    names: dict[str, Any] = {}
    exec(f"def f(response, {name}): return {name}", names)
    reward = get_reward_function(names["f"], **{name: 3})
    assert (reward("x").score, reward.name, reward.parameters) == (3.0, "f", {name: 3})
    with pytest.raises(BindingError, match=f"length has no parameter {name!r}"):
        get_reward_function("length", **{name: 3})


def test_names_that_are_listed_end_in_a_full_stop() -> None:
    with pytest.raises(ResolutionError, match=r"registered are: .*, math.*\. A path is written"):
        get_reward_function("zzzzz")


def test_docstrings_that_are_read_from_source_are_those_of_the_loaded_rewards() -> None:
    from guerdon.reward.names import docstrings

    register_reward_function("only_here", lambda response: 1.0)
    read = docstrings()
    assert list(read) == registered_names()
    assert read["only_here"] is None
    known = {name: text for name, text in read.items() if text is not None}
    assert len(known) > 20
    assert known == {name: inspect.getdoc(get_reward_function(name).func) for name in known}

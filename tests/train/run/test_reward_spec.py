"""What a configuration may write for its reward, as one RewardFunction."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import BindingError, InputError, ResolutionError
from guerdon.reward.names import registered
from guerdon.train.run.reward_spec import build_reward

REWARDS = """
from guerdon import register_reward_function

def my_reward_v1(response, answer="", tolerance=0.0):
    return float(response == answer)

def debug_reward(response, **kwargs):
    return len(response) / 10

register_reward_function("mine", my_reward_v1)
register_reward_function("format", debug_reward)
"""


@pytest.fixture
def project(here: Path) -> Iterator[Path]:
    """A project that has rewards of its own, and registers two, one under a name of the catalogue's."""
    before = dict(registered)
    (here / "custom_rewards.py").write_text(REWARDS, encoding="utf-8")
    yield here
    registered.clear()
    registered.update(before)
    for name in ("custom_rewards", "more_rewards"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("spec", "parameters", "name", "terms"),
    [
        ("length", {"minimum": 1}, "length", []),
        ("custom_rewards.my_reward_v1", {}, "my_reward_v1", []),
        ("custom_rewards.py::my_reward_v1", {"tolerance": 0.5}, "my_reward_v1", []),
        ("mine", {}, "mine", []),
        ("format", {}, "format", []),
        ("debug_reward", {}, "debug_reward", []),
        (["length"], {"minimum": 1}, "length", []),
        ({"name": "mine"}, {}, "mine", []),
        ({"name": "mine", "weight": 0.5}, {}, "weighted", [("mine", 0.5)]),
        (["mine", "debug_reward"], {}, "weighted", [("mine", 1.0), ("debug_reward", 1.0)]),
        ([{"name": "mine", "weight": 0.8}, "debug_reward"], {}, "weighted",
         [("mine", 0.8), ("debug_reward", 1.0)]),
        ({"mine": 0.8, "debug_reward": 0.2}, {}, "weighted", [("mine", 0.8), ("debug_reward", 0.2)]),
        ([{"name": "mine", "parameters": {"tolerance": 0.1}}, {"name": "mine"}], {}, "weighted",
         [("mine", 1.0), ("mine_2", 1.0)]),
    ],
)  # fmt: skip
def test_a_spec_is_a_reward(
    project: Path, spec: Any, parameters: dict[str, Any], name: str, terms: list[tuple[str, float]]
) -> None:
    reward = build_reward(spec, parameters=parameters)
    assert reward.name == name
    assert [(term.name, term.weight) for term in reward.components] == terms
    if not terms:
        assert dict(reward.parameters) == parameters


def test_what_the_project_registers_comes_before_the_catalogue(project: Path) -> None:
    assert build_reward("format")(response="12345").score == 0.5


def test_a_weighted_sum_scores_as_its_parts_do(project: Path) -> None:
    reward = build_reward([{"name": "mine", "weight": 0.8}, {"name": "debug_reward", "weight": 0.2}])
    result = reward(response="1234", answer="1234")
    assert result.score == pytest.approx(0.8 * 1.0 + 0.2 * 0.4)
    assert {name: metric.score for name, metric in result.metrics.items()} == {
        "mine": 1.0,
        "debug_reward": 0.4,
    }


def test_modules_are_imported_first(project: Path) -> None:
    (project / "more_rewards.py").write_text(REWARDS.replace('"mine"', '"other"'), encoding="utf-8")
    (project / "dir").mkdir()
    (project / "dir" / "third.py").write_text(REWARDS.replace('"mine"', '"third"'), encoding="utf-8")
    both = build_reward(["other", "third"], modules=["more_rewards", "dir/third.py"])
    assert [term.name for term in both.components] == ["other", "third"]


def test_the_address_of_a_server_is_a_reward(project: Path) -> None:
    reward = build_reward(["http://127.0.0.1:9/rewards/math", "mine"])
    assert [term.reward.name for term in reward.components] == ["math", "mine"]
    assert reward.is_async


@pytest.mark.parametrize(
    ("spec", "parameters", "error", "says"),
    [
        ([], {}, InputError, "an empty list"),
        (3, {}, InputError, "3 does not name a reward"),
        (["mine", 3], {}, InputError, "3 does not name a reward"),
        ({"name": 3}, {}, InputError, "a name must be text"),
        ({"name": "mine", "wait": 1}, {}, InputError, "unknown key 'wait'; there are name, weight, parameters"),
        ({"name": "mine", "weight": "much"}, {}, InputError, "weight"),
        ({"name": "mine", "weight": float("nan")}, {}, InputError, "weight"),
        ({"name": "mine", "parameters": 3}, {}, InputError, "the parameters of mine must be an object"),
        (["mine", "length"], {"minimum": 1}, InputError, "give each of several rewards its own"),
        ("lenght", {}, ResolutionError, "did you mean length?"),
        ("custom_rewards.my_reward_v9", {}, ResolutionError, "did you mean my_reward_v1 or"),
        ("nowhere.py::f", {}, ResolutionError, "there is no file nowhere.py"),
        ("mine", {"tolerence": 1}, BindingError, "did you mean 'tolerance'?"),
    ],
)  # fmt: skip
def test_a_spec_that_is_none(
    project: Path, spec: Any, parameters: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as caught:
        build_reward(spec, parameters=parameters)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("module", "text", "says"),
    [
        ("absent", None, "there is no module 'absent'"),
        ("absent.py", None, "there is no file absent.py"),
        ("more_rewards", "1 / 0", "ZeroDivisionError"),
        ("more_rewards", "import nowhere_at_all", "nowhere_at_all"),
        ("more_rewards", "def f(:", "more_rewards.py, line 1"),
    ],
)
def test_a_module_that_cannot_be_imported(project: Path, module: str, text: str | None, says: str) -> None:
    if text is not None:
        (project / f"{module}.py").write_text(text, encoding="utf-8")
    with pytest.raises(ResolutionError) as caught:
        build_reward("mine", modules=[module])
    assert says in str(caught.value)

"""What each parameter of a pointwise function is given, and what comes first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guerdon
from guerdon import (
    RewardFunction,
    Sample,
)
from support.convention_rewards import (
    MESSAGES,
    OBJECTS,
    ROW,
)


def test_defaults_are_left_to_the_function() -> None:
    default = object()

    def f(response, missing=default, ground_truth="none", answer=default, metadata=default):
        return float(missing is default and ground_truth == "none" and answer is default)

    sample = Sample(messages=[{"role": "assistant", "content": "x"}])
    assert RewardFunction(f).evaluate(sample).score == 1.0
    assert RewardFunction(f)(response="x").score == 1.0


@pytest.mark.parametrize(
    ("given_row", "truth", "answer"),
    [
        ({}, None, None),
        ({"ground_truth": "g"}, "g", "g"),
        ({"answer": "a"}, "a", "a"),
        ({"ground_truth": "g", "answer": "a"}, "g", "a"),
        ({"metadata": {"ground_truth": "m"}}, "m", "m"),
        ({"ground_truth": 0}, 0, 0),
        ({"ground_truth": ""}, "", ""),
        ({"ground_truth": False, "answer": "a"}, False, "a"),
    ],
)
def test_ground_truth_and_answer_stand_in_for_each_other(
    given_row: dict[str, Any], truth: Any, answer: Any
) -> None:
    seen: list[Any] = []

    def f(response, ground_truth=None, answer=None):
        seen.append((ground_truth, answer))
        return 1.0

    row = {"messages": MESSAGES, **given_row}
    assert RewardFunction(f).evaluate(Sample.from_row(row)).score == 1.0
    assert RewardFunction(f)(**row).score == 1.0
    assert seen == [(truth, answer)] * 2


def test_kwargs_get_what_there_is_but_the_completion_once() -> None:
    seen: dict[str, Any] = {}

    def f(response, **kwargs):
        seen.update(kwargs)
        return 1.0

    RewardFunction(f).evaluate(Sample.from_row(ROW))
    assert set(seen) == {
        "original_messages",
        "ground_truth",
        "answer",
        "prompt",
        "metadata",
        "id",
        "level",
        "nested",
    }
    assert seen["metadata"] == {"nested": "n", "level": 3}


def test_explicit_before_fixed_before_the_sample() -> None:
    def f(response, level, scale=1):
        return level * scale

    reward = RewardFunction(f, level=10)
    assert reward.evaluate(Sample.from_row(ROW)).score == 10.0
    assert reward(messages=MESSAGES, level=5).score == 5.0
    assert reward(response="x", scale=2).score == 20.0
    assert RewardFunction(reward, scale=3).parameters == {"level": 10, "scale": 3}
    assert RewardFunction(reward, scale=3)("x").score == 30.0
    assert RewardFunction(f)("x", 4).score == 4.0


# Properties

NAMES = ["response", "completion", "prompt", "ground_truth", "answer", "id", "metadata", "messages"]


COLUMNS = ["level", "kind", "x1"]


@given(st.permutations([*NAMES, *COLUMNS]), st.integers(0, 11), st.booleans(), st.sampled_from(["", "*, "]))
def test_any_set_of_parameters_gets_the_right_values(
    order: list[str], count: int, takes_kwargs: bool, star: str
) -> None:
    chosen = order[:count]
    columns = {name: f"value of {name}" for name in COLUMNS}
    row = {"messages": MESSAGES, "ground_truth": "g", "answer": "a", "id": 5, **columns}
    expected = {
        "response": "It is 4",
        "completion": "It is 4",
        "prompt": "2 + 2?",
        "ground_truth": "g",
        "answer": "a",
        "id": 5,
        "metadata": columns,
        "messages": OBJECTS,
        **columns,
    }
    parameters = ", ".join([*chosen, *(["**rest"] if takes_kwargs else [])])
    seen: list[dict[str, Any]] = []
    namespace: dict[str, Any] = {"seen": seen}
    header = f"def f({star if chosen else ''}{parameters}):"
    exec(f"{header}\n    seen.append(locals())\n    return 1", namespace)
    reward = RewardFunction(namespace["f"])
    assert reward.evaluate(Sample.from_row(row)).error is None
    assert reward(**row).error is None if takes_kwargs or set(COLUMNS) <= set(chosen) else True
    for bound in seen:
        rest = bound.pop("rest", {})
        assert bound == {name: expected[name] for name in chosen}
        assert set(rest) & set(chosen) == set()
        assert {n: v for n, v in rest.items() if n in COLUMNS} == {
            n: v for n, v in columns.items() if n not in chosen and takes_kwargs
        }


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, ("d", None, "n")),
        ({"kind": None, "most": None}, ("d", None, "n")),
        ({"kind": "k", "most": 0}, ("k", 0, "n")),
    ],
)
def test_a_null_in_a_column_leaves_the_default(row: dict[str, Any], expected: tuple[Any, ...]) -> None:
    seen = []

    def told(response: str, needed: Any, kind: str = "d", *, most: int | None = None) -> float:
        seen.append((kind, most, needed or "n"))
        return 1.0

    messages = [{"role": "assistant", "content": "a"}]
    (result,) = guerdon.score(told, [{"messages": messages, "needed": None, **row}], workers=0)
    assert (result.score, seen) == (1.0, [expected])

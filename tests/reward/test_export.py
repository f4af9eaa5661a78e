"""A reward as a function of another system, and back: the same score both ways."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

from guerdon import EvaluateResult, MetricResult, RewardFunction, Sample, reward_function
from guerdon.errors import BindingError, NotApplicableError, ResolutionError

CONVENTIONS = ["response", "reward-kit"]
TRAINERS = ["trl", "tunix", "verl", "openrlhf"]
PROMPT = {"role": "user", "content": "2 + 2?"}


@reward_function
def true_and_brief(response: str, ground_truth: str, prompt: str = "") -> tuple[float, dict[str, float]]:
    """One for the truth at the end, and a bit for brevity."""
    assert prompt in ("2 + 2?", "")
    return float(response.endswith(ground_truth)) - 0.01 * len(response), {"brevity": 1 / len(response)}


async def asynchronous(response: str, ground_truth: str) -> float:
    return float(response.endswith(ground_truth))


@reward_function
def batch(completions: list[str], ground_truth: list[str]) -> list[float]:
    return [float(c.endswith(t)) for c, t in zip(completions, ground_truth, strict=True)]


@reward_function
def sometimes(response: str, ground_truth: str = "") -> float | None:
    if response == "broken":
        raise ValueError("no luck")
    return None if response == "skip" else 0.5


@pytest.mark.parametrize("truth", ["4", "5"])
@pytest.mark.parametrize(
    "reward",
    [
        true_and_brief,
        RewardFunction(asynchronous),
        batch,
        0.5 * true_and_brief + 0.5 * RewardFunction(asynchronous),
    ],
    ids=str,
)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_out_and_in_again_is_the_same_score(convention: str, reward: RewardFunction, truth: str) -> None:
    row = {"messages": [PROMPT, {"role": "assistant", "content": "It is 4"}], "ground_truth": truth}
    expected = reward.evaluate(Sample.from_row(row))
    function = reward.as_function(convention)
    assert inspect.isfunction(function)
    assert function.__name__ == RewardFunction(function).name == reward.name
    back = RewardFunction(function).evaluate(Sample.from_row(row))
    assert (back.score, back.error) == (expected.score, None)
    if convention == "reward-kit":
        assert {n: m.score for n, m in back.metrics.items()} == {
            n: m.score for n, m in expected.metrics.items()
        }


@pytest.mark.sample(2, seconds=1)
@pytest.mark.parametrize("truth", ["4", "5"])
@pytest.mark.parametrize("convention", TRAINERS)
def test_the_function_of_a_trainer_is_a_reward_again(convention: str, truth: str) -> None:
    row = {"messages": [PROMPT, {"role": "assistant", "content": "It is 4"}], "ground_truth": truth}
    function = true_and_brief.as_function(convention)
    assert function.__name__ == RewardFunction(function).name == "true_and_brief"
    assert (
        RewardFunction(function).evaluate(Sample.from_row(row)).score
        == true_and_brief.evaluate(Sample.from_row(row)).score
    )


def test_response() -> None:
    function = true_and_brief.as_function("response")
    assert function("4", answer="4") == function("4", "2 + 2?", "4") == 0.99
    assert function("4", ground_truth="4") == 0.99


def test_reward_kit() -> None:
    function = true_and_brief.as_function("reward-kit")
    messages = [PROMPT, {"role": "assistant", "content": "4"}]
    for found in (
        function(messages, messages[:1], "4"),
        function(messages=messages, ground_truth="4", extra=1),
    ):
        assert isinstance(found, EvaluateResult)
        assert (found.score, found.metrics["brevity"]) == (0.99, MetricResult(1.0))
    assert true_and_brief.as_function("reward_kit")(messages, ground_truth="4").score == 0.99


@pytest.mark.parametrize(
    ("convention", "args"),
    [
        ("response", ("broken",)),
        ("reward-kit", ([{"role": "assistant", "content": "broken"}],)),
    ],
)
def test_policies_of_every_form(convention: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="no luck"):
        sometimes.as_function(convention, "raise")(*args)
    value = sometimes.as_function(convention, -1.0)(*args)
    value = -1.0 if convention == "reward-kit" and value.score is None and value.failed else value
    assert value == -1.0


def test_what_does_not_apply_is_raised_where_asked() -> None:
    with pytest.raises(NotApplicableError):
        sometimes.as_function("response")("skip")
    assert sometimes.as_function("response", "skip")("skip") is None


@pytest.mark.parametrize(
    ("convention", "on_failure", "says"),
    [
        ("response", "ignore", 'on_failure must be "raise", "skip" or a number, not \'ignore\''),
        ("response", math.nan, "on_failure must be"),
        ("response", math.inf, "on_failure must be"),
        ("trl", [0], "on_failure must be"),
    ],
)
def test_policies_that_do_not_fit(convention: str, on_failure: Any, says: str) -> None:
    with pytest.raises(BindingError) as caught:
        true_and_brief.as_function(convention, on_failure)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    ("convention", "says"),
    [
        ("trll", "there is no trainer 'trll'; did you mean trl?"),
        ("", "there is no trainer ''"),
        (None, "there is no trainer 'None'"),
    ],
)
def test_a_convention_that_there_is_not(convention: Any, says: str) -> None:
    with pytest.raises(ResolutionError) as caught:
        true_and_brief.as_function(convention)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("target", CONVENTIONS)
def test_plain_functions_are_targets_of_to(target: str) -> None:
    arguments: Any = {
        "response": ("4", "", "4"),
        "reward-kit": ([PROMPT, {"role": "assistant", "content": "4"}],),
    }
    call = (*arguments[target], *([None, "4"] if target == "reward-kit" else []))
    assert true_and_brief.to(target)(*call) == true_and_brief.as_function(target)(*call)
    with pytest.raises(BindingError, match="has no option workers; it has on_failure"):
        true_and_brief.to(target, workers=2)


@pytest.mark.parametrize("convention", ["TRL", "Reward_Kit"])
def test_a_convention_is_known_in_any_case(convention: str) -> None:
    assert true_and_brief.as_function(convention).__name__ == "true_and_brief"

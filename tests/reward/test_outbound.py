"""A reward as a function of another system, and back: the same score both ways."""

from __future__ import annotations

import inspect
import math
from types import SimpleNamespace
from typing import Any

import pytest

from guerdon import EvaluateResult, MetricResult, RewardFunction, Sample, reward_function
from guerdon.errors import BindingError, InputError, NotApplicableError

CONVENTIONS = ["trl", "tunix", "verl", "openrlhf", "response", "reward-kit"]
PROMPT = {"role": "user", "content": "2 + 2?"}


class Array(list[Any]):
    """What numpy's arrays have of a list: entries that are Python's own values only after ``tolist``."""

    def tolist(self) -> list[Any]:
        return [value.value if isinstance(value, Scalar) else value for value in self]


class Scalar:
    """What numpy's string scalars are to a list: something else."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tolist(self) -> Any:
        return self.value


@reward_function
def graded(response: str, ground_truth: str, prompt: str = "") -> tuple[float, dict[str, float]]:
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
    [graded, RewardFunction(asynchronous), batch, 0.5 * graded + 0.5 * RewardFunction(asynchronous)],
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
    if convention in ("verl", "openrlhf", "reward-kit"):
        assert {n: m.score for n, m in back.metrics.items()} == {
            n: m.score for n, m in expected.metrics.items()
        }


def test_trl() -> None:
    function = graded.as_function("trl")
    columns = {"ground_truth": ["4", "4", "4"], "other": [1, 2, 3], "beta": 0.1, "trainer_state": None}
    strings = function(
        prompts=["2 + 2?"] * 3, completions=["4", "5", "44"], completion_ids=[[1]] * 3, **columns
    )
    assert strings == pytest.approx([0.99, -0.01, 0.98])
    chats = [[{"role": "assistant", "content": c}] for c in ("4", "5", "44")]
    assert function(prompts=[[PROMPT]] * 3, completions=chats, **columns) == strings
    assert function(completions=["4"], ground_truth=["4"]) == pytest.approx([0.99])
    assert function(prompts=[], completions=[]) == []
    assert graded.get_trl_adapter()(prompts=["2 + 2?"], completions=["4"], ground_truth=["4"]) == strings[:1]
    assert function.__doc__ == "One for the truth at the end, and a bit for brevity."


def test_arrays_and_scalars_become_plain_values() -> None:
    function = graded.as_function("tunix")
    scores = function(
        prompts=Array([Scalar("2 + 2?"), "2 + 2?"]),
        completions=Array([Scalar("4"), "5"]),
        ground_truth=Array([Scalar("4"), "4"]),
    )
    assert scores == pytest.approx([0.99, -0.01])
    assert all(type(score) is float for score in scores)


def test_the_step_of_the_trainer_reaches_the_reward() -> None:
    step = RewardFunction(lambda response, step: float(step)).as_function("trl")
    assert step(completions=["a", "b"], trainer_state=SimpleNamespace(global_step=7)) == [7.0, 7.0]


def test_prompts_and_completions_that_do_not_pair_up() -> None:
    with pytest.raises(InputError, match="1 prompts for 2 completions"):
        graded.as_function("trl")(prompts=["a"], completions=["4", "5"], ground_truth=["4", "4"])


def test_verl() -> None:
    function = graded.as_function("verl")
    found = function("gsm8k", "It is 4", "4", {"level": 3}, extra=1)
    assert found == {"score": pytest.approx(0.93), "brevity": pytest.approx(1 / 7)}
    assert function(data_source="", solution_str="4", ground_truth="4", extra_info=None)["score"] == 0.99
    columns = RewardFunction(
        lambda response, data_source, level, k: float((data_source, level, k) == ("d", 3, 1))
    )
    assert columns.as_function("verl")("d", "x", None, {"level": 3}, k=1)["score"] == 1.0


def test_a_metric_named_score_does_not_replace_the_score() -> None:
    reward = RewardFunction(lambda response: (0.25, {"score": 0.75, "other": 1.0}))
    assert reward.as_function("verl")("", "x", "")["score"] == 0.25


def test_openrlhf() -> None:
    function = graded.as_function("openrlhf")
    found = function(["2 + 2?It is 4", "2 + 2?5"], ["2 + 2?", "2 + 2?"], ["4", "4"])
    assert found["rewards"] == found["scores"] == pytest.approx([0.93, -0.01])
    assert found["extra_logs"] == {"brevity": pytest.approx([1 / 7, 1.0])}
    assert batch.as_function("openrlhf")(["4"], ["not its start"], ["4"])["rewards"] == [1.0]
    with pytest.raises((InputError, ValueError)):
        function(["4"], ["2 + 2?", "x"], ["4"])


def test_response() -> None:
    function = graded.as_function("response")
    assert function("4", answer="4") == function("4", "2 + 2?", "4") == 0.99
    assert function("4", ground_truth="4") == 0.99


def test_reward_kit() -> None:
    function = graded.as_function("reward-kit")
    messages = [PROMPT, {"role": "assistant", "content": "4"}]
    for found in (
        function(messages, messages[:1], "4"),
        function(messages=messages, ground_truth="4", extra=1),
    ):
        assert isinstance(found, EvaluateResult)
        assert (found.score, found.metrics["brevity"]) == (0.99, MetricResult(1.0))
    assert graded.as_function("reward_kit")(messages, ground_truth="4").score == 0.99


@pytest.mark.parametrize("convention", ["trl", "tunix"])
@pytest.mark.parametrize(
    ("on_failure", "scores"),
    [
        (None, [0.5, None, None]),
        ("skip", [0.5, None, None]),
        (0.0, [0.5, 0.0, None]),
        (-1, [0.5, -1.0, None]),
    ],
)
def test_policies_of_batched_forms(convention: str, on_failure: Any, scores: list[float | None]) -> None:
    function = sometimes.as_function(convention, on_failure)
    assert function(completions=["fine", "broken", "skip"]) == scores


@pytest.mark.parametrize(
    ("convention", "args"),
    [
        ("trl", ([""], ["broken"])),
        ("verl", ("", "broken", "")),
        ("openrlhf", (["broken"], [""], [""])),
        ("response", ("broken",)),
        ("reward-kit", ([{"role": "assistant", "content": "broken"}],)),
    ],
)
def test_policies_of_every_form(convention: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="no luck"):
        sometimes.as_function(convention, "raise")(*args)
    found = sometimes.as_function(convention, -1.0)(*args)
    value = found[0] if convention == "trl" else found
    value = value["score"] if convention == "verl" else value
    value = value["rewards"][0] if convention == "openrlhf" else value
    value = -1.0 if convention == "reward-kit" and value.score is None and value.failed else value
    assert value == -1.0


def test_what_does_not_apply_is_raised_where_asked() -> None:
    with pytest.raises(NotApplicableError):
        sometimes.as_function("response")("skip")
    assert sometimes.as_function("response", "skip")("skip") is None


@pytest.mark.parametrize(
    ("convention", "on_failure", "says"),
    [
        (
            "trll",
            None,
            "unknown convention 'trll'; there are openrlhf, response, reward-kit, trl, tunix, verl",
        ),
        ("", None, "unknown convention ''"),
        (None, None, "unknown convention None"),
        ("trl", "ignore", 'on_failure must be "raise", "skip" or a number, not \'ignore\''),
        ("trl", math.nan, "on_failure must be"),
        ("trl", math.inf, "on_failure must be"),
        ("trl", [0], "on_failure must be"),
    ],
)
def test_options_that_do_not_fit(convention: Any, on_failure: Any, says: str) -> None:
    with pytest.raises(BindingError) as caught:
        graded.as_function(convention, on_failure)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("convention", ["TRL", "Tunix"])
def test_a_convention_is_known_in_any_case(convention: str) -> None:
    def fails(response: str) -> float:
        raise ValueError

    assert RewardFunction(fails).as_function(convention)(completions=["a"]) == [None]

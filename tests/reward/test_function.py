"""The decorator and the RewardFunction: options, errors, provenance, methods, deadlines."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import time
from typing import Any

import pytest

import guerdon
from guerdon import EvaluateResult, RewardFunction, Sample, get_reward_function, reward_function
from guerdon.errors import BindingError, DeadlineError, ExecutionError, RewardError
from guerdon.reward.binding.annotations import Setting
from guerdon.types import Provenance

SAMPLE = Sample(messages=[{"role": "user", "content": "?"}, {"role": "assistant", "content": "ab"}])


@reward_function
def length(response: str, scale: float = 1.0) -> float:
    """As long as it is."""
    return len(response) * scale


def test_what_a_decorated_function_keeps() -> None:
    assert isinstance(length, RewardFunction)
    assert (length.name, length.__name__, length.__doc__) == ("length", "length", "As long as it is.")
    assert length.__module__ == __name__
    assert list(inspect.signature(length).parameters) == ["response", "scale"]
    assert inspect.isfunction(length.func)
    assert length.func("abc") == 3.0
    assert (length.is_async, length.is_batch, length.timeout, length.concurrency) == (
        False,
        False,
        None,
        None,
    )
    assert (length.components, dict(length.parameters)) == ((), {})
    assert repr(length) == f"<RewardFunction length {length.version}>"


def test_options_are_kept() -> None:
    @reward_function(
        name="n",
        id="i",
        requirements="a>1\n\n b ",
        timeout=2,
        concurrency=3,
        on_error="raise",
        mode="pointwise",
    )
    def f(response: str) -> float:
        return 1.0

    options = f.options
    assert (f.name, options.id, options.requirements) == ("n", "i", ("a>1", "b"))
    assert (f.timeout, f.concurrency, options.on_error, options.mode) == (2, 3, "raise", "pointwise")
    assert reward_function(requirements=["a", ""])(length.func).options.requirements == ("a",)
    assert reward_function(requirements=None)(length.func).options.requirements == ()
    assert f.with_name("m").options.id == "i"


def test_decorating_again_keeps_the_function_and_takes_the_new_options() -> None:
    again = reward_function(timeout=5)(length)
    assert (again.func, again.timeout, again.version) == (length.func, 5, length.version)
    assert RewardFunction(length).version == length.version
    assert RewardFunction(length, name="x").name == "x"


def test_equality_is_name_and_version() -> None:
    assert RewardFunction(length.func) == length
    assert hash(RewardFunction(length.func)) == hash(length)
    assert length != length.with_name("other")
    assert length != RewardFunction(length, scale=2.0)
    assert length != "length"
    assert len({length, RewardFunction(length.func), length.with_name("other")}) == 2


@pytest.mark.parametrize(
    ("reward", "name"),
    [
        (RewardFunction(lambda response: 1.0), "<lambda>"),
        (RewardFunction(functools.partial(length.func, scale=2)), "length"),
        (RewardFunction(lambda response: 1.0, name="mine"), "mine"),
    ],
)
def test_names(reward: RewardFunction, name: str) -> None:
    assert reward.name.strip("<>") == name.strip("<>")
    assert reward.evaluate(SAMPLE).reward == reward.name


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_result_says_what_made_it(fails: bool, asynchronous: bool) -> None:
    def f(response: str, k: int) -> float:
        return k / (0 if fails else 1)

    async def g(response: str, k: int) -> float:
        return f(response, k)

    reward = RewardFunction(g if asynchronous else f, k=3)
    made_by = Provenance("g" if asynchronous else "f", reward.version, {"k": 3})
    called = reward(response="")
    results = [
        reward.evaluate(SAMPLE),
        *reward.evaluate_batch([SAMPLE]),
        asyncio.run(_awaited(called)) if asynchronous else called,
        *guerdon.score(reward, [SAMPLE], workers=0),
    ]
    for result in results:
        assert (result.provenance, result.reward, result.version) == (
            made_by,
            made_by.reward,
            made_by.version,
        )
        assert result.failed is fails


async def _awaited(value: Any) -> Any:
    return await value


def test_provenance_of_a_composition_names_its_parts() -> None:
    whole = 0.5 * length + 0.25 * RewardFunction(length, scale=2.0).with_name("double") + 1
    provenance = whole.evaluate(SAMPLE).provenance
    assert provenance is not None
    assert provenance.parameters == {
        "op": "weighted",
        "components": {
            "length": {"version": length.version, "weight": 0.5},
            "double": {"version": RewardFunction(length, scale=2.0).version, "weight": 0.25},
        },
        "bias": 1.0,
    }


# Errors


@reward_function(on_error="raise")
def strict(response: str) -> Any:
    if response == "nan":
        return float("nan")
    if response == "none":
        return None
    return 1 / len(response)


@reward_function(on_error="raise")
async def async_strict(response: str) -> Any:
    return strict.func(response)  # type: ignore[misc]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("response", "error"), [("", ZeroDivisionError), ("nan", ValueError), ("abc", None)])
def test_on_error_raise_passes_the_exception_of_a_direct_call_on(
    asynchronous: bool, response: str, error: type[Exception] | None
) -> None:
    def call() -> EvaluateResult:
        if asynchronous:
            return asyncio.run(_awaited(async_strict(response=response)))  # type: ignore[no-any-return]
        return strict(response=response)  # type: ignore[no-any-return]

    if error is None:
        assert call().unwrap() == 1 / 3
        return
    with pytest.raises(error) as caught:
        call()
    assert caught.value.__traceback__ is not None
    if error is ZeroDivisionError:
        names = [entry.name for entry in caught.traceback]
        assert "strict" in names
    # Scoring samples never raises, and a composition decides for itself.
    assert strict.evaluate(Sample(messages=[{"role": "assistant", "content": response}])).failed
    assert (strict + 1)(response=response).failed


def test_not_applying_is_no_error() -> None:
    result = strict(response="none")
    assert (result.score, result.error, result.reason) == (None, None, "does not apply")
    assert guerdon.score(strict, ["none"], workers=0, on_error="raise")[0].score is None


def test_score_raises_the_first_failure_where_the_reward_says_so() -> None:
    rows = ["ab", "", "a"]
    with pytest.raises(ExecutionError, match="sample 1: ZeroDivisionError") as caught:
        guerdon.score(strict, rows, workers=0)
    assert (caught.value.sample, caught.value.reward) == (1, "strict")
    results = list(guerdon.score(strict, rows, workers=0, on_error="result"))
    assert [r.score for r in results] == [0.5, None, 1.0]


# Methods


class Judge:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @reward_function
    def method(self, response: str, bonus: float = 0) -> float:
        return len(response) * self.scale + bonus

    @reward_function(name="renamed", on_error="raise")
    async def asynchronous(self, response: str) -> float:
        return len(response) * self.scale

    @staticmethod
    @reward_function
    def static(response: str) -> float:
        return 0.5

    @reward_function(mode="batch")
    def batched(self, response: list[str]) -> list[float]:
        return [len(text) * self.scale for text in response]


def test_methods_are_bound_to_their_instance() -> None:
    judge, other = Judge(2.0), Judge(3.0)
    assert [j.method.evaluate(SAMPLE).score for j in (judge, other, judge)] == [4.0, 6.0, 4.0]
    assert judge.method(response="abc").score == judge.method("abc").score == 6.0
    assert judge.method("abc", bonus=1).score == 7.0
    assert (judge.asynchronous.name, judge.asynchronous.is_async) == ("renamed", True)
    assert judge.asynchronous.evaluate(SAMPLE).score == 4.0
    assert asyncio.run(_awaited(judge.asynchronous(response="abc"))).score == 6.0
    assert judge.static(response="").score == Judge.static(response="").score == 0.5
    assert [r.score for r in judge.batched.evaluate_batch([SAMPLE] * 2)] == [4.0, 4.0]
    assert (judge.method + other.method).evaluate(SAMPLE).score == 10.0
    assert [r.score for r in guerdon.score(judge.method, ["a", "ab"], workers=0)] == [2.0, 4.0]
    assert judge.method.version == Judge(2.0).method.version
    assert judge.method.version != other.method.version


# Deadlines


@reward_function(timeout=0.3)
def stuck(response: str) -> float:
    while response == "stuck":
        pass
    return 1.0


@reward_function(timeout=0.3, on_error="raise")
async def async_stuck(response: str) -> float:
    await asyncio.sleep(60 if response == "stuck" else 0)
    return 1.0


def test_a_direct_call_keeps_its_deadline() -> None:
    started = time.perf_counter()
    result = stuck(response="stuck")
    assert time.perf_counter() - started < 5
    assert (result.score, result.error_kind, result.reward) == (None, "timeout", "stuck")
    with pytest.raises(DeadlineError):
        result.unwrap()
    assert stuck(response="fine").score == 1.0
    with pytest.raises(DeadlineError):
        asyncio.run(_awaited(async_stuck(response="stuck")))
    assert asyncio.run(_awaited(async_stuck(response="fine"))).score == 1.0


def test_a_direct_call_with_a_deadline_gets_its_arguments() -> None:
    @reward_function(timeout=5)
    def given(messages: list[dict[str, str]], ground_truth: str, level: int = 0, step: int = 0) -> float:
        return float((messages[-1]["content"], ground_truth, level, step) == ("ab", "g", 3, 7))

    messages = [m.to_dict() for m in SAMPLE.messages]
    assert given(messages, "g", level=3, step=7).unwrap() == 1.0
    assert RewardFunction(given, level=5)(messages, ground_truth="g", level=3, step=7).unwrap() == 1.0


def test_a_direct_async_call_of_what_ends_itself_has_its_deadline() -> None:
    @reward_function(timeout=0.05, enforces_timeout=True)
    async def slow(response: str) -> float:
        await asyncio.sleep(60 if response == "slow" else 0)
        return 1.0

    result = asyncio.run(slow(response="slow"))
    assert (result.score, result.error_kind) == (None, "timeout")
    assert result.error == "slow did not end within 0.05 s"
    assert result.provenance is not None
    assert asyncio.run(slow(response="quick")).score == 1.0


def test_a_direct_call_of_what_ends_itself_is_made_here() -> None:
    @reward_function(timeout=5)
    def elsewhere(response: str) -> float:
        return os.getpid()

    @reward_function(timeout=5, enforces_timeout=True)
    def here(response: str) -> float:
        return os.getpid()

    @reward_function(timeout=5, enforces_timeout=True)
    async def async_here(response: str) -> float:
        return os.getpid()

    assert elsewhere("a").score != os.getpid()
    assert here("a").score == os.getpid()
    assert asyncio.run(_awaited(async_here(response="a"))).score == os.getpid()


def test_a_setting_reaches_a_call_in_a_worker() -> None:
    @reward_function(timeout=5)
    def sized(response: str, most: Setting[int] = 1) -> float:
        return most

    assert sized("a", most=3).unwrap() == 3.0
    assert sized("a").unwrap() == 1.0


# Calls with and without an event loop


@reward_function
async def later(response: str) -> float:
    await asyncio.sleep(0)
    return float(len(response))


def test_an_async_reward_from_everywhere() -> None:
    assert later.evaluate(SAMPLE).score == 2.0
    assert asyncio.run(_awaited(later(response="abc"))).score == 3.0

    async def inside() -> list[float]:
        gathered = await asyncio.gather(*(later(response="x" * n) for n in range(5)))
        assert later.evaluate(SAMPLE).score == 2.0
        return [result.unwrap() for result in gathered]

    assert asyncio.run(inside()) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert asyncio.run(length.aevaluate(SAMPLE)).score == 2.0


def test_wrong_arguments_of_an_async_reward_are_said_at_once() -> None:
    with pytest.raises(RewardError, match="no parameter 'respons'"):
        later(respons="x")


def test_the_public_names_of_the_older_packages() -> None:
    for name in ("reward_function", "RewardFunction", "EvaluateResult", "MetricResult", "RewardOutput"):
        assert hasattr(guerdon, name)
    assert get_reward_function(length) is length


def test_an_option_in_the_wrong_place_is_pointed_to_the_right_one() -> None:
    with pytest.raises(BindingError, match=r"'timeout'; as an option .* reward_function\(timeout=…\)"):
        RewardFunction(lambda response: 1.0, timeout=5)

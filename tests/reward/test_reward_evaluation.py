"""Whatever a reward does: a failed result, never a silent 0, never NaN."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from guerdon import EvaluateResult, Message, MetricResult, RewardFunction, Sample, product, reward_function
from guerdon.errors import InputError, RewardError
from support.small_rewards import TALK, length

# What it does


class Unprintable(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Stubborn:
    def __float__(self) -> float:
        raise KeyError("no number")


class Endless(Exception):  # noqa: N818
    def __str__(self) -> str:
        return "x" * 1_000_000


def deep(response: str) -> float:
    return deep(response)


def warned(response: str) -> float:
    warnings.warn("careful", stacklevel=1)
    return 1.0


def frozen(messages: list[Message]) -> float:
    messages[-1].content = "changed"
    return 1.0


def assigned(messages: list[Message]) -> float:
    result = EvaluateResult(0.5)
    result.score = math.nan
    return result


def chained(response: str) -> float:
    try:
        raise KeyError("first")
    except KeyError as error:
        raise ValueError("second") from error


def group(response: str) -> float:
    raise ExceptionGroup("several", [ValueError("a"), KeyError("b")])


def test_the_error_says_where() -> None:
    result = RewardFunction(chained)(response="")
    line = chained.__code__.co_firstlineno + 4
    assert result.error == f"ValueError: second (test_reward_evaluation.py, line {line})"


def raising(error: BaseException) -> Callable[..., Any]:
    def reward(response: str) -> float:
        raise error

    return reward


def returning(value: Any) -> Callable[..., Any]:
    def reward(response: str) -> Any:
        return value() if callable(value) else value

    return reward


@pytest.mark.parametrize(
    ("function", "kind", "says"),
    [
        (raising(ValueError("bad")), "exception", "ValueError: bad"),
        (raising(ValueError()), "exception", "ValueError"),
        (raising(Unprintable()), "exception", "Unprintable"),
        (raising(Endless()), "exception", "Endless: xxx"),
        (raising(ValueError("a\nb\0c\ud800")), "exception", "ValueError: a"),
        (raising(SystemExit(3)), "exception", "reward tried to exit: SystemExit(3)"),
        (raising(SystemExit()), "exception", "SystemExit(None)"),
        (raising(MemoryError()), "memory", "MemoryError"),
        (raising(RecursionError("deep")), "exception", "RecursionError"),
        (raising(StopIteration(5)), "exception", "StopIteration: 5"),
        (raising(StopAsyncIteration()), "exception", "StopAsyncIteration"),
        (raising(TimeoutError("late")), "exception", "TimeoutError: late"),
        (raising(InputError("no gold")), "input", "no gold"),
        (raising(AssertionError()), "exception", "AssertionError"),
        (deep, "exception", "RecursionError"),
        (chained, "exception", "ValueError: second"),
        (group, "exception", "ExceptionGroup: several"),
        (warned, "exception", "UserWarning: careful"),
        (lambda response: EvaluateResult("high"), "invalid_result", "reward made an invalid result: score: "),
        (lambda response: EvaluateResult(math.nan), "invalid_result", "must be finite"),
        (
            lambda response: EvaluateResult(1, metrics={"a": MetricResult(math.inf)}),
            "invalid_result",
            "finite",
        ),
        (lambda response: EvaluateResult(1, metrics={"a": "five"}), "invalid_result", "metrics"),
        (lambda response: EvaluateResult(1, confidence=2), "invalid_result", "confidence"),
        (returning(math.nan), "invalid_result", "returned an invalid result: score must be finite"),
        (returning(Stubborn()), "invalid_result", "must be a number, not a Stubborn: KeyError"),
        (returning("1.0"), "invalid_result", "a str is not a score"),
        (returning(object), "invalid_result", "object is not a score"),
        (returning(lambda: (x for x in [1])), "invalid_result", "a generator is not a score"),
        (returning({"score": Stubborn()}), "invalid_result", "must be a number"),
        (lambda response: 1 / 0, "exception", "ZeroDivisionError: division by zero"),
        (lambda response: exec("import no_such_module_xyz"), "exception", "ModuleNotFoundError"),
        (lambda response: gc.no_such_name, "exception", "AttributeError"),
    ],
)
def test_what_a_reward_does(function: Any, kind: str, says: str) -> None:
    async def asynchronous(response: str) -> Any:
        await asyncio.sleep(0)
        return function(response)

    sync = RewardFunction(function, name="reward")
    sample = Sample(messages=TALK)
    called = RewardFunction(asynchronous, name="reward")
    for result in (sync(messages=TALK), sync.evaluate(sample), called.evaluate(sample)):
        assert (result.score, result.error_kind) == (None, kind)
        assert says in str(result.error) or "coroutine raised Stop" in str(result.error)
        assert len(str(result.error)) < 2200
        with pytest.raises((Exception, SystemExit)):
            result.unwrap()


@pytest.mark.parametrize(
    ("function", "kind", "says"),
    [
        (frozen, "exception", "ValidationError"),
        (assigned, "invalid_result", "assigned made an invalid result: score: score must be finite, not nan"),
        (lambda messages: messages.append(1), None, "None"),
        (lambda messages: messages[-1].pop("role"), "exception", "AttributeError"),
        (lambda messages: messages[-1]["name"], "exception", "KeyError: 'name'"),
        (lambda messages: messages[5], "exception", "IndexError"),
    ],
)
def test_what_a_reward_does_with_its_messages(function: Any, kind: str | None, says: str) -> None:
    result = RewardFunction(function)(messages=TALK)
    assert (result.score, result.error_kind) == (None, kind)
    assert says in str(result.error)


def test_only_ctrl_c_passes_through() -> None:
    def calls(error: BaseException) -> Iterator[Callable[[], EvaluateResult]]:
        yield lambda: RewardFunction(raising(error))(response="")
        yield lambda: RewardFunction(raising(error)).evaluate(Sample(messages=TALK))
        yield lambda: (RewardFunction(raising(error)) + length)(messages=TALK)

    for call in calls(KeyboardInterrupt()):
        with pytest.raises(KeyboardInterrupt):
            call()
    for error in (GeneratorExit(), type("Mine", (BaseException,), {})()):
        assert [call().error_kind for call in calls(error)] == ["exception"] * 3


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(4)])
def test_an_interrupt_in_an_async_reward_does_not_hang_and_harms_no_later_call(
    error: BaseException, nested: bool
) -> None:
    async def interrupted(response: str) -> float:
        await asyncio.sleep(0)
        raise error

    async def fine(response: str) -> float:
        return 1.0

    reward = RewardFunction(interrupted)
    called = reward + RewardFunction(fine) if nested else reward
    if isinstance(error, SystemExit):
        assert "tried to exit" in str(called.evaluate(Sample(messages=TALK)).error)
    else:
        with pytest.raises(KeyboardInterrupt):
            called.evaluate(Sample(messages=TALK))
    assert RewardFunction(fine).evaluate(Sample(messages=TALK)).score == 1.0


def test_an_async_reward_that_cancels_itself_fails() -> None:
    async def cancelled(response: str) -> float:
        raise asyncio.CancelledError

    result = RewardFunction(cancelled).evaluate(Sample(messages=TALK))
    assert (result.score, result.error_kind) == (None, "exception")
    assert "CancelledError" in str(result.error)


def test_async_inside_sync_inside_async_does_not_hang() -> None:
    async def inner(response: str) -> float:
        await asyncio.sleep(0)
        return 0.5

    def middle(response: str) -> float:
        return RewardFunction(inner).evaluate(Sample(messages=TALK)).unwrap()

    async def outer(response: str) -> float:
        return middle(response) + 1

    lazy = RewardFunction(lambda response: inner(response))
    for reward in (RewardFunction(outer), RewardFunction(outer) + RewardFunction(middle) - 0.5):
        assert reward.evaluate(Sample(messages=TALK)).unwrap() == 1.5
    assert lazy.evaluate(Sample(messages=TALK)).unwrap() == 0.5
    assert (lazy * RewardFunction(inner)).evaluate(Sample(messages=TALK)).unwrap() == 0.25

    async def from_a_loop() -> float:
        return RewardFunction(outer).evaluate(Sample(messages=TALK)).unwrap()

    assert asyncio.run(from_a_loop()) == 1.5


def test_a_reward_cannot_change_what_the_next_one_sees() -> None:
    def greedy(messages: list[Message], metadata: dict[str, Any]) -> float:
        messages.clear()
        metadata.clear()
        return 1.0

    def greedy_dicts(messages: list[dict[str, str]]) -> float:
        messages[-1]["content"] = "changed"
        messages.clear()
        return 1.0

    def honest(messages: list[Message], original_messages: list[Message], metadata: dict[str, Any]) -> float:
        return float(
            (len(messages), messages[-1].content, len(original_messages), metadata) == (2, "!", 1, {"a": 1})
        )

    row = {"messages": [dict(m) for m in TALK], "metadata": {"a": 1}}
    for reward in (product(greedy, honest), product(greedy_dicts, honest)):
        assert reward(**row).score == 1.0
        sample = Sample.from_row(row)
        assert [reward.evaluate(sample).score, reward.evaluate(sample).score] == [1.0, 1.0]
    objects = [Message(**m) for m in TALK]
    assert product(greedy, honest)(messages=objects, metadata={"a": 1}).score == 1.0
    assert row == {"messages": TALK, "metadata": {"a": 1}}
    assert len(objects) == 2


def test_many_threads_share_one_reward() -> None:
    async def slow(response: str, answer: str) -> float:
        await asyncio.sleep(0.001)
        return float(answer)

    reward = RewardFunction(slow) + RewardFunction(lambda response, answer: float(answer))
    found: dict[int, float] = {}

    def call(n: int) -> None:
        found[n] = reward.evaluate(Sample(messages=TALK, answer=str(n))).unwrap()

    threads = [threading.Thread(target=call, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == {n: 2.0 * n for n in range(20)}


@pytest.mark.parametrize("target", [len, abs, str.upper, math.sqrt])
def test_builtins_fail_as_rewards_without_a_score(target: Any) -> None:
    try:
        result = RewardFunction(target)(response="x")
    except RewardError:
        return
    assert result.score is None
    assert result.failed


def test_names_with_slashes_do_not_look_like_nested_metrics() -> None:
    one, other = length.with_name("a/b"), RewardFunction(lambda response: (1, {"b": 0.5}), name="a")
    assert set((one + other)(messages=TALK).metrics) == {"a.b", "a", "a/b"}


def test_a_failed_sample_of_a_batch_fails_alone() -> None:
    calls = []

    @reward_function(mode="batch")
    def batched(response: list[str]) -> list[float]:
        calls.append(len(response))
        return [1 / len(text) for text in response]

    samples = [Sample(messages=[{"role": "assistant", "content": text}]) for text in ("a", "", "ab")]
    results = batched.evaluate_batch(samples)
    assert [result.score for result in results] == [1.0, None, 0.5]
    assert "ZeroDivisionError" in str(results[1].error)
    assert calls == [3, 1, 1, 1]


@pytest.mark.parametrize("failing", [False, True])
def test_an_empty_batch_has_no_results(failing: bool) -> None:
    @reward_function(mode="batch")
    def batched(response: list[str], step: int = 0) -> list[float]:
        return [1.0 / len(response)] if failing else []

    @reward_function(mode="batch")
    async def asynchronous(response: list[str]) -> list[float]:
        return [1.0 / len(response)] if failing else []

    for reward in (batched, asynchronous, batched + length):
        assert reward.evaluate_batch([]) == []

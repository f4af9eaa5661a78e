"""What every adapter has of its base: engine, names, policy, constant keys, failures, pickling."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from guerdon import RewardFunction, Sample, reward_function, weighted
from guerdon.errors import (
    BindingError,
    CrashError,
    InvalidResultError,
    NotApplicableError,
    RemoteError,
    ResolutionError,
    RewardError,
)
from guerdon.trainers import Adapter, ScoredBatch, find_trainer, trainers
from support import adapter_rewards as rewards


def sample(response: str, **columns: Any) -> Sample:
    return Sample([{"role": "assistant", "content": response}], metadata=columns)


SAMPLES = [sample("four"), sample("bad"), sample("slow"), sample("none"), sample("a")]


@pytest.mark.parametrize("name", trainers())
def test_an_adapter_whose_reward_cannot_be_reached_is_not_made(name: str) -> None:
    reward = RewardFunction(endpoint="http://127.0.0.1:9", mode="remote", retries=0)
    with pytest.raises(RemoteError, match="cannot be reached"):
        find_trainer(name).make(reward)


@pytest.mark.parametrize("reward", [rewards.moody, rewards.amoody], ids=lambda r: r.name)
def test_scores_failures_and_deadlines(reward: RewardFunction, caplog: pytest.LogCaptureFixture) -> None:
    adapter = Adapter(reward, timeout=0.3)
    with caplog.at_level(logging.WARNING, "guerdon.trainers"):
        results = adapter.results(SAMPLES)
    assert [result.score for result in results] == [4.0, None, None, None, 1.0]
    assert adapter.failures.by_kind == {"exception": 1, "timeout": 1}
    assert (adapter.failures.calls, adapter.failures.total, adapter.failures.not_applicable) == (5, 2, 1)
    assert [adapter.number(result) for result in results] == [4.0, 0.0, 0.0, 0.0, 1.0]
    assert any("it is bad" in message for message in caplog.messages)
    assert any("deadline" in message for message in caplog.messages)
    adapter.close()


def test_the_async_twin_and_threads_give_the_same() -> None:
    adapter = Adapter(rewards.moody, timeout=5.0)
    samples = [sample("x" * i) for i in range(40)]
    expected = [float(i) for i in range(40)]

    async def both() -> list[Any]:
        return await asyncio.gather(*(adapter.aresults([one]) for one in samples))

    assert [result.score for (result,) in asyncio.run(both())] == expected
    found: dict[int, list[float | None]] = {}

    def call(number: int) -> None:
        found[number] = [result.score for result in adapter.results(samples)]

    threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [expected] * 4
    adapter.close()


def test_a_slow_sample_keeps_no_other_waiting(tmp_path: Path) -> None:
    adapter = Adapter(rewards.patient, timeout=30.0, workers=2)
    mark = tmp_path / "begun"

    def hold() -> None:
        with contextlib.suppress(CrashError):  # when the process ends
            adapter.results([sample("held", mark=str(mark))])

    slow = threading.Thread(target=hold, daemon=True)
    slow.start()
    while not mark.exists():
        time.sleep(0.01)
    assert adapter.results([sample("quick")])[0].score == 1.0
    assert slow.is_alive()
    adapter.close()


@pytest.mark.parametrize("workers", [0, 1])
def test_batched_rewards_get_batches(workers: int) -> None:
    adapter = Adapter(rewards.batched, workers=workers)
    assert [result.score for result in adapter.results([sample("a"), sample("bb")])] == [2.0, 2.0]
    assert adapter.results([sample("a")])[0].score == 1.0
    adapter.close()


@pytest.mark.parametrize(
    ("policy", "numbers"),
    [("skip", [1.0, None, None]), (-1.0, [1.0, -1.0, 0.0]), (0, [1.0, 0.0, 0.0])],
)
def test_policies(policy: Any, numbers: list[float | None]) -> None:
    adapter = Adapter(rewards.moody, on_failure=policy, workers=0)
    results = adapter.results([sample("a"), sample("bad"), sample("none")])
    assert [adapter.number(result) for result in results] == numbers


def test_raising_is_a_policy() -> None:
    adapter = Adapter(rewards.moody, on_failure="raise", workers=0)
    bad, none = adapter.results([sample("bad"), sample("none")])
    with pytest.raises(Exception, match="it is bad"):
        adapter.number(bad)
    with pytest.raises(NotApplicableError):
        adapter.number(none)


@pytest.mark.parametrize(("policy", "number"), [("skip", None), (-1.0, -1.0)])
def test_a_score_that_would_be_infinite_in_32_bits(policy: Any, number: float | None) -> None:
    def huge(response: str) -> float:
        return 1e300

    adapter = Adapter(huge, on_failure=policy, workers=0)
    assert [adapter.number(result) for result in adapter.results([sample("a")])] == [number]
    with pytest.raises(InvalidResultError, match="too large"):
        Adapter(huge, on_failure="raise").number(adapter.results([sample("a")])[0])


@pytest.mark.parametrize("policy", ["ignore", float("nan"), float("inf"), 1e39, [0]])
def test_policies_that_are_none(policy: Any) -> None:
    with pytest.raises(BindingError, match="on_failure must be"):
        Adapter(rewards.moody, on_failure=policy)


def test_components_have_constant_keys() -> None:
    both = weighted(rewards.moody, rewards.short, weights=[0.5, 0.5])
    adapter = Adapter(both, on_failure=-1.0, workers=0)
    assert adapter.components == ("moody", "short")
    parts = [
        adapter.parts(result) for result in adapter.results([sample("four"), sample("bad"), sample("none")])
    ]
    assert parts == [
        {"moody": 4.0, "short": 1.0},
        {"moody": -1.0, "short": 1.0},
        {"moody": 0.0, "short": 1.0},
    ]
    named = Adapter(rewards.graded, components=["brevity", "other"], workers=0)
    assert named.parts(named.results([sample("four")])[0]) == {"brevity": 0.25, "other": 0.0}


def test_rewards_of_one_name_are_told_apart() -> None:
    @reward_function(name="same")
    def first(response: str) -> float:
        return 1.0

    @reward_function(name="same")
    def second(response: str) -> float:
        return 2.0

    one, other, again = Adapter(first), Adapter(second), Adapter(first)
    assert one.__name__ == again.__name__ == "same"
    assert other.__name__ == f"same_{second.version[:6]}"
    assert Adapter(first, name="a/b c").__name__ == "a_b_c"


def test_the_observer_sees_what_was_scored() -> None:
    seen: list[ScoredBatch] = []
    adapter = Adapter(rewards.stepped, workers=0, observe=seen.append)
    assert [result.score for result in adapter.results([sample("a"), sample("b")], step=7)] == [7.0, 7.0]
    adapter.results([sample("a", step=1)], mode="eval")
    assert [(batch.step, batch.mode, len(batch.results)) for batch in seen] == [
        (7, "train", 2),
        (None, "eval", 1),
    ]
    assert all(batch.seconds >= 0 and batch.adapter is adapter for batch in seen)


def test_a_missing_column_is_said_before_anything_runs() -> None:
    with pytest.raises(BindingError, match="answer"):
        Adapter(rewards.exact).results([sample("a", ground="a")])


@pytest.mark.parametrize("pickler", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_adapters_pickle(pickler: Any) -> None:
    adapter = Adapter(rewards.moody, on_failure=-2.0, timeout=5.0, observe=print)
    adapter.results([sample("bad")])
    copy = pickle.loads(pickler.dumps(adapter))
    assert (copy.__name__, copy.on_failure, copy.observe, copy.failures.total) == ("moody", -2.0, None, 0)
    assert copy.number(copy.results([sample("bad")])[0]) == -2.0
    adapter.close()
    copy.close()


def test_in_a_process_of_its_own_and_nothing_is_left_at_its_end() -> None:
    program = (
        "import pickle, sys; from guerdon import Sample; adapter = pickle.load(sys.stdin.buffer); "
        "print(adapter.results([Sample([{'role': 'assistant', 'content': 'four'}])])[0].score)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", program],
        input=pickle.dumps(Adapter(rewards.moody)),
        capture_output=True,
        timeout=60,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), "PATH": ""},
    )
    assert (done.stdout, done.stderr) == (b"4.0\n", b"")


def test_trainers_are_found_by_name_and_alias() -> None:
    assert {"trl", "tunix", "verl", "openrlhf", "verifiers", "nemo-gym", "nemo-rl", "openenv"} <= set(
        trainers()
    )
    assert {"skyrl", "tinker", "art", "slime", "swift", "unsloth", "axolotl"} <= set(trainers())
    assert find_trainer("NeMo_Gym").name == "nemo-gym"
    with pytest.raises(ResolutionError, match="did you mean verl"):
        find_trainer("verll")
    assert all(trainer.title for trainer in trainers().values())


def wait_for(mark: Path) -> None:
    while not mark.exists():
        time.sleep(0.01)


def test_what_was_cancelled_is_not_begun(tmp_path: Path) -> None:
    adapter = Adapter(rewards.patient, timeout=1.0, workers=1)
    marks = [tmp_path / str(i) for i in range(12)]

    async def give_up() -> None:
        held = asyncio.create_task(adapter.aresults([sample("held", mark=str(mark)) for mark in marks]))
        await asyncio.to_thread(wait_for, marks[0])
        held.cancel()
        assert (await adapter.aresults([sample("quick")]))[0].score == 1.0

    asyncio.run(give_up())
    assert sum(mark.exists() for mark in marks) <= 2
    adapter.close()


class Unloadable:
    __name__ = "unloadable"

    def __call__(self, response: str) -> float:
        return 1.0

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


def test_a_reward_that_does_not_load_leaves_no_threads() -> None:
    adapter = Adapter(RewardFunction(Unloadable()), workers=1)
    before = set(threading.enumerate())
    for _ in range(2):
        with pytest.raises(RewardError, match="does not load in a worker"):
            adapter.results([sample("a")])
    for thread in set(threading.enumerate()) - before:
        if thread.name != "guerdon-spawner":
            thread.join(30)
            assert not thread.is_alive(), thread.name


def test_calls_at_once_are_bounded_in_this_process_too() -> None:
    lock, running = threading.Lock(), [0, 0]

    async def counted(response: str) -> float:
        with lock:  # which keeps it from travelling to a worker
            running[0] += 1
            running[1] = max(running)
        await asyncio.sleep(0.01)
        running[0] -= 1
        return 1.0

    adapter = Adapter(counted, concurrency=3)
    assert len(adapter.results([sample("a")] * 12)) == 12
    assert running == [0, 3]


def test_a_name_that_travelled_is_not_given_to_another() -> None:
    program = (
        "import pickle, sys; from guerdon import reward_function; from guerdon.trainers import Adapter\n"
        "adapter = pickle.load(sys.stdin.buffer)\n"
        "other = Adapter(lambda response: 1.0, name='moody')\n"
        "print(adapter.__name__, other.__name__ != 'moody')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(Adapter(rewards.moody)),
        capture_output=True,
        timeout=60,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), "PATH": ""},
    )
    assert (done.stdout, done.stderr) == (b"moody True\n", b"")

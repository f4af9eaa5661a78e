"""The engine, on real worker processes: only the offending sample fails, whatever its code does."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import BindingError, CrashError, InputError, RewardError
from guerdon.scoring.run import Interrupted


def rows(count: int, **columns: Any) -> list[dict[str, Any]]:
    return [
        {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": str(i)}], **columns}
        for i in range(count)
    ]


def _regular_expression() -> None:
    re.match(r"(a+)+$", "a" * 50 + "b")


def _spin() -> None:
    while True:
        pass


def _power() -> None:
    pow(9, 9**9)


def _sleep() -> None:
    time.sleep(60)


def _abort() -> None:
    os.abort()


def _segfault() -> None:
    ctypes.string_at(0)


def _leave() -> None:
    os._exit(0)


def _many_cells() -> None:
    cells = []
    while True:
        cells.append(bytearray(b"x" * 10_000_000))


def _one_block() -> None:
    bytearray(b"x" * 10_000_000_000)


def _raise() -> None:
    raise ValueError("no good")


def _exit() -> None:
    sys.exit(3)


def _recurse() -> None:
    _recurse()


def _kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _swallow_all() -> None:
    while True:
        try:
            time.sleep(60)
        except BaseException:
            continue


def _child_process() -> None:
    subprocess.run(["sleep", "60"], check=True)


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    _spin()


def _close_everything_and_spin() -> None:
    os.closerange(3, 100)
    _spin()


def _leave_a_child_behind() -> None:
    # The child, in a session of its own, still holds the worker's end of the socket.
    if os.fork() == 0:
        os.setsid()
        time.sleep(10)
        os._exit(0)
    os._exit(3)


def _silent_thread() -> None:
    thread = threading.Thread(target=_spin)
    thread.start()
    thread.join()


HOSTILE: list[tuple[Callable[[], None], str, str]] = [
    (_regular_expression, "timeout", "overran its deadline of 0.7 s"),
    (_spin, "timeout", "overran"),
    (_power, "timeout", "overran"),
    (_sleep, "timeout", "overran"),
    (_swallow_all, "timeout", "overran"),
    (_child_process, "timeout", "overran"),
    (_ignore_signals, "timeout", "overran"),
    (_silent_thread, "timeout", "overran"),
    (_abort, "crash", "SIGABRT"),
    (_segfault, "crash", "SIGSEGV"),
    (_leave, "crash", "exited with status 0"),
    (_kill_self, "crash", "SIGKILL"),
    (_close_everything_and_spin, "crash", "closed its connection without ending"),
    (_leave_a_child_behind, "crash", "exited with status 3"),
    (_many_cells, "memory", ""),
    (_one_block, "memory", ""),
    (_raise, "exception", "ValueError: no good"),
    (_exit, "exception", "tried to exit"),
    (_recurse, "exception", "RecursionError"),
]


@pytest.mark.parametrize(("deed", "kind", "words"), HOSTILE, ids=[h[0].__name__ for h in HOSTILE])
def test_only_the_offending_sample_fails(deed: Callable[[], None], kind: str, words: str) -> None:
    def reward(response: str) -> float:
        if response == "5":
            deed()
        return int(response) / 10

    timeout = 0.7 if kind == "timeout" else 20.0
    scores = guerdon.score(reward, rows(12), timeout=timeout, max_memory="200MB", workers=2)

    failed = dict(scores.failures())
    assert list(failed) == [5]
    assert failed[5].error_kind == kind
    assert words in (failed[5].error or "")
    assert [s for s in scores.scores if s is not None] == [i / 10 for i in range(12) if i != 5]


def test_every_sample_may_fail_and_the_run_still_ends() -> None:
    def reward(response: str) -> float:
        os.abort()

    scores = guerdon.score(reward, rows(6), workers=2)
    assert scores.statistics().failures == {"crash": 6}


async def _blocks(response: str) -> float:
    if response == "5":
        _spin()
    return 1.0


async def _never_ends(response: str) -> float:
    if response == "5":
        await asyncio.sleep(60)
    return 1.0


async def _refuses_to_be_cancelled(response: str) -> float:
    while response == "5":
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue
    return 1.0


async def _blocks_in_a_task(response: str) -> float:
    async def inner() -> None:
        await asyncio.sleep(0)
        _spin()

    if response == "5":
        await asyncio.gather(inner())
    return 1.0


async def _crashes(response: str) -> float:
    await asyncio.sleep(0)
    if response == "5":
        os.abort()
    return 1.0


async def _cancels_itself(response: str) -> float:
    if response == "5":
        raise asyncio.CancelledError
    return 1.0


async def _has_itself_cancelled(response: str) -> float:
    if response == "5":
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)
    return 1.0


async def _ends_its_coroutine(response: str) -> float:
    if response == "5":
        raise GeneratorExit
    return 1.0


@pytest.mark.parametrize(
    ("reward", "kind"),
    [
        (_cancels_itself, "exception"),
        (_has_itself_cancelled, "exception"),
        (_ends_its_coroutine, "exception"),
        (_blocks, "timeout"),
        (_never_ends, "timeout"),
        (_refuses_to_be_cancelled, "timeout"),
        (_blocks_in_a_task, "timeout"),
        (_crashes, "crash"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_async_reward_fails_alone(reward: Any, kind: str) -> None:
    scores = guerdon.score(reward, rows(12), timeout=0.7)
    failed = dict(scores.failures())
    assert {identity: result.error_kind for identity, result in failed.items()} == {5: kind}
    assert scores.scores.count(1.0) == 11


async def _handles_a_thread_that_raised(response: str) -> float:
    try:
        return await asyncio.to_thread(float, response)
    except ValueError:
        return -1.0


def test_what_is_awaited_may_raise() -> None:
    scores = guerdon.score(_handles_a_thread_that_raised, ["1", "one", "2"], workers=1)
    assert [result.score for result in scores] == [1.0, -1.0, 2.0]


async def _unhandled(response: str) -> float:
    return await asyncio.to_thread(float, response)


def test_what_is_awaited_and_raises_fails_its_sample_only() -> None:
    scores = guerdon.score(_unhandled, ["1", "one", "2"], workers=1)
    assert [result.score for result in scores] == [1.0, None, 2.0]
    assert scores[1].error_kind == "exception"
    assert "could not convert string to float" in str(scores[1].error)


def _needs_a_model(model: str) -> None:
    if model != "there":
        raise InputError(f"there is no model {model}")
    os.environ["PREPARED"] = model


def test_a_reward_prepares_itself_in_its_workers() -> None:
    @guerdon.reward_function(prepare=_needs_a_model)
    def reward(response: str, *, model: str) -> float:
        return float(os.environ["PREPARED"] == model)

    assert guerdon.score(reward, ["a", "b"], workers=1, model="there").scores == [1.0, 1.0]
    assert "PREPARED" not in os.environ
    with pytest.raises(InputError, match="there is no model lost"):
        guerdon.score(reward, ["a", "b"], workers=1, model="lost")
    composed = reward.__class__(reward, model="lost") + guerdon.reward_function(lambda response: 1.0)
    with pytest.raises(InputError, match="there is no model lost"):
        guerdon.score(composed, ["a"], workers=1)


def test_async_calls_are_bounded() -> None:
    running, most = 0, 0

    async def reward(response: str) -> float:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return most

    here = guerdon.score(reward, rows(40), concurrency=5, workers=0)
    assert max(s for s in here.scores if s is not None) == 5
    there = guerdon.score(reward, rows(40), concurrency=7)
    assert max(s for s in there.scores if s is not None) == 7


def test_order_is_kept_whatever_the_samples_take() -> None:
    def reward(response: str) -> float:
        time.sleep(0.02 if int(response) % 7 == 0 else 0)
        return float(response)

    assert guerdon.score(reward, rows(200), workers=2).scores == [float(i) for i in range(200)]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_same_verdicts_in_process_and_in_workers(workers: int) -> None:
    def reward(response: str, step: int) -> dict[str, Any]:
        if response == "3":
            raise KeyError("three")
        return {"score": int(response) - step, "reason": f"at {step}", "metrics": {"digits": len(response)}}

    scores = guerdon.score(reward, rows(12, step=2), workers=workers)
    assert [r.score for r in scores] == [None if i == 3 else i - 2.0 for i in range(12)]
    assert scores[11].reason == "at 2"
    assert scores[11].metrics["digits"].score == 2.0
    assert scores[3].error is not None
    assert scores[3].error.startswith("KeyError: 'three'")
    assert scores[0].reward == "reward"
    assert scores[0].version == guerdon.RewardFunction(reward).version


def test_a_batched_reward_gets_whole_batches_in_order() -> None:
    @guerdon.reward_function(mode="batch")
    def reward(messages: list[Any]) -> list[float]:
        return [len(messages) * 100 + int(conversation[-1].content) for conversation in messages]

    scores = guerdon.score(reward, rows(10), batch_size=4, workers=2).scores
    assert scores == [400.0 + i if i < 8 else 200.0 + i for i in range(10)]


def _batch_trl(prompts: list[str], completions: list[str], **columns: Any) -> list[float]:
    if "5" in completions:
        raise ValueError("five")
    return [float(c) for c in completions]


def _batch_crash(prompts: list[str], completions: list[str], **columns: Any) -> list[float]:
    if "5" in completions:
        os.abort()
    return [float(c) for c in completions]


def _batch_hang(prompts: list[str], completions: list[str], **columns: Any) -> list[float]:
    if "5" in completions:
        _spin()
    return [float(c) for c in completions]


@pytest.mark.parametrize(
    ("reward", "kind"), [(_batch_trl, "exception"), (_batch_crash, "crash"), (_batch_hang, "timeout")]
)
def test_in_a_batch_too_only_the_offending_sample_fails(reward: Any, kind: str) -> None:
    scores = guerdon.score(reward, rows(12), batch_size=8, timeout=0.7, workers=1)
    assert [i for i, s in enumerate(scores.scores) if s is None] == [5]
    assert scores[5].error_kind == kind


def test_the_deadline_starts_with_the_call_not_with_the_queue() -> None:
    def reward(response: str) -> float:
        time.sleep(0.15)
        return 1.0

    scores = guerdon.score(reward, rows(16), timeout=0.6, workers=1)
    assert scores.scores == [1.0] * 16


def test_a_worker_that_waited_long_is_not_blamed_for_it() -> None:
    def reward(response: str) -> float:
        return 1.0

    for _ in range(2):
        assert guerdon.score(reward, rows(50), timeout=0.5, workers=2).scores == [1.0] * 50
        time.sleep(0.7)


def test_the_deadline_of_the_call_wins_over_the_rewards_own() -> None:
    @guerdon.reward_function(timeout=0.3)
    def reward(response: str) -> float:
        time.sleep(0.6)
        return 1.0

    assert guerdon.score(reward, rows(1)).statistics().failures == {"timeout": 1}
    assert guerdon.score(reward, rows(1), timeout=5).scores == [1.0]


def test_from_a_thread_and_from_many() -> None:
    def reward(response: str) -> float:
        if response == "2":
            _spin()
        return float(response)

    found: dict[int, list[float | None]] = {}

    def run(number: int) -> None:
        found[number] = guerdon.score(reward, rows(6), timeout=0.5, workers=1).scores

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [[0.0, 1.0, None, 3.0, 4.0, 5.0]] * 4


def test_a_direct_call_with_a_deadline_is_ended_also_in_a_thread() -> None:
    @guerdon.reward_function(timeout=0.4)
    def reward(response: str) -> float:
        if response == "spin":
            _regular_expression()
        return 1.0

    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend([reward("spin"), reward("fine")]))
    thread.start()
    thread.join(20)
    assert [result.error_kind for result in found] == ["timeout", None]
    assert found[1].score == 1.0


SCRIPT = """
import guerdon
factor = 3

def reward(response):
    return len(response) * factor

rows = [{"messages": [{"role": "assistant", "content": "x" * i}]} for i in range(30)]
scores = guerdon.score(reward, rows, workers=2)
print(scores.scores == [i * 3.0 for i in range(30)])
"""


def test_a_plain_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text(SCRIPT)
    for command in ([str(script)], ["-c", SCRIPT]):
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=True
        )
        assert done.stdout == "True\n", done.stderr


def test_what_a_reward_prints_stays_off_standard_output(tmp_path: Path) -> None:
    code = SCRIPT.replace("    return", "    print('seen'); return")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=True
    )
    assert done.stdout == "True\n"
    assert done.stderr.count("seen") == 30


def test_a_closure_as_in_a_notebook_travels() -> None:
    table = {"a": 1.0, "b": 0.25}
    inner = guerdon.RewardFunction(lambda response: table["a"], name="inner")
    reward = 0.5 * inner + 0.5 * guerdon.RewardFunction(lambda response: table["b"], name="other")
    assert guerdon.score(reward, ["x", "y"], workers=1).scores == [0.625, 0.625]


def test_defaults_hold_wherever_the_reward_travels() -> None:
    def unit(response: str, answer: str = "none", *, unit: str = "words", **more: Any) -> float:
        return float((answer, unit, more.get("length", 7)) == ("none", "words", 7))

    inner = guerdon.RewardFunction(unit)
    for reward in (inner, 1.0 * inner):
        assert guerdon.score(reward, ["x"], workers=1).scores == [1.0]


def test_what_cannot_travel_says_so_and_runs_in_process() -> None:
    lock = threading.Lock()

    def reward(response: str) -> float:
        with lock:
            return 1.0

    with pytest.raises(BindingError, match=r"cannot travel to a worker process.*workers=0"):
        guerdon.score(reward, rows(2))
    assert guerdon.score(reward, rows(2), workers=0).scores == [1.0, 1.0]


def test_an_async_reward_that_cannot_travel_stays_here() -> None:
    lock = threading.Lock()

    async def reward(response: str) -> float:
        with lock:
            return 1.0

    assert guerdon.score(reward, rows(3)).scores == [1.0, 1.0, 1.0]


def test_a_reward_that_does_not_load_is_one_error(tmp_path: Path) -> None:
    file = tmp_path / "picky.py"
    file.write_text(
        "import sys\nif 'pytest' not in sys.modules:\n    raise RuntimeError('only in tests')\n"
        "def reward(response):\n    return 1.0\n"
    )
    with pytest.raises(RewardError, match="does not load in a worker: RuntimeError: only in tests"):
        guerdon.score(f"{file}::reward", rows(2))


def test_the_samples_may_come_from_an_iterator_that_fails() -> None:
    def source() -> Iterator[dict[str, Any]]:
        yield from rows(100)
        raise OSError("the disk is gone")

    seen = []

    def consume() -> None:
        for result in guerdon.stream(lambda response: float(response), source(), workers=1):
            seen.append(result.score)

    with pytest.raises(OSError, match="the disk is gone"):
        consume()
    assert seen == [float(i) for i in range(100)]


def test_a_slow_source_holds_back_neither_results_nor_deadlines() -> None:
    scored = threading.Semaphore(0)

    def source() -> Iterator[dict[str, Any]]:
        yield from rows(100)
        # Each further sample is made only once the one before has its verdict.
        for row in rows(5):
            for _ in range(100 if row["messages"][1]["content"] == "0" else 1):
                assert scored.acquire(timeout=20)
            yield row

    def reward(response: str) -> float:
        if response == "99":
            time.sleep(60)
        return float(response)

    results = []
    for result in guerdon.stream(reward, source(), workers=1, timeout=0.5):
        results.append(result)
        scored.release()
    assert [r.score for r in results] == [*map(float, range(99)), None, *map(float, range(5))]
    assert results[99].error_kind == "timeout"


def test_a_stream_whose_source_blocks_can_be_left() -> None:
    go_on = threading.Event()

    def source() -> Iterator[dict[str, Any]]:
        yield from rows(100)
        go_on.wait(20)

    stream = guerdon.stream(lambda response: 1.0, source(), workers=1)
    assert next(stream).score == 1.0
    started = time.monotonic()
    stream.close()
    assert time.monotonic() - started < 2
    go_on.set()


@pytest.mark.parametrize("written", [b"A" * 64, (3).to_bytes(8, "little") + b"abc"])
def test_what_a_reward_writes_to_every_descriptor_is_no_score(written: bytes) -> None:
    def reward(response: str) -> float:
        if response == "5":
            for descriptor in range(3, 1000):
                with contextlib.suppress(OSError):
                    os.write(descriptor, written)
        return 1.0

    with pytest.raises(CrashError, match="descriptors that it did not open"):
        guerdon.score(reward, rows(12), workers=1, timeout=5)


def test_a_child_that_a_reward_forks_and_forgets_scores_nothing() -> None:
    def reward(response: str) -> float:
        if response == "5":
            os.fork()
        return float(response)

    assert guerdon.score(reward, rows(300), workers=1, timeout=5).scores == [float(i) for i in range(300)]


class _Unreadable:
    """Pickles, and cannot be made anew."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("x",)


async def _one(response: str) -> float:
    return 1.0


@pytest.mark.parametrize("reward", [lambda response: 1.0, _one])
def test_a_row_that_no_worker_can_read_fails_alone(reward: Any) -> None:
    scores = guerdon.score(reward, [*rows(3), *rows(1, x=_Unreadable())], timeout=5)
    failed = dict(scores.failures())
    assert list(failed) == [3]
    assert "cannot be read in a worker: ValueError" in (failed[3].error or "")


IN_A_BARE_PROCESS = """
import os, sys
import guerdon

class Word(str):
    pass

rows = [{"id": Word(w), "messages": [{"role": "assistant", "content": w}], "x": Word(w)} for w in "abc"]
scores = guerdon.score(lambda response, x: response == x, rows)
with open(sys.argv[1], "w") as file:
    file.write(repr((scores.ids, scores.scores)))
"""


@pytest.mark.parametrize("lack", ["streams", "directory", "temporary"])
def test_it_works_in_a_process_without(lack: str, tmp_path: Path) -> None:
    """Standard streams, a working directory, a folder for temporary files; with classes of ``__main__``."""
    script, result, gone = tmp_path / "script.py", tmp_path / "result", tmp_path / "gone"
    script.write_text(IN_A_BARE_PROCESS)
    gone.mkdir()
    before = {"streams": "exec <&- >&- 2>&-", "directory": f"cd {gone} && rmdir {gone}", "temporary": ":"}[
        lack
    ]
    environment = {**os.environ, "TMPDIR": str(gone / "nowhere")} if lack == "temporary" else None
    command = f"{before}; exec {sys.executable} {script} {result}"
    subprocess.run(["sh", "-c", command], env=environment, check=True, timeout=60)
    assert result.read_text() == "(['a', 'b', 'c'], [1.0, 1.0, 1.0])"


def test_what_the_system_refuses_is_said_and_leaks_nothing() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    guerdon.score(lambda response: 1.0, rows(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = descriptors()
    # No number below the limit is free but the last two, whatever else this process has open.
    highest = max(map(int, os.listdir("/proc/self/fd")))
    held = [os.open(os.devnull, os.O_RDONLY)]
    while held[-1] <= highest:
        held.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 3, hard))
    try:
        with pytest.raises(RewardError, match="Too many open files"):
            guerdon.score(lambda response: 2.0, rows(1))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in held:
            os.close(descriptor)
    assert descriptors() == before


def test_leaving_a_stream_early_ends_what_runs() -> None:
    def endless() -> Iterator[str]:
        while True:
            yield "x"

    stream = guerdon.stream(lambda response: 1.0, endless(), workers=1)
    assert [next(stream).score for _ in range(3)] == [1.0, 1.0, 1.0]
    stream.close()
    assert not [t for t in threading.enumerate() if t.name == "guerdon-pool"]


def test_ascore_and_astream_leave_the_loop_free() -> None:
    def reward(response: str) -> float:
        time.sleep(0.01)
        return float(response)

    async def main() -> tuple[int, list[float | None], list[float | None]]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.create_task(tick())
        scores = await guerdon.ascore(reward, rows(30), workers=1)
        streamed = [result.score async for result in guerdon.astream(reward, rows(10), workers=1)]
        ticking.cancel()
        return ticks, scores.scores, streamed

    ticks, scores, streamed = asyncio.run(main())
    assert ticks > 20
    assert scores == [float(i) for i in range(30)]
    assert streamed == [float(i) for i in range(10)]


def test_score_works_inside_a_running_event_loop() -> None:
    async def reward(response: str) -> float:
        await asyncio.sleep(0)
        return 1.0

    async def main() -> list[float | None]:
        return [*guerdon.score(reward, rows(3), workers=0).scores, *guerdon.score(reward, rows(2)).scores]

    assert asyncio.run(main()) == [1.0] * 5


def test_on_error_raise_names_the_sample() -> None:
    def reward(response: str) -> float:
        raise ValueError("nope")

    with pytest.raises(RewardError, match="sample 'q1': ValueError: nope"):
        guerdon.score(reward, [{**rows(1)[0], "id": "q1"}], on_error="raise", workers=1)


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ("data.jsonl", "open_dataset reads a file"),
        ({"messages": []}, "must be a list or an iterator"),
        (5, "must be a list or an iterator"),
        ([{"question": "?"}], 'no "messages"'),
        ([{"messages": []}], "is empty"),
        ([{"messages": [{"content": "x"}]}], r"messages\[0\].role"),
        ([None], "a row must be an object"),
    ],
)
def test_samples_that_no_row_can_be_read_of(samples: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        guerdon.score(lambda response: 1.0, samples)


def test_one_malformed_row_among_good_ones_fails_alone() -> None:
    for workers in (0, 1):
        scores = guerdon.score(
            lambda response: 1.0, [*rows(2), {"messages": 5}, None, *rows(1)], workers=workers
        )
        assert scores.scores == [1.0, 1.0, None, None, 1.0]
        assert scores[2].error_kind == scores[3].error_kind == "input"


def test_a_missing_parameter_is_said_before_anything_runs() -> None:
    def reward(response: str, gold: str) -> float:
        raise AssertionError("ran")

    with pytest.raises(BindingError, match=r"'gold', which nothing supplies.*columns there are: golds"):
        guerdon.score(reward, rows(2, golds="x"))


def test_no_samples_no_scores() -> None:
    scores = guerdon.score(lambda response: 1.0, [])
    assert (len(scores), list(scores), scores.statistics().count) == (0, [], 0)


LONG_REASONS = """
import resource, time
import guerdon

def reward(response):
    if response == "0":
        time.sleep(1.5)
    return {"score": 1.0, "reason": "x" * 500_000}

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for result in guerdon.stream(reward, map(str, range(1500)), workers=2))
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_long_reasons_behind_a_slow_sample_are_bounded_too(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(LONG_REASONS)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    count, megabytes = map(int, done.stdout.split())
    assert count == 1500
    assert megabytes < 450


def test_a_large_row_passes() -> None:
    big = "x" * 50_000_000
    scores = guerdon.score(lambda response: len(response), [big, "y", big], workers=1, timeout=60)
    assert scores.scores == [50_000_000.0, 1.0, 50_000_000.0]


def _descendants(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            if parent == pid:
                found.append(int(entry.name))
    return found


def _gone(pids: list[int], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


BUSY = """
import os, re, guerdon
def reward(response):
    os.write(1, b"running\\n")  # at once: print may write the line and its end one after the other
    re.match(r"(a+)+$", "a" * 60 + "b")
guerdon.score(reward, ["x"] * 4, workers=2, timeout=600)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_killing_the_caller_leaves_no_worker(tmp_path: Path) -> None:
    caller = subprocess.Popen([sys.executable, "-c", BUSY], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert caller.stderr is not None
    try:
        lines = [caller.stderr.readline() for _ in range(2)]
        workers = _descendants(caller.pid)
    finally:
        caller.kill()
        caller.wait()
        caller.stderr.close()
    assert lines == ["running\n"] * 2
    assert len(workers) == 2
    assert _gone(workers)


def test_a_forked_child_can_score_too() -> None:
    def reward(response: str) -> float:
        return 1.0

    guerdon.score(reward, rows(2), workers=1)

    def child(queue: Any) -> None:
        queue.put(guerdon.score(reward, rows(3), workers=1).scores)

    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert queue.get() == [1.0, 1.0, 1.0]
    process.join(20)
    assert process.exitcode == 0


def test_ctrl_c_finishes_what_is_in_flight(tmp_path: Path) -> None:
    def reward(response: str) -> float:
        time.sleep(0.05)
        return 1.0

    # Whoever runs the tests in the background of a shell has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(Interrupted) as caught:
            guerdon.score(reward, rows(2000), workers=1, output=tmp_path / "scores.jsonl")
    finally:
        signal.signal(signal.SIGINT, before)
    done = caught.value.scores
    assert 0 < len(done) < 2000
    assert all(result.score == 1.0 for result in done)
    assert len((tmp_path / "scores.jsonl").read_text().splitlines()) == len(done)

"""The workers of a pool, for real: only the offending sample fails, whatever its code does."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import guerdon
from guerdon.errors import CrashError
from support.scoring_work import backtrack, rows, spin


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
    spin()


def _close_everything_and_spin() -> None:
    os.closerange(3, 100)
    spin()


def _leave_a_child_behind() -> None:
    # The child, in a session of its own, still holds the worker's end of the socket.
    if os.fork() == 0:
        os.setsid()
        time.sleep(10)
        os._exit(0)
    os._exit(3)


def _silent_thread() -> None:
    thread = threading.Thread(target=spin)
    thread.start()
    thread.join()


HOSTILE: list[tuple[Callable[[], None], str, str]] = [
    (backtrack, "timeout", "overran its deadline of 0.7 s"),
    (spin, "timeout", "overran"),
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


@pytest.mark.sample(3, seconds=2)
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
        spin()
    return [float(c) for c in completions]


@pytest.mark.sample(1, seconds=2)
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

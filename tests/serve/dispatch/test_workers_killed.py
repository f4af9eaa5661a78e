"""Workers that are killed in the midst of 10,000 samples, and what the client then has."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter

import pytest

from support.interrupted_runs import MODES, SAMPLES, Notes, failures, scored_through
from support.marks import some_of
from support.served import Process


@pytest.mark.parametrize("mode", some_of(MODES, "stream", seconds=6))
def test_a_killed_worker(numbered_server: Process, notes: Notes, mode: str) -> None:
    killed: list[int] = []

    def kill() -> None:
        for count in (1000, 3000, 5000, 7000):
            notes.wait_for(count)
            pid, _ = notes.read()[-1]
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    found = scored_through(numbered_server.port, mode, kill)
    assert len(killed) >= 3
    # One sample for each may be blamed for the death of the process that ran it.
    failed = failures(found)
    assert failed <= len(killed)
    times = Counter(number for _, number in notes.read())
    assert len(times) >= SAMPLES - failed
    # What a dead worker had in hand and had not answered runs again, and nothing else does.
    assert max(times.values()) <= 3
    assert sum(times.values()) - SAMPLES <= len(killed) * 512

"""The loop of a worker with a sync reward: one unit after the other."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from guerdon.errors import MemoryLimitError
from guerdon.reward.function import RewardFunction
from guerdon.scoring.evaluate import samples_of, score_samples
from guerdon.scoring.outcome import Outcome
from guerdon.scoring.process.ipc import FrameDecoder, StatusPage, frame
from guerdon.scoring.worker.connection import FLUSH_SECONDS, receive

Result = tuple[int, Outcome, float]
"""index, outcome, seconds"""


def score_units(
    connection: socket.socket,
    frames: FrameDecoder,
    status: StatusPage,
    reward: RewardFunction,
    pending: list[Any],
) -> None:
    """Score units one after the other; results go back when a few milliseconds' worth have gathered."""
    pid = os.getpid()
    while (units := receive(connection, frames, pending)) is not None:
        results: list[Result] = []
        flushed = time.perf_counter()
        for unit in units[1]:
            status.start(unit[0][0])
            started = time.perf_counter()
            outcomes = score_samples(reward, samples_of(unit))
            if os.getpid() != pid:
                os._exit(0)  # a child that the reward forked and let return: its parent has the result
            now = time.perf_counter()
            status.stop()
            seconds = (now - started) / len(unit)
            results.extend((row[0], outcome, seconds) for row, outcome in zip(unit, outcomes, strict=True))
            if any(outcome.kind == MemoryLimitError.kind for outcome in outcomes):
                # The heap of a process that ran out of memory is not one to go on with.
                connection.sendall(frame(("results", results)))
                return
            if now - flushed > FLUSH_SECONDS:
                connection.sendall(frame(("results", results)))
                results, flushed = [], now
        if results:
            connection.sendall(frame(("results", results)))

"""The entry point of a worker process: load one reward, then score until the connection closes."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import io
import os
import pickle
import resource
import signal
import socket
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from guerdon.checks import text_of
from guerdon.errors import RewardError, kind_of
from guerdon.scoring.process.ipc import FrameDecoder, StatusPage, frame
from guerdon.scoring.process.program import WorkerProgram
from guerdon.scoring.worker.async_loop import AsyncLoop
from guerdon.scoring.worker.connection import receive, resident_bytes
from guerdon.scoring.worker.sync_loop import score_units
from guerdon.types import Sample

if TYPE_CHECKING:
    from guerdon.reward.function import RewardFunction

_PR_SET_PDEATHSIG = 1

_inside = False


def inside_worker() -> bool:
    """Whether this process is a worker, whose deadlines another process enforces."""
    return _inside


def main(fd: int, status_fd: int, parent: int) -> None:
    """The worker's whole life: one ``load``, then ``run`` after ``run`` until the socket closes."""
    global _inside
    _inside = True
    _print_by_lines()
    _die_with(parent)
    for inherited in (fd, status_fd):
        os.set_inheritable(inherited, False)
    connection = socket.socket(fileno=fd)
    frames, status = FrameDecoder(), StatusPage(status_fd)
    pending: list[Any] = []
    try:
        load = receive(connection, frames, pending)
        if load is None:
            return
        try:
            reward = _load(load)
            reward.prepare()
            # pydantic builds its validators at the first use, which is no part of the first sample's time.
            Sample.from_row({"messages": [{"role": "assistant", "content": ""}]})
        except (Exception, SystemExit) as error:  # the edge: the parent raises it for the whole run
            message = str(error) if isinstance(error, RewardError) else text_of(error)
            connection.sendall(frame(("load_failed", kind_of(error), message)))
            return
        _limit_memory(load["max_memory"])
        status.beat()
        if isinstance(reward, WorkerProgram):
            reward.run(connection, frames, status, pending)
            return
        connection.sendall(frame(("ready", resident_bytes())))
        if reward.is_async:
            asyncio.run(AsyncLoop(connection, frames, status, reward).serve(pending))
        else:
            score_units(connection, frames, status, reward, pending)
    except (BrokenPipeError, ConnectionResetError):
        return  # the parent is gone, and so is the reason to live


def _print_by_lines() -> None:
    """Let what a reward prints go out line by line: a worker is ended without notice."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, also while a C function holds the GIL."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


def _load(load: Mapping[str, Any]) -> RewardFunction | WorkerProgram:
    from guerdon.reward.loading.modules import know_files

    know_files(load["files"])
    loaded: RewardFunction | WorkerProgram = pickle.loads(load["reward"])
    return loaded


def _limit_memory(max_memory: int | None) -> None:
    """Cap what the process may add to its private memory, so that a huge allocation fails at once."""
    if max_memory is None or not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/status", encoding="ascii") as status:
            data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = data + max_memory
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))

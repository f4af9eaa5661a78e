"""The fork server: it waits for a request, forks, watches the clocks, cleans up, and says what came of it.

It never runs a program itself and holds nothing of one: programs come as descriptors, which the fork reads.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import time
from contextlib import suppress
from typing import Any

from . import child, kernel, scratch
from .child import Request, Surroundings

MAX_HEADER = 64 * 1024
MAX_DESCRIPTORS = 12
LOOK_S = 0.02
"""Seconds between two looks at clocks and scratch files where a run is bounded by more than one clock."""
MIB = 1 << 20


class ForkServer:
    """Serves requests on ``control`` until it is closed or the process behind ``owner`` is gone."""

    def __init__(
        self, control: socket.socket, owner: int, surroundings: Surroundings, *, alone: bool, bounded: bool
    ) -> None:
        self.control = control
        self.owner = owner
        self.surroundings = surroundings
        self.alone = alone
        """Whether this process is the first of a process namespace, and everything else in it is a run's."""
        self.bounded = bounded
        """Whether the file system bounds the working directory, so that nobody has to look."""

    def serve(self) -> None:
        """Answers one request after the other; returns when there is nobody left to answer."""
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        waiting.register(self.owner, select.POLLIN)
        while True:
            ready = dict(waiting.poll())
            if self.owner in ready:
                return
            got = self._receive()
            if got is None:
                return
            self._reply(self._answer(got))

    def _receive(self) -> Request | None:
        descriptors = array.array("i")
        data, ancillary, _, _ = self.control.recvmsg(
            MAX_HEADER, socket.CMSG_SPACE(MAX_DESCRIPTORS * descriptors.itemsize), socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
        return Request(json.loads(data), descriptors.tolist()) if data else None

    def _reply(self, answer: dict[str, Any]) -> None:
        self.control.send(json.dumps(answer).encode())

    def _answer(self, request: Request) -> dict[str, Any]:
        run = Run(self, request)
        try:
            return run.done()
        finally:
            request.close()
            if not scratch.empty(self.surroundings.box):
                # What cannot be cleaned is not handed to the next program.
                os._exit(1)


class Run:
    """One request in its course: the processes that do it and the clocks that they are held to."""

    def __init__(self, server: ForkServer, request: Request) -> None:
        self.server = server
        self.request = request
        self.started = time.monotonic()
        self.pids: list[int] = []
        self.peak = 0
        self.reason = ""
        self.detail = ""
        pair = socket.socketpair() if request.kind == "pair" else None
        if pair:
            self._fork("tester", pair[0], pair[1])
            self._fork("candidate", pair[1], pair[0])
            pair[0].close()
            pair[1].close()
        else:
            self._fork(request.kind, None, None)

    def _fork(self, role: str, own: socket.socket | None, other: socket.socket | None) -> None:
        pid = os.fork()
        if pid == 0:
            if other is not None:
                other.close()
            child.run(self.request, self.server.surroundings, role, own)
        self.pids.append(pid)

    def done(self) -> dict[str, Any]:
        """Waits until the run has ended or has to be ended, and tells how it went."""
        first = self.pids[0]
        watched = [os.pidfd_open(pid) for pid in self.pids]
        try:
            self._wait(watched[0])
            if len(self.pids) > 1:
                self.detail = self._how_the_candidate_stands(self.pids[1], watched[1])
        finally:
            for descriptor in watched:
                os.close(descriptor)
        # Before the first is reaped, since until then its number cannot be anyone else's.
        self._kill()
        _, wait_status, usage = os.wait4(first, 0)
        self.peak = usage.ru_maxrss
        cpu = usage.ru_utime + usage.ru_stime + self._reap()
        self._collect()
        return {
            "reason": self.reason,
            "status": wait_status,
            "cpu_s": cpu,
            "wall_s": time.monotonic() - self.started,
            "memory_kb": self.peak,
            "detail": self.detail,
        }

    def _wait(self, watch: int) -> None:
        request, server = self.request, self.server
        poller = select.poll()
        for descriptor in (watch, server.owner):
            poller.register(descriptor, select.POLLIN)
        poller.register(server.control, select.POLLIN | select.POLLRDHUP)
        answers = request.descriptors.get("a")
        step_wall, step_cpu, step_size = self.started, 0.0, 0
        while True:
            now = time.monotonic()
            cpu = self._processor_time()
            if answers is not None and request.steps > 1:
                size = os.fstat(answers).st_size
                if size > step_size:
                    step_wall, step_cpu, step_size = now, cpu, size
            if now - step_wall >= request.wall_s or cpu - step_cpu >= request.cpu_s:
                self.reason = "timeout"
            elif not server.bounded and not scratch.within(server.surroundings.box, request.scratch):
                self.reason = "scratch_limit"
            if self.reason:
                return
            left = min(request.wall_s - (now - step_wall), request.cpu_s - (cpu - step_cpu))
            pause = max(left, 0.001) if server.bounded else LOOK_S
            ready = dict(poller.poll(pause * 1000))
            if watch in ready:
                return
            if server.control.fileno() in ready:
                # What is said during a run is the reason to end it; nothing at all, that nobody waits for it.
                self.reason = server.control.recv(MAX_HEADER).decode() or "cancelled"
            elif ready:
                self.reason = "cancelled"
            if self.reason:
                return

    def _processor_time(self) -> float:
        used = 0.0
        for pid in self.pids:
            # One that has just ended has no clock any more; its use is told when it is waited for.
            with suppress(OSError):
                used += kernel.processor_seconds(pid)
        return used

    def _how_the_candidate_stands(self, pid: int, descriptor: int) -> str:
        if not select.select([descriptor], [], [], 0)[0]:
            return ""
        got = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return "" if got is None else f"{'exit' if got.si_code == os.CLD_EXITED else 'signal'} {got.si_status}"

    def _kill(self) -> None:
        if self.server.alone:
            # Everything else in the namespace belongs to this run.
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        for pid in self.pids:
            for kill in (os.killpg, os.kill):
                with suppress(ProcessLookupError, PermissionError):
                    kill(pid, signal.SIGKILL)

    def _reap(self) -> float:
        """Waits for all that is left of the run, which has been killed; the processor seconds it had used."""
        used = 0.0
        while True:
            try:
                _, _, usage = os.wait4(-1, 0)
            except ChildProcessError:
                return used
            used += usage.ru_utime + usage.ru_stime
            self.peak = max(self.peak, usage.ru_maxrss)

    def _collect(self) -> None:
        if self.request.collect:
            scratch.collect(self.server.surroundings.box, self.request.collect, self.request.descriptors["c"])

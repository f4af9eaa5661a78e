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

from . import child, kernel, scratch
from .child import Role, Surroundings
from .request import MAX_LENGTH, Request

LOOK_S = 0.02
"""Seconds between two looks at scratch files that no file system bounds."""


class Spare:
    """A fork that was made in advance: it has given up what it must not have, and waits for its program."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.pid = os.fork()
        if self.pid == 0:
            self._channel.close()
            child.wait_and_run(theirs, surroundings)
        theirs.close()

    def take(self, data: bytes, descriptors: list[int]) -> None:
        """Gives it its program."""
        rights = array.array("i", descriptors)
        self._channel.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        self._channel.close()

    def dismiss(self) -> None:
        """Lets it end without one."""
        self._channel.close()


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
        spare = Spare(self.surroundings)
        while True:
            if any(descriptor == self.owner for descriptor, _ in waiting.poll()):
                return
            data, descriptors = child.receive(self.control)
            if not data:
                return
            if not descriptors:
                # A reason to end a run that had ended by itself when it came.
                continue
            request = Request.unpacked(data, descriptors)
            if request.kind in ("program", "calls") and request.processes == 1:
                # Such a run is one process; the next is made while it is at work.
                spare.take(data, descriptors)
                run = Run(self, request, [spare.pid], many=False)
                spare = Spare(self.surroundings)
                answer = run.done()
            else:
                # It ends with everything else when the run is over.
                spare.dismiss()
                answer = Run(self, request, self._fork(request), many=True).done()
                spare = Spare(self.surroundings)
            for descriptor in descriptors:
                os.close(descriptor)
            if not scratch.empty(self.surroundings.box):
                # What cannot be cleaned is not handed to the next program.
                return
            self.control.send(answer)

    def _fork(self, request: Request) -> list[int]:
        pair = socket.socketpair() if request.kind == "pair" else None
        roles: list[tuple[Role, socket.socket | None]]
        if request.kind == "pair":
            assert pair is not None
            roles = [("tester", pair[0]), ("candidate", pair[1])]
        else:
            roles = [(request.kind, None)]
        pids = []
        for role, channel in roles:
            pid = os.fork()
            if pid == 0:
                child.run(request, self.surroundings, role, channel)
            pids.append(pid)
        for end in pair or ():
            end.close()
        return pids


class Run:
    """One request in its course: the processes that do it and the clocks that they are held to."""

    def __init__(self, server: ForkServer, request: Request, pids: list[int], *, many: bool) -> None:
        self.server = server
        self.request = request
        self.pids = pids
        self.many = many
        """Whether there may be processes beside ``pids``, and all that are not this one belong to the run."""
        self.started = time.monotonic()
        self.peak = 0
        self.reason = ""
        self.detail = ""

    def done(self) -> bytes:
        """Waits until the run has ended or has to be ended, and tells how it went, as JSON."""
        first = self.pids[0]
        watched = [os.pidfd_open(pid) for pid in self.pids]
        self._wait(watched[0])
        if len(self.pids) > 1:
            self.detail = self._how_the_candidate_stands(self.pids[1], watched[1])
        for descriptor in watched:
            os.close(descriptor)
        # Before the first is reaped, since until then its number cannot be anyone else's.
        self._kill()
        _, status, usage = os.wait4(first, 0)
        self.peak = usage.ru_maxrss
        used = usage.ru_utime + usage.ru_stime + (self._reap() if self.many else 0.0)
        if self.request.collect:
            scratch.collect(self.server.surroundings.box, self.request.collect, self.request.descriptors["c"])
        return json.dumps(
            {
                "reason": self.reason,
                "status": status,
                "cpu_s": used,
                "wall_s": time.monotonic() - self.started,
                "memory_kb": self.peak,
                "detail": self.detail,
            }
        ).encode()

    def _wait(self, watch: int) -> None:
        """Returns when the first process has ended, or with a reason to end it."""
        request, server = self.request, self.server
        poller = select.poll()
        for descriptor in (watch, server.owner):
            poller.register(descriptor, select.POLLIN)
        control = server.control.fileno()
        poller.register(control, select.POLLIN | select.POLLRDHUP)
        # Judging the clocks only when one of them may have run out keeps a short run short.
        # Where commands run, the file system's bound is that of compilers.
        bounded = server.bounded and request.kind != "command"
        pause = min(request.wall_s, request.cpu_s) if bounded else LOOK_S
        clocks = _Clocks(self)
        while True:
            ready = [descriptor for descriptor, _ in poller.poll(pause * 1000)]
            if watch in ready:
                return
            if control in ready:
                # What is said during a run is the reason to end it; nothing at all, that nobody waits for it.
                self.reason = server.control.recv(MAX_LENGTH).decode() or "cancelled"
            elif ready:
                self.reason = "cancelled"
            elif not bounded and not scratch.within(server.surroundings.box, request.scratch):
                self.reason = "scratch_limit"
            else:
                left = clocks.left()
                pause = max(left, 0.001) if bounded else LOOK_S
                if left <= 0:
                    self.reason = "timeout"
            if self.reason:
                return

    def _how_the_candidate_stands(self, pid: int, descriptor: int) -> str:
        if not select.select([descriptor], [], [], 0)[0]:
            return ""
        got = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return (
            "" if got is None else f"{'exit' if got.si_code == os.CLD_EXITED else 'signal'} {got.si_status}"
        )

    def _kill(self) -> None:
        if not self.many:
            os.kill(self.pids[0], signal.SIGKILL)
            return
        if self.server.alone:
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


class _Clocks:
    """What is left to a run; each answer that it gives winds the clocks up again."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._answers = run.request.descriptors.get("a") if run.request.steps > 1 else None
        self._wall, self._cpu, self._size = run.started, 0.0, 0

    def left(self) -> float:
        """Seconds until one of the clocks may have run out; 0 or less where one has."""
        request = self._run.request
        now, cpu = time.monotonic(), 0.0
        for pid in self._run.pids:
            # One that has just ended has no clock any more; its use is told when it is waited for.
            with suppress(OSError):
                cpu += kernel.processor_seconds(pid)
        if self._answers is not None and (size := os.fstat(self._answers).st_size) > self._size:
            self._wall, self._cpu, self._size = now, cpu, size
        return min(request.wall_s - (now - self._wall), request.cpu_s - (cpu - self._cpu))

"""The fork server: it waits for a request, forks, watches the clocks, cleans up, and says what came of it.

It never runs a program itself and holds nothing of one: programs come as descriptors, which the fork reads.

Every object that is touched after a fork costs the copy of a page, here and in the fork, and that is most of what
a short run costs. So what a run of the common kind passes through makes few objects and calls few functions.
"""

from __future__ import annotations

import _socket
import _thread
import array
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from . import child, kernel, scratch
from .child import Role, ServerContext
from .request import ANSWERS, CLEAN, MAX_LENGTH, REFUSED, REWRITTEN, JobRequest, RunOutcome
from .steps import StepCounter
from .unlinked import UnlinkedFiles

LOOK_S = 0.02
"""Seconds between two looks at scratch files that no file system bounds."""
Made = TypeVar("Made")
FORK_S = 3.0
"""Seconds in which a fork is tried again: other programs of the same user may have all processes for a moment."""
LOOKS_A_STEP = 8
"""How often it is looked for an answer in the time that a step has: a step takes as much longer at most."""


class Spare:
    """A fork that was made in advance: it has given up what it must not have, and waits for its program.

    It takes the program from ``direct`` itself, where the owner puts it, and then reports what it took: a next one is
    only made after that, so that no two wait for the same program. The channel ends without a word when the fork
    ends without a program.
    """

    def __init__(self, fork: Callable[[], int], direct: _socket.socket, context: ServerContext) -> None:
        self.channel, theirs = _socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.pid = fork()
            if self.pid == 0:
                child.wait_and_run(direct, theirs, context)
        except OSError:
            self.channel.close()
            raise
        finally:
            theirs.close()


class ForkServer:
    """Serves requests until ``control`` is closed or the process behind ``owner`` is gone.

    Runs of one process are asked for on ``direct``, all others on ``control``, where every answer is given. Whoever
    asks waits for the answer before the next request.
    """

    def __init__(
        self,
        control: socket.socket,
        direct: socket.socket,
        owner: int,
        context: ServerContext,
        *,
        alone: bool,
        bounded: bool,
        unlinked: UnlinkedFiles | None = None,
    ) -> None:
        self.control = control
        self.direct = direct
        self.owner = owner
        self.context = context
        self.alone = alone
        """Whether this process is the first of a process namespace, and everything else in it is a run's."""
        self.bounded = bounded
        """Whether the file system bounds the working directory, so that nobody has to look."""
        self.unlinked = unlinked
        self.spare = 0
        """The fork that was made in advance, which has nothing of the run that is at work."""
        # A module that was preloaded may have started threads, which need the fork of the os module.
        self.fork: Callable[[], int] = os.fork if _thread._count() else kernel.fork
        self.events = select.poll()
        """Reports the owner's end, requests from outside, and the events that are waited for at the time."""
        self.events.register(control, select.POLLIN | select.POLLRDHUP)
        self.events.register(owner, select.POLLIN)

    def serve(self) -> None:
        """Answers one request after the other; returns when there is nobody left to answer."""
        spare: Spare | None = None
        answers = array.array("i")
        while True:
            spare = spare or self._retried(self._spare)
            channel = spare.channel
            self.events.register(channel, select.POLLIN)
            ready = dict(self.events.poll())
            self.events.unregister(channel)
            if self.owner in ready:
                return
            outside = self.control.fileno() in ready
            data, descriptors = child.receive(self.control if outside else channel)
            if not data:
                return
            if outside and not descriptors:
                # A reason to end a run that had ended by itself when it came.
                continue
            if outside and data == ANSWERS:
                answers = descriptors
                continue
            descriptors += answers
            answers = array.array("i")
            channel.close()
            if data.startswith(REFUSED):
                answer = self._refusal(spare.pid, data[len(REFUSED) :])
                spare = None
                if not self._ended(answer, descriptors):
                    return
                continue
            request = JobRequest.unpacked(data, descriptors)
            if outside:
                # It would be ended with everything else when the run is over.
                os.kill(spare.pid, signal.SIGKILL)
                os.waitpid(spare.pid, 0)
                spare = None
                answer = GroupRun(self, request, self._fork(request)).done()
            else:
                run = ProcessRun(self, request, [spare.pid])
                try:
                    # The next is made while this one is at work.
                    spare = self._spare()
                except OSError:  # this one may have what it takes; the next is made when it has ended
                    spare = None
                answer = run.done()
            if not self._ended(answer, descriptors):
                return

    def _ended(self, answer: RunOutcome, descriptors: Sequence[int]) -> bool:
        """Says what came of a run and empties the working directory; whether that can be handed to the next program."""
        for descriptor in descriptors:
            os.close(descriptor)
        folder = self.context.folder
        left = not scratch.is_empty(folder)
        # Before it is emptied, which may take as long as the program made it take.
        self.control.send(answer.packed(left=left))
        if left:
            if not scratch.empty(folder):
                return False
            self.control.send(CLEAN)
        return True

    def _refusal(self, pid: int, why: bytes) -> RunOutcome:
        _, status, _ = os.wait4(pid, 0)
        reason = f"it could not be started: {why.decode('utf-8', 'replace')}"
        return RunOutcome(status, 0.0, 0.0, 0, reason)

    def _spare(self) -> Spare:
        made = Spare(self.fork, self.direct, self.context)
        self.spare = made.pid
        return made

    def is_within(self, size: int) -> bool:
        """Whether a run's files take no more room than that, with those that it removed and holds open."""
        held = self.unlinked.size(os.getpid(), self.spare, size) if self.unlinked else 0
        return 0 <= held <= size and scratch.within(self.context.box, size - held)

    def _retried(self, make: Callable[[], Made]) -> Made:
        deadline = time.monotonic() + FORK_S
        while True:
            try:
                return make()
            except OSError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(LOOK_S)

    def _fork(self, request: JobRequest) -> list[int]:
        pair = socket.socketpair() if request.kind == "pair" else None
        roles: list[tuple[Role, socket.socket | None]]
        if request.kind == "pair":
            assert pair is not None
            roles = [("tester", pair[0]), ("candidate", pair[1])]
        else:
            roles = [(request.kind, None)]
        pids = []
        for role, channel in roles:
            pid = self._retried(self.fork)
            if pid == 0:
                child.run(request, self.context, role, channel)
            pids.append(pid)
        for end in pair or ():
            end.close()
        return pids


class ProcessRun:
    """A run of one process in its course, and the clocks that it is held to."""

    def __init__(self, server: ForkServer, request: JobRequest, pids: list[int]) -> None:
        self.server = server
        self.request = request
        self.pids = pids
        self.started = time.monotonic()
        self.clocks: _Clocks | None = None

    def done(self) -> RunOutcome:
        """Waits until the run has ended or has to be ended, and returns its outcome."""
        pid = self.pids[0]
        watch = os.pidfd_open(pid)
        reason = self._wait(watch)
        os.close(watch)
        if reason:
            # It has not been reaped, so its number cannot be anyone else's.
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        used = usage.ru_utime + usage.ru_stime
        if self.clocks and self.clocks.turned_back():
            reason = REWRITTEN
        return RunOutcome(status, used, time.monotonic() - self.started, usage.ru_maxrss, reason)

    def _wait(self, watch: int) -> str:
        """Returns when the first process has ended; or has to be ended, and why."""
        request, server = self.request, self.server
        poller = server.events
        poller.register(watch, select.POLLIN)
        # Judging the clocks only when one of them may have run out keeps a short run short.
        # Where commands run, the file system's bound is that of compilers.
        bounded = server.bounded and request.kind != "command"
        longest = min(request.wall_s, request.cpu_s)
        if request.stepwise:
            longest /= LOOKS_A_STEP
        pause = longest if bounded else LOOK_S
        reason = ""
        while not reason:
            ready = dict(poller.poll(pause * 1000))
            if watch in ready:
                break
            if server.control.fileno() in ready:
                # What is said during a run is the reason to end it; nothing at all, that nobody waits for it.
                reason = server.control.recv(MAX_LENGTH).decode() or "cancelled"
            elif ready:
                reason = "cancelled"
            elif not bounded and not server.is_within(request.scratch):
                reason = "scratch_limit"
            else:
                clocks = self.clocks = self.clocks or _Clocks(self)
                left = clocks.left()
                pause = min(max(left, 0.001), longest) if bounded else LOOK_S
                if left <= 0:
                    reason = "timeout"
        poller.unregister(watch)
        return reason


class GroupRun(ProcessRun):
    """A run of several processes, or of one that may start others: what is not the server's belongs to it."""

    def done(self) -> RunOutcome:
        """Waits until the run has ended or has to be ended, and returns its outcome."""
        watched = [os.pidfd_open(pid) for pid in self.pids]
        reason = self._wait(watched[0])
        detail = self._candidate_status(watched[1]) if len(watched) > 1 else ""
        for descriptor in watched:
            os.close(descriptor)
        # Before the first is reaped, since until then its number cannot be anyone else's.
        self._kill()
        _, status, usage = os.wait4(self.pids[0], 0)
        more, peak = self._reap()
        if self.clocks and self.clocks.turned_back():
            reason = REWRITTEN
        if self.request.collect:
            into, size = self.request.descriptors["c"], self.request.scratch
            scratch.collect(self.server.context.box, self.request.collect, into, size)
        return RunOutcome(
            status,
            usage.ru_utime + usage.ru_stime + more,
            time.monotonic() - self.started,
            max(usage.ru_maxrss, peak),
            reason,
            detail,
        )

    def _candidate_status(self, descriptor: int) -> str:
        if not select.select([descriptor], [], [], 0)[0]:
            return ""
        got = os.waitid(os.P_PID, self.pids[1], os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return (
            "" if got is None else f"{'exit' if got.si_code == os.CLD_EXITED else 'signal'} {got.si_status}"
        )

    def _kill(self) -> None:
        if self.server.alone:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        for pid in self.pids:
            for kill in (os.killpg, os.kill):
                with suppress(ProcessLookupError, PermissionError):
                    kill(pid, signal.SIGKILL)

    def _reap(self) -> tuple[float, int]:
        """Waits for all that is left of the run, which has been killed: its processor seconds, and its largest
        resident set in KiB."""
        used, peak = 0.0, 0
        while True:
            try:
                _, _, usage = os.wait4(-1, 0)
            except ChildProcessError:
                return used, peak
            used += usage.ru_utime + usage.ru_stime
            peak = max(peak, usage.ru_maxrss)


class _Clocks:
    """What is left to a run. Each step that it has answered winds the clocks up again."""

    def __init__(self, run: ProcessRun) -> None:
        self._run = run
        request = run.request
        self._steps = StepCounter(request.descriptors["a"], request.steps) if request.stepwise else None
        self._wall, self._cpu = run.started, 0.0

    def left(self) -> float:
        """Seconds until one of the clocks may have run out; 0 or less where one has."""
        request = self._run.request
        now, cpu = time.monotonic(), 0.0
        for pid in self._run.pids:
            # One that has just ended has no clock any more; its use is known when it is waited for.
            with suppress(OSError):
                cpu += kernel.processor_seconds(pid)
        if self._steps is not None and self._steps.advanced():
            self._wall, self._cpu = now, cpu
        all_wall = request.wall_s * request.steps - (now - self._run.started)
        all_cpu = request.cpu_s * request.steps - cpu
        return min(request.wall_s - (now - self._wall), request.cpu_s - (cpu - self._cpu), all_wall, all_cpu)

    def turned_back(self) -> bool:
        """Whether the answers that wound them up are no longer those that were given in time."""
        return self._steps is not None and self._steps.changed()

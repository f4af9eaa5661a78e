"""One fork server, seen from outside: starting it, handing it jobs, and noticing that it is gone."""

from __future__ import annotations

import array
import json
import math
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from typing import Any

from guerdon.sandbox.execution import Report, SandboxJob, Status, Tier
from guerdon.sandbox.inside.numbers import machine
from guerdon.sandbox.inside.request import ANSWERS, CLEAN, REWRITTEN, JobRequest, RunOutcome
from guerdon.sandbox.local import workdirs
from guerdon.sandbox.local.cgroups import MemoryCgroup, enclose
from guerdon.sandbox.local.environment import AT_START, BOX, Spec, bubblewrap_command, configuration
from guerdon.sandbox.local.job_files import JobFiles, unpacked
from guerdon.sandbox.local.usage import POLL_S, UsageMonitor

START_S = 30.0
"""Seconds that a fork server may take to start, its preloaded modules included."""
GRACE_S = 5.0
"""Seconds beyond a job's own clocks after which its fork server is held to be stuck."""
MAX_REPLY = 64 * 1024
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from inside.boot import main; main()"
PATIENCE_S = 5.0
"""Seconds that a fork server has to be gone after it was killed."""


class ServerLostError(Exception):
    """The fork server is gone, or does not answer: nothing is known of the job."""

    after_s = 0.0
    """Seconds after the job was handed over."""


class ServerGoneError(ServerLostError):
    """The fork server cannot take a job: none has begun."""


class UnavailableError(Exception):
    """A fork server of this kind cannot be started here; the message says why."""


class ForkServerHandle:
    """A running fork server. One job at a time, from one thread at a time.

    Raises UnavailableError where it cannot be started, and InputError for a module that is not there.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.tier: Tier = spec.tier
        self.pid = 0
        """The process that forks, as this process sees it; 0 until it is known."""
        self._handle: int | None = None
        """A descriptor of that process, so that no other is ever taken for it."""
        self.cleaning = False
        """Whether it has yet to say that the working directory is empty."""
        self._most_memory = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._messages = -1
        """The memory file to which a fork server that does not start writes the reason."""
        self._box: str | None = None
        self._cgroup: MemoryCgroup | None = None
        self._control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._direct, direct = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._poller = select.poll()
        self._poller.register(self._control, select.POLLIN)
        try:
            with control, direct:
                self._start([control.fileno(), direct.fileno()])
            self._await_ready(time.monotonic() + START_S)
        except OSError as error:
            self.close()
            raise UnavailableError(f"the {self.tier} sandbox cannot be started: {error}") from None
        except BaseException:
            self.close()
            raise

    def _start(self, theirs: list[int]) -> None:
        try:
            machine()
        except OSError as error:
            raise UnavailableError(str(error)) from None
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        box = BOX
        before: list[str] = []
        program = shutil.which("bwrap")
        if self.tier in ("landlock", "none"):
            box = self._box = workdirs.make(executable=self.spec.commands)
        elif self.tier == "bubblewrap" and program is None:
            raise UnavailableError("bubblewrap is not installed: apt-get install bubblewrap")
        # The process as a whole is meant: it may go on when the thread that is here has long ended.
        owner = os.pidfd_open(os.getpid())
        info_reader, info_writer = os.pipe()
        try:
            inherited = [*theirs, owner]
            if self.tier == "bubblewrap" and program is not None:
                before = bubblewrap_command(self.spec, folder, program, info_writer)
            self._messages = os.memfd_create("messages", os.MFD_CLOEXEC)
            self._process = subprocess.Popen(
                [*before, self.spec.python, "-s", "-P", "-S", "-X", "utf8", "-c", _BOOT, folder]
                + [str(descriptor) for descriptor in inherited],
                env=AT_START,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._messages,
                pass_fds=[*inherited, info_writer] if before else inherited,
                start_new_session=True,
                cwd="/",
            )
            os.close(info_writer)
            info_writer = -1
            if before and (text := _whole(info_reader)):
                self._track_process(json.loads(text)["child-pid"])
        except OSError as error:
            raise UnavailableError(f"{error.filename or self.spec.python}: {error.strerror}") from None
        finally:
            for descriptor in (owner, info_reader, info_writer):
                if descriptor >= 0:
                    os.close(descriptor)
        with suppress(OSError):  # it has ended already; why is read from its messages
            self._control.send(json.dumps(configuration(self.spec, box)).encode())

    def _track_process(self, pid: int) -> None:
        """Keeps hold of the process that forks."""
        self.pid = pid
        with suppress(ProcessLookupError):  # it has ended already
            self._handle = os.pidfd_open(pid)
            # A fork of this process may hold the other end of the socket; this reports the end all the same.
            self._poller.register(self._handle, select.POLLIN)
            self._cgroup = enclose(pid)

    def _await_ready(self, deadline: float) -> None:
        while True:
            received = self._receive(deadline)
            if not received:
                words = os.pread(self._messages, 4096, 0).decode("utf-8", "replace").strip().splitlines()
                why = words[-1] if words else f"the {self.tier} sandbox did not start, and did not say why"
                raise UnavailableError(why)
            said: dict[str, Any] = json.loads(received)
            if "failed" in said:
                raise UnavailableError(said["failed"])
            if "pid" in said and self.tier != "bubblewrap":
                self._track_process(said["pid"])
            if "ready" in said:
                self._most_memory = said["memory"]
                os.close(self._messages)
                self._messages = -1
                if self._cgroup is not None:
                    self._cgroup.set_baseline(self.pid)
                if self.tier == "native" and self._process is not None:
                    # It has put the server behind its walls and ended.
                    self._process.wait()
                return

    def _receive(self, deadline: float) -> bytes:
        """The next message; nothing where there will be none."""
        try:
            if not self._poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
                return b""
            return self._control.recv(MAX_REPLY, socket.MSG_DONTWAIT)
        except OSError:
            return b""

    def do(self, job: SandboxJob) -> Report:
        """Runs a job and waits for it.

        Raises ServerGoneError where it has not begun and never will, ServerLostError where nothing comes of it, and
        UnavailableError where this process has not what the job needs.
        """
        # There is nothing to read before a request but the end of the server.
        if not self.is_clean(START_S) or self._poller.poll(0):
            raise ServerGoneError("the fork server is gone, or empties a working directory")
        limits = job.limits
        if limits.memory_mb << 20 > self._most_memory:
            raise UnavailableError(
                f"programs can have {max(0, self._most_memory) >> 20} MiB here, not {limits.memory_mb}: "
                "lower memory_mb, or raise the limit of this process (ulimit -v)"
            )
        try:
            job_files = JobFiles(job)
        except OSError as error:
            raise UnavailableError(f"no files in memory for a program: {error.strerror}") from None
        try:
            request = _request(job, job_files.descriptors)
            if self._cgroup is not None:
                self._cgroup.begin(job, self.spec.scratch_mb)
            self._send(request)
            begun = time.monotonic()
            ends = begun + job.longest_s
            if job.kind == "command" or limits.processes > 1:
                self._monitor(job, ends)
            elif job.steps > 1 or job.total_wall_s is not None:
                # A program may give answers without end, each of which winds up the fork server's clocks.
                self._wait(begun, ends, ends + GRACE_S)
            elif self._cgroup is not None:
                self._wait(begun, math.inf, ends + GRACE_S)
            received = self._receive(ends + GRACE_S)
            if not received:
                lost = ServerLostError("the fork server ended, or hung, while it ran the program")
                lost.after_s = time.monotonic() - begun
                raise lost
            outcome = RunOutcome.unpacked(received)
            self.cleaning = outcome.left
            return _report(job, job_files, outcome, self.tier)
        finally:
            job_files.close()

    def _send(self, request: JobRequest) -> None:
        try:
            if request.single and request.stepwise:
                # A program may hand on no descriptors, so the fork server gets this one from here.
                watched = array.array("i", [request.descriptors["a"]])
                self._control.sendmsg([ANSWERS], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, watched)])
            rights = array.array("i", request.descriptors.values())
            way = self._direct if request.single else self._control
            way.sendmsg([request.packed()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except OSError as error:
            raise ServerGoneError(f"the fork server is gone: {error.strerror}") from None

    def is_clean(self, seconds: float) -> bool:
        """Whether the working directory of the last run is empty, within so many seconds."""
        if self.cleaning:
            self.cleaning = self._receive(time.monotonic() + seconds) != CLEAN
        return not self.cleaning

    def _wait(self, begun: float, ends: float, deadline: float) -> None:
        """Returns when there is an answer, which a run is made to give at ``ends`` or for its memory, or too late."""
        look = begun + POLL_S if self._cgroup is not None else ends
        now = begun
        while now < deadline and not self._poller.poll(max(0.0, min(look, ends) - now) * 1000):
            now = time.monotonic()
            # What comes before the fork server has begun with the run is not received, so it is said again.
            if now >= ends:
                self._end_run("timeout")
                ends = now + POLL_S
            elif self._cgroup is not None and self._cgroup.exceeded():
                self._end_run("memory_limit")
            look = now + POLL_S

    def _end_run(self, reason: str) -> None:
        """Ends the run. Should it have ended by itself by now, this does nothing."""
        with suppress(OSError):
            self._control.send(reason.encode())

    def _monitor(self, job: SandboxJob, ends: float) -> None:
        """Returns when there is an answer, or once the run is stopped for its time or its usage."""
        limits = job.limits
        monitor = UsageMonitor(
            self.pid,
            memory=(limits.memory_mb << 20) * (2 if job.kind == "pair" else 1),
            cpu_s=limits.cpu_s * job.steps,
            processes=limits.processes,
            mappings=job.kind == "command",
        )
        while not self._poller.poll(POLL_S * 1000):
            reason = monitor.exceeded() or ("timeout" if time.monotonic() > ends else "")
            if self._cgroup is not None and self._cgroup.exceeded():
                reason = reason or "memory_limit"
            if reason:
                self._end_run(reason)
                return

    def abandon(self) -> None:
        """Lets go of a server that belongs to the process which this one was forked from."""
        if self._process is not None:
            # It is no child of this process, so there is nothing to wait for, nor to be warned of.
            self._process.returncode = 0
        self._process, self._box = None, None
        self._release()
        self._cgroup = None

    def _release(self) -> None:
        self._control.close()
        self._direct.close()
        for descriptor in (self._handle, self._messages):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self._handle, self._messages, self.pid = None, -1, 0
        if self._cgroup is not None:
            self._cgroup.close()

    def close(self) -> None:
        """Ends the server and all that it runs, and waits until nothing is left of it."""
        process, self._process = self._process, None
        self._control.close()
        if self._handle is not None:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        elif process is not None and process.poll() is None:
            # What it has started so far is in its process group.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        if process is not None:
            try:
                # It goes by itself when the server is gone, and takes what is left with it.
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            # In the native tier the server was made a sibling of the process that Popen knows.
            with suppress(ChildProcessError):
                while True:
                    os.waitpid(-process.pid, 0)
        self._release()
        if self._cgroup is not None:
            self._cgroup.remove()
        if self._box is not None:
            workdirs.remove(self._box)
            self._box = None


def _whole(descriptor: int) -> bytes:
    """All that a pipe brings."""
    text = b""
    while more := os.read(descriptor, 4096):
        text += more
    return text


def _request(job: SandboxJob, descriptors: dict[str, int]) -> JobRequest:
    limits = job.limits
    request = JobRequest(
        job.kind,
        cpu_s=limits.cpu_s,
        wall_s=limits.wall_s,
        memory=limits.memory_mb << 20,
        output=limits.output_kb << 10,
        scratch=limits.scratch_mb << 20,
        processes=limits.processes,
        steps=job.steps,
        names="".join(descriptors),
        collect=job.collect,
    )
    request.descriptors = descriptors
    return request


def _report(job: SandboxJob, job_files: JobFiles, answer: RunOutcome, tier: Tier) -> Report:
    size = job.limits.output_kb * 1024
    stdout, more_out = job_files.read("o", size)
    stderr, more_err = job_files.read("e", size)
    number = answer.status
    signalled = os.WTERMSIG(number) if os.WIFSIGNALED(number) else None
    exit_code = os.WEXITSTATUS(number) if os.WIFEXITED(number) else None
    status, detail = _status_of(answer.reason, exit_code, signalled, stderr)
    if more_out or more_err:
        status, detail = "output_limit", f"more than {job.limits.output_kb} KiB of output"
    return Report(
        status=status,
        exit_code=exit_code,
        signal=signalled,
        stdout=stdout,
        stderr=stderr,
        answers=b"" if answer.reason == REWRITTEN else job_files.answers(),
        collected=unpacked(job_files.collected()),
        cpu_s=answer.cpu_s,
        wall_s=answer.wall_s,
        memory_mb=answer.memory_kb / 1024,
        tier=tier,
        detail=detail or answer.detail,
    )


def _status_of(
    reason: str, exit_code: int | None, signalled: int | None, stderr: bytes
) -> tuple[Status, str]:
    if reason == "timeout" or signalled == signal.SIGXCPU:
        return "timeout", "it overran its time limit"
    if reason == REWRITTEN:
        return "killed", "it wrote over answers that it had given"
    if reason == "memory_limit":
        return "memory_limit", "it outgrew its memory limit"
    if reason == "process_limit":
        return "killed", "it started more processes than it may"
    if reason == "scratch_limit":
        return "killed", "it wrote more files than it may"
    if reason:
        return "worker_lost", f"the run was ended: {reason}"
    if exit_code == 0:
        return "ok", ""
    last = stderr.rstrip().rpartition(b"\n")[2]
    if exit_code is not None and last.startswith(b"MemoryError"):
        return "memory_limit", "it outgrew its memory limit"
    if signalled == signal.SIGXFSZ:
        return "output_limit", "it wrote a file that is larger than it may be"
    if signalled is not None:
        # A real-time signal has no name.
        known = signalled in set(signal.Signals)
        return "killed", f"ended by {signal.Signals(signalled).name if known else f'signal {signalled}'}"
    return "error", last[:200].decode("utf-8", "replace") or f"exit status {exit_code}"

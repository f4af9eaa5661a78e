"""The process that runs one program: it makes itself at home, gives up what it must not have, and runs it."""

from __future__ import annotations

import _socket
import _thread
import array
import atexit
import gc
import json
import linecache
import os
import random
import resource
import signal
import socket
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any, Literal, NoReturn

from . import calls, candidate, kernel, landlock, seccomp, tester
from .numbers import machine
from .request import MAX_DESCRIPTORS, MAX_LENGTH, REFUSED, JobRequest

NAME = "main.py"
MAX_ANSWERS = 16 << 20
MAX_OPEN = 256
MAX_PENDING = 256
"""Timers and signals that wait; the kernel counts those of all processes of a user together."""
STACK = 64 << 20
_HIGHEST = 1 << 20
_LIMITS = (
    resource.RLIMIT_CPU,
    resource.RLIMIT_FSIZE,
    resource.RLIMIT_DATA,
    resource.RLIMIT_AS,
    resource.RLIMIT_NPROC,
    resource.RLIMIT_NOFILE,
)
_NOTHING = (
    resource.RLIMIT_CORE,
    resource.RLIMIT_MSGQUEUE,
    resource.RLIMIT_MEMLOCK,
    resource.RLIMIT_NICE,
    resource.RLIMIT_RTPRIO,
    resource.RLIMIT_RTTIME,
    10,  # RLIMIT_LOCKS
)
_REHEARSALS = 10
_REHEARSED = b"""
import sys, math
from collections import defaultdict
class Some:
    def __init__(self, value): self.value = value
def double(x): return [2 * y for y in range(x)]
try:
    data = sys.stdin.read().split()
    counts = defaultdict(int)
    for number, word in enumerate(sorted(double(3))): counts[str(word)] += Some(number).value
    print(len(counts), f"{math.sqrt(2):.2f}", *map(int, data), sep=" ")
    int("x")
except ValueError: pass
"""
_ROOM = socket.CMSG_SPACE(MAX_DESCRIPTORS * 4)

Role = Literal["program", "calls", "tester", "candidate", "command"]
# What each role is given beside its standard streams.
_GIVEN: dict[Role, str] = {"program": "pg", "calls": "pqa", "tester": "qa", "candidate": "p", "command": "g"}
_READ_WHOLE = "pqg"


class ServerContext:
    """What is the same for all runs of one fork server."""

    def __init__(
        self,
        *,
        box: str,
        folder: int,
        own_session: bool,
        confined: bool,
        base_memory: int,
        tasks: int | None = None,
        tester_rules: int | None = None,
        looked_at: bool = False,
    ) -> None:
        self.box = box
        """The working directory of programs. It is never that of this process, nor on its import path."""
        self.folder = folder
        """A descriptor of it."""
        self.tester_rules = tester_rules
        """Landlock rules under which the working directory cannot be reached; None without Landlock."""
        self.looked_at = looked_at
        """Whether somebody looks at what programs hold open, who may do so where they are dumpable."""
        self.own_session = own_session
        """Whether a run is a session of its own, since only its process group says what belongs to it."""
        self.base_memory = base_memory
        """Bytes of address space that a run has before its program starts."""
        self.highest = {which: _highest(which) for which in _LIMITS}
        """What each limit may be set to: this process may have been started with limits of its own."""
        self.most_memory = self.highest[resource.RLIMIT_AS] - base_memory
        """Bytes that a run can be given at most."""
        self._tasks = tasks
        self.others = 0
        """Tasks of the machine, where those of the user that are beyond the sandbox count against its limit."""
        self.filters = {
            (processes, execute): seccomp.ProgramFilter(machine(), processes=processes, execute=execute)
            for processes in (False, True)
            for execute in (False, True)
            if confined
        }

    def count_others(self) -> None:
        """Looks how many tasks there are on the machine, if that matters; from ``/proc/loadavg``."""
        if self._tasks is not None:
            self.others = int(os.pread(self._tasks, 100, 0).split()[3].partition(b"/")[2])


def _highest(which: int) -> int:
    return resource.getrlimit(which)[1] % (1 << 63)


def limit_all() -> None:
    """Sets the limits that are the same for every run; the fork server keeps to them, too."""
    # Nothing below what there may be is left as whoever started this process had it.
    for which in (number for name, number in vars(resource).items() if name.startswith("RLIMIT_")):
        highest = resource.getrlimit(which)[1]
        resource.setrlimit(which, (highest, highest))
    # Deep recursion is what programs of this kind do; threads keep the size that the process was started with.
    stack = min(STACK, _highest(resource.RLIMIT_STACK))
    resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))
    pending = min(MAX_PENDING, _highest(resource.RLIMIT_SIGPENDING))
    resource.setrlimit(resource.RLIMIT_SIGPENDING, (pending, pending))
    for none in _NOTHING:
        resource.setrlimit(none, (0, 0))


def rehearse() -> None:
    """Goes through what every run does, in the fork server before there is any.

    What the interpreter keeps the first time, such as where it found an attribute, is then there for all forks,
    and none of them has to copy the pages on which it would keep it.
    """
    form = JobRequest("program", cpu_s=1, wall_s=1, memory=1, output=1, scratch=1, names="p").packed()
    main, arguments = sys.modules["__main__"], sys.argv
    for _ in range(_REHEARSALS):
        descriptor = os.memfd_create("p", os.MFD_CLOEXEC)
        os.write(descriptor, _REHEARSED)
        os.lseek(descriptor, 0, os.SEEK_SET)
        request = JobRequest.unpacked(form, [descriptor])
        _as_main(_read(request.descriptors["p"]), [])()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        random.seed()
    sys.modules["__main__"], sys.argv = main, arguments


def receive(channel: _socket.socket) -> tuple[bytes, array.array[int]]:
    """The bytes of a request and the descriptors that came with it; nothing where there is no more to come."""
    data, ancillary, _, _ = channel.recvmsg(MAX_LENGTH, _ROOM, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for _, _, content in ancillary:
        descriptors.frombytes(content)
    return data, descriptors


def wait_and_run(direct: _socket.socket, channel: _socket.socket, context: ServerContext) -> NoReturn:
    """In a fresh fork: gets ready for a Python program that may start no process, takes one from ``direct``, reports
    on ``channel`` what it took, and runs it."""
    try:
        if context.looked_at:
            kernel.set_dumpable(True)
        context.count_others()
        _close_all_but([direct.fileno(), channel.fileno(), context.folder])
        if context.own_session:
            os.setsid()
            kernel.die_with_parent()
        if context.filters:
            context.filters[False, False].install(os.getpid())
        random.seed()
        data, descriptors = receive(direct)
        direct.close()
        if not data:
            os._exit(0)
        request = JobRequest.unpacked(data, descriptors)
        seen = request.passed_on(data)
        given = request.descriptors
        role: Role = "calls" if request.kind == "calls" else "program"
        _settle(request, context, role)
        os.close(context.folder)
        channel.send(seen)
        # From here on what fails is the program's, such as a source that is larger than its memory.
        channel.close()
        texts = {name: _read(given[name]) for name in _READ_WHOLE if name in given}
        _limit(context, resource.RLIMIT_NOFILE, MAX_OPEN, MAX_OPEN)
        _start(role, texts, given.get("a"), None, context.box)
    except BaseException as error:  # whatever it was, a fork must not fall back into the server's own loop
        if channel.fileno() >= 0:
            channel.send(REFUSED + str(error).encode("utf-8", "replace"))
        else:
            os.write(2, f"{type(error).__name__}\n".encode())
    finally:
        os._exit(1)


def run(request: JobRequest, context: ServerContext, role: Role, channel: socket.socket | None) -> NoReturn:
    """In a fresh fork: does what was asked for, of a pair the one part."""
    try:
        if context.looked_at:
            kernel.set_dumpable(True)
        if context.own_session:
            os.setsid()
            kernel.die_with_parent()
        context.count_others()
        given = {name: request.descriptors[name] for name in _GIVEN[role] if name in request.descriptors}
        _settle(request, context, role)
        if role == "tester" and context.tester_rules is not None:
            landlock.enforce(context.tester_rules)
        _close_all_but([*given.values(), *([channel.fileno()] if channel else [])])
        texts = {name: _read(given[name]) for name in _READ_WHOLE if name in given}
        _limit(context, resource.RLIMIT_NOFILE, MAX_OPEN, MAX_OPEN)
        many = request.processes > 1 and role != "tester"
        _confine(context, processes=many, execute=role == "command" or many)
        _start(role, texts, given.get("a"), channel, context.box)
    except BaseException:  # as above
        traceback.print_exc()
    finally:
        os._exit(1)


def _confine(context: ServerContext, *, processes: bool, execute: bool) -> None:
    if context.filters:
        context.filters[processes, execute].install(os.getpid())


def _settle(request: JobRequest, context: ServerContext, role: Role) -> None:
    """Standard streams, files and limits, as the request has them."""
    given = request.descriptors
    if role == "tester":
        null = os.open(os.devnull, os.O_RDWR)
        streams = (null, os.dup(null), os.dup(null))
    else:
        os.fchdir(context.folder)
        streams = (given.get("i", 0), given["o"], given["e"])
        for name in "ioe":
            if name in given:
                del given[name]
        if "f" in given:
            _lay_files(_read(given.pop("f")), 0o755 if role == "command" else 0o644)
    for number, descriptor in enumerate(streams):
        if descriptor != number:
            os.dup2(descriptor, number)
            os.close(descriptor)
    # The fork server judges by clocks that it reads itself; this holds if it does not come to that.
    seconds = int(request.cpu_s * request.steps) + 2
    _limit(context, resource.RLIMIT_CPU, seconds, seconds + 1)
    size = max(request.scratch, request.output + 1, MAX_ANSWERS)
    _limit(context, resource.RLIMIT_FSIZE, size, size)
    # Interpreters and compilers reserve far more than they use: what they may write to is what counts.
    which = resource.RLIMIT_DATA if role == "command" else resource.RLIMIT_AS
    memory = request.memory if role == "command" else request.memory + context.base_memory
    _limit(context, which, memory, memory)
    # Threads count as well, and so do the fork server itself and the other of a pair.
    tasks = request.processes + 64 + context.others
    # Without a user namespace all that its user runs would count; the usage monitor counts those of commands.
    if role != "command" or not context.own_session:
        _limit(context, resource.RLIMIT_NPROC, tasks, tasks)


def _limit(context: ServerContext, which: int, soft: int, hard: int) -> None:
    highest = context.highest[which]
    resource.setrlimit(which, (min(soft, highest), min(hard, highest)))


def _read(descriptor: int) -> bytes:
    """All that a memory file holds; closes it."""
    left = os.fstat(descriptor).st_size
    text = os.read(descriptor, left)
    while len(text) < left and (more := os.read(descriptor, left - len(text))):
        text += more
    os.close(descriptor)
    return text


def _lay_files(packed: bytes, mode: int) -> None:
    """Lays out, in the current directory, files that came as a line of JSON with their names and sizes, and their
    contents after it."""
    index, _, body = packed.partition(b"\n")
    at = 0
    for path, size in json.loads(index):
        if folder := os.path.dirname(path):
            os.makedirs(folder, exist_ok=True)
        # The mode is given at once: where chmod would reach the host's files, it does nothing.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            file.write(body[at : at + size])
        at += size


def _close_all_but(keep: list[int]) -> None:
    low = 3
    for descriptor in sorted(keep):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, _HIGHEST)


def _start(
    role: Role, texts: dict[str, bytes], answers: int | None, channel: socket.socket | None, box: str
) -> NoReturn:
    if role == "command":
        line = json.loads(texts["g"])
        # What the interpreter ignores, a program of another kind would not expect to be ignored.
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        largest = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (min(line["stack"], largest), largest))
        os.execve(line["arguments"][0], line["arguments"], {**os.environ, **line["environment"]})
    gc.enable()
    if role == "tester":
        # Nor does it look for its own files where the program lays its.
        os.environ.pop("TMPDIR", None)
        os.environ.update(HOME="/", PWD="/")
    else:
        # Programs may import helpers that lie beside them.
        sys.path.insert(0, box)
    if role == "program":
        arguments = json.loads(texts["g"])["arguments"] if "g" in texts else []
        _finish(_as_main(texts["p"], arguments), texts["p"])

    def write(line: bytes) -> None:
        while line:
            line = line[os.write(answers or 1, line) :]

    if role == "calls":
        _finish(lambda: calls.answer(texts["p"], texts["q"], write))
    assert channel is not None
    if role == "tester":
        _finish(lambda: tester.test(texts["q"], channel, write))
    _finish(lambda: candidate.serve(texts["p"], channel))


def _as_main(source: bytes, arguments: list[str]) -> Callable[[], None]:
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.argv = [NAME, *arguments]
    return lambda: exec(compile(source, NAME, "exec", dont_inherit=True), module.__dict__)


def _finish(main: Callable[[], None], source: bytes = b"") -> NoReturn:
    """Runs ``main`` and ends as the interpreter would: message, threads, exit functions, buffers."""
    status = 0
    try:
        main()
    except SystemExit as stop:
        status = _exit_code(stop.code)
    except BaseException as error:  # the program's own, to be shown as the interpreter shows it
        _show(error, source)
        status = 1
    try:
        if _thread._count():
            threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter calls before it ends
        atexit._run_exitfuncs()
    except BaseException as error:  # the program's own, as above
        _show(error, source)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # closed, full, or replaced by the program
            status = status or 120
    os._exit(status)


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _show(error: BaseException, source: bytes) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    try:
        linecache.cache[NAME] = (len(source), None, source.decode("utf-8", "replace").splitlines(True), NAME)
        traceback.print_exception(type(error), error, trace)
    except BaseException:  # a program may have replaced all that this needs
        os.write(2, b"the program failed, and so did showing how\n")

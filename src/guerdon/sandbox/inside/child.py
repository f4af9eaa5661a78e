"""The process that runs one program: it makes itself at home, gives up what it must not have, and runs it."""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import signal
import socket
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any, NoReturn

from . import calls, candidate, kernel, seccomp, tester

MIB = 1 << 20
NAME = "main.py"
MAX_ANSWERS = 16 * MIB
MAX_DESCRIPTORS = 256
# What each role is given beside its standard streams: program, questions, answers, command line.
_GIVEN = {"program": "pg", "calls": "pqa", "tester": "qa", "candidate": "p", "command": "g"}
_READ_WHOLE = "pqg"


class Request:
    """What the fork server was asked for: limits, and the descriptors that hold everything else.

    A descriptor goes by a letter: p program, g command line, i o e standard streams, q questions, a answers,
    f files, c files to bring back.
    """

    def __init__(self, header: dict[str, Any], descriptors: list[int]) -> None:
        self.kind: str = header["kind"]
        self.cpu_s, self.wall_s = float(header["cpu_s"]), float(header["wall_s"])
        self.memory = int(header["memory_mb"]) * MIB
        self.output = int(header["output_kb"]) * 1024
        self.processes = int(header["processes"])
        self.scratch = int(header["scratch_mb"]) * MIB
        self.steps = int(header["steps"])
        self.collect: list[str] = header.get("collect", [])
        self.descriptors = dict(zip(header["names"], descriptors, strict=True))

    def close(self) -> None:
        """Closes the descriptors on this side."""
        for descriptor in self.descriptors.values():
            os.close(descriptor)


class Surroundings:
    """What is the same for all runs of one fork server."""

    def __init__(self, *, box: str, own_session: bool, confined: bool, base_memory: int) -> None:
        self.box = box
        self.own_session = own_session
        """Whether a run is a session of its own, since only its process group tells what belongs to it."""
        self.base_memory = base_memory
        """Bytes of address space that a run has before its program starts."""
        self.filters = {
            (processes, execute): seccomp.ProgramFilter(kernel.machine(), processes=processes, execute=execute)
            for processes in (False, True)
            for execute in (False, True)
            if confined
        }


def run(request: Request, surroundings: Surroundings, role: str, channel: socket.socket | None) -> NoReturn:
    """Does in a fresh fork what was asked for, and never comes back.

    ``role`` is the request's kind, or ``tester`` and ``candidate`` for the two of a pair.
    """
    status = 1
    try:
        status = _run(request, surroundings, role, channel)
    except BaseException:  # whatever it was, a fork must not fall back into the server's own loop
        traceback.print_exc()
    finally:
        os._exit(status)


def _run(request: Request, surroundings: Surroundings, role: str, channel: socket.socket | None) -> int:
    given = {name: request.descriptors[name] for name in _GIVEN[role] if name in request.descriptors}
    files = request.descriptors.get("f") if role != "tester" else None
    if surroundings.own_session:
        os.setsid()
    os.umask(0o022)
    if role == "tester":
        _take_standard(None, None, None)
    else:
        streams = request.descriptors
        _take_standard(streams.get("i"), streams["o"], streams["e"])
    if files is not None:
        _lay_files(_read(files), surroundings.box)
    _close_all_but([*given.values(), *([channel.fileno()] if channel else [])])
    texts = {name: _read(given.pop(name)) for name in _READ_WHOLE if name in given}
    _limit(request, surroundings, role)
    many = request.processes > 1 and role != "tester"
    if template := surroundings.filters.get((many, role == "command")):
        seccomp.install(template.for_pid(os.getpid()))
    for name in [name for name in sys.modules if name.split(".")[0] == "inside"]:
        del sys.modules[name]
    if role == "command":
        line = json.loads(texts["g"])
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.execve(line["arguments"][0], line["arguments"], line["environment"])
    gc.enable()
    if role == "program":
        arguments = json.loads(texts["g"])["arguments"] if "g" in texts else []
        return _run_as_main(texts["p"], arguments)
    return _finish(_driver(role, texts, given.get("a"), channel))


def _take_standard(*descriptors: int | None) -> None:
    for number, descriptor in enumerate(descriptors):
        source = os.open(os.devnull, os.O_RDWR) if descriptor is None else descriptor
        os.dup2(source, number)


def _read(descriptor: int) -> bytes:
    """All that a memory file holds, which is closed."""
    size = os.fstat(descriptor).st_size
    pieces = []
    while size and (piece := os.pread(descriptor, size, sum(map(len, pieces)))):
        pieces.append(piece)
        size -= len(piece)
    os.close(descriptor)
    return b"".join(pieces)


def _lay_files(packed: bytes, box: str) -> None:
    """Lays out files that came as a line of JSON with their names and sizes, and their contents after it."""
    index, _, body = packed.partition(b"\n")
    at = 0
    for name, size in json.loads(index):
        path = os.path.join(box, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(body[at : at + size])
        at += size


def _close_all_but(keep: list[int]) -> None:
    low = 3
    for descriptor in sorted(keep):
        if descriptor > low:
            kernel.close_range(low, descriptor - 1)
        low = max(low, descriptor + 1)
    kernel.close_range(low)


def _limit(request: Request, surroundings: Surroundings, role: str) -> None:
    # The fork server judges by clocks that it reads itself; these hold if it does not come to that.
    seconds = int(request.cpu_s * request.steps) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    size = max(request.scratch, request.output + 1, MAX_ANSWERS)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_DESCRIPTORS, MAX_DESCRIPTORS))
    # Interpreters and compilers reserve far more than they use: what they may write to is what counts.
    which = resource.RLIMIT_DATA if role == "command" else resource.RLIMIT_AS
    memory = request.memory if role == "command" else request.memory + surroundings.base_memory
    resource.setrlimit(which, (memory, memory))
    # Threads are counted as well. The fork server itself and a tester are two more.
    tasks = request.processes + 64
    resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))
    for none in (resource.RLIMIT_CORE, resource.RLIMIT_MSGQUEUE, resource.RLIMIT_MEMLOCK):
        resource.setrlimit(none, (0, 0))


def _run_as_main(source: bytes, arguments: list[str]) -> int:
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.argv = [NAME, *arguments]
    del arguments

    def main() -> None:
        exec(compile(source, NAME, "exec", dont_inherit=True), module.__dict__)

    return _finish(main)


def _driver(
    role: str, texts: dict[str, bytes], answers: int | None, channel: socket.socket | None
) -> Callable[[], None]:
    def write(line: bytes) -> None:
        while line:
            line = line[os.write(answers or 1, line) :]

    if role == "calls":
        return lambda: calls.answer(texts["p"], texts["q"], write)
    assert channel is not None
    if role == "tester":
        return lambda: tester.test(texts["q"], channel, write)
    return lambda: candidate.serve(texts["p"], channel)


def _finish(main: Callable[[], None]) -> int:
    """Runs ``main`` and ends as the interpreter would: message, threads, exit functions, buffers."""
    status = 0
    try:
        main()
    except SystemExit as stop:
        status = _exit_code(stop.code)
    except BaseException as error:  # the program's own, to be shown as the interpreter shows it
        _show(error)
        status = 1
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter calls before it ends
        atexit._run_exitfuncs()
    except BaseException as error:  # the program's own, as above
        _show(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # closed, full, or replaced by the program
            status = status or 120
    return status


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    try:
        traceback.print_exception(type(error), error, trace)
    except BaseException:  # a program may have replaced all that this needs
        os.write(2, b"the program failed, and so did showing how\n")

"""Calls a program's functions on a provider's machine: this file is sent there as text and runs as a script.

It needs nothing but Python's own library, and Linux. A child process runs the program and answers; this one
keeps the clocks of each answer, ends the child, and prints one line: a marker, then a JSON object, compressed and
as base64. The program can reach whatever is here, so all that comes back is its claim and is read as such.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import types
import zlib
from typing import IO, Any

ANSWER_BYTES = 8 << 20
REPORT_BYTES = 768 << 10
SHOWN_BYTES = 8 << 10
TICK_S = 0.05


def main(text: str) -> None:
    """Does what the JSON text asks for and prints the report."""
    order = json.loads(text)
    report = ask(order)
    report["python"] = list(sys.version_info[:2])
    # Shows whether the service lets a long report through.
    report["padding"] = base64.b64encode(os.urandom(order["padding"])).decode()
    line = packed(report)
    if len(line) > REPORT_BYTES:
        line = packed({**report, "status": "output_limit", "answers": "", "padding": ""})
    sys.stdout.write("\n" + order["marker"] + line + "\n")
    sys.stdout.flush()


def packed(report: dict[str, Any]) -> str:
    """The report as one word."""
    return base64.b64encode(zlib.compress(json.dumps(report).encode(), 1)).decode()


def ask(order: dict[str, Any]) -> dict[str, Any]:
    """Runs the child and watches it."""
    there, here = os.pipe()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        pid = os.fork()
        if pid == 0:
            os.close(there)
            child(order, here, stdout.fileno(), stderr.fileno())
        os.close(here)
        started = time.monotonic()
        answers, status = watch(pid, there, order, (stdout, stderr))
        try:
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            os.kill(pid, signal.SIGKILL)
        _, ended, used = os.wait4(pid, 0)
        code = os.waitstatus_to_exitcode(ended)
        shown = [
            os.pread(stream.fileno(), SHOWN_BYTES, 0).decode("utf-8", "replace")
            for stream in (stdout, stderr)
        ]
    if not status:
        status = "killed" if code < 0 else "error" if code else "ok"
    return {
        "status": status,
        "code": code,
        "answers": answers.decode("utf-8", "replace"),
        "stdout": shown[0],
        "stderr": shown[1],
        "cpu_s": used.ru_utime + used.ru_stime,
        "wall_s": time.monotonic() - started,
        "memory_mb": used.ru_maxrss / 1024,
    }


def watch(
    pid: int, there: int, order: dict[str, Any], streams: tuple[IO[bytes], ...]
) -> tuple[bytearray, str]:
    """The answers until the child closes its end, and the limit that it reached, "" for none."""
    answers = bytearray()
    # The clock of another process, as clock_getcpuclockid(3) numbers it.
    clock = (~pid << 3) | 2
    wall, cpu = time.monotonic(), 0.0
    while True:
        ready, _, _ = select.select([there], [], [], TICK_S)
        try:
            now_cpu = time.clock_gettime(clock)
        except OSError:
            now_cpu = cpu
        if ready:
            data = os.read(there, 1 << 16)
            if not data:
                return answers, ""
            answers += data
            if len(answers) > ANSWER_BYTES:
                return bytearray(), "output_limit"
            if b"\n" in data:
                wall, cpu = time.monotonic(), now_cpu
        if time.monotonic() - wall > order["wall_s"] or now_cpu - cpu > order["cpu_s"]:
            return answers, "timeout"
        if any(os.fstat(stream.fileno()).st_size > order["output_kb"] << 10 for stream in streams):
            return answers, "output_limit"


def child(order: dict[str, Any], here: int, stdout: int, stderr: int) -> None:
    """The process that holds the program; it never returns."""
    code = 1
    try:
        os.setpgid(0, 0)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        with open("/proc/self/statm") as pages:
            held = int(pages.read().split()[0]) * resource.getpagesize()
        room = held + (order["memory_mb"] << 20)
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        # Where nothing is to be asked, this only shows that such a process can be had.
        if order["modules"]:
            answer = loaded(order["modules"])

            def write(data: bytes) -> None:
                while data:
                    data = data[os.write(here, data) :]

            answer(base64.b64decode(order["program"]), base64.b64decode(order["questions"]), write)
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1
    except BaseException:  # the program's own, of whatever kind: it goes to its standard error
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code & 0xFF)


def loaded(modules: list[list[str]]) -> Any:
    """The function ``answer`` of the last of these modules, which come as name and source, in order of need."""
    package = types.ModuleType("inside")
    package.__path__ = []
    sys.modules["inside"] = package
    module = package
    for name, source in modules:
        module = types.ModuleType(f"inside.{name}")
        module.__package__ = "inside"
        sys.modules[module.__name__] = module
        setattr(package, name, module)
        exec(compile(source, f"inside/{name}.py", "exec"), module.__dict__)
    return module.__dict__["answer"]

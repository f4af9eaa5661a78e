"""The self-test of a fork server: what escapes it, and whether its limits hold."""

from __future__ import annotations

import importlib.resources
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.sandbox import inside
from guerdon.sandbox.execution import SandboxJob
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.local.environment import ENVIRONMENT
from guerdon.sandbox.local.server import ForkServerHandle
from guerdon.sandbox.local.usage import descendants


class SelfTestError(Exception):
    """A test that could not run; the message says why."""


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """What became of the attempts at one thing."""

    what: str
    """Such as ``reading host files``."""
    held: bool
    detail: str = ""
    """How it was refused, or what came through."""


def run_escape_attempts(server: ForkServerHandle) -> list[SelfTestResult]:
    """What gets out. Raises SelfTestError where that could not be tried, and ServerLostError."""
    program = importlib.resources.files(inside).joinpath("escapes.py").read_bytes()
    # What programs are given by us may have the same name as what this process has.
    allowed = {"HOME", "PWD", "TMPDIR", "LC_CTYPE", *ENVIRONMENT}
    variables = json.dumps([name for name in os.environ if name not in allowed])[:60_000]
    with tempfile.TemporaryDirectory(prefix="guerdon-canary-") as folder:
        file = os.path.join(os.path.realpath(folder), "canary")
        files = (file, f"{file}1", f"{file}2")
        for each in files:
            with open(each, "w", encoding="utf-8") as opened:
                opened.write("#!/bin/sh\nexit 7\n")
            os.chmod(each, 0o755)
        os.chmod(folder, 0o755)
        before = [_state_of(each) for each in files]
        job = SandboxJob(
            kind="program",
            program=program,
            arguments=(file, str(os.getpid()), variables),
            limits=Limits(cpu_s=5, wall_s=20, output_kb=256),
        )
        report = server.do(job)
        if report.status != "ok":
            said = report.stderr.decode("utf-8", "replace").strip()[-300:]
            raise SelfTestError(f"its self-test failed: {report.detail or report.status} {said}".strip())
        found = [SelfTestResult(what, held, detail) for what, held, detail in json.loads(report.stdout)]
        # What the program says of itself is one thing, what is seen from here another.
        same = all(os.path.lexists(each) for each in files) and [_state_of(each) for each in files] == before
        return (
            found
            if same
            else [*found, SelfTestResult("leaving host files as they are", False, "one changed")]
        )


def _state_of(file: str) -> tuple[int, ...]:
    """What of a file changes with what is done to it, reading aside."""
    about = os.lstat(file)
    return (about.st_mode, about.st_size, about.st_uid, about.st_nlink, about.st_mtime_ns, about.st_ctime_ns)


# Whether limits hold.

_HOG = b"kept = []\nwhile True: kept.append(bytearray(8 << 20))"
_FILES = b"""
import time
for number in range(5000): open(str(number), "w").close()
time.sleep(10)
"""
_BYTES = b"""
import time
for number in range(40):
    with open(str(number), "wb") as file: file.write(bytes(1 << 20))
time.sleep(10)
"""
_FORKS = b"""
import os, sys, time
made = 0
try:
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except OSError:
    print("limited", made, flush=True)
else:
    time.sleep(float(sys.argv[2]))
    print("unlimited", made, flush=True)
os._exit(0)
"""
_THREADS = b"""
import os, sys, threading, time
made = 0
threading.stack_size(65536)
try:
    for _ in range(int(sys.argv[1])):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        made += 1
except (RuntimeError, MemoryError):
    print("limited", made, flush=True)
else:
    print("unlimited", made, flush=True)
os._exit(0)
"""
_LEAVE = b"open('left', 'w').write('x'); import json; json.loads = None"
_LOOK = b"import json, os; print(os.listdir('.'), json.loads('1'))"

LimitTest = Callable[[ForkServerHandle], tuple[bool, str]]


def _ends(program: bytes, status: str, *, most_s: float = 8.0, **limits: Any) -> LimitTest:
    """A program that must end with that status, within that time."""

    def probe(server: ForkServerHandle) -> tuple[bool, str]:
        started = time.monotonic()
        report = server.do(SandboxJob(kind="program", program=program, limits=Limits(**limits)))
        took = time.monotonic() - started
        held = report.status in status.split() and took < most_s
        return held, report.detail if held else f"{report.status} after {took:.1f} s: {report.detail}"

    return probe


def _processor(server: ForkServerHandle) -> tuple[bool, str]:
    limits = Limits(cpu_s=0.2, wall_s=20)
    report = server.do(SandboxJob(kind="program", program=b"while True: pass", limits=limits))
    held = report.status == "timeout" and report.cpu_s < 1.0
    return held, f"{report.status} after {report.cpu_s:.2f} s of processor time, of 0.2 s"


def _starts(program: bytes, allowed: int) -> LimitTest:
    """A program that starts as many as it can get, and says how many that were."""

    def probe(server: ForkServerHandle) -> tuple[bool, str]:
        with open("/proc/loadavg", encoding="ascii") as file:
            tasks = int(file.read().split()[3].partition("/")[2])
        # The kernel counts what its user has on the whole machine, where the tier has no users of its own.
        job = SandboxJob(
            kind="program",
            program=program,
            arguments=(str(tasks + 150), "5"),
            limits=Limits(processes=allowed, cpu_s=10, wall_s=20),
        )
        report = server.do(job)
        word, _, made = report.stdout.decode("ascii", "replace").strip().partition(" ")
        if report.status in ("killed", "memory_limit"):  # the usage monitor was quicker
            return True, report.detail
        if word not in ("limited", "unlimited"):
            return False, f"{report.status}: {report.detail}"
        return word == "limited", f"{made} at most" if word == "limited" else f"{made} at least"

    return probe


def _left_processes(server: ForkServerHandle) -> tuple[bool, str]:
    before = descendants(server.pid)
    limits = Limits(processes=8)
    server.do(SandboxJob(kind="program", program=_FORKS, arguments=("3", "0"), limits=limits))
    # A fork that is made in advance waits for the next program.
    left = max(0, len(descendants(server.pid)) - max(1, len(before)))
    return left == 0, "none is left" if left == 0 else f"{left} are left"


def _left_state(server: ForkServerHandle) -> tuple[bool, str]:
    server.do(SandboxJob(kind="program", program=_LEAVE))
    said = server.do(SandboxJob(kind="program", program=_LOOK)).stdout.decode("utf-8", "replace").strip()
    return said == "[] 1", "nothing" if said == "[] 1" else said[-200:]


_LIMITS: Mapping[str, LimitTest] = {
    "using more memory": _ends(_HOG, "memory_limit", memory_mb=64, cpu_s=5),
    "using more processor time": _processor,
    "taking longer": _ends(b"import time; time.sleep(60)", "timeout", wall_s=0.3),
    "printing more": _ends(b"while True: print('x' * 100000)", "output_limit", output_kb=64, cpu_s=5),
    "starting more processes": _starts(_FORKS, 4),
    "starting more threads": _starts(_THREADS, 1),
    "filling the working directory": _ends(_BYTES, "error killed", scratch_mb=4, cpu_s=5),
    "making many files": _ends(_FILES, "error killed", cpu_s=10, wall_s=20, most_s=30),
    "leaving processes": _left_processes,
    "leaving something for the next program": _left_state,
}


def run_limit_tests(start: Callable[[], ForkServerHandle]) -> Iterator[SelfTestResult]:
    """Whether each limit holds. Raises ServerLostError and UnavailableError."""
    server = start()
    try:
        for what, probe in _LIMITS.items():
            held, detail = probe(server)
            yield SelfTestResult(what, held, detail)
    finally:
        server.close()

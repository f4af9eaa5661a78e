"""Executors for tests: one that keeps what it was asked, one without any isolation.

The plain one runs the drivers of the sandbox in ordinary processes and does what the sandbox's workers do with a
job. The interpreter is a new one for each process, and limits are those of the operating system.
"""

from __future__ import annotations

import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import guerdon.sandbox
from guerdon.sandbox.execution import Executor, Report, SandboxJob

# argv: the package's folder, the kind, the descriptor of the channel; the program, questions and answers are files
# in the folder above the working directory.
DRIVER = """
import os, socket, sys
sys.path.insert(0, sys.argv[1])
kind, channel = sys.argv[2], int(sys.argv[3])
source = open("../program", "rb").read() if kind != "tester" else b""
if kind in ("calls", "tester"):
    questions = open("../questions", "rb").read()
    os.unlink("../questions")
    answers = open("../answers", "ab", buffering=0)
sys.argv[1:] = sys.argv[4:] if kind == "program" else []
if kind == "program":
    try:
        code = compile(source, "program.py", "exec")
    except SyntaxError as error:
        error.with_traceback(None)
        import traceback
        traceback.print_exception(error)
        sys.exit(1)
    exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
elif kind == "calls":
    from inside import calls
    calls.answer(source, questions, answers.write)
elif kind == "candidate":
    from inside import candidate
    candidate.serve(source, socket.socket(fileno=channel))
else:
    from inside import tester
    tester.test(questions, socket.socket(fileno=channel), answers.write)
"""
FOLDER = str(Path(next(iter(guerdon.sandbox.__path__))))


class Recording:
    """Has jobs run by another executor and keeps them."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.jobs: list[SandboxJob] = []

    def execute(self, job: SandboxJob) -> Report:
        self.jobs.append(job)
        return self.executor.execute(job)


class PlainExecutor:
    """Runs jobs of the kinds program, calls and pair."""

    def execute(self, job: SandboxJob) -> Report:
        with tempfile.TemporaryDirectory() as folder:
            return _run(job, Path(folder))


def _run(job: SandboxJob, folder: Path) -> Report:
    scratch = folder / "scratch"
    scratch.mkdir()
    for name, content in {"program": job.program, "questions": job.questions, "answers": b""}.items():
        (folder / name).write_bytes(content)
    for path, content in job.files.items():
        (scratch / path).write_bytes(content)
    if job.kind != "pair":
        process = _start(job.kind, job, scratch)
        return _report(job, folder, process)
    one, other = socket.socketpair()
    with one, other:
        candidate = _start("candidate", job, scratch, one)
        tester = _start("tester", job, scratch, other)
    report = _report(job, folder, tester)
    candidate.kill()
    candidate.communicate()
    return report


def _start(
    kind: str, job: SandboxJob, scratch: Path, channel: socket.socket | None = None
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", "-c", DRIVER, FOLDER, kind]
    passed = () if channel is None else (channel.fileno(),)
    command += [str(channel.fileno() if channel else -1), *job.arguments]

    def limit() -> None:
        seconds = max(1, round(job.limits.cpu_s))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    return subprocess.Popen(
        command,
        cwd=scratch,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL if kind == "candidate" else subprocess.PIPE,
        stderr=subprocess.DEVNULL if kind == "candidate" else subprocess.PIPE,
        pass_fds=passed,
        preexec_fn=limit,
        env={},
    )


def _report(job: SandboxJob, folder: Path, process: subprocess.Popen[bytes]) -> Report:
    began = time.monotonic()
    late = False
    try:
        out, err = process.communicate(job.stdin, timeout=job.limits.wall_s)
    except subprocess.TimeoutExpired:
        late = True
        process.kill()
        out, err = process.communicate()
    code = process.returncode
    status: Any = "ok" if code == 0 else "error" if code > 0 else "killed"
    if late or code == -signal.SIGXCPU or code == -signal.SIGKILL:
        status = "timeout"
    elif len(out) > job.limits.output_kb * 1024:
        status = "output_limit"
    return Report(
        status=status,
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        stdout=out[: job.limits.output_kb * 1024],
        stderr=err,
        answers=(folder / "answers").read_bytes(),
        wall_s=time.monotonic() - began,
        tier="none",
        detail="" if status in ("ok", "error") else f"it ended by {status}",
    )

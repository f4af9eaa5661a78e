from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from guerdon.sandbox.local.usage import UsageMonitor, children_of, descendants

# A child with a child of its own, started by a thread, and 80 MiB in it; one byte when all is there.
NESTED = """
import subprocess, sys, threading
inner = "import sys; kept = b'x' * (80 << 20); print('!', flush=True); sys.stdin.read()"
def start():
    subprocess.run([sys.executable, "-I", "-S", "-c", inner])
threading.Thread(target=start).start()
"""


@pytest.fixture
def nested() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", NESTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"!"
        yield process
        process.communicate(b"")


def watch(root: int, *, memory_mb: int = 1000, cpu_s: float = 100.0, processes: int = 10) -> UsageMonitor:
    return UsageMonitor(root, memory=memory_mb << 20, cpu_s=cpu_s, processes=processes)


def test_children_of_threads_and_theirs_are_found(nested: subprocess.Popen[bytes]) -> None:
    assert nested.pid in children_of(os.getpid())
    (inner,) = children_of(nested.pid)
    assert descendants(nested.pid) == [inner]
    assert {nested.pid, inner} <= set(descendants(os.getpid()))


def test_what_they_use_is_held_against_the_limits(nested: subprocess.Popen[bytes]) -> None:
    assert watch(nested.pid).exceeded() == ""
    assert watch(nested.pid, memory_mb=80).exceeded() == "memory_limit"
    assert watch(nested.pid, cpu_s=0.0).exceeded() == "timeout"
    assert watch(nested.pid, processes=-64).exceeded() == "process_limit"


def test_the_root_itself_does_not_count(nested: subprocess.Popen[bytes]) -> None:
    (inner,) = children_of(nested.pid)
    assert watch(inner, memory_mb=1, cpu_s=0.0, processes=-64).exceeded() == ""


def test_a_process_that_is_gone_uses_nothing() -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", ""]) as process:
        process.wait()
    assert children_of(process.pid) == []
    assert watch(process.pid, memory_mb=1, cpu_s=0.0).exceeded() == ""


@pytest.mark.parametrize(
    "use",
    [
        "m = mmap.mmap(-1, 40 << 20); m.write(bytes(40 << 20)); m.madvise(mmap.MADV_DONTNEED)",
        "m = mmap.mmap(-1, 32 << 30, mmap.MAP_PRIVATE | 0x4000, mmap.PROT_READ)\n"
        "m.madvise(mmap.MADV_NOHUGEPAGE)\nfor at in range(0, 32 << 30, 2 << 20): m[at]",
    ],
    ids=["shared pages that nobody has", "page tables"],
)
def test_memory_that_is_in_no_resident_set_counts(use: str) -> None:
    code = f"import mmap, sys\n{use}\nprint('!', flush=True); sys.stdin.read()"
    # Below a shell, since this process may have children of other tests.
    line = ["sh", "-c", '"$0" -I -S -c "$1"; exit', sys.executable, code]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"!"
        for memory_mb, reason in ((40, "memory_limit"), (120, "")):
            looking = UsageMonitor(process.pid, memory=memory_mb << 20, cpu_s=99, processes=9, mappings=True)
            assert looking.exceeded() == reason
        process.communicate(b"")


FORGETS = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("!", flush=True)
while True:
    if not os.fork():
        end = time.process_time() + 0.08
        while time.process_time() < end: pass
        os._exit(0)
    try: os.wait()
    except ChildProcessError: pass
"""
OPENS = "import os, sys; kept = [os.pipe() for _ in range(200)]; print('!', flush=True); sys.stdin.read()"


def below_a_shell(code: str) -> subprocess.Popen[bytes]:
    line = ["sh", "-c", '"$0" -I -S -c "$1"; exit', sys.executable, code]
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(1) == b"!"
    return process


def test_processor_time_of_children_that_nobody_waits_for_counts() -> None:
    with below_a_shell(FORGETS) as process:
        (program,) = children_of(process.pid)
        looking = watch(process.pid, cpu_s=0.5)
        # However slow the machine, it comes to that at some time.
        while not (reason := looking.exceeded()):
            time.sleep(0.02)
        assert reason == "timeout"
        os.kill(program, signal.SIGKILL)


def test_open_descriptors_count_beyond_those_of_one_process() -> None:
    if not os.stat("/proc/self/fd").st_size:
        pytest.skip("this kernel does not say how many descriptors a process has")
    with below_a_shell(OPENS) as process:
        assert watch(process.pid, memory_mb=40).exceeded() == ""
        process.communicate(b"")
    many = OPENS.replace("import os, sys;", "import os, sys; os.fork();").replace(
        "print", "os.getppid() and print"
    )
    with below_a_shell(many) as process:
        looking = watch(process.pid, memory_mb=60)
        while not (reason := looking.exceeded()):
            time.sleep(0.02)
        process.communicate(b"")
    assert reason == "memory_limit"

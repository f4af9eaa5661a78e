"""What counts in the cgroup of a fork server, what ends a run for it, and what is left of the cgroups."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from guerdon.sandbox import AssertTest, Limits, Sandbox
from guerdon.sandbox.isolation import tiers
from guerdon.sandbox.isolation.machine import machine
from guerdon.sandbox.local import cgroups, workdirs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

GONE_S = 10.0
# Shared memory without a file of which only a page stays mapped: no limit of a process holds it.
KEEPS_SHARED_MEMORY = """
import ctypes, mmap, time
library = ctypes.CDLL(None)
library.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
kept = []
for _ in range(20):
    memory = mmap.mmap(-1, 16 << 20)
    memory.write(bytes(16 << 20))
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    library.munmap(start + 4096, (16 << 20) - 4096)
    kept.append(memory)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
time.sleep(5)
"""
# Threads with descriptors of their own: only the number of a process is limited.
KEEPS_SOCKET_BUFFERS = """
import ctypes, socket, threading, time
library = ctypes.CDLL(None)
threading.stack_size(1 << 18)

def fill():
    library.close_range(1_000_000, 1_000_001, 2)
    kept = []
    try:
        while True:
            kept.append(socket.socketpair())
            for one in kept[-1]:
                one.setblocking(False)
                try:
                    while True:
                        one.send(bytes(65536))
                except BlockingIOError:
                    pass
    except OSError:
        time.sleep(5)

threads = [threading.Thread(target=fill) for _ in range(8)]
for thread in threads:
    thread.start()
time.sleep(5)
"""
USES_ALL = """
import os, socket, sys, threading, time
done = threading.Event()
threads = [threading.Thread(target=done.wait) for _ in range(50)]
for thread in threads:
    thread.start()
own = bytearray(%d << 20)
for number in range(15):
    with open(f"file{number}", "wb") as file:
        file.write(bytes(1 << 20))
sys.stdout.write("x" * (1 << 19))
sockets = [socket.socketpair() for _ in range(10)]
for one, _ in sockets:
    one.send(bytes(65536))
children = []
for _ in range(%d):
    pid = os.fork()
    if pid == 0:
        more = bytearray(4 << 20)
        time.sleep(0.5)
        os._exit(0)
    children.append(pid)
time.sleep(0.4)
for pid in children:
    os.waitpid(pid, 0)
done.set()
"""


@pytest.fixture
def parent() -> Iterator[Path]:
    """Where the cgroups of fork servers lie."""
    found = cgroups.find_parent()
    if found is None:
        pytest.skip("no memory cgroup can be made")
    folder = Path(found.folder)
    before = own_cgroups(folder)
    yield folder
    assert all(map(is_gone, own_cgroups(folder) - before))


def own_cgroups(parent: Path, pid: int = 0) -> set[Path]:
    return set(parent.glob(f"guerdon-sandbox-{workdirs.machine()}-{pid or os.getpid()}-*"))


def is_gone(path: Path) -> bool:
    deadline = time.monotonic() + GONE_S
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return not path.exists()


@pytest.fixture(params=["native", "landlock", "bubblewrap", "none"])
def tier(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name != "none" and not tiers.examine(request.param).available:
        pytest.skip(f"no {name} tier on this machine")
    return name


def test_each_fork_server_is_in_a_cgroup_of_its_own_that_goes_with_it(parent: Path, tier: str) -> None:
    with Sandbox(tier, workers=2) as sandbox:
        before = own_cgroups(parent)
        list(sandbox.map(["import time; time.sleep(0.3)"] * 2))
        made = own_cgroups(parent) - before
        assert len(made) == 2
        assert machine().memory_cgroup
        assert all((path / "cgroup.procs").read_text() for path in made)
    assert all(map(is_gone, made))


# No wall of these tiers refuses it here, so that nothing but the cgroup counts it.
@pytest.mark.parametrize("program", [KEEPS_SHARED_MEMORY, KEEPS_SOCKET_BUFFERS])
def test_what_no_process_is_seen_to_have_ends_the_run(parent: Path, program: str) -> None:
    with Sandbox("none", workers=1, limits=Limits(memory_mb=64, cpu_s=4)) as sandbox:
        for _ in range(2):
            assert sandbox.run(program).status == "memory_limit"
            # The fork server is none the worse for it.
            done = sandbox.run("print(1)")
            assert (done.status, done.stdout) == ("ok", "1\n")
            # In v1 what the kernel has yet to free of one program is no use of the next.
            time.sleep(1)


def test_what_is_within_the_limits_never_ends_a_run(parent: Path, tier: str) -> None:
    with Sandbox(tier, workers=1, limits=Limits(memory_mb=160, cpu_s=5, wall_s=20)) as sandbox:
        # Threads have stacks of 8 MiB here, of which they use a page.
        small = "import threading; threading.stack_size(1 << 16)\n"
        assert sandbox.run(small + USES_ALL % (130, 0)).stderr == ""
        done = sandbox.run(small + USES_ALL % (60, 7), limits=Limits(memory_mb=160, processes=8, cpu_s=5))
        assert (done.status, done.stderr) == ("ok", "")


def test_each_process_of_a_pair_may_use_all_its_memory(parent: Path) -> None:
    program = "kept = b''\ndef fill():\n    global kept\n    kept = kept or bytearray(100 << 20)\n    return len(kept)"
    test = "more = bytearray(100 << 20)\nassert fill() == len(more)\nimport time; time.sleep(0.3)\nassert fill() > 0"
    with Sandbox(workers=1, limits=Limits(memory_mb=128, cpu_s=5)) as sandbox:
        (result,) = sandbox.run_tests(program, [AssertTest(test)])
    assert (result.status, result.passed) == ("ok", True)


def test_files_that_a_program_reads_do_not_count(parent: Path, tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(400 << 20)
    program = (
        f"import time\nfile = open({str(large)!r}, 'rb')\nwhile file.read(1 << 20): pass\ntime.sleep(.2)"
    )
    with Sandbox("none", workers=1, limits=Limits(memory_mb=64, cpu_s=9)) as sandbox:
        assert sandbox.run(program).status == "ok"


OWNER = """
import sys
from guerdon.sandbox import Sandbox
with Sandbox("none", workers=1) as sandbox:
    sandbox.run("pass")
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_is_removed_by_the_next(parent: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"ready\n"
        (left,) = own_cgroups(parent, owner.pid)
        owner.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + GONE_S
    while (left / "cgroup.procs").read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    with Sandbox("none", workers=1) as sandbox:
        assert sandbox.run("print(1)").status == "ok"
        assert not left.exists()


def test_one_is_removed_when_the_last_process_in_it_has_ended(parent: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        cgroup = cgroups.enclose(process.pid)
        assert cgroup is not None
        cgroup.remove()
        assert os.path.exists(cgroup.folder)
        process.kill()
    assert is_gone(Path(cgroup.folder))


def test_a_process_that_is_gone_is_put_nowhere(parent: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert cgroups.enclose(process.pid) is None


def laid_out(folder: Path, controllers: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").write_text(f"1\n{os.getpid()}\n")
    (folder / "cgroup.subtree_control").write_text(f"{controllers}\n")
    return folder


def test_in_version_2_only_what_was_left_to_this_user_is_taken(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("0::/unit/main\n")
    mount = tmp_path / "mount"
    unit, own = laid_out(mount / "unit", "memory pids"), laid_out(mount / "unit" / "main", "")
    assert cgroups.find_parent(str(mount), str(mine)) is None
    try:
        os.setxattr(unit, "user.delegate", b"1")
    except OSError:  # no file system for it
        return
    assert cgroups.find_parent(str(mount), str(mine)) == cgroups.CgroupParent(str(unit), legacy=False)
    laid_out(unit, "pids")
    assert cgroups.find_parent(str(mount), str(mine)) is None
    laid_out(own, "memory")
    assert cgroups.find_parent(str(mount), str(mine)) == cgroups.CgroupParent(str(own), legacy=False)


@pytest.mark.parametrize("line", ["0::/../other", "0::/elsewhere", "4:memory:/elsewhere", "4:cpu:/", ""])
def test_a_cgroup_that_is_not_seen_here_is_not_taken(tmp_path: Path, line: str) -> None:
    mine = tmp_path / "mine"
    mine.write_text(f"{line}\n")
    assert cgroups.find_parent(str(laid_out(tmp_path / "mount", "")), str(mine)) is None


def test_version_2_counts_what_the_kernel_cannot_drop() -> None:
    stat = {"anon": 100, "file": 9000, "shmem": 20, "sock": 3, "kernel_stack": 1, "pagetables": 2}
    stat |= {"slab": 500, "slab_reclaimable": 400}
    assert cgroups.used_bytes(stat, legacy=False) == 226
    assert cgroups.used_bytes(stat | {"kernel": 600}, legacy=False) == 323

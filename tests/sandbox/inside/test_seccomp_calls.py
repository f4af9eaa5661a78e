"""What Linux does with the filters: calls that are refused, and programs that go on working."""

from __future__ import annotations

import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.confined_process import run, told

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

# Each works where nothing is confined, or fails for another reason; see the test.
ATTEMPTS = {
    "inet": "lambda: socket.socket(socket.AF_INET)",
    "inet6": "lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
    "unix": "lambda: socket.socket(socket.AF_UNIX)",
    "netlink": "lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "vsock": "raw('socket', 40, 1, 0)",
    "datagram pair": "lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "socket filter": "lambda: PAIR[0].setsockopt(1, 26, bytes(16))",
    "send to": "lambda: PAIR[0].sendto(b'x', b'\\0name')",
    "bind": "lambda: PAIR[0].bind(b'\\0guerdon-test')",
    "memfd": "lambda: os.memfd_create('x')",
    "chmod": "lambda: os.chmod('mine', 0o600)",
    "fchmod": "lambda: os.chmod(FILE, 0o600)",
    "chown": "lambda: os.chown('mine', os.getuid(), os.getgid())",
    "utime": "lambda: os.utime('mine', (1, 1))",
    "futime": "lambda: os.utime(FILE, (1, 1))",
    "getxattr": "lambda: os.getxattr('mine', 'user.x')",
    "mkfifo": "lambda: os.mkfifo('fifo')",
    "chroot": "raw('chroot', b'nowhere-' * 9)",
    "shmget": "raw('shmget', 0, 4096, 0o600)",
    "semget": "raw('semget', 0, 1, 0o600)",
    "msgget": "raw('msgget', 0, 0o600)",
    "mq_open": "raw('mq_open', b'', 0, 0, None)",
    "inotify": "raw('inotify_init1', 0)",
    "keyctl": "raw('keyctl', 0, -3, 0)",
    "add_key": "raw('add_key', None, None, None, 0, 0)",
    "process_vm_readv": "raw('process_vm_readv', os.getpid(), None, 0, None, 0, 0)",
    "setns": "raw('setns', -1, 0)",
    "unshare": "raw('unshare', 0)",
    "clone": "raw('clone', 0x10000000 | 0x200, None, None, None, None)",
    "subreaper": "lambda: kernel.set_subreaper()",
    "personality": "raw('personality', 0x0400000)",
    "signals of descriptors": "lambda: fcntl.fcntl(PAIR[0], fcntl.F_SETOWN, os.getpid())",
    "pipe memory": "lambda: fcntl.fcntl(PIPE, 1031, 8192)",
    "lease": "lambda: fcntl.fcntl(FILE, fcntl.F_SETLEASE, fcntl.F_UNLCK)",
    "affinity of others": "lambda: os.sched_setaffinity(os.getppid(), os.sched_getaffinity(os.getppid()))",
    "limits of others": "lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)",
    "priority of others": "lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "sync": "raw('sync')",
    "vmsplice": "raw('vmsplice', -1, None, 0, 0)",
    "io_setup": "raw('io_setup', 0, None)",
    "set_mempolicy": "raw('set_mempolicy', 0, None, 0)",
    "remap_file_pages": "raw('remap_file_pages', 1, 0, 0, 0, 0)",
    "capset": "lambda: kernel.drop_capabilities()",
    "setuid": "lambda: os.setuid(os.getuid())",
    "listener": "raw('seccomp', 1, 8, None)",
    "ptrace": "raw('ptrace', 0x4200, -1, None, None)",
}
# Without arguments that could do anything. They need privileges, so that an ordinary user is refused anyhow.
PRIVILEGED = """
    mount umount2 pivot_root swapon swapoff reboot sethostname setdomainname iopl ioperm init_module
    finit_module delete_module kexec_load kexec_file_load quotactl acct settimeofday syslog vhangup
    open_by_handle_at name_to_handle_at fanotify_init bpf perf_event_open userfaultfd move_pages migrate_pages
    kcmp process_vm_writev lookup_dcookie
""".split()  # noqa: SIM905
UNKNOWN = [
    "clone3",
    "io_uring_setup",
    "memfd_secret",
    "pidfd_getfd",
    "process_madvise",
    "fsopen",
    "open_tree",
]

SETUP = """
FILE = os.open("mine", os.O_RDWR | os.O_CREAT)
PAIR = socket.socketpair()
PIPE = os.pipe()[0]
"""


def attempts(confinement: str) -> str:
    table = ", ".join(f"{name!r}: {source}" for name, source in ATTEMPTS.items())
    return f"{SETUP}{confinement}\nprint(json.dumps({{n: name_of(a) for n, a in {{{table}}}.items()}}))"


def test_what_the_servers_filter_refuses(tmp_path: Path) -> None:
    confined = told(attempts("server()"), cwd=tmp_path)
    assert confined == dict.fromkeys(ATTEMPTS, "EPERM") | {"getxattr": "ENOTSUP"}


def test_nothing_else_refuses_those(tmp_path: Path) -> None:
    """Else the test above could not fail. EPERM for want of privileges is all that is left."""
    free = told(attempts("os.setpriority(os.PRIO_PROCESS, 0, 5)"), cwd=tmp_path)
    refused = {name for name, result in free.items() if result == "EPERM"}
    assert refused <= {"add_key", "chroot", "clone", "keyctl", "ptrace", "priority of others"}


def test_calls_of_the_privileged() -> None:
    code = f"""
server()
calls = [name for name in {PRIVILEGED!r} if name in NUMBERS[machine()]]
print(json.dumps({{name: name_of(raw(name, 0, 0, 0, 0, 0, 0)) for name in calls}}))"""
    confined = told(code)
    assert set(confined.values()) == {"EPERM"}
    assert len(confined) > 25


def test_new_calls_are_unknown() -> None:
    code = f"server()\nprint(json.dumps([name_of(raw(name, 0, 0, 0, 0)) for name in {UNKNOWN!r}]))"
    assert told(code) == ["ENOSYS"] * len(UNKNOWN)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="32-bit calls of x86")
def test_a_32_bit_call_kills() -> None:
    """``mov eax, 20; int 0x80; ret``: the getpid of i386, which is writev on x86_64."""
    code = r"""
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
getpid = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
if sys.argv[1:]:
    server()
print(getpid() == os.getpid(), flush=True)
"""
    assert run(code.replace("sys.argv[1:]", "False")).stdout in ("True\n", "")  # "": a kernel without them
    confined = run(code.replace("sys.argv[1:]", "True"))
    assert (confined.returncode, confined.stdout) == (-signal.SIGSYS, "")


@pytest.mark.parametrize(
    ("confinement", "expected"),
    [
        ("program()", ["EPERM", "EPERM", "EPERM", "EPERM", "EPERM"]),
        ("program(processes=True)", ["done", "EPERM", "EPERM", "EPERM", "EPERM"]),
        ("program(processes=True, execute=True)", ["done", "done", "EPERM", "EPERM", "EPERM"]),
        ("program(execute=True)", ["EPERM", "EPERM", "EPERM", "EPERM", "EPERM"]),
        ("program(processes=True, signal_others=True)", ["done", "EPERM", "done", "EPERM", "EPERM"]),
    ],
)
def test_what_a_programs_filter_takes(confinement: str, expected: list[str]) -> None:
    code = f"""
server()
os.setsid()
{confinement}
def fork():
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
def execute():
    if os.waitstatus_to_exitcode(os.spawnv(os.P_WAIT, "/bin/true", ["true"]) << 8):
        raise PermissionError(errno.EPERM, "spawnv")
attempts = [fork, execute, lambda: os.kill(os.getppid(), 0), os.setsid, lambda: server()]
print(json.dumps([name_of(attempt) for attempt in attempts]))"""
    assert told(code) == expected


def test_the_ways_to_signal_others() -> None:
    code = """
descriptor = os.pidfd_open(os.getppid())
server()
parent = os.getppid()
program(processes=True)
print(json.dumps([name_of(attempt) for attempt in (
    lambda: os.kill(parent, 0), lambda: os.kill(-1, 0), lambda: os.killpg(os.getpgid(parent), 0),
    raw("tkill", parent, 0), raw("tgkill", parent, parent, 0), raw("rt_sigqueueinfo", parent, 0, None),
    raw("pidfd_send_signal", descriptor, 0, None, 0), lambda: kernel.die_with_parent(9),
)]))"""
    assert told(code) == ["EPERM"] * 8


def test_a_process_may_signal_itself() -> None:
    code = """
import threading
server(); program()
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
print(json.dumps(len(got)))"""
    assert told(code) == 3
    assert run("server(); program(); os.abort()").returncode == -signal.SIGABRT


@pytest.mark.parametrize(
    ("chmod", "expected", "mode"), [("pretended", "done", 0o640), ("allowed", "done", 0o700)]
)
def test_chmod_by_choice(tmp_path: Path, chmod: str, expected: str, mode: int) -> None:
    code = f"""
os.close(os.open("a", os.O_CREAT | os.O_WRONLY)); os.chmod("a", 0o640)
server(chmod={chmod!r})
print(json.dumps([name_of(lambda: os.chmod("a", 0o700)), os.stat("a").st_mode & 0o777]))"""
    assert told(code, cwd=tmp_path) == [expected, mode]


def test_threads_that_run_already_are_filtered_too() -> None:
    code = """
import threading
go, said = threading.Event(), []
def later():
    go.wait()
    said.append(name_of(lambda: socket.socket(socket.AF_INET)))
thread = threading.Thread(target=later)
thread.start()
seccomp.install(seccomp.server_filter(machine()), all_threads=True)
go.set(); thread.join()
print(json.dumps(said))"""
    assert told(code) == ["EPERM"]


WORKS = {
    "files": """
import shutil, tempfile
with tempfile.TemporaryDirectory(dir=".") as place:
    os.makedirs(place + "/a/b"); open(place + "/a/b/c", "w").write("x" * 70_000)
    os.rename(place + "/a/b/c", place + "/d"); shutil.copyfile(place + "/d", place + "/e"); os.listdir(place)
    os.symlink("d", place + "/f"); os.truncate(place + "/e", 3); answer = open(place + "/e").read()""",
    "threads": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool: answer = sum(pool.map(lambda n: n * n, range(50)))""",
    "asyncio": """
import asyncio
async def main():
    await asyncio.sleep(0.001)
    return await asyncio.to_thread(lambda: 7)
answer = asyncio.run(main())""",
    "time and randomness": """
import random, uuid, datetime
time.sleep(0.001); os.urandom(8); uuid.uuid4(); random.SystemRandom().random(); signal.alarm(5); signal.alarm(0)
answer = datetime.datetime.now().year > 2000""",
    "big memory": """
import mmap
mmap.mmap(-1, 10_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close(); mmap.mmap(-1, 13).close()
answer = len(bytearray(100_000_000))""",
    "modules": """
import ctypes.util, decimal, fractions, hashlib, heapq, itertools, json, re, sqlite3, statistics, zlib
answer = sqlite3.connect(":memory:").execute("select 1 + 1").fetchone()""",
    "limits of its own": """
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50)); answer = resource.getrlimit(resource.RLIMIT_NOFILE)""",
}
ANSWERS = {
    "files": "xxx", "threads": 40_425, "asyncio": 7, "time and randomness": True, "big memory": 100_000_000,
    "modules": [2], "limits of its own": [50, 50],
}  # fmt: skip


@pytest.mark.parametrize("name", WORKS)
def test_honest_programs_work(tmp_path: Path, name: str) -> None:
    code = f"server(); program()\n{WORKS[name]}\nprint(json.dumps(answer))"
    assert told(code, cwd=tmp_path) == ANSWERS[name]


LIBRARIES = {
    "numpy": "import numpy; answer = float(numpy.linalg.det(numpy.eye(150) @ numpy.eye(150)))",
    "sympy": "import sympy; answer = float(sympy.integrate(sympy.Symbol('x'), ('x', 0, sympy.sqrt(2))))",
}


def test_libraries_work_where_they_are_installed(tmp_path: Path) -> None:
    for name, code in LIBRARIES.items():
        probe = subprocess.run([sys.executable, "-I", "-c", f"import {name}"], capture_output=True)
        if probe.returncode == 0:
            source = f"server(); program()\n{code}\nprint(json.dumps(answer))"
            assert told(source, packages=True, cwd=tmp_path) == pytest.approx(1.0), name


def test_processes_work_where_they_are_allowed(tmp_path: Path) -> None:
    code = """
import asyncio, subprocess
server(); os.setsid(); program(processes=True, execute=True)
async def main():
    process = await asyncio.create_subprocess_exec("/bin/echo", "b", stdout=-1)
    return (await process.communicate())[0].decode()
print(json.dumps([
    subprocess.run(["/bin/sh", "-c", "echo a | cat; (exit 3); echo $?"], capture_output=True, text=True).stdout,
    asyncio.run(main()),
    os.system("true"),
]))"""
    assert told(code, cwd=tmp_path) == ["a\n3\n", "b\n", 0]


C = '#include <stdio.h>\nint main(void) { puts("made"); return 0; }\n'
TOOLS = {
    "bash": ["bash", "-c", "for i in 1 2; do echo $i; done | cat >/dev/null; sleep 0.01 & wait; echo made"],
    "gcc": ["bash", "-c", "gcc -O1 a.c -o a && ./a"],
    "node": ["node", "-e", "setTimeout(() => Promise.resolve('made').then(console.log), 1)"],
}


@pytest.mark.parametrize("name", [name for name in TOOLS if shutil.which(name)])
def test_tools_work(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.c").write_text(C, encoding="utf-8")
    path = shutil.which(TOOLS[name][0])
    code = f"""
os.setsid()
server(chmod="allowed"); program(processes=True, execute=True, chmod="allowed")
os.execve({path!r}, {TOOLS[name]!r}, {{"PATH": "/usr/local/bin:/usr/bin:/bin"}})"""
    done = run(code, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("made\n", "", 0)

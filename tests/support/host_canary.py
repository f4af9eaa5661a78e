"""What must stay untouched around a sandbox, and how it is seen whether it did.

Run by the interpreter of the user whose tier is tried, so only the standard library is used here.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import select
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
GRACE_S = 1.0
"""Seconds after a run in which what it left must be gone."""


class Outside:
    """Canaries: files, a process, servers, shared memory, keys, a descriptor, a variable of the environment."""

    def __init__(self, folder: Path) -> None:
        self.secret = f"secret-{secrets.token_hex(12)}"
        self.mark = f"breach-{secrets.token_hex(4)}"
        self.heard: list[str] = []
        self.folder = folder / f"canary-{secrets.token_hex(4)}"
        self.folder.mkdir()
        self.open_folder = self.folder / "open"
        self.open_folder.mkdir()
        self.names = [f"file-{secrets.token_hex(4)}" for _ in range(2)]
        for name in self.names:
            (self.open_folder / name).write_text(self.secret)
        self.file = self.folder / self.names[0]
        self.file.write_text(f"# {self.secret}\nprint('BREACH ran a file of the host')\n")
        self.file.chmod(0o755)
        self.open_folder.chmod(0o777)
        self.process = subprocess.Popen(
            ["sleep", "3600"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        os.environ[self.variable] = self.secret
        self.inherited = os.open(self.file, os.O_RDWR)
        os.set_inheritable(self.inherited, True)
        self._servers: list[socket.socket] = []
        self._targets = self._serve()
        self._share()
        self._stop = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    variable = "CANARY_TOKEN"

    def targets(self, sources: list[str]) -> dict[str, Any]:
        """The way to every canary, for the attacks. No secret is among it."""
        return self._targets | {
            "folder": str(self.folder),
            "open_folder": str(self.open_folder),
            "secret_file": str(self.file),
            "names": self.names,
            "pid": self.process.pid,
            "host_pid": os.getpid(),
            "variable": self.variable,
            "mark": self.mark,
            "cwd": os.getcwd(),
            "executable": os.path.realpath(sys.executable),
            "sources": sources,
        }

    def _serve(self) -> dict[str, Any]:
        def listening(one: socket.socket, address: Any) -> Any:
            one.bind(address)
            if one.type & socket.SOCK_STREAM:
                one.listen(64)
            self._servers.append(one)
            return one.getsockname()

        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        targets: dict[str, Any] = {
            "tcp": listening(socket.socket(socket.AF_INET, stream), ("127.0.0.1", 0))[1],
            "udp": listening(socket.socket(socket.AF_INET, datagram), ("127.0.0.1", 0))[1],
            "unix": str(self.folder / "stream"),
            "unix_dgram": str(self.folder / "datagram"),
            "abstract": f"{self.mark}-stream",
            "abstract_dgram": f"{self.mark}-datagram",
            "tcp6": 0,
            "vsock": 0,
        }
        listening(socket.socket(socket.AF_UNIX, stream), targets["unix"])
        listening(socket.socket(socket.AF_UNIX, datagram), targets["unix_dgram"])
        listening(socket.socket(socket.AF_UNIX, stream), "\0" + targets["abstract"])
        listening(socket.socket(socket.AF_UNIX, datagram), "\0" + targets["abstract_dgram"])
        # Not every machine has these two families.
        with contextlib.suppress(OSError):
            targets["tcp6"] = listening(socket.socket(socket.AF_INET6, stream), ("::1", 0))[1]
        with contextlib.suppress(OSError):
            targets["vsock"] = listening(socket.socket(socket.AF_VSOCK, stream), (0xFFFFFFFF, 4242))[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            targets["free_port"] = free.getsockname()[1]
        targets["free_name"] = f"{self.mark}-free"
        return targets

    def _share(self) -> None:
        """Shared memory, queues and keys that other processes of this user could find by name."""
        key = 0x10000000 | secrets.randbits(24)
        LIBC.shmat.restype = ctypes.c_void_p
        self._segment = LIBC.shmget(key, 4096, 0o1600)
        address = LIBC.shmat(self._segment, None, 0)
        ctypes.memmove(address, self.secret.encode(), len(self.secret))
        self._queue = LIBC.msgget(key, 0o1600)
        message = ctypes.create_string_buffer(b"\1\0\0\0\0\0\0\0" + self.secret.encode())
        LIBC.msgsnd(self._queue, message, len(self.secret), 0o4000)
        self._semaphores = LIBC.semget(key, 1, 0o1600)
        self._shared = Path("/dev/shm") / f"canary-{self.mark}"
        self._shared.write_text(self.secret)
        key_name = f"canary-{self.mark}"
        if hasattr(LIBC, "mq_open"):
            self._posix = LIBC.mq_open(f"/{key_name}".encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
        number = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
        LIBC.syscall(number, b"user", key_name.encode(), self.secret.encode(), len(self.secret), -4)
        self._targets |= {
            "ipc_key": key,
            "free_key": key + 1,
            "shared_name": self._shared.name,
            "queue_name": key_name,
            "key_name": key_name,
        }

    def _listen(self) -> None:
        poller = select.poll()
        for one in self._servers:
            poller.register(one, select.POLLIN)
        by_number = {one.fileno(): one for one in self._servers}
        while not self._stop.is_set():
            for number, _ in poller.poll(200):
                one = by_number[number]
                self.heard.append(f"{one.family.name} {one.type.name}")
                if one.type & socket.SOCK_STREAM:
                    one.accept()[0].close()
                else:
                    one.recv(4096)

    @contextlib.contextmanager
    def reaching(self, wanted: bool) -> Iterator[None]:
        """Tries meanwhile to connect to what an attack may listen on."""
        stop = threading.Event()

        def reach() -> None:
            places: list[tuple[int, Any]] = [
                (socket.AF_INET, ("127.0.0.1", self._targets["free_port"])),
                (socket.AF_INET6, ("::1", self._targets["free_port"])),
                (socket.AF_UNIX, "\0" + self._targets["free_name"]),
            ]
            while not stop.wait(0.02):
                for family, place in places:
                    with contextlib.suppress(OSError), socket.socket(family) as one:
                        one.connect(place)
                        self.heard.append(f"connected from outside to {place}")

        thread = threading.Thread(target=reach)
        if wanted:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            if wanted:
                thread.join()

    def state(self) -> dict[str, Any]:
        """All that must be the same before and after."""
        return {
            "files": [_about(path) for path in sorted([self.folder, *self.folder.rglob("*")])],
            "contents": [(self.open_folder / name).read_text() for name in self.names]
            + [self.file.read_text()],
            "canary alive": self.process.poll() is None,
            "niceness": [os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, self.process.pid)],
            "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
            "marks": sorted(str(path) for place in _places() for path in place.glob(f"*{self.mark[7:]}*")),
            "left in ipc": LIBC.shmget(self._targets["free_key"], 0, 0) >= 0
            or LIBC.msgget(self._targets["free_key"], 0) >= 0
            or LIBC.semget(self._targets["free_key"], 0, 0) >= 0,
            "descriptors": len(os.listdir("/proc/self/fd")),
            "umask": os.umask(0o22),
            "core files": sorted(str(path) for path in Path.cwd().glob("core*")),
        }

    def close(self) -> None:
        self._stop.set()
        self.process.kill()
        self.process.wait()
        LIBC.shmctl(self._segment, 0, None)
        LIBC.msgctl(self._queue, 0, None)
        LIBC.semctl(self._semaphores, 0, 0)
        if hasattr(LIBC, "mq_unlink"):
            LIBC.mq_unlink(f"/{self._targets['queue_name']}".encode())
        self._shared.unlink(missing_ok=True)
        for one in self._servers:
            one.close()
        os.close(self.inherited)


def _places() -> list[Path]:
    named = [
        Path(p) for p in ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/", "/usr", "/usr/bin")
    ]
    temporary = Path(os.environ.get("TMPDIR", "/tmp"))
    return [place for place in {*named, temporary, Path.cwd(), Path.home()} if os.access(place, os.R_OK)]


def _about(path: Path) -> tuple[Any, ...]:
    found = path.lstat()
    attributes = os.listxattr(path, follow_symlinks=False)
    # Not the last access: a relative one may come late. What is read shows in the output.
    return (
        str(path),
        stat.filemode(found.st_mode),
        found.st_uid,
        found.st_nlink,
        found.st_mtime_ns,
        attributes,
    )


def descendants() -> dict[int, str]:
    """The living and dead processes below this one, by number: state and name."""
    parents, about = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{entry}/stat").read_text(errors="replace")
                name, _, rest = text.rpartition(")")
                fields = rest.split()
                parents[int(entry)], about[int(entry)] = (
                    int(fields[1]),
                    f"{fields[0]} {name.partition('(')[2]}",
                )
    found: dict[int, str] = {}
    rest_of = {os.getpid()}
    while rest_of:
        rest_of = {pid for pid, parent in parents.items() if parent in rest_of and pid not in found}
        found |= {pid: about[pid] for pid in rest_of}
    return found


def children() -> set[int]:
    """The processes that this one started, or that it has inherited."""
    return {
        int(pid)
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text().split()
    }


def threads_of(processes: dict[int, str]) -> int:
    """How many threads they have together."""
    total = 0
    for pid in processes:
        with contextlib.suppress(OSError):
            total += len(os.listdir(f"/proc/{pid}/task"))
    return total


def resident_mb(processes: dict[int, str]) -> float:
    """MiB of memory that they hold."""
    pages = 0
    for pid in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / (1 << 20)


def shared_mb() -> float:
    """MiB of files in memory on the whole machine."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Shmem:"))


def settled(wanted: Callable[[], bool]) -> bool:
    """Whether something becomes so within the grace."""
    end = time.monotonic() + GRACE_S
    while not wanted():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True

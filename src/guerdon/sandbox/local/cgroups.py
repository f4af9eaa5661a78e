"""Memory cgroups of fork servers, where this process may make any.

What the kernel keeps for a program counts there, whether or not a process is seen to have it: shared memory that
nobody has mapped any more, buffers of sockets and pipes, page tables. The kernel is given no limit: it would end
the fork server as well.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from guerdon.sandbox.execution import SandboxJob
from guerdon.sandbox.local import workdirs
from guerdon.sandbox.local.job_files import MAX_ANSWERS
from guerdon.sandbox.local.usage import children_of

SLACK = (64 << 20) + (512 << 10) * (os.cpu_count() or 1)
"""Bytes beyond all that a program may use: what the kernel keeps for files, threads, processes and sockets of an
honest one, and what each processor has not yet added to the counts, or charged in advance."""
REMOVE_S = 10.0
"""Seconds in which a cgroup is removed whose processes are about to end."""
_PREFIX = "guerdon-sandbox-"
_MOUNT = "/sys/fs/cgroup"
_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class CgroupParent:
    """Where cgroups can be made whose memory counts; ``legacy`` is cgroup v1."""

    folder: str
    legacy: bool

    @property
    def usable(self) -> bool:
        """Whether this process may make one there."""
        return os.access(self.folder, os.W_OK | os.X_OK)


def find_parent(mount: str = _MOUNT, mine: str = "/proc/self/cgroup") -> CgroupParent | None:
    """Where this process may make cgroups that all limits of its own hold for, too; None where it may not.

    In cgroup v2 a cgroup that has processes cannot count those of its children apart. There it is the one above,
    if that was left to this user together with all limits that lie on it.
    """
    with suppress(OSError, ValueError):
        with open(mine) as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
        paths = {name: path for _, names, path in lines for name in names.split(",")}
        legacy = "memory" in paths
        own = f"{mount}/memory{paths['memory']}" if legacy else mount + paths.get("", "/..")
        own = own.rstrip("/")
        if str(os.getpid()) not in _text(own, "cgroup.procs").split():
            return None
        if legacy:
            found = [own] if _text(own, "memory.use_hierarchy").strip() == "1" else []
        else:
            above = os.path.dirname(own)
            found = [own, above] if _is_delegated(above) else [own]
            found = [
                folder for folder in found if "memory" in _text(folder, "cgroup.subtree_control").split()
            ]
        parents = [CgroupParent(folder, legacy) for folder in found]
        return next((parent for parent in parents if parent.usable), None)
    return None


def _is_delegated(folder: str) -> bool:
    """Whether systemd left it to this user. Others hold other limits than this process is to keep to."""
    with suppress(OSError):
        return os.getxattr(folder, "user.delegate") == b"1"
    return False


class MemoryCgroup:
    """The cgroup of the fork server ``pid`` and of all that it starts from now on.

    Raises OSError where the process cannot be put into one.
    """

    def __init__(self, parent: CgroupParent, pid: int) -> None:
        _sweep(parent.folder)
        self._legacy = parent.legacy
        name = f"{_PREFIX}{workdirs.machine()}-{os.getpid()}-{secrets.token_hex(8)}"
        self.folder = os.path.join(parent.folder, name)
        os.mkdir(self.folder, 0o755)
        self._kernel = -1
        """Descriptor of what the kernel keeps, which v1 does not divide into what it can drop and what it cannot."""
        try:
            with open(os.path.join(self.folder, "cgroup.procs"), "w") as file:
                file.write(str(pid))
            if self._legacy:
                with suppress(FileNotFoundError):  # a kernel that was told not to count it
                    path = os.path.join(self.folder, "memory.kmem.usage_in_bytes")
                    self._kernel = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self.remove()
            raise
        self._baseline = 0
        self._inherited = 0
        self._bound = 0
        self._was_over = False

    def set_baseline(self, pid: int) -> None:
        """What the fork server uses by now is no run's. A fork may have a copy of all of it."""
        # A fork that was made before its parent was put here is not in here.
        for fork in children_of(pid):
            with suppress(OSError), open(os.path.join(self.folder, "cgroup.procs"), "w") as file:
                file.write(str(fork))
        self._baseline = self._used()
        with open(f"/proc/{pid}/status", "rb") as file:
            sizes = [int(line.split()[1]) << 10 for line in file if line.startswith(b"RssAnon:")]
        self._inherited = sum(sizes)

    def begin(self, job: SandboxJob, scratch_mb: int) -> None:
        """A run begins. ``scratch_mb`` is what the fork server's file system holds."""
        limits = job.limits
        own = self._inherited + (limits.memory_mb << 20)
        scratch = max(scratch_mb, limits.scratch_mb) << 20
        # A file of output or answers may grow to its bound before anyone looks how large it is.
        files = (
            (2 if job.collect else 1) * scratch + 2 * max(limits.output_kb << 10, MAX_ANSWERS) + MAX_ANSWERS
        )
        # In v1 all that earlier programs looked for, the kernel may remember in what it counts.
        self._bound = self._baseline + self._kept() + own * (2 if job.kind == "pair" else 1) + files + SLACK
        self._was_over = False

    def exceeded(self) -> bool:
        """Whether the run uses too much, now and when it was looked at before: what has just ended may count still,
        and other limits have their own say first."""
        try:
            over = self._total() > self._bound and self._used() + self._kept() > self._bound
        except (OSError, ValueError):  # somebody took the fork server out of it
            return False
        self._was_over, was_over = over, self._was_over
        return over and was_over

    def _total(self) -> int:
        """All that counts, files that were read among it."""
        return int(_text(self.folder, "memory.usage_in_bytes" if self._legacy else "memory.current"))

    def _kept(self) -> int:
        """What the kernel keeps, in v1."""
        try:
            return int(os.pread(self._kernel, 32, 0)) if self._kernel >= 0 else 0
        except OSError:
            return 0

    def _used(self) -> int:
        """Without files that were read, which count where they were read first; in v1 without the kernel's."""
        lines = _text(self.folder, "memory.stat").splitlines()
        found = {name: int(number) for name, _, number in (line.partition(" ") for line in lines)}
        return used_bytes(found, legacy=self._legacy)

    def close(self) -> None:
        """Lets go of it, and leaves it as it is."""
        if self._kernel >= 0:
            os.close(self._kernel)
            self._kernel = -1

    def remove(self) -> None:
        """Removes it, in the background if processes in it have yet to end."""
        self.close()
        if not _removed(self.folder):
            with suppress(RuntimeError):  # the interpreter ends; who comes next removes it
                threading.Thread(target=_remove, args=(self.folder,), daemon=True).start()


def used_bytes(stat: dict[str, int], *, legacy: bool) -> int:
    """Bytes that nobody else will free, of what a ``memory.stat`` says.

    >>> used_bytes({"anon": 5, "shmem": 1, "file": 90, "sock": 1, "kernel": 9, "slab_reclaimable": 7}, legacy=False)
    9
    """
    if legacy:
        return stat.get("rss", 0) + stat.get("shmem", 0)
    # Before Linux 5.18 there are only its parts.
    parts = ("kernel_stack", "pagetables", "percpu", "slab")
    kernel = stat.get("kernel", sum(stat.get(name, 0) for name in parts))
    return (
        stat.get("anon", 0)
        + stat.get("shmem", 0)
        + stat.get("sock", 0)
        + (kernel - stat.get("slab_reclaimable", 0))
    )


def enclose(pid: int) -> MemoryCgroup | None:
    """Puts a fork server into a cgroup of its own, if this process may."""
    parent = find_parent()
    if parent is not None:
        with suppress(OSError):
            return MemoryCgroup(parent, pid)
    return None


def _sweep(folder: str) -> None:
    """Removes what killed processes of this machine left. The kernel removes none with processes in it."""
    mine = f"{_PREFIX}{workdirs.machine()}-"
    for name in os.listdir(folder):
        owner = name.removeprefix(mine).partition("-")[0]
        if name.startswith(mine) and owner.isdecimal() and not os.path.exists(f"/proc/{owner}"):
            _removed(os.path.join(folder, name))


def _removed(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _remove(folder: str) -> None:
    deadline = time.monotonic() + REMOVE_S
    while not _removed(folder) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)


def _text(folder: str, name: str) -> str:
    with open(os.path.join(folder, name)) as file:
        return file.read()

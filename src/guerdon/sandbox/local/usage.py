"""What the processes of a run use together, seen from outside.

Limits of the kernel hold for one process each. Several, or one whose memory the kernel does not count as its
own, could use more than the run may; so somebody has to add up.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

POLL_S = 0.025
"""Seconds between two looks."""
THREADS = 64
"""Threads beside the processes that a run may have."""
_TICK = os.sysconf("SC_CLK_TCK")
_PROCESSORS = os.cpu_count() or 1
_FEW_OPEN = 256
"""Descriptors that a run may have for all its processes without any of them counting as memory."""
_SOCKET = 212_992
"""Bytes that the kernel keeps in the queue of a socket."""
_SHORT_S = 2 / _TICK
"""Processor time that is too short to be seen where it goes to."""
_NO_FILE = b"/dev/zero (deleted)\n"
_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
"""Whether this kernel lists the children of a process."""


class UsageMonitor:
    """Adds up what all descendants of the process ``root`` use, but not that process itself.

    ``memory`` is in bytes, ``cpu_s`` in seconds. With ``mappings`` shared mappings without a file count as a
    whole: what was once written to one stays in memory, whether or not a process has it in its own. Whose
    address space is limited needs none of that.
    """

    def __init__(
        self, root: int, *, memory: int, cpu_s: float, processes: int, mappings: bool = False
    ) -> None:
        self.root = root
        self.memory = memory
        self.cpu_s = cpu_s
        self.tasks = processes + THREADS
        self.mappings = mappings
        self._ended = EndedProcesses()

    def exceeded(self) -> str:
        """Why the run is to be ended: ``memory_limit``, ``timeout`` or ``process_limit``; nothing to say if not."""
        pids = descendants(self.root)
        tasks, resident, tables, descriptors = 0, 0, 0, 0
        seen: dict[int, _Seen] = {}
        for pid in pids:
            # One that has ended in the meantime uses nothing any more; its processor time is its parent's.
            with suppress(OSError, ValueError):
                seen[pid], threads = _seconds_and_threads(pid)
                tasks += threads
                used_here, for_tables, seen[pid].ignores = _status(pid)
                resident += used_here
                tables += for_tables
                # How many are open, from Linux 6.2 on.
                descriptors += os.stat(f"/proc/{pid}/fd").st_size
        seconds = sum(one.own + one.waited for one in seen.values()) + self._ended.lost(seen)
        if tasks > self.tasks:
            return "process_limit"
        if seconds > self.cpu_s:
            return "timeout"
        # Pages that several share are in the resident set of each. Who owns what takes longer to find out.
        hidden = tables + (_shared(pids) if self.mappings else 0)
        hidden += _SOCKET * max(0, descriptors - _FEW_OPEN)
        if resident + hidden > self.memory and self._is_over(hidden) and self._is_over(hidden):
            return "memory_limit"
        return ""

    def _is_over(self, hidden: int) -> bool:
        """Whether they use too much with these bytes. One that comes or goes meanwhile may count twice: look again."""
        used = _proportional_without_shared_mappings if self.mappings else _proportional
        return sum(map(used, descendants(self.root))) + hidden > self.memory


@dataclass(slots=True)
class _Seen:
    """What was seen of a process: its parent, and seconds of its own and of the children that it waited for."""

    parent: int
    own: float
    waited: float
    ignores: bool = False
    """Whether its children are nobody's when they end."""


class EndedProcesses:
    """Processor time of processes that nobody waited for: where their parent ignores that they end, the kernel forgets
    it. What was seen last of each counts. Those that came and went between two looks may have used all processors."""

    def __init__(self) -> None:
        self._before: dict[int, _Seen] = {}
        self._lost = 0.0
        self._forgetful: set[int] = set()
        self._looked = time.monotonic()
        self._newest = _newest_process()

    def lost(self, seen: dict[int, _Seen]) -> float:
        """Seconds that are in no process of ``seen``, which are all that there are now."""
        now, newest = time.monotonic(), _newest_process()
        ended: dict[int, float] = {}
        for pid, last in self._before.items():
            if pid not in seen and last.parent in seen:
                ended[last.parent] = ended.get(last.parent, 0.0) + last.own + last.waited
        for parent, seconds in ended.items():
            before = self._before.get(parent)
            arrived = seen[parent].waited - (before.waited if before else 0.0)
            missing = max(0.0, seconds - arrived)
            self._lost += missing
            if missing >= _SHORT_S:
                self._forgetful.add(parent)
        if newest != self._newest and any(seen[pid].ignores or pid in self._forgetful for pid in seen):
            used = sum(one.own + one.waited for one in seen.values())
            used -= sum(one.own + one.waited for one in self._before.values())
            self._lost += max(0.0, (now - self._looked) * _PROCESSORS - max(0.0, used))
        self._before, self._looked, self._newest = seen, now, newest
        return self._lost


def _newest_process() -> int:
    """The number that the machine gave to a process last."""
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[4])


def descendants(root: int) -> list[int]:
    """All processes below one: its children, their children, and so on."""
    found: list[int] = []
    parents = [root]
    known = None if _LISTS_CHILDREN else _children_of_all()
    while parents:
        parent = parents.pop()
        children = children_of(parent) if known is None else known.get(parent, [])
        found += children
        parents += children
    return found


def children_of(pid: int) -> list[int]:
    """The children of all threads of a process; none where it is gone."""
    if not _LISTS_CHILDREN:
        return _children_of_all().get(pid, [])
    children: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
    return children


def _children_of_all() -> dict[int, list[int]]:
    """The children of every process, by what each says of its parent."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    return children


def _seconds_and_threads(pid: int) -> tuple[_Seen, int]:
    """Processor seconds, with those of the children that were waited for, and how many threads there are."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        # The name may hold anything, so fields count from behind it.
        fields = file.read().rpartition(b")")[2].split()
    own, waited = (sum(map(int, fields[first : first + 2])) / _TICK for first in (11, 13))
    return _Seen(int(fields[1]), own, waited), int(fields[17])


def _memory(pid: int) -> int:
    return _status(pid)[0]


def _status(pid: int) -> tuple[int, int, bool]:
    """Bytes in memory; bytes of page tables, which can be many for pages that take no memory themselves; and whether
    it ignores that its children end."""
    resident, tables, ignores = 0, 0, False
    with open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith(b"VmRSS:"):
                resident = int(line.split()[1]) * 1024
            elif line.startswith(b"VmPTE:"):
                tables = int(line.split()[1]) * 1024
            elif line.startswith(b"SigIgn:"):
                ignores = bool(int(line.split()[1], 16) >> (signal.SIGCHLD - 1) & 1)
    return resident, tables, ignores


def _shared(pids: Sequence[int]) -> int:
    """Bytes of the shared mappings without a file that these processes have."""
    largest: dict[bytes, int] = {}
    for pid in pids:
        with suppress(OSError):
            for number, size in _mapped(pid).items():
                largest[number] = max(size, largest.get(number, 0))
    return sum(largest.values())


def _mapped(pid: int) -> dict[bytes, int]:
    """Bytes of each shared mapping without a file, by its number."""
    found: dict[bytes, int] = {}
    with open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            if line.endswith(_NO_FILE):
                addresses, _, _, _, number, *_ = line.split()
                first, _, last = addresses.partition(b"-")
                found[number] = found.get(number, 0) + int(last, 16) - int(first, 16)
    return found


def _proportional_without_shared_mappings(pid: int) -> int:
    """As ``_proportional``, without what ``_shared`` counts."""
    total, is_counted = 0, True
    try:
        with open(f"/proc/{pid}/smaps", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    total += int(line.split()[1]) * 1024 if is_counted else 0
                elif not line.split(None, 1)[0].endswith(b":"):
                    is_counted = not line.endswith(_NO_FILE)
    except OSError:  # gone, or it made itself undumpable
        with suppress(OSError):
            return _memory(pid)
        return 0
    return total


def _proportional(pid: int) -> int:
    """Bytes in memory, what is shared divided among those who share it; all of it where the kernel does not say."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # gone, or it made itself undumpable
        pass
    with suppress(OSError):
        return _memory(pid)
    return 0

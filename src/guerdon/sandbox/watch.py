"""What the processes of a run use together, seen from outside.

Limits of the kernel hold for one process each. Several, or one whose memory the kernel does not count as its
own, could use more than the run may; so somebody has to add up.
"""

from __future__ import annotations

import os
from contextlib import suppress

LOOK_S = 0.025
"""Seconds between two looks."""
THREADS = 64
"""Threads beside the processes that a run may have."""
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TOLD = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
"""Whether this kernel tells the children of a process."""


class Watch:
    """Adds up what all descendants of the process ``root`` use, but not that process itself.

    ``memory`` is in bytes, ``cpu_s`` in seconds.
    """

    def __init__(self, root: int, *, memory: int, cpu_s: float, processes: int) -> None:
        self.root = root
        self.memory = memory
        self.cpu_s = cpu_s
        self.tasks = processes + THREADS

    def look(self) -> str:
        """Why the run is to be ended: ``memory_limit``, ``timeout`` or ``process_limit``; nothing to say if not."""
        pids = descendants(self.root)
        seconds, tasks, resident = 0.0, 0, 0
        for pid in pids:
            # One that has ended in the meantime uses nothing any more; its processor time is its parent's.
            with suppress(OSError, ValueError):
                used, threads = _seconds_and_threads(pid)
                seconds += used
                tasks += threads
                resident += _resident(pid)
        if tasks > self.tasks:
            return "process_limit"
        if seconds > self.cpu_s:
            return "timeout"
        # Pages that several share are in the resident set of each. Who owns what takes longer to find out.
        if resident > self.memory and sum(map(_proportional, pids)) > self.memory:
            return "memory_limit"
        return ""


def descendants(root: int) -> list[int]:
    """All processes below one: its children, their children, and so on."""
    found: list[int] = []
    parents = [root]
    known = None if _TOLD else _children_of_all()
    while parents:
        parent = parents.pop()
        children = children_of(parent) if known is None else known.get(parent, [])
        found += children
        parents += children
    return found


def children_of(pid: int) -> list[int]:
    """The children of all threads of a process; none where it is gone."""
    if not _TOLD:
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


def _seconds_and_threads(pid: int) -> tuple[float, int]:
    """Processor seconds, with those of the children that were waited for, and how many threads there are."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        # The name may hold anything, so fields count from behind it.
        fields = file.read().rpartition(b")")[2].split()
    return sum(map(int, fields[11:15])) / _TICK, int(fields[17])


def _resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE


def _proportional(pid: int) -> int:
    """Bytes in memory, what is shared divided among those who share it; all of it where that is not told."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # gone, or it made itself undumpable
        pass
    with suppress(OSError):
        return _resident(pid)
    return 0

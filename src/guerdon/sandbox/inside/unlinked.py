"""What programs hold open of files that they removed: it takes room in a file system of the machine, and no folder
shows it.

A process of its own looks, since the fork server may not: Landlock keeps it from /proc. It runs as the same user and
starts before the walls, so that the kernel lets it look at programs, which are dumpable for that.
"""

from __future__ import annotations

import _socket
import os
import socket
import stat
import struct
from contextlib import suppress

from . import kernel

_REQUEST = struct.Struct("=iiQ")
_REPLY = struct.Struct("=q")
_DELETED = " (deleted)"
_MOST_LINES = 20_000
"""Mappings of all processes that are read in one look."""
_PATIENCE = 2
"""Looks for which a process may be hidden, such as one that is just being made or executes another program."""


class UnlinkedFiles:
    """Asks the process that looks, which keeps the capability ``kept`` as programs do."""

    def __init__(self, box: str, kept: int | None) -> None:
        self._channel, theirs = _socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Not a child of this process, which waits for all that it has when a run is over.
        go_between = os.fork()
        if go_between == 0:
            if os.fork() == 0:
                _look_for_ever(theirs, box, kept)
            os._exit(0)
        os.waitpid(go_between, 0)
        theirs.close()

    def check(self) -> None:
        """Raises OSError where a process of this user, with the rights that this one has now, hides what is open."""
        kernel.set_dumpable(True)
        for _ in range(_PATIENCE + 1):
            if self.size(os.getppid(), 0, 0) < 0:
                raise OSError(
                    "nobody can see in /proc what programs hold open here: mount it without hidepid"
                )
        kernel.set_dumpable(False)

    def size(self, parent: int, spare: int, most: int) -> int:
        """Bytes of the removed files that the processes below ``parent`` hold, but for ``spare``; below 0 where they
        hide it. A file that is mapped and not open counts ``most``."""
        self._channel.send(_REQUEST.pack(parent, spare, most))
        answer = self._channel.recv(_REPLY.size)
        if not answer:
            # Without it there is no verdict; another fork server begins anew.
            raise ConnectionError("the process that looks at what programs hold open is gone")
        return int(_REPLY.unpack(answer)[0])


def _look_for_ever(channel: _socket.socket, box: str, kept: int | None) -> None:
    try:
        os.dup2(channel.fileno(), 0)
        os.closerange(1, os.sysconf("SC_OPEN_MAX"))
        kernel.no_new_privileges()
        kernel.drop_capabilities(kept)
        kernel.set_dumpable(False)
        asked = _socket.socket(fileno=0)
        hidden = 0
        while request := asked.recv(_REQUEST.size):
            parent, spare, most = _REQUEST.unpack(request)
            size = _held(parent, spare, most, box + "/")
            hidden = hidden + 1 if size is None else 0
            asked.send(_REPLY.pack(-1 if hidden > _PATIENCE else size or 0))
    finally:
        os._exit(0)


def _held(parent: int, spare: int, most: int, below: str) -> int | None:
    """None where one of the processes does not let itself be looked at."""
    files: dict[int, int] = {}
    mapped: set[int] = set()
    lines = _MOST_LINES
    for pid in _descendants(parent):
        if pid == spare:
            continue
        for thread in _names(f"/proc/{pid}/task"):
            try:
                lines -= _look(f"/proc/{pid}/task/{thread}", below, files, mapped, lines)
            except (FileNotFoundError, ProcessLookupError):
                continue
            except OSError:
                if _has_ended(pid, thread):
                    continue
                return None
            # The others have the same files and memory, but for a first thread that has ended.
            break
        if lines <= 0:
            return None
    return sum(files.values()) + most * len(mapped - {*files})


def _look(folder: str, below: str, files: dict[int, int], mapped: set[int], most_lines: int) -> int:
    """Adds the removed files that a thread has open, and those that it has mapped; returns how many mappings it has."""
    for number in os.listdir(f"{folder}/fd"):
        with suppress(FileNotFoundError):
            path = os.readlink(f"{folder}/fd/{number}")
            if path.startswith(below) and path.endswith(_DELETED):
                about = os.stat(f"{folder}/fd/{number}")
                if stat.S_ISREG(about.st_mode) and not about.st_nlink:
                    files[about.st_ino] = about.st_blocks * 512
    count = 0
    marks = below.encode(), _DELETED.encode()
    with open(f"{folder}/maps", "rb") as lines:
        for line in lines:
            count += 1
            if marks[1] in line and marks[0] in line:
                mapped.add(int(line.split(None, 5)[4]))
            if count >= most_lines:
                break
    if not count:
        # It is just ending, or a first thread that did: the next thread has what there is.
        raise ProcessLookupError
    return count


def _has_ended(pid: int | str, thread: str) -> bool:
    try:
        with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _descendants(root: int) -> list[int]:
    found: list[int] = []
    parents = [root]
    while parents:
        children = _children(parents.pop())
        found += children
        parents += children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    for thread in _names(f"/proc/{pid}/task"):
        with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
            children += map(int, file.read().split())
    return children

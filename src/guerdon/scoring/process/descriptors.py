"""File descriptors for a child process, also where this process was started without its standard streams."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator


@contextlib.contextmanager
def child_fds(fds: Iterable[int]) -> Iterator[list[int]]:
    """Duplicates of file descriptors that can be passed to a child process; they are closed at the end.

    A process without standard streams has other files under the numbers 0 to 2, where a child has its standard
    streams; so the duplicates have higher numbers.
    """
    with contextlib.ExitStack() as stack:
        passed = []
        for fd in fds:
            passed.append(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3))
            stack.callback(os.close, passed[-1])
        yield passed


def output_stream(number: int) -> int:
    """1 or 2, for a child to write to where this process does; DEVNULL where this process has no such stream."""
    with contextlib.suppress(OSError):
        if (sys.__stdout__, sys.__stderr__)[
            number - 1
        ] is not None:  # else it is the number of some other file
            os.fstat(number)
            return number
    return subprocess.DEVNULL

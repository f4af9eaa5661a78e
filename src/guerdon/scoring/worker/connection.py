"""The worker's end of its connection."""

from __future__ import annotations

import contextlib
import resource
import select
import socket
import sys
from typing import Any

from guerdon.scoring.process.ipc import FrameDecoder

_IDLE_SECONDS = 300.0
FLUSH_SECONDS = 0.005
"""Results go back once they have gathered for so long."""

_buffer = memoryview(bytearray(1 << 18))
"""What is read goes here: a fresh one for every read would be mapped and unmapped by the system each time."""


def resident_bytes() -> int:
    """The most memory that this process has had in it."""
    # Not the kernel's own figure of the peak, which on Linux begins with that of the process that started this one.
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def receive(
    connection: socket.socket,
    frames: FrameDecoder,
    pending: list[Any],
    patience: float | None = _IDLE_SECONDS,
) -> Any:
    """The next message, or None when the parent closed the socket or had nothing to do for ``patience`` s."""
    while not pending:
        if not select.select([connection], [], [], patience)[0]:
            return None
        count = connection.recv_into(_buffer)
        if not count:
            return None
        pending.extend(frames.feed(_buffer[:count]))
    return pending.pop(0)

"""Messages on a stream: four bytes of length, then as many of JSON (inside.values)."""

from __future__ import annotations

import socket
from typing import Any

from . import values


class FrameError(Exception):
    """The other side said what is no message, or hung up."""


def send(channel: socket.socket, message: bytes) -> None:
    """Sends what values.dumps made. Raises OSError where nobody listens."""
    channel.sendall(len(message).to_bytes(4, "big") + message)


def receive(channel: socket.socket) -> Any:
    """The next message. Raises FrameError."""
    size = int.from_bytes(_exactly(channel, 4), "big")
    if size > values.TEXT:
        raise FrameError("a message that is too long")
    try:
        return values.loads(_exactly(channel, size), arrays=True)
    except values.DecodingError as error:
        raise FrameError(f"a message that is none ({error})") from None


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        try:
            part = channel.recv(min(size, 1 << 20))
        except OSError:
            part = b""
        if not part:
            raise FrameError("nothing: it has ended")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)

"""Messages on a stream: four bytes of length, then as many of JSON (inside.encoding)."""

from __future__ import annotations

import socket
from typing import Any

from . import decoding


class ChannelError(Exception):
    """The other side said what is not a message, or hung up."""


def send(channel: socket.socket, message: bytes) -> None:
    """Sends what encoding.dumps made. Raises OSError where nobody listens."""
    channel.sendall(len(message).to_bytes(4, "big") + message)


def receive(channel: socket.socket) -> Any:
    """The next message. Raises ChannelError."""
    size = int.from_bytes(_exactly(channel, 4), "big")
    if size > decoding.TEXT:
        raise ChannelError("a message that is too long")
    try:
        return decoding.loads(_exactly(channel, size), arrays=True)
    except decoding.DecodingError as error:
        raise ChannelError(f"something that is not a message ({error})") from None


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        try:
            part = channel.recv(min(size, 1 << 20))
        except OSError:
            part = b""
        if not part:
            raise ChannelError("nothing: it has ended")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)

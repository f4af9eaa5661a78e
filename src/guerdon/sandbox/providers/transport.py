"""One connection of HTTP: its socket with a deadline, an answer that is read in bounds, and what goes wrong."""

from __future__ import annotations

import email.message
import http.client
import io
import socket
import time
from typing import Any


class ServiceError(Exception):
    """The service gave no usable answer. The message is for people and never holds a key."""

    def __init__(self, message: str, *, status: int | None = None, body: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.body = body


class TransientError(ServiceError):
    """A failure that may be gone at the next attempt."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        body: bytes = b"",
        wait_s: float | None = None,
        stale: bool = False,
    ) -> None:
        super().__init__(message, status=status, body=body)
        self.wait_s = wait_s
        self.stale = stale
        """Whether a kept connection turned out to be closed, which says nothing of the service."""


class _SocketReader(io.RawIOBase):
    """Reads a socket until a point in time, however little the other side sends at once."""

    def __init__(self, owner: TimedSocket) -> None:
        self.owner = owner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.owner.arm()
        return self.owner.raw.recv_into(buffer)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.owner.released()


class TimedSocket:
    """The part of a socket that http.client uses, with one deadline over all of it."""

    def __init__(self, raw: socket.socket) -> None:
        self.raw = raw
        self.deadline = float("inf")
        self._readers = 0
        self._closed = False

    def arm(self) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        self.raw.settimeout(None if left == float("inf") else left)

    def sendall(self, data: Any) -> None:
        self.arm()
        self.raw.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        self._readers += 1
        return io.BufferedReader(_SocketReader(self), 1 << 16)

    def released(self) -> None:
        self._readers -= 1
        if self._closed and not self._readers:
            self.raw.close()

    def close(self) -> None:
        """Closes the socket as soon as no answer is read from it: http.client closes before it reads the last."""
        self._closed = True
        if not self._readers:
            self.raw.close()


class ServiceResponse:
    """An answer whose body is still to be read."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: email.message.Message = response.headers

    def chunk(self) -> bytes:
        """What has come, at least one byte unless the body has ended."""
        return self._response.read1(1 << 16)

    def whole(self, limit: int) -> bytes:
        """The body; ServiceError where it is longer than ``limit`` bytes."""
        parts: list[bytes] = []
        size = 0
        while part := self.chunk():
            parts.append(part)
            size += len(part)
            if size > limit:
                raise ServiceError(f"the answer is longer than {limit >> 10} KiB")
        if self._response.length:
            raise TransientError("the connection broke in the middle of the answer")
        return b"".join(parts)

    def finish(self) -> bool:
        """Ends the answer. Whether its body was read to the end, so that the connection can be used again."""
        spent = self._response.isclosed() or self._response.length == 0
        self._response.close()
        return spent and not self._response.will_close

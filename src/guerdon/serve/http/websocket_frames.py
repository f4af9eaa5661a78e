"""Frames of a WebSocket (RFC 6455), as a server reads and writes them.

A library takes two to four times the processor's time for a message (``benchmarks/websocket_parsing.py``): here a
burst is parsed in one loop and its answers are written at once. What it leaves out is what it does not need:
extensions, subprotocols, the client's side. ``tests/fuzz/websocket.py`` holds it to what the library reads.
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
NORMAL, GOING_AWAY, PROTOCOL_ERROR, UNSUPPORTED = 1000, 1001, 1002, 1003
INVALID_TEXT, POLICY, TOO_BIG, TRY_AGAIN = 1007, 1008, 1009, 1013
_CLOSE_CODES = frozenset({*range(1000, 1004), *range(1007, 1015)})
"""Codes below 3000 that a peer may send; those above are for libraries and applications."""
_CONTROL_BYTES = 125
_FREE_FRAGMENTS = 4096
_FRAGMENT_BYTES = 512
"""Past the free ones, the fragments of a message must have so many bytes each, on average."""
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


def close_frame(code: int | None, reason: str = "") -> bytes:
    """A close frame, empty without a code; the reason is cut to what one may hold."""
    if code is None:
        return _frame(0x80 | CLOSE, b"")
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
        self._message = bytearray()
        """The fragments of a message so far."""
        self._fragments = 0
        self._started = False

    @property
    def held(self) -> int:
        """Bytes of messages that are not whole yet."""
        return len(self._buffer) + len(self._message)

    @property
    def is_amid(self) -> bool:
        """Whether a message or a frame has begun and is not whole."""
        return self._started or len(self._buffer) > 0

    def drop(self) -> None:
        """Forget what has begun."""
        self._buffer, self._message, self._needed, self._started = bytearray(), bytearray(), 0, False

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
                    yield TEXT, payload if payload.isascii() else _checked_text(payload)
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
        if length + len(self._message) > self._max_bytes:
            raise FrameError(TOO_BIG, f"a message may have {self._max_bytes:,} bytes")

    def _gathered(self, first: int, payload: bytes) -> tuple[int, bytes] | None:
        """A control frame as it is; a fragment's message once it is whole."""
        opcode = first & 0x0F
        if opcode >= CLOSE:
            if opcode == CLOSE:
                _check_close(payload)
            return opcode, payload
        self._message += payload
        self._fragments += 1
        if self._fragments > _FREE_FRAGMENTS + len(self._message) // _FRAGMENT_BYTES:
            raise FrameError(POLICY, "the message is cut into too many fragments")
        self._started = not first & 0x80
        if self._started:
            return None
        message = bytes(self._message)
        self._message, self._fragments = bytearray(), 0
        return TEXT, _checked_text(message)


def _checked_text(payload: bytes) -> bytes:
    try:
        payload.decode()
    except UnicodeDecodeError:
        raise FrameError(INVALID_TEXT, "a text message must be UTF-8") from None
    return payload


def _check_close(payload: bytes) -> None:
    """Raises FrameError for a close frame that none may send."""
    if not payload:
        return
    _checked_text(payload[2:])
    code = int.from_bytes(payload[:2], "big")
    if len(payload) == 1 or not (code in _CLOSE_CODES or 3000 <= code < 5000):
        raise FrameError(PROTOCOL_ERROR, "a close frame has no valid code")

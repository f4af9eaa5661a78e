"""WebSocket frames: the reader gives the same messages and closes with the same codes as the websockets library.

An input is a byte that says how it is read, a byte for the sizes of the pieces, and either the bytes that a client
sends or orders that become frames, most of them sound, so that mutations reach further than the first header.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from guerdon.serve.http.websocket_frames import CLOSE, TEXT, UNSUPPORTED, FrameError, FrameReader

_MAX_BYTES = 600
_PADDING = bytes(_MAX_BYTES + 14)
"""Sent last: it ends a frame that has begun, and is itself a frame without a mask, which is an error."""
_RAW, _ORDERS = 0, 1
_MASK = b"\x13\x57\x9b\xdf"

Read = tuple[list[tuple[int, bytes]], int]
"""Messages, and the code to close with, 0 where the client has closed."""


def _frame(first: int, payload: bytes) -> bytes:
    length = len(payload)
    size = bytes((0x80 | length,)) if length < 126 else bytes((0x80 | 126, *length.to_bytes(2, "big")))
    masked = bytes(byte ^ _MASK[i % 4] for i, byte in enumerate(payload))
    return bytes((first,)) + size + _MASK + masked


SEEDS: Sequence[bytes] = (
    bytes((_RAW, 255)) + _frame(0x81, b"hello") + _frame(0x89, b"ping") + _frame(0x88, b"\x03\xe8bye"),
    bytes((_RAW, 1)) + _frame(0x01, b"he") + _frame(0x00, b"l") + _frame(0x8A, b"") + _frame(0x80, b"lo"),
    bytes((_RAW, 7)) + _frame(0x81, "é漢\U0001f600".encode()) + _frame(0x88, b""),
    bytes((_RAW, 64)) + _frame(0x81, b"x" * 300) + _frame(0x01, b"y" * 500) + _frame(0x80, b"z" * 101),
    bytes((_RAW, 3)) + b"\x81\xff" + (1 << 63).to_bytes(8, "big") + _MASK,
    bytes((_RAW, 9)) + _frame(0x82, b"binary") + _frame(0x81, b"x"),
    bytes((_ORDERS, 5)) + b"\x81\x03abc\x89\x00\x01\x02he\x00\x01l\x80\x02lo\x88\x02\x03\xe8",
    bytes((_ORDERS, 2)) + b"\x81\x02\xc3\xa9\x01\x01\xc3\x80\x01\xa9\x88\x01\x03",
    bytes((_ORDERS, 90)) + b"\x81\xc8" + b"long " * 40 + b"\x8a\x7e" + b"p" * 126,
    bytes((_ORDERS, 11)) + b"\xc1\x01a\x83\x01b\x0b\x00\x09\x00",
    bytes((_ORDERS, 200))
    + b"".join(b"\x88\x02" + code.to_bytes(2, "big") for code in (999, 1004, 1015, 5000)),
)


def _framed(orders: bytes) -> bytes:
    """Frames of orders: a first byte, a length, a payload."""
    frames, start = [], 0
    while start + 2 <= len(orders):
        first, length = orders[start], orders[start + 1]
        frames.append(_frame(first, orders[start + 2 : start + 2 + length]))
        start += 2 + length
    return b"".join(frames)


def _pieces(stream: bytes, sizes: int) -> Iterator[bytes]:
    """The stream as reads from a socket give it."""
    luck, start = random.Random(sizes), 0
    while start < len(stream):
        size = luck.randint(1, 1 + sizes)
        yield stream[start : start + size]
        start += size


def _ours(pieces: Sequence[bytes]) -> Read:
    reader, found = FrameReader(_MAX_BYTES), []
    try:
        for piece in pieces:
            for kind, payload in reader.feed(piece):
                found.append((kind, bytes(payload)))
                if kind == CLOSE:
                    return found, 0
            assert reader.held <= _MAX_BYTES + 14 + _MAX_BYTES
    except FrameError as error:
        return found, error.code
    raise AssertionError("the padding is an error")


def _theirs(pieces: Sequence[bytes]) -> Read:
    protocol = ServerProtocol(state=OPEN, max_size=_MAX_BYTES)
    found: list[tuple[int, bytes]] = []
    message = b""
    for piece in pieces:
        protocol.receive_data(piece)
        for frame in protocol.events_received():
            assert isinstance(frame, Frame)
            payload = bytes(frame.data)
            if frame.opcode is Opcode.BINARY:
                return found, UNSUPPORTED
            if frame.opcode in (Opcode.TEXT, Opcode.CONT):
                message += payload
                if not frame.fin:
                    continue
                payload, message = message, b""
                try:
                    payload.decode()
                except UnicodeDecodeError:
                    return found, 1007
                found.append((TEXT, payload))
                continue
            found.append((int(frame.opcode), payload))
            if frame.opcode is Opcode.CLOSE:
                return found, 0
        if protocol.parser_exc is not None:
            assert protocol.close_sent is not None
            return found, protocol.close_sent.code
    raise AssertionError("the padding is an error")


def check(data: bytes) -> None:
    """Raises AssertionError where the two differ."""
    if len(data) < 2:
        return
    stream = data[2:] if data[0] % 2 == _RAW else _framed(data[2:])
    pieces = list(_pieces(stream + _PADDING, data[1]))
    (mine, code), (known, expected) = _ours(pieces), _theirs(pieces)
    if code == 0 and expected == 1002 and mine[-1][0] == CLOSE:
        del mine[-1]  # amid a message, where RFC 6455 has control frames and the library no close
        code = expected
    if expected == 1009 and len(mine) > len(known) and mine[len(known)][0] >= CLOSE:
        del mine[len(known) :]  # the library counts a control frame amid a message as a part of the message
        code = expected
    assert mine == known
    # The library looks at a frame once it is whole, and takes binary ones.
    is_early = code == UNSUPPORTED or (code == 1002 and expected == 1009)
    assert code == expected or is_early, (code, expected)

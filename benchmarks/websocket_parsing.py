"""What a WebSocket message costs to read and to answer: our frames against libraries without I/O of their own.

    python benchmarks/websocket_parsing.py [--seconds 1]

A burst of masked text frames, as one read from a socket gives it, is read, and each message is answered by a text
frame of the same size. No socket is involved. A library that is not installed is left out. picows is not measured:
it owns the listening socket and the handshake, so it cannot share a port with HTTP.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable

from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from guerdon.serve.http.websocket_frames import FrameReader, text_frame

SIZES = (60, 300, 2_000, 20_000)
BURSTS = (1, 32)
ROUNDS = 5
MAX_BYTES = 64_000_000

Read = Callable[[bytes], int]
"""Reads a burst, writes the answers, and returns how many messages there were."""


def ours() -> Read:
    reader = FrameReader(MAX_BYTES)

    def read(data: bytes) -> int:
        out = [text_frame(payload) for _, payload in reader.feed(data)]
        b"".join(out)
        return len(out)

    return read


def websockets_library() -> Read:
    protocol = ServerProtocol(state=OPEN, max_size=MAX_BYTES)

    def read(data: bytes) -> int:
        protocol.receive_data(data)
        count = 0
        for frame in protocol.events_received():
            assert isinstance(frame, Frame)
            protocol.send_text(frame.data)
            count += 1
        b"".join(protocol.data_to_send())
        return count

    return read


def wsproto_library() -> Read:
    from wsproto.connection import Connection, ConnectionType
    from wsproto.events import TextMessage

    connection = Connection(ConnectionType.SERVER)

    def read(data: bytes) -> int:
        connection.receive_data(data)
        out = [
            connection.send(TextMessage(data=event.data))
            for event in connection.events()
            if isinstance(event, TextMessage)
        ]
        b"".join(out)
        return len(out)

    return read


READERS: dict[str, Callable[[], Read]] = {
    "ours": ours,
    "websockets": websockets_library,
    "wsproto": wsproto_library,
}


def microseconds(read: Read, data: bytes, seconds: float) -> float:
    """Processor time of one message."""
    count, start = 0, time.process_time()
    while (used := time.process_time() - start) < seconds:
        for _ in range(50):
            count += read(data)
    return used / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each figure is measured")
    seconds = parser.parse_args().seconds
    readers: dict[str, Read] = {}
    for name, make in READERS.items():
        with contextlib.suppress(ImportError):
            readers[name] = make()
    for size in SIZES:
        for burst in BURSTS:
            frame = Frame(Opcode.TEXT, b"x" * size)
            data = b"".join(frame.serialize(mask=True) for _ in range(burst))
            each: dict[str, list[float]] = {name: [] for name in readers}
            for _ in range(ROUNDS):
                for name, read in readers.items():
                    each[name].append(microseconds(read, data, seconds / ROUNDS))
            best = {name: min(found) for name, found in each.items()}
            shown = "   ".join(f"{n} {t:7.2f} us {t / best['ours']:5.2f}x" for n, t in best.items())
            print(f"{size:>6,} bytes, {burst:>2} at once   {shown}")


if __name__ == "__main__":
    main()

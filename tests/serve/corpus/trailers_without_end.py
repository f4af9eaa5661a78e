"""A chunked body is followed by trailers that never end."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target


def attack(target: Target) -> None:
    head = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with target.connect() as peer:
        sent = 0
        with contextlib.suppress(OSError):
            peer.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
            while sent < 64 << 20:
                sent += peer.send(b"X-Trailer: " + b"a" * 4000 + b"\r\n")
        assert sent < 16 << 20, f"{sent >> 20} MB of trailers were taken"

"""A chunked body is followed by trailers that never end."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    head = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with target.connect() as peer:
        sent = 0
        with contextlib.suppress(OSError):
            peer.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
            while sent < 64 << 20:
                sent += peer.send(b"X-Trailer: " + b"a" * 4000 + b"\r\n")
        found = statuses(target.rest(peer))
        assert len(found) == 1, found
        assert 400 <= found[0] < 500, found

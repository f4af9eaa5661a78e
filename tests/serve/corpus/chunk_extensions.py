"""The line of a chunk's size never ends, as extensions may make it."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    head = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with target.connect() as peer:
        sent = 0
        with contextlib.suppress(OSError):
            peer.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n1;")
            while sent < 64 << 20:
                sent += peer.send(b"a=b;" * 16384)
        found = statuses(target.rest(peer))
        assert len(found) == 1, found
        assert 400 <= found[0] < 500, found

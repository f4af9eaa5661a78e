"""Headers that never end are held in memory."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    with target.connect() as peer:
        sent = 0
        with contextlib.suppress(OSError):
            peer.sendall(b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            line = b"X-Filler: " + b"a" * 4000 + b"\r\n"
            while sent < 64 << 20:
                peer.sendall(line)
                sent += len(line)
        found = statuses(target.rest(peer))
        assert len(found) == 1, found
        assert 400 <= found[0] < 500, found

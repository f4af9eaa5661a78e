"""One header line that never ends is held in memory."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    with target.connect() as peer:
        sent = 0
        with contextlib.suppress(OSError):
            peer.sendall(b"GET /info HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
            while sent < 64 << 20:
                sent += peer.send(b"a" * 65536)
        found = statuses(target.rest(peer))
        assert len(found) == 1, found
        assert 400 <= found[0] < 500, found

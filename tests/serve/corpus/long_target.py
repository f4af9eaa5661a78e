"""A request's target of many megabytes is held in memory."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    with target.connect() as peer:
        sent = 0
        with contextlib.suppress(OSError):
            peer.sendall(b"POST /v1/score?")
            while sent < 64 << 20:
                sent += peer.send(b"a" * 65536)
        found = statuses(target.rest(peer))
        assert len(found) == 1, found
        assert 400 <= found[0] < 500, found

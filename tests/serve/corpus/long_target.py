"""A request's target of many megabytes is held in memory."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target


def attack(target: Target) -> None:
    with target.connect() as peer:
        sent = 0
        with contextlib.suppress(OSError):
            peer.sendall(b"POST /v1/score?")
            while sent < 64 << 20:
                sent += peer.send(b"a" * 65536)
        assert sent < 16 << 20, f"{sent >> 20} MB of a target were taken"

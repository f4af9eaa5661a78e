"""Ten thousand requests are pipelined on one connection, and then it is reset."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target, score_request


def attack(target: Target) -> None:
    for _ in range(3):
        peer = target.connect(2.0)
        with contextlib.suppress(OSError):
            peer.sendall(score_request("four") * 10_000)
        target.reset(peer)

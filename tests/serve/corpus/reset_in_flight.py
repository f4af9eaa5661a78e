"""Hundreds of clients reset their connections while their requests are scored."""

from __future__ import annotations

from support.server_attacks import Target, score_request


def attack(target: Target) -> None:
    for _ in range(300):
        peer = target.connect()
        peer.sendall(score_request("four"))
        target.reset(peer)

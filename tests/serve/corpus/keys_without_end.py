"""Thousands of idempotency keys, each used once, fill the memory of answers."""

from __future__ import annotations

from support.server_attacks import Target, score_request


def attack(target: Target) -> None:
    with target.connect() as peer:
        for number in range(3000):
            peer.sendall(score_request("a" * 2000, f"Idempotency-Key: {number}{'k' * 200}"))
            peer.recv(65536)

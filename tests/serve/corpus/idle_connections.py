"""Hundreds of connections on which nothing is sent keep the others out."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target


def attack(target: Target) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(1500):
            with contextlib.suppress(OSError):
                held.enter_context(target.connect(2.0))
        _still_served(target)


def _still_served(target: Target) -> None:
    assert b" 200 " in target.send(
        b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    )

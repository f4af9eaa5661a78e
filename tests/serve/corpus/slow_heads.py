"""Hundreds of connections send a head byte by byte."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target


def attack(target: Target) -> None:
    with contextlib.ExitStack() as held:
        peers = []
        for _ in range(1200):
            with contextlib.suppress(OSError):
                peers.append(held.enter_context(target.connect(2.0)))
        for byte in b"POST /":
            for peer in peers:
                with contextlib.suppress(OSError):
                    peer.send(bytes([byte]))
        request = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        assert b" 200 " in target.send(request)

"""A client asks for long answers over one connection and reads none of them."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target


def attack(target: Target) -> None:
    request = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with target.connect(1.0) as peer, contextlib.suppress(OSError):
        for _ in range(400):
            peer.sendall(request * 50)

"""Many connections declare a body of 60 MB and send a part of it, which is held."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target


def attack(target: Target) -> None:
    head = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with contextlib.ExitStack() as held:
        for _ in range(40):
            peer = held.enter_context(target.connect(2.0))
            with contextlib.suppress(OSError):
                peer.sendall(
                    head + b"Content-Length: 60000000\r\n\r\n" + b'{"response": "' + b"a" * (16 << 20)
                )

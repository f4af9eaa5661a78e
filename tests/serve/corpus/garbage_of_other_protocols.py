"""Other protocols are spoken to the port, and nothing at all that is one."""

from __future__ import annotations

import random

from support.server_attacks import Target

OPENINGS = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
    bytes.fromhex("16030100c6010000c20303") + bytes(190),
    b"\x05\x01\x00",
    b"EHLO example\r\n",
    b"GET / HTTP/0.9\r\n\r\n",
    b"GET / HTTP/3.0\r\n\r\n",
    b"GET\x00/ HTTP/1.1\r\n\r\n",
    b"\r\n" * 100_000,
    b"GET / HTTP/1.1\nHost: 127.0.0.1\n\n",
    b"GET http://127.0.0.1@evil.example/info HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
)


def attack(target: Target) -> None:
    chance = random.Random(1)
    for opening in (*OPENINGS, *(chance.randbytes(2000) for _ in range(20))):
        with target.connect() as peer:
            peer.sendall(opening)
            target.rest(peer, 0.05)

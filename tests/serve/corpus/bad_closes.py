"""WebSockets close with codes that do not exist, text that is none and frames that are not allowed."""

from __future__ import annotations

import contextlib

from support.server_attacks import Target, frame, upgrade_request

FRAMES = (
    frame(8, b"\x03"),
    frame(8, b"\x03\xec"),
    frame(8, b"\xff\xff"),
    frame(8, b"\x03\xe8\xff\xfe"),
    frame(1, b"\xff\xfe"),
    frame(2, b"{}"),
    frame(3, b""),
    frame(11, b""),
    frame(9, b"a" * 126),
    frame(9, b"", final=False),
    frame(0, b"{}"),
    frame(1, b"{}", masked=False),
    b"\xf1\x80\x00\x00\x00\x00",
    b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff",
)


def attack(target: Target) -> None:
    for sent in FRAMES:
        with target.connect() as peer:
            peer.sendall(upgrade_request())
            peer.recv(4096)
            with contextlib.suppress(OSError):
                peer.sendall(sent + frame(1, b'{"response": "after"}'))
            received = target.rest(peer, 0.2)
            assert b"5.0" not in received, f"{sent!r} was followed by an answer: {received!r}"

"""A good handshake stands behind a request, and the client resets the connection before it is answered."""

from __future__ import annotations

from support.server_attacks import Target, frame, score_request, upgrade_request


def attack(target: Target) -> None:
    message = frame(1, b'{"response": "abc"}')
    for _ in range(60):
        peer = target.connect()
        peer.sendall(score_request("four") + upgrade_request("/ws") + message)
        target.reset(peer)

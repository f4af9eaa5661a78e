"""A refused WebSocket handshake is pipelined behind a request: the connection changes hands while that is answered."""

from __future__ import annotations

from support.server_attacks import Target, score_request, statuses, upgrade_request


def attack(target: Target) -> None:
    for number in range(60):
        handshake = (
            upgrade_request("/ws", "Sec-WebSocket-Version: 99") if number % 2 else upgrade_request("/no")
        )
        with target.connect() as peer:
            peer.sendall(score_request("four") + handshake)
            if number % 3:
                continue
            found = statuses(target.rest(peer, 0.3))
            assert found[0] == 200, found
            assert 101 not in found[1:], found

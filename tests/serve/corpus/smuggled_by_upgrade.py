"""An upgrade to something unknown has a body, which is taken for the next request."""

from __future__ import annotations

from support.server_attacks import Target, score_request, statuses


def attack(target: Target) -> None:
    inner = b"GET /info HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    for protocol in ("anything", "h2c", "TLS/1.0", "websocket, x", "Websocket2"):
        for method in ("POST", "GET", "PUT"):
            for path in ("/v1/score", "/info", "/ws"):
                head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n"
                data = head.encode() + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
                    inner
                )
                with target.connect() as peer:
                    peer.sendall(data + inner)
                    found = statuses(target.rest(peer, 0.1))
                    assert len(found) <= 1, f"{method} {path} {protocol}: {found}"
    assert statuses(target.send(score_request("four", "Connection: close"))) == [200]

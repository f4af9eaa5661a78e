"""WebSockets send whole messages of 20 MB to a slow reward, and each waits for its answer in memory."""

from support.server_attacks import Target, frame, upgrade_request

MOST_MB = 300
"""The budget of 100 MB counts each message once; a worker's copy is on its way beside it."""
_CLOSED_1013 = b"\x03\xf5"


def attack(target: Target) -> None:
    message = b'{"n":1,"sample":{"response":"' + bytes([120]) * 20_000_000 + b'"}}'
    peers = [target.connect() for _ in range(7)]
    for peer in peers:
        peer.sendall(upgrade_request("/rewards/nap/v1/ws"))
        peer.sendall(frame(1, message))
    received = [target.rest(peer) for peer in peers]
    assert any(_CLOSED_1013 in each for each in received), [each[-100:] for each in received]
    for peer in peers:
        target.reset(peer)

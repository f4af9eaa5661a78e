"""A message says its length in two ways, or in none that is clear, and hides a request in its body."""

from __future__ import annotations

from support.server_attacks import Target, statuses

AMBIGUOUS = (
    "Content-Length: 5\r\nContent-Length: 60",
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 5",
    "Content-Length: 5, 60",
    "Content-Length: +5",
    "Content-Length: -5",
    "Content-Length: 0x5",
    "Content-Length: 5 5",
    "Content-Length : 5",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding:\x0bchunked",
    "X: y\r\n Content-Length: 5",
    "Content-Length: 99999999999999999999999",
)


def attack(target: Target) -> None:
    inner = b"0\r\n\r\nGET /info HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    for lines in AMBIGUOUS:
        head = "POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        with target.connect() as peer:
            peer.sendall(f"{head}{lines}\r\n\r\n".encode() + inner)
            found = statuses(target.rest(peer, 0.1))
            assert all(status >= 400 for status in found), f"{lines!r}: {found}"
            assert len(found) <= 1, f"{lines!r}: {found}"

"""A request's id, its user agent and its path hold escapes and line ends, for the log and for the response."""

from __future__ import annotations

from support.server_attacks import Target, score_request


def attack(target: Target) -> None:
    for value in ("a\x1b[31mb", "a\tb", "\u202eevil", "a\x00b", "x" * 5000, "a\x85b"):
        raw = score_request("four", "Connection: close").replace(
            b"Connection: close", b"Connection: close\r\nX-Request-Id: " + value.encode()
        )
        received = target.send(raw)
        head = received.partition(b"\r\n\r\n")[0]
        assert b"\x1b" not in head, head
        assert b"\x00" not in head, head
        target.send(b"GET /%1b%5b31m%0d%0aX:%20y HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")

"""A page whose own name leads to this machine reads the rewards and the metrics of a server without keys."""

from __future__ import annotations

from support.server_attacks import Target, statuses

NAMES = (
    "evil.example",
    "evil.example:80",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "0x7f.1",
    "[::2]",
    "a@b",
)
PATHS = ("/", "/rewards", "/metrics", "/v1/info", "/info", "/docs", "/openapi.json", "/health/ready")


def attack(target: Target) -> None:
    for name in NAMES:
        for path in PATHS:
            received = target.send(
                f"GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()
            )
            assert statuses(received) != [200], f"{name} {path}: {received[:100]!r}"

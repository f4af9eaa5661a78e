"""JSON is nested a million levels deep, or has a number of a million digits, or keys that collide."""

from __future__ import annotations

import json

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    modulus = (1 << 61) - 1
    bodies = (
        b"[" * 1_000_000,
        b'{"response": ' * 200_000,
        b'{"response": "a", "columns": {"n": ' + b"9" * 1_000_000 + b"}}",
        b'{"response": "a", "columns": {"n": 1' + b"e9" * 3 + b"}}",
        json.dumps(
            {"response": "a", "columns": {str(number * modulus): 1 for number in range(20_000)}}
        ).encode(),
        b'{"response": "\\ud800"}',
        b'{"response": "a"}' + b" " * 5_000_000,
        b'{"response": "a", "response": "bb"}',
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
    )
    head = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    for body in bodies:
        found = statuses(target.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body, 10.0))
        assert all(status < 500 for status in found), f"{body[:40]!r}: {found}"

"""A batch has a hundred thousand samples that are nearly empty."""

from __future__ import annotations

import json

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    body = json.dumps({"samples": [{"response": ""}] * 100_000}).encode()
    head = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    found = statuses(target.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body, 15.0))
    assert all(status < 500 for status in found), found

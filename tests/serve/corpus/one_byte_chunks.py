"""A body comes in chunks of one byte, each of which may be kept as an object."""

from __future__ import annotations

import json

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    body = json.dumps({"response": "a" * 300_000}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    head = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    received = target.send(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert statuses(received)[:1] in ([200], [413], [400]), received[:200]

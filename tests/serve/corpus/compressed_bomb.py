"""A body of a few kilobytes says that it is compressed, and would be a gigabyte."""

from __future__ import annotations

import gzip

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    body = gzip.compress(b'{"response": "' + bytes(64 << 20) + b'"}')
    head = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    for coding in (b"gzip", b"deflate", b"br", b"zstd", b"gzip, gzip"):
        lines = b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding, len(body))
        found = statuses(target.send(head + lines + body))
        assert all(400 <= status < 500 for status in found), f"{coding!r}: {found}"

"""A hundred thousand headers of a few bytes each cost an object each."""

from __future__ import annotations

from support.server_attacks import Target, statuses


def attack(target: Target) -> None:
    lines = b"".join(b"a%d:\r\n" % number for number in range(100_000))
    received = target.send(
        b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\n" + lines + b"Content-Length: 0\r\n\r\n"
    )
    assert all(status >= 400 for status in statuses(received)), received[:200]

"""HTTP replies, as the fast protocol, the ASGI application and the WebSockets all write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from guerdon.serve.formats.base import json_bytes

HeaderPairs = Sequence[tuple[bytes, bytes]]
JSON = (b"content-type", b"application/json")
JSON_ALONE = (JSON,)
"""The headers of nearly every reply."""
STOPPING = "the server is stopping; retry later"


class HttpReply(NamedTuple):
    """A status, a body and headers without those of the connection."""

    status: int
    body: bytes
    headers: HeaderPairs = ()


def error_reply(status: int, kind: str, message: str, headers: HeaderPairs = ()) -> HttpReply:
    """The server's own reply to a request that it refuses: ``detail`` and ``error`` say the same.

    >>> error_reply(404, "not_found", "no such reward").body
    b'{"detail":"no such reward","error":{"kind":"not_found","message":"no such reward"}}'
    """
    body = json_bytes({"detail": message, "error": {"kind": kind, "message": message}})
    return HttpReply(status, body, [JSON, *headers])


def stopping_reply() -> HttpReply:
    """The reply to a request that comes while the server stops."""
    return error_reply(503, "draining", STOPPING, [(b"retry-after", b"1")])

"""What a request's head may be: its size, and what makes it ambiguous to whoever else reads it.

httptools refuses most of what two readers could understand in two ways: two lengths, folded lines, bare line feeds,
space before a colon. What it lets through is refused here.
"""

from __future__ import annotations

from guerdon.serve.http.replies import HeaderPairs, HttpReply, error_reply

MAX_HEAD_BYTES = 65_536
MAX_HEADERS = 100
MAX_TARGET_BYTES = 8_192
_SPARE_FRAMING = 16_384
_FRAMING_PER_BYTE = 8
"""How much of a chunked message may be something else than its body: so much, and so much for each byte."""
_ONCE = frozenset(
    (
        b"host",
        b"origin",
        b"authorization",
        b"x-api-key",
        b"content-type",
        b"content-length",
        b"transfer-encoding",
        b"expect",
        b"upgrade",
        b"idempotency-key",
        b"x-request-id",
        b"x-batch-errors",
        b"sec-websocket-key",
        b"sec-websocket-version",
    )
)
"""What may come once only: of two that differ, another reader may take the other one."""


def bad_request(message: str, status: int = 400) -> HttpReply:
    """The reply to what is no request, after which the connection is closed."""
    return error_reply(status, "input", message, [(b"connection", b"close")])


def target_too_long() -> HttpReply:
    """The reply to a request line without an end."""
    return bad_request(f"the request's target is longer than {MAX_TARGET_BYTES:,} bytes", 414)


def head_too_large() -> HttpReply:
    """The reply to headers without an end."""
    limits = f"{MAX_HEADERS} headers and {MAX_HEAD_BYTES:,} bytes"
    return bad_request(f"the request's head is larger than {limits}", 431)


def head_refusal(
    target: bytes, version: str, headers: HeaderPairs, by_name: dict[bytes, bytes]
) -> HttpReply | None:
    """The reply to a head that is too large or ambiguous; None for one that can be understood in one way only.

    >>> head_refusal(b"/score", "1.1", (pairs := [(b"host", b"a")]), dict(pairs)) is None
    True
    >>> pairs = [(b"host", b"a"), (b"origin", b"http://a"), (b"origin", b"http://b")]
    >>> head_refusal(b"/score", "1.1", pairs, dict(pairs)).body
    b'{"detail":"the header origin came twice","error":{"kind":"input","message":"the header origin came twice"}}'
    """
    if len(target) > MAX_TARGET_BYTES:
        return target_too_long()
    if len(headers) > MAX_HEADERS:
        return head_too_large()
    if len(by_name) != len(headers) and (name := _repeated(headers)) is not None:
        return bad_request(f"the header {name.decode('latin-1')} came twice")
    if version != "1.1" and version != "1.0":
        return bad_request("this server speaks HTTP/1.1", 505)
    if b"host" not in by_name and version == "1.1":
        return bad_request("a request of HTTP/1.1 needs a Host header")
    if b"transfer-encoding" in by_name and (
        version == "1.0" or by_name[b"transfer-encoding"].lower() != b"chunked"
    ):
        return bad_request("the only Transfer-Encoding taken is chunked, in HTTP/1.1", 501)
    if not target.startswith(b"/") and target != b"*":
        return _target_refusal(target, by_name.get(b"host", b""))
    return None


def _repeated(headers: HeaderPairs) -> bytes | None:
    seen = set()
    for name, _ in headers:
        if name in seen and name in _ONCE:
            return name
        seen.add(name)
    return None


def _target_refusal(target: bytes, host: bytes) -> HttpReply | None:
    """A target with a host of its own must name the one of the Host header."""
    scheme, found, rest = target.partition(b"://")
    if not found or scheme.lower() not in (b"http", b"https"):
        return bad_request("the request's target must begin with /")
    authority = rest.partition(b"/")[0].partition(b"?")[0]
    if host and authority.lower() != host.lower():
        return bad_request("the request's target and its Host header name different hosts")
    return None


def is_websocket_handshake(method: bytes, version: str, by_name: dict[bytes, bytes]) -> bool:
    """Whether a head that asks for an upgrade asks for a WebSocket; any other upgrade is ignored.

    >>> is_websocket_handshake(b"POST", "1.1", {b"upgrade": b"websocket"})
    False
    """
    wanted = (word.strip().lower() for word in by_name.get(b"upgrade", b"").split(b","))
    return method == b"GET" and version == "1.1" and b"websocket" in wanted


def without_upgrade(method: bytes, target: bytes, version: str, headers: HeaderPairs) -> bytes:
    """A head as it would have come without its wish for another protocol."""
    lines = [b"%s %s HTTP/%s" % (method, target, version.encode())]
    lines += [name + b": " + value for name, value in headers if name != b"upgrade"]
    return b"\r\n".join(lines) + b"\r\n\r\n"


class MessageSize:
    """Counts the bytes of a message that are not its body, while it arrives."""

    def __init__(self) -> None:
        self._head = self._framing = 0

    def head_refusal(self, size: int, target: bytes, headers: HeaderPairs) -> HttpReply | None:
        """Count ``size`` bytes of a head; the reply to one that is too large."""
        self._head += size
        if len(target) > MAX_TARGET_BYTES:
            return target_too_long()
        if self._head > MAX_HEAD_BYTES or len(headers) > MAX_HEADERS:
            return head_too_large()
        return None

    def framing_refusal(self, size: int, body: int) -> HttpReply | None:
        """Count ``size`` bytes of chunks, in a body of ``body`` by now; the reply to one that is mostly framing."""
        self._framing += size
        if self._framing <= _SPARE_FRAMING + _FRAMING_PER_BYTE * body:
            return None
        return bad_request("the chunks of the body are more framing than content")

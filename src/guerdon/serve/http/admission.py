"""Admission: which requests are let in, decided from their headers alone, before the body is read.

The fast protocol, the ASGI application and the WebSockets all ask here.
"""

from __future__ import annotations

from collections.abc import Mapping

from guerdon.serve.http.api_keys import ApiKeys, KeyCheck
from guerdon.serve.http.endpoints import RewardEndpoint
from guerdon.serve.http.replies import HeaderPairs, HttpReply, error_reply, stopping_reply
from guerdon.serve.options import is_loopback

_JSON_TYPES = (b"application/json", b"text/json")


class AdmissionControl:
    """Refuses requests without a key, from pages of other hosts, over the limits, or while the server stops.

    ``local`` says that the server listens on a loopback address.
    """

    def __init__(self, keys: ApiKeys, *, max_body: int, local: bool = False) -> None:
        self.keys = keys
        self.max_body = max_body
        self.draining = False
        """Whether new requests are refused because the server stops."""
        self._local = local

    @property
    def is_open_on_loopback(self) -> bool:
        """Whether every program of this machine may call, and no other machine can."""
        return self._local and not len(self.keys)

    def refusal(self, headers: HeaderPairs, endpoint: RewardEndpoint | None) -> HttpReply | None:
        """The reply to a request that is refused; None where it is let in.

        ``endpoint`` is None for paths that score nothing, where only the origin and the key are checked.
        """
        by_name = dict(headers)
        if b"origin" in by_name and (reply := self.origin_refusal(by_name)) is not None:
            return reply
        if len(self.keys) and (check := self.keys.check(headers)) is not KeyCheck.OK:
            return _key_refusal(check)
        if endpoint is None:
            return None
        if self.draining:
            return stopping_reply()
        content_type = by_name.get(b"content-type")
        if content_type is not None and not _is_json(content_type):
            return error_reply(
                415, "input", f"the body must be application/json, not {_printable(content_type)}"
            )
        length = by_name.get(b"content-length")
        if length is not None and (not length.isdigit() or int(length) > self.max_body):
            return self.too_large()
        dispatcher = endpoint.dispatcher
        if dispatcher.is_full or dispatcher.load_error is not None:
            return _load_refusal(endpoint)
        return None

    def origin_refusal(self, headers: Mapping[bytes, bytes]) -> HttpReply | None:
        """The reply to a page of another host in a browser; None for a page of this server's own.

        A browser sends the requests of any page that its user opens, to any address, and names the page's host as
        the Origin. A host name can be made to point at 127.0.0.1 (DNS rebinding), so a server on loopback without
        keys trusts no name but ``localhost``.
        """
        origin, host = headers.get(b"origin", b"").lower(), headers.get(b"host", b"").lower()
        if origin.partition(b"//")[2] == host and (not self.is_open_on_loopback or names_loopback(host)):
            return None
        return error_reply(403, "origin", f"a page of {_printable(origin)} may not use this server")

    def too_large(self) -> HttpReply:
        """The reply to a body over the limit."""
        return error_reply(
            413, "input", f"the body is larger than {self.max_body:,} bytes; send fewer samples at once"
        )


def _load_refusal(endpoint: RewardEndpoint) -> HttpReply | None:
    dispatcher = endpoint.dispatcher
    if dispatcher.is_full:
        seconds = b"%d" % (dispatcher.retry_after() + 0.5)
        text = (
            f"{endpoint.reward} has {dispatcher.in_flight:,} requests waiting; retry in {seconds.decode()} s"
        )
        return error_reply(429, "busy", text, [(b"retry-after", seconds)])
    if dispatcher.load_error is not None and not dispatcher.workers:
        text = f"{endpoint.reward} cannot be served: {dispatcher.load_error}"
        return error_reply(503, "crash", text, [(b"retry-after", b"5")])
    return None


def _key_refusal(check: KeyCheck) -> HttpReply:
    if check is KeyCheck.WRONG:
        return error_reply(403, "key", "unknown API key")
    text = "an API key is needed: send it as Authorization: Bearer … or as X-Api-Key"
    return error_reply(401, "key", text, [(b"www-authenticate", b"Bearer")])


def _is_json(content_type: bytes) -> bool:
    kind = content_type.partition(b";")[0].strip().lower()
    return kind in _JSON_TYPES or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def names_loopback(host: bytes) -> bool:
    """Whether a Host header names this machine by a name that no DNS server can redirect.

    >>> [names_loopback(host) for host in (b"localhost:8000", b"127.0.0.1", b"[::1]:80", b"evil.example:8000")]
    [True, True, True, False]
    """
    name = host if host.endswith(b"]") else host.rpartition(b":")[0] or host
    return is_loopback(name.decode("latin-1").strip("[]"))


def _printable(value: bytes) -> str:
    text = value[:80].decode("latin-1")
    return "".join(c if c.isprintable() else "?" for c in text)

"""Admission: which requests are let in, decided from their headers alone, before the body is read.

The fast protocol, the ASGI application and the WebSockets all ask here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from guerdon.serve.http.api_keys import ApiKeys, KeyCheck
from guerdon.serve.http.endpoints import RewardEndpoint
from guerdon.serve.http.memory_budget import MemoryBudget
from guerdon.serve.http.replies import HeaderPairs, HttpReply, error_reply, stopping_reply
from guerdon.serve.options import host_of, is_loopback

_ONCE = (
    b"host",
    b"origin",
    b"content-type",
    b"content-length",
    b"sec-websocket-key",
    b"sec-websocket-version",
)
_MOST_HOSTS = 64
_JSON_TYPES = (b"application/json", b"text/json")


class AdmissionControl:
    """Refuses requests without a key, from pages of other hosts, over the limits, or while the server stops.

    ``local`` says that the server listens on a loopback address, and ``hosts`` by which names it may be called.
    """

    def __init__(
        self,
        keys: ApiKeys,
        *,
        max_body: int,
        max_buffered: int = 1 << 30,
        local: bool = False,
        hosts: Collection[str] = (),
    ) -> None:
        self.keys = keys
        self.max_body = max_body
        self.buffered = MemoryBudget(max(max_body, max_buffered))
        """Bytes of bodies, of half messages and of unread responses, over all connections."""
        self.draining = False
        """Whether new requests are refused because the server stops."""
        self._local = local
        self._hosts = frozenset(hosts)
        self._known_hosts: set[bytes] = set()
        self._needs_key = len(keys) > 0
        """A file of keys always has one, so this does not change."""
        self._checks_hosts = bool(self._hosts) or self.is_open_on_loopback

    @property
    def is_open_on_loopback(self) -> bool:
        """Whether every program of this machine may call, and no other machine can."""
        return self._local and not self._needs_key

    def refusal(
        self,
        headers: HeaderPairs,
        endpoint: RewardEndpoint | None,
        by_name: Mapping[bytes, bytes] | None = None,
    ) -> HttpReply | None:
        """The reply to a request that is refused; None where it is let in.

        ``endpoint`` is None for paths that score nothing, where only the origin and the key are checked;
        ``by_name`` has the headers by name, where the caller has them so already.
        """
        by_name = dict(headers) if by_name is None else by_name
        if (
            len(by_name) != len(headers)
            or b"origin" in by_name
            or (self._checks_hosts and by_name.get(b"host", b"") not in self._known_hosts)
        ) and (reply := self.page_refusal(headers, by_name)) is not None:
            return reply
        if self._needs_key and (check := self.keys.check(headers)) is not KeyCheck.OK:
            return _key_refusal(check)
        if endpoint is None:
            return None
        if self.draining:
            return stopping_reply()
        content_type = by_name.get(b"content-type")
        if content_type is not None and content_type not in _JSON_TYPES and not _is_json(content_type):
            return error_reply(
                415, "input", f"the body must be application/json, not {_printable(content_type)}"
            )
        length = by_name.get(b"content-length")
        if length is not None and (not length.isdigit() or int(length) > self.max_body):
            return self.too_large()
        return None if endpoint.dispatcher.takes_requests else _load_refusal(endpoint)

    def page_refusal(self, headers: HeaderPairs, by_name: Mapping[bytes, bytes]) -> HttpReply | None:
        """The reply to a page of another host in a browser; None for a page of this server's own, or a program.

        A browser sends the requests of any page that its user opens, to any address, and names the page's host as
        the Origin, or, where the page's own name leads here (DNS rebinding), as the Host.
        """
        if len(by_name) != len(headers) and (twice := _repeated(headers)):
            return error_reply(400, "input", f"the request has more than one {twice.decode()} header")
        host = by_name.get(b"host", b"")
        if host not in self._known_hosts and (reply := self._host_refusal(host)) is not None:
            return reply
        origin = by_name.get(b"origin")
        if origin is None or origin.lower().partition(b"//")[2] == host.lower():
            return None
        return error_reply(403, "origin", f"a page of {_printable(origin)} may not use this server")

    def _host_refusal(self, host: bytes) -> HttpReply | None:
        """The reply to who calls the server by a name that is not its own.

        Only a browser can be made to do so, which sends a Host always: who sends none is let in.
        """
        if not host or not self._checks_hosts:
            return None
        name = host_of(host.decode("latin-1"))
        if not (is_loopback(name) or name in self._hosts):
            return error_reply(
                403,
                "host",
                f"this server is not called {_printable(host)}; if it is, start it with --allowed-host NAME",
            )
        if len(self._known_hosts) < _MOST_HOSTS:
            self._known_hosts.add(host)
        return None

    def no_memory(self) -> HttpReply:
        """The reply to a body for which there is no room beside those that are being answered."""
        text = (
            f"the server holds {self.buffered.limit:,} bytes of requests, which is all that it takes; retry"
        )
        return error_reply(503, "busy", text, [(b"retry-after", b"1")])

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


def _repeated(headers: HeaderPairs) -> bytes | None:
    """A header that may be there once only, and is there more often: which of them counts, nobody could say."""
    names = [name for name, _ in headers]
    return next((name for name in _ONCE if names.count(name) > 1), None)


def _printable(value: bytes) -> str:
    text = value[:80].decode("latin-1")
    return "".join(c if c.isprintable() else "?" for c in text)

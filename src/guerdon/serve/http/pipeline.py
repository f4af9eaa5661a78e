"""Gate: who may ask what, how much at once, and what is taken down of it.

Both ways in, the fast one for scoring (``lane.py``) and the ASGI application (``app.py``), ask here, and so do the
sockets.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from guerdon.serve.dispatch.dispatcher import Dispatcher
from guerdon.serve.dispatch.jobs import PendingRequest
from guerdon.serve.formats import FORMATS
from guerdon.serve.formats.base import json_bytes
from guerdon.serve.http.access_log import RequestIds, ServerLog, sane_request_id
from guerdon.serve.http.api_keys import ApiKeys, KeyCheck
from guerdon.serve.http.idempotency import CachedReply, CacheStatus, HttpReply, IdempotencyCache
from guerdon.serve.http.metrics import Metrics
from guerdon.serve.http.tracing import Tracing
from guerdon.serve.journal.store import Journal, JournalEntry
from guerdon.serve.messages import WorkerReply
from guerdon.serve.options import is_loopback
from guerdon.serve.worker.tasks import scores_and_failures

JSON = (b"content-type", b"application/json")
_JSON = (JSON,)
_JSON_AGAIN = (JSON, (b"retry-after", b"1"))
Headers = Sequence[tuple[bytes, bytes]]
STOPPING = "the server is stopping; ask again"
_LINES = (b"application/jsonl", b"application/x-ndjson")
_JSON_TYPES = (b"application/json", b"text/json")


@dataclass(frozen=True, slots=True, eq=False)
class RewardEndpoint:
    """A path at which a reward is asked."""

    path: str
    reward: str
    dispatcher: Dispatcher
    choices: tuple[tuple[int, str], ...]
    """The formats spoken there and what each is asked."""

    @property
    def streams(self) -> bool:
        """Whether results can be had line by line as they come."""
        return any(FORMATS[index].name == "v1" and op == "batch_score" for index, op in self.choices)


class InboundRequest(PendingRequest):
    """One request on its way through the gate."""

    key: Any = None
    """Under which the answer is kept, where the caller gave one."""
    strict = False
    """Whether a batch is to be answered whole or not at all."""

    def __init__(
        self,
        pipeline: RequestPipeline,
        endpoint: RewardEndpoint,
        method: str,
        headers: Headers,
        request_id: str,
        client: str,
        body: bytes,
    ) -> None:
        self._pipeline, self.endpoint, self.method, self.headers = pipeline, endpoint, method, headers
        self.request_id, self.client, self.body = request_id, client, body
        self.choices = endpoint.choices
        self.started = time.perf_counter()

    @abstractmethod
    def reply(self, reply: HttpReply) -> None:
        """Send the reply to whoever asked; called once."""

    def done(self, answer: WorkerReply) -> None:
        self._pipeline.answered(self, answer)


class RequestPipeline:
    """Lets requests in, has them answered, and takes down what came of them."""

    def __init__(
        self,
        dispatchers: Mapping[str, Dispatcher],
        *,
        keys: ApiKeys,
        metrics: Metrics,
        log: ServerLog,
        max_body: int,
        journal: Journal | None = None,
        tracing: Tracing | None = None,
        local: bool = False,
    ) -> None:
        self.dispatchers = dispatchers
        self.keys, self.metrics, self.log, self.journal = keys, metrics, log, journal
        self.tracing = tracing
        self.max_body = max_body
        self.local = local
        """Whether it is for this machine alone."""
        self.idempotency_cache = IdempotencyCache()
        self.draining = False
        """Whether what comes now is refused."""
        self.leaving = False
        """Whether each connection ends with its next response."""
        self.sockets: set[Any] = set()
        self._ids = RequestIds()
        self.endpoints = _endpoints(dispatchers, _posted())
        self.socket_endpoints = _endpoints(dispatchers, _framed())

    # Letting in.

    def new_id(self) -> str:
        """An id for what came without one."""
        return self._ids()

    def request_id(self, headers: Headers) -> str:
        """The caller's own id for a request where it gave a sane one, else a new one."""
        for name, value in headers:
            if name == b"x-request-id" and (given := sane_request_id(value)) is not None:
                return given
        return self._ids()

    def refuse(self, headers: Headers, endpoint: RewardEndpoint | None) -> HttpReply | None:
        """Why a request is not let in, told before its body is read; None where it is."""
        known = dict(headers)
        if b"origin" in known and (reply := self.refuse_origin(known)) is not None:
            return reply
        if len(self.keys) and (verdict := self.keys.check(headers)) is not KeyCheck.OK:
            return _unknown_caller(verdict)
        if endpoint is None:
            return None
        if self.draining:
            return self.stopping()
        content_type = known.get(b"content-type")
        if content_type is not None and not _is_json(content_type):
            return error_reply(415, "input", f"the body must be application/json, not {_shown(content_type)}")
        length = known.get(b"content-length")
        if length is not None and (not length.isdigit() or int(length) > self.max_body):
            return self.too_large()
        dispatcher = endpoint.dispatcher
        if dispatcher.is_full:
            seconds = b"%d" % (dispatcher.retry_after() + 0.5)
            text = f"{endpoint.reward} has {dispatcher.in_flight:,} requests waiting; ask again in {seconds.decode()} s"
            return error_reply(429, "busy", text, [(b"retry-after", seconds)])
        if dispatcher.load_error is not None and not dispatcher.workers:
            text = f"{endpoint.reward} cannot be served: {dispatcher.load_error}"
            return error_reply(503, "crash", text, [(b"retry-after", b"5")])
        return None

    def refuse_origin(self, headers: Mapping[bytes, bytes]) -> HttpReply | None:
        """Why a page in a browser is not let in; None where it is a page of this server's own.

        A browser sends whatever page its user opens to any address, those of this machine included, and names the
        page's host as the Origin. Where the server is for this machine alone and wants no key, a name that merely
        leads here is not enough: its owner says where it leads.
        """
        origin, host = headers.get(b"origin", b"").lower(), headers.get(b"host", b"").lower()
        if origin.partition(b"//")[2] == host and (len(self.keys) or not self.local or names_loopback(host)):
            return None
        text = f"a page of {_shown(origin)} may not use this server"
        return error_reply(403, "origin", text)

    @staticmethod
    def stopping() -> HttpReply:
        """The reply to what comes too late."""
        return error_reply(503, "draining", STOPPING, [(b"retry-after", b"1")])

    def too_large(self) -> HttpReply:
        """The reply to a body that is over the limit."""
        return error_reply(
            413, "input", f"the body is larger than {self.max_body:,} bytes; send fewer at once"
        )

    def begin(self, inbound: InboundRequest) -> None:
        """Have a request answered that was let in; its ``reply`` is called once, now or later."""
        key = None
        for name, value in inbound.headers:
            if name == b"idempotency-key":
                key = value
            elif name == b"x-batch-errors":
                inbound.strict = value.lower() == b"fail"
        if key is not None:
            self._from_memory(inbound, (inbound.endpoint.path, key))
        else:
            inbound.endpoint.dispatcher.submit(inbound)

    def begin_known(self, inbound: InboundRequest, key: Any) -> None:
        """As ``begin`` with a key that does not stand in the headers: a socket's session and number."""
        if key is None:
            inbound.endpoint.dispatcher.submit(inbound)
        else:
            self._from_memory(inbound, key)

    def drop(self, inbound: InboundRequest) -> None:
        """The caller is gone; where it may ask again by the same key, the answer is kept for it."""
        if inbound.key is None:
            inbound.endpoint.dispatcher.cancel(inbound)

    def _from_memory(self, inbound: InboundRequest, key: Any) -> None:
        found = self.idempotency_cache.begin(key, inbound.body)
        if found is CacheStatus.FRESH:
            inbound.key = key
            inbound.endpoint.dispatcher.submit(inbound)
        elif found is CacheStatus.CONFLICT:
            text = "this Idempotency-Key came before with another body; use a key once"
            self._reply(inbound, error_reply(422, "input", text), "memory")
        elif isinstance(found, CachedReply):
            self._replay(inbound, found.reply)
        else:
            found.when_done(lambda reply: self._again(inbound, key, reply))

    def _again(self, inbound: InboundRequest, key: Any, reply: HttpReply | None) -> None:
        """The same request that was in flight has come back; without an answer, this one is tried."""
        if inbound.settled:  # its caller is gone
            return
        if reply is None:
            self._from_memory(inbound, key)
        else:
            self._replay(inbound, reply)

    def _replay(self, inbound: InboundRequest, reply: HttpReply) -> None:
        headers = [*reply.headers, (b"idempotency-replayed", b"true")]
        self._reply(inbound, reply._replace(headers=headers), "memory")

    # Answering.

    def answered(self, inbound: InboundRequest, answer: WorkerReply) -> None:
        """Hand an answer to whoever asked, once it is taken down and kept."""
        status, body = answer.status, answer.body
        if inbound.strict and answer.failures and status == 200:
            status, body = _as_a_whole(answer)
        elif not answer.id:
            body = _named(inbound, status, body)
        reply = HttpReply(status, body, _JSON_AGAIN if status == 503 else _JSON)
        endpoint = inbound.endpoint
        if answer.scores or answer.failures:
            self.metrics.scores(endpoint.reward, answer.scores, answer.failures)
        if inbound.key is not None:
            if status in (429, 503):
                self.idempotency_cache.forget(inbound.key)
            else:
                self.idempotency_cache.finish(inbound.key, reply)
        index, op = answer.choice if answer.id else endpoint.choices[0]
        self._reply(inbound, reply, FORMATS[index].name, op, answer)

    def _reply(
        self,
        inbound: InboundRequest,
        reply: HttpReply,
        format: str,
        op: str = "",
        answer: WorkerReply | None = None,
    ) -> None:
        seconds = time.perf_counter() - inbound.started
        self.record_request(inbound, reply, seconds, format, op, answer)
        inbound.reply(reply)

    def record_request(
        self,
        inbound: InboundRequest,
        reply: HttpReply,
        seconds: float,
        format: str,
        op: str,
        answer: WorkerReply | None = None,
    ) -> None:
        """Count, log and keep what came of a request."""
        endpoint, status = inbound.endpoint, reply.status
        self.metrics.request(endpoint.reward, format, op, status, seconds)
        failures = 0 if answer is None or not answer.failures else sum(answer.failures.values())
        if self.log.wants(status, seconds, failures):
            self.log.request(
                inbound.request_id,
                inbound.method,
                endpoint.path,
                status=status,
                seconds=seconds,
                reward=endpoint.reward,
                samples=len(answer.scores) if answer is not None else 0,
                failures=failures,
                client=inbound.client,
            )
        if self.tracing is not None:
            self.tracing.request(
                inbound.headers,
                inbound.method,
                endpoint.path,
                status=status,
                seconds=seconds,
                request_id=inbound.request_id,
                reward=endpoint.reward,
                format=format,
                op=op,
                samples=len(answer.scores) if answer is not None else 0,
                failures=failures,
                client=inbound.client,
            )
        if self.journal is not None and answer is not None:
            self._journal(inbound, reply, seconds, format, op, answer)

    def _journal(
        self,
        inbound: InboundRequest,
        reply: HttpReply,
        seconds: float,
        format: str,
        op: str,
        answer: WorkerReply,
    ) -> None:
        assert self.journal is not None
        description = inbound.endpoint.dispatcher.description
        entry = JournalEntry(
            request_id=inbound.request_id,
            time=time.time() - seconds,
            method=inbound.method,
            path=inbound.endpoint.path,
            status=reply.status,
            ms=seconds * 1000,
            headers=inbound.headers,
            reward=inbound.endpoint.reward,
            version="" if description is None else description.version,
            format=format,
            op=op,
            scores=answer.scores,
            failures=answer.failures or {},
            request=inbound.body,
            response=reply.body,
        )
        self.journal.record(entry)

    def streamed(self, inbound: InboundRequest, answer: WorkerReply) -> None:
        """Take down a request whose results went out one by one."""
        scores, failures = scores_and_failures(answer.outcomes)
        whole = answer._replace(scores=scores, failures=failures)
        self.metrics.scores(inbound.endpoint.reward, scores, failures)
        seconds = time.perf_counter() - inbound.started
        index, op = answer.choice
        self.record_request(inbound, HttpReply(200, b"", [JSON]), seconds, FORMATS[index].name, op, whole)

    def refused(self, method: str, path: str, reply: HttpReply, request_id: str, client: str) -> None:
        """Take down a request that was not let in."""
        endpoint = self.endpoints.get(path)
        reward = "" if endpoint is None else endpoint.reward
        self.metrics.request(reward, "", "", reply.status, 0.0)
        if self.log.wants(reply.status, 0.0):
            self.log.request(
                request_id, method, path, status=reply.status, seconds=0.0, reward=reward, client=client
            )


Choices = Mapping[str, Sequence[tuple[int, str]]]
"""By path, the formats spoken there and what each is asked."""


def _posted() -> Choices:
    return _by_path((index, route.path, route.op) for index, f in enumerate(FORMATS) for route in f.routes)


def _framed() -> Choices:
    return _by_path((index, path, op) for index, f in enumerate(FORMATS) for path, op in f.sockets.items())


def _by_path(entries: Iterable[tuple[int, str, str]]) -> Choices:
    found: dict[str, list[tuple[int, str]]] = {}
    for index, path, op in entries:
        found.setdefault(path, []).append((index, op))
    return found


def _endpoints(dispatchers: Mapping[str, Dispatcher], routes: Choices) -> dict[str, RewardEndpoint]:
    """Every path at which a reward is asked; those of the first reward stand at the root too."""
    found: dict[str, RewardEndpoint] = {}
    for number, (name, dispatcher) in enumerate(dispatchers.items()):
        for root in ("", f"/rewards/{name}") if number == 0 else (f"/rewards/{name}",):
            for path, choices in routes.items():
                full = (root + path).rstrip("/") or "/"
                found[full] = RewardEndpoint(full, name, dispatcher, tuple(choices))
    return found


def error_reply(status: int, kind: str, message: str, headers: Headers = ()) -> HttpReply:
    """A reply of the server's own: ``detail`` and ``error`` say the same."""
    body = json_bytes({"detail": message, "error": {"kind": kind, "message": message}})
    return HttpReply(status, body, [JSON, *headers])


def _unknown_caller(verdict: KeyCheck) -> HttpReply:
    if verdict is KeyCheck.WRONG:
        return error_reply(403, "key", "the API key is not known here")
    text = "an API key is needed: send it as Authorization: Bearer … or as X-Api-Key"
    return error_reply(401, "key", text, [(b"www-authenticate", b"Bearer")])


def _is_json(content_type: bytes) -> bool:
    kind = content_type.partition(b";")[0].strip().lower()
    return kind in _JSON_TYPES or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def names_loopback(host: bytes) -> bool:
    """Whether a Host header names this machine by what nobody else can make it mean.

    >>> [names_loopback(host) for host in (b"localhost:8000", b"127.0.0.1", b"[::1]:80", b"evil.example:8000")]
    [True, True, True, False]
    """
    name = host if host.endswith(b"]") else host.rpartition(b":")[0] or host
    return is_loopback(name.decode("latin-1").strip("[]"))


def wants_lines(headers: Headers) -> bool:
    """Whether a caller asks for results line by line."""
    return any(name == b"accept" and any(kind in value for kind in _LINES) for name, value in headers)


def _shown(value: bytes) -> str:
    text = value[:80].decode("latin-1")
    return "".join(c if c.isprintable() else "?" for c in text)


def _as_a_whole(answer: WorkerReply) -> tuple[int, bytes]:
    """The answer to a batch that its caller wants whole or not at all."""
    failures = answer.failures or {}
    counts = ", ".join(f"{count} {kind}" for kind, count in failures.items())
    text = f"{sum(failures.values())} of {len(answer.scores)} samples failed: {counts}"
    items: dict[str, Any] = from_json(answer.body)
    status = 504 if set(failures) == {"timeout"} else 500
    body = {"detail": text, "error": {"kind": next(iter(failures)), "message": text}, **items}
    return status, json_bytes(body)


def _named(inbound: InboundRequest, status: int, body: bytes) -> bytes:
    """The server's own answer to a request, with the id of its sample; on a socket it is known by that alone."""
    said = from_json(body)
    index, op = inbound.choices[0]
    if op == "frame":
        identity = FORMATS[index].identity_of(inbound.body)
        return FORMATS[index].refused_frame(identity, said["error"]["kind"], said["detail"])
    if status != 504:
        return body
    try:
        asked = from_json(inbound.body)
    except ValueError:
        return body
    identity = asked.get("id") if isinstance(asked, dict) else None
    if not isinstance(identity, str | int):
        return body
    text = f"sample {identity!r}: {said['detail']}"
    return json_bytes({"detail": text, "error": {**said["error"], "message": text}, "id": identity})

"""The request pipeline: admission, idempotency, dispatch to workers, and the record of each reply.

Requests reach it from the fast protocol, the ASGI application and the WebSockets.
"""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from guerdon.serve.dispatch.dispatcher import Dispatcher
from guerdon.serve.dispatch.jobs import PendingRequest
from guerdon.serve.formats import FORMATS
from guerdon.serve.formats.base import json_bytes
from guerdon.serve.http.access_log import RequestIds, ServerLog, sane_request_id
from guerdon.serve.http.admission import AdmissionControl
from guerdon.serve.http.api_keys import caller_of
from guerdon.serve.http.endpoints import RewardEndpoint, http_endpoints, socket_endpoints
from guerdon.serve.http.idempotency import CachedReply, CacheStatus, IdempotencyCache
from guerdon.serve.http.metrics import Metrics
from guerdon.serve.http.recorders import JournalRecorder, Recorder, RefusedRequest, RequestEvent
from guerdon.serve.http.replies import JSON, JSON_ALONE, HeaderPairs, HttpReply, error_reply
from guerdon.serve.http.tracing import Tracing
from guerdon.serve.journal.store import Journal
from guerdon.serve.json_reading import MAX_ANSWER_VALUES, has_more_values, read_bounded_json
from guerdon.serve.messages import WorkerReply
from guerdon.serve.worker.tasks import scores_and_failures

log = logging.getLogger("guerdon.serve")

_JSON_RETRY = (JSON, (b"retry-after", b"1"))
_NAMES = tuple(format.name for format in FORMATS)
_FROM_CACHE = "cache"
"""What the metrics have as the format of a reply from the cache."""
_FAILED_FORMAT = "none"
FAILED = "the server failed on this request; see its log"


class InboundRequest(PendingRequest):
    """A request that was let in, until it is answered."""

    key: Any = None
    """The idempotency key under which the reply is kept, where the caller gave one."""
    all_or_nothing = False
    """Whether one failed sample fails the whole batch."""

    def __init__(
        self,
        pipeline: RequestPipeline,
        endpoint: RewardEndpoint,
        method: str,
        headers: HeaderPairs,
        request_id: str,
        client: str,
        body: bytes,
    ) -> None:
        self._pipeline, self.endpoint, self.method, self.headers = pipeline, endpoint, method, headers
        self.request_id, self.client, self.body = request_id, client, body
        self.choices = endpoint.choices
        self.started = time.perf_counter()

    @abstractmethod
    def send(self, reply: HttpReply) -> None:
        """Send the reply to the caller; called once."""

    def done(self, reply: WorkerReply) -> None:
        self._pipeline.respond(self, reply)


class RequestPipeline:
    """Takes requests from admission to a recorded reply."""

    def __init__(
        self,
        dispatchers: Mapping[str, Dispatcher],
        admission: AdmissionControl,
        *,
        metrics: Metrics,
        log: ServerLog,
        tracing: Tracing | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.dispatchers, self.admission = dispatchers, admission
        self.metrics, self.journal = metrics, journal
        self.closes_connections = False
        """Whether each connection ends with its next response."""
        self.sockets: set[Any] = set()
        """The open WebSockets."""
        self.endpoints = http_endpoints(dispatchers)
        self.targets = {path.encode(): found for path, found in self.endpoints.items() if path.isascii()}
        """The same by what most callers write in the request line."""
        self.socket_endpoints = socket_endpoints(dispatchers)
        self._cache = IdempotencyCache()
        self._ids = RequestIds()
        self._refusal_recorders: tuple[Recorder, ...] = (metrics,) if log.quiet else (metrics, log)
        more: list[Recorder] = [] if tracing is None else [tracing]
        if journal is not None:
            more.append(JournalRecorder(journal, self._version_of))
        self._recorders = (*self._refusal_recorders, *more)

    def _version_of(self, reward: str) -> str:
        description = self.dispatchers[reward].description
        return "" if description is None else description.version

    def new_id(self) -> str:
        """An id for a request that came without one."""
        return self._ids()

    def request_id(self, given: bytes | None) -> str:
        """The caller's own id for a request where it may be repeated and logged, else a new one."""
        if given is not None and (sane := sane_request_id(given)) is not None:
            return sane
        return self._ids()

    # From the caller to the workers.

    def begin(self, inbound: InboundRequest, by_name: Mapping[bytes, bytes]) -> None:
        """Start a request that was let in; its ``send`` is called once, now or later.

        ``by_name`` has its headers by name.
        """
        if b"x-batch-errors" in by_name:
            inbound.all_or_nothing = by_name[b"x-batch-errors"].lower() == b"fail"
        key = by_name.get(b"idempotency-key")
        if key is not None:
            caller = caller_of(inbound.headers) if len(self.admission.keys) else ()
            self._look_up(inbound, (caller, inbound.endpoint.path, key))
        else:
            inbound.endpoint.dispatcher.submit(inbound)

    def begin_with_key(self, inbound: InboundRequest, key: Any) -> None:
        """As ``begin``, with an idempotency key that is not in the headers: a WebSocket's session and message."""
        if key is None:
            inbound.endpoint.dispatcher.submit(inbound)
        else:
            self._look_up(inbound, key)

    def abandon(self, inbound: InboundRequest) -> None:
        """The caller is gone. A request with an idempotency key goes on: its reply is kept for a retry."""
        if inbound.key is None:
            inbound.endpoint.dispatcher.cancel(inbound)

    def _look_up(self, inbound: InboundRequest, key: Any) -> None:
        found = self._cache.begin(key, inbound.body)
        if found is CacheStatus.FRESH:
            inbound.key = key
            inbound.endpoint.dispatcher.submit(inbound)
        elif found is CacheStatus.CONFLICT:
            text = "this Idempotency-Key came before with another body; use a key once"
            self._send(inbound, error_reply(422, "input", text), _FROM_CACHE)
        elif isinstance(found, CachedReply):
            self._replay(inbound, found.reply)
        else:
            found.when_done(lambda reply: self._on_same_request_done(inbound, key, reply))

    def _on_same_request_done(self, inbound: InboundRequest, key: Any, reply: HttpReply | None) -> None:
        """The same request, which was in flight, has ended; without a reply, this one is tried."""
        if inbound.settled:  # its caller is gone
            return
        try:
            if reply is None:
                self._look_up(inbound, key)
            else:
                self._replay(inbound, reply)
        except Exception:  # the edge to one caller's connection
            log.exception("the reply to request %s could not be sent", inbound.request_id)

    def _replay(self, inbound: InboundRequest, reply: HttpReply) -> None:
        headers = [*reply.headers, (b"idempotency-replayed", b"true")]
        self._send(inbound, reply._replace(headers=headers), _FROM_CACHE)

    # From the workers to the caller.

    def respond(self, inbound: InboundRequest, reply: WorkerReply) -> None:
        """Keep, record and send what the workers gave."""
        try:
            status, body, (index, op) = reply.status, reply.body, reply.choice
            if not reply.id or inbound.all_or_nothing:
                status, body, (index, op) = _adapted(inbound, reply)
            response, format = (
                HttpReply(status, body, _JSON_RETRY if status == 503 else JSON_ALONE),
                _NAMES[index],
            )
        except Exception:  # the edge to one request: it is answered all the same, and so are those behind it
            log.exception("the reply to request %s could not be written", inbound.request_id)
            response, format, op = error_reply(500, "error", FAILED), _FAILED_FORMAT, ""
        if inbound.key is not None:
            if response.status in (429, 503):
                self._cache.forget(inbound.key)
            else:
                self._cache.finish(inbound.key, response)
        self.record_request(inbound, response, format, op, reply)
        inbound.send(response)

    def _send(
        self,
        inbound: InboundRequest,
        response: HttpReply,
        format: str,
        op: str = "",
        reply: WorkerReply | None = None,
    ) -> None:
        self.record_request(inbound, response, format, op, reply)
        inbound.send(response)

    def record_request(
        self, inbound: InboundRequest, response: HttpReply, format: str, op: str, reply: WorkerReply | None
    ) -> None:
        """Have every recorder take an answered request."""
        endpoint = inbound.endpoint
        seconds = time.perf_counter() - inbound.started
        event = RequestEvent(
            inbound, endpoint.path, endpoint.reward, response[0], seconds, format, op, response[1], reply
        )
        _record(self._recorders, event)

    def record_streamed(self, inbound: InboundRequest, reply: WorkerReply) -> None:
        """Have every recorder take a request whose results went out one by one."""
        scores, failures = scores_and_failures(reply.outcomes)
        index, op = reply.choice
        whole = reply._replace(scores=scores, failures=failures)
        self.record_request(inbound, HttpReply(200, b""), FORMATS[index].name, op, whole)

    def record_refusal(self, method: str, path: str, reply: HttpReply, request_id: str, client: str) -> None:
        """Count and log a request that was not let in."""
        endpoint = self.endpoints.get(path)
        reward = "" if endpoint is None else endpoint.reward
        request = RefusedRequest(method, request_id, client)
        event = RequestEvent(request, path, reward, reply.status, 0.0)
        _record(self._refusal_recorders, event)


def _record(recorders: Sequence[Recorder], event: RequestEvent) -> None:
    """Have recorders take an event; one that cannot neither keeps the others from it nor the reply."""
    for recorder in recorders:
        try:
            recorder.record(event)
        except Exception:  # the edge to the disk, to OpenTelemetry and to what a caller can write into a name
            log.exception("request %s could not be recorded", event.request.request_id)


def _adapted(inbound: InboundRequest, reply: WorkerReply) -> tuple[int, bytes, tuple[int, str]]:
    """Status, body and choice of what is not a worker's own reply, or is of an all-or-nothing batch."""
    status, body = reply.status, reply.body
    if inbound.all_or_nothing and reply.failures and status == 200:
        status, body = _batch_failure(reply)
    elif not reply.id:
        body = _with_sample_id(inbound, status, body)
    return status, body, reply.choice if reply.id else inbound.endpoint.choices[0]


def _batch_failure(reply: WorkerReply) -> tuple[int, bytes]:
    """The answer to an all-or-nothing batch of which some samples failed."""
    failures = reply.failures or {}
    counts = ", ".join(f"{count} {kind}" for kind, count in failures.items())
    text = f"{sum(failures.values())} of {len(reply.scores)} samples failed: {counts}"
    status = 504 if set(failures) == {"timeout"} else 500
    body = json_bytes({"detail": text, "error": {"kind": next(iter(failures)), "message": text}})
    if not reply.body.startswith(b'{"'):
        return status, body
    return status, body[:-1] + b"," + reply.body[1:]  # too large perhaps to be read here


def _with_sample_id(inbound: InboundRequest, status: int, body: bytes) -> bytes:
    """The server's own answer with the id of the request's sample; on a WebSocket nothing else identifies it."""
    answer = from_json(body)
    index, op = inbound.choices[0]
    if op == "frame":
        large = has_more_values(inbound.body, MAX_ANSWER_VALUES)
        identity = None if large else FORMATS[index].identity_of(inbound.body)
        return FORMATS[index].refused_frame(identity, answer["error"]["kind"], answer["detail"])
    if status != 504:
        return body
    try:
        request = read_bounded_json(inbound.body)
    except ValueError:
        return body
    identity = request.get("id") if isinstance(request, dict) else None
    if not isinstance(identity, str | int):
        return body
    text = f"sample {identity!r}: {answer['detail']}"
    return json_bytes({"detail": text, "error": {**answer["error"], "message": text}, "id": identity})

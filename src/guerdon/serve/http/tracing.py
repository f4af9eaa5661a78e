"""Tracing: an OpenTelemetry span for each request, where OpenTelemetry is installed and configured.

It is where the program has set a tracer provider, or where ``OTEL_EXPORTER_OTLP_ENDPOINT`` names a collector. A
caller's ``traceparent`` header (W3C Trace Context) makes the span a part of the caller's trace.
"""

from __future__ import annotations

import importlib
import logging
import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from guerdon._version import __version__
from guerdon.errors import MissingExtraError
from guerdon.serve.http.recorders import RequestEvent
from guerdon.serve.redaction import redacted_text

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import TracerProvider

logger = logging.getLogger(__name__)

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_EXPORTER = "opentelemetry.exporter.otlp.proto.{}.trace_exporter"


def configured_tracing() -> Tracing | None:
    """Tracing as the environment and the program configure it; None, at no cost, where they do not.

    Where the environment names a collector and what sends to it is not installed, a warning is logged that says
    what to install.
    """
    environment = os.environ
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    wanted = environment.get("OTEL_TRACES_EXPORTER", "otlp") != "none" and any(
        map(environment.get, _ENDPOINTS)
    )
    try:
        from opentelemetry import trace
    except ImportError:
        if wanted:
            _warn()
        return None
    provider = trace.get_tracer_provider()
    if not isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return Tracing(provider)
    if not wanted:
        return None
    try:
        return Tracing(_otlp_provider(), own=True)
    except ImportError:
        _warn()
        return None


def _warn() -> None:
    logger.warning("no spans are sent: %s", MissingExtraError.of("otel", "OTEL_EXPORTER_OTLP_ENDPOINT"))


def _otlp_provider() -> Any:
    """A provider that sends to the collector which OpenTelemetry's own variables name, from a thread."""
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    protocol = (
        os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/protobuf"
    )
    exporters = importlib.import_module(_EXPORTER.format("grpc" if protocol == "grpc" else "http"))
    named = Resource.create({SERVICE_NAME: "guerdon"}).merge(OTELResourceDetector().detect())
    provider: Any = TracerProvider(resource=named)
    provider.add_span_processor(BatchSpanProcessor(exporters.OTLPSpanExporter()))
    return provider


class Tracing:
    """Makes a span for each request, with a provider of OpenTelemetry; the span is made when the request is answered.

    A span has the name ``POST /score`` and the attributes of OpenTelemetry's HTTP conventions; what is guerdon's
    own is under ``guerdon.``. With ``own`` the provider ends with this.
    """

    def __init__(self, provider: TracerProvider, *, own: bool = False) -> None:
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider, self._own = provider, own
        self._tracer = provider.get_tracer("guerdon.serve", __version__)
        self._propagator = TraceContextTextMapPropagator()
        self._nothing = Context()
        self._kind = SpanKind.SERVER
        self._error = Status(StatusCode.ERROR)

    def record(self, event: RequestEvent) -> None:
        """Make the span of a request that was answered just now."""
        end = time.time_ns()
        request = event.request
        span = self._tracer.start_span(
            f"{request.method} {event.path}",
            context=self._context(request.headers),
            kind=self._kind,
            start_time=end - int(event.seconds * 1e9),
        )
        if span.is_recording():
            span.set_attributes(_attributes(event))
            if event.status >= 500:
                span.set_status(self._error)
        span.end(end)

    def _context(self, headers: Iterable[tuple[bytes, bytes]]) -> Context:
        carrier: dict[str, str] = {}
        for name, value in headers:
            if name == b"traceparent" or name == b"tracestate":
                carrier[name.decode()] = value.decode("latin-1")
        # Not the current one: what runs in the server's own context belongs to no request.
        return self._propagator.extract(carrier, self._nothing) if carrier else self._nothing

    def close(self) -> None:
        """Send what has not been sent yet."""
        name, *within = ("shutdown",) if self._own else ("force_flush", 5_000)
        if (end := getattr(self._provider, name, None)) is not None:  # what the API promises has neither
            end(*within)


def _attributes(event: RequestEvent) -> dict[str, Any]:
    request, status = event.request, event.status
    attributes = {
        "http.request.method": request.method,
        "http.route": event.path,
        "http.response.status_code": status,
        "client.address": request.client,
        "error.type": str(status) if status >= 500 else "",
        "guerdon.request_id": redacted_text(request.request_id),
        "guerdon.reward": event.reward,
        "guerdon.format": event.format,
        "guerdon.op": event.op,
    }
    known: dict[str, Any] = {name: value for name, value in attributes.items() if value != ""}
    if event.samples:
        known |= {"guerdon.samples": event.samples, "guerdon.failures": event.failures}
    return known

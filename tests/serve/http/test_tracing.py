"""Spans of requests, with OpenTelemetry's own SDK, and none where it is not configured."""

from __future__ import annotations

import http.server
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk.trace", reason="needs opentelemetry-sdk, of the extra dev")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from guerdon.serve.http.tracing import Tracing, configured_tracing
from support.command_work import Serve, ask, sample
from support.request_events import request_event

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture(autouse=True)
def _unconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


def spans(*requests: dict[str, Any], headers: list[tuple[bytes, bytes]] | None = None) -> list[ReadableSpan]:
    """The spans that these requests make."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider)
    for request in requests:
        tracing.record(request_event(headers=headers or [], **{"seconds": 0.25, **request}))
    tracing.close()
    provider.shutdown()
    return list(exporter.get_finished_spans())


def test_a_span() -> None:
    (span,) = spans(
        {
            "request_id": "r-1",
            "reward": "brevity",
            "format": "adaptive",
            "op": "score",
            "samples": 3,
            "failures": 1,
            "client": "10.0.0.7",
        }
    )
    assert (span.name, span.kind, span.parent) == ("POST /score", SpanKind.SERVER, None)
    assert span.status.status_code is StatusCode.UNSET
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time == 250_000_000
    assert dict(span.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/score",
        "http.response.status_code": 200,
        "client.address": "10.0.0.7",
        "guerdon.request_id": "r-1",
        "guerdon.reward": "brevity",
        "guerdon.format": "adaptive",
        "guerdon.op": "score",
        "guerdon.samples": 3,
        "guerdon.failures": 1,
    }


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(200, "UNSET", None), (422, "UNSET", None), (500, "ERROR", "500"), (504, "ERROR", "504")],
)
def test_an_error_of_the_server_is_one_of_the_span(status: int, code: str, kind: str | None) -> None:
    (span,) = spans({"status": status})
    assert span.status.status_code.name == code
    assert (span.attributes or {}).get("error.type") == kind


@pytest.mark.parametrize(
    ("header", "joins"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f"00-{TRACE}-01", False),
        ("nonsense\xff", False),
        ("", False),
    ],
)
def test_the_trace_of_the_caller(header: str, joins: bool) -> None:
    (span,) = spans({}, headers=[(b"host", b"x"), (b"traceparent", header.encode("latin-1"))])
    assert (f"{span.context.trace_id:032x}" == TRACE) is joins
    assert (span.parent is not None and f"{span.parent.span_id:016x}" == SPAN) is joins


def test_a_caller_that_does_not_sample() -> None:
    assert spans({}, headers=[(b"traceparent", f"00-{TRACE}-{SPAN}-00".encode())]) == []


def test_each_request_has_a_trace_of_its_own() -> None:
    found = spans({}, {}, {})
    assert len({span.context.trace_id for span in found}) == 3


def test_a_provider_that_samples_nothing_is_no_harm() -> None:
    Tracing(TracerProvider(sampler=ALWAYS_OFF)).record(request_event())


# Whether there is tracing at all.


def test_none_where_nothing_is_configured() -> None:
    assert configured_tracing() is None


@pytest.mark.parametrize("variable", ["OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none"])
def test_none_where_it_is_switched_off(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv(*variable.split("="))
    assert configured_tracing() is None


def run(code: str, *flags: str) -> str:
    done = subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_the_provider_of_the_program_is_taken() -> None:
    printed = run(
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
        "exporter = InMemorySpanExporter()\n"
        "provider = TracerProvider()\n"
        "provider.add_span_processor(SimpleSpanProcessor(exporter))\n"
        "trace.set_tracer_provider(provider)\n"
        "from guerdon.serve.http.tracing import configured_tracing\n"
        "from guerdon.serve.http.recorders import RefusedRequest, RequestEvent\n"
        "request = RefusedRequest('POST', 'r-1', '')\n"
        "configured_tracing().record(RequestEvent(request, '/score', '', 200, 0.1))\n"
        "print([span.name for span in exporter.get_finished_spans()])\n"
    )
    assert printed == "['POST /score']"


HIDDEN = """
import importlib.abc, logging, os, sys
class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "{hidden}":
            raise ImportError(name)
sys.meta_path.insert(0, Hide())
os.environ.update({variables})
logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s")
from guerdon.serve.http.tracing import configured_tracing
print(configured_tracing())
"""


@pytest.mark.parametrize(
    "hidden", ["opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"]
)
@pytest.mark.parametrize("wanted", [False, True])
def test_without_the_packages_there_are_no_spans_and_one_warning(hidden: str, wanted: bool) -> None:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"} if wanted else {}
    printed = run(HIDDEN.format(hidden=hidden, variables=variables))
    warning = (
        'WARNING no spans are sent: OTEL_EXPORTER_OTLP_ENDPOINT needs an extra: pip install "guerdon[otel]"\n'
    )
    assert printed == (warning if wanted else "") + "None"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector on loopback: its address, and what it was sent."""
    received: list[tuple[str, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append((self.path, body))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


def test_spans_reach_a_collector(
    collector: tuple[str, list[tuple[str, bytes]]], monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    address, received = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my-server")
    with caplog.at_level(logging.WARNING):
        tracing = configured_tracing()
        assert tracing is not None
        tracing.record(request_event(seconds=0.1, reward="brevity"))
        tracing.close()
    assert caplog.messages == []
    ((path, body),) = received
    assert path == "/v1/traces"
    for words in (b"POST /score", b"guerdon.reward", b"brevity", b"service.name", b"my-server"):
        assert words in body


def test_the_requests_of_a_server_are_spans(
    collector: tuple[str, list[tuple[str, bytes]]], serve: Serve
) -> None:
    address, received = collector
    server = serve(
        "rewards.py::length", OTEL_EXPORTER_OTLP_ENDPOINT=address, OTEL_BSP_SCHEDULE_DELAY="600000"
    )
    headers = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    assert ask(server, "POST", "/v1/score", sample("abc"), **headers)[0] == 200
    assert received == []
    server.signal()
    assert server.ended() == 0
    ((path, body),) = received
    assert path == "/v1/traces"
    assert bytes.fromhex(TRACE) in body
    assert b"POST /v1/score" in body

"""Which lines are logged, and that nothing hostile or secret gets into one."""

from __future__ import annotations

import io
import json
import logging
import os
import threading
import time
from typing import Any

import pytest

from guerdon.serve.http.access_log import MOST_LINES, LogForm, RequestIds, ServerLog, sane_request_id
from support.request_events import request_event


def lines(form: LogForm = "json", every: bool = True, slow: float = 1.0, **request: Any) -> list[str]:
    """What one request leaves in the log."""
    stream = io.StringIO()
    with ServerLog(form=form, every=every, slow=slow, stream=stream) as log:
        log.record(request_event(**request))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("request_", "level"),
    [
        ({"status": 200}, None),
        ({"status": 200, "seconds": 1.0}, "info"),
        ({"status": 200, "failures": 1}, "warning"),
        ({"status": 429}, "warning"),
        ({"status": 401}, "warning"),
        ({"status": 500}, "error"),
        ({"status": 504}, "error"),
    ],
)
def test_errors_and_slow_requests_are_always_logged(request_: dict[str, Any], level: str | None) -> None:
    found = lines(every=False, **request_)
    assert [json.loads(line)["level"] for line in found] == ([level] if level else [])


@pytest.mark.parametrize("status", [200, 429, 500])
def test_a_quiet_server_logs_no_request(status: int) -> None:
    stream = io.StringIO()
    with ServerLog(form="json", every=True, quiet=True, stream=stream) as log:
        log.record(request_event("/score", request_id="r-1", status=status, seconds=5.0, failures=1))
        log.say("warning", "something else")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["something else"]


def test_a_line_as_json() -> None:
    (line,) = lines(
        reward="brevity", status=200, seconds=0.0123456, samples=256, failures=3, client="10.0.0.7"
    )
    record = json.loads(line)
    assert record.pop("time")[-6:] == "+00:00"
    assert record == {
        "level": "warning",
        "request_id": "r-1",
        "method": "POST",
        "path": "/score",
        "reward": "brevity",
        "status": 200,
        "ms": 12.346,
        "samples": 256,
        "failures": 3,
        "client": "10.0.0.7",
    }


def test_a_line_as_text() -> None:
    (line,) = lines("text", reward="my reward", seconds=0.0123, samples=1, client="10.0.0.7")
    assert line[12:] == (
        ' INFO     POST /score 200 12.3 ms request_id=r-1 reward="my reward" samples=1 client=10.0.0.7'
    )


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "hostile", ["a\nERROR all is lost", "a\r\nb", "\x1b[31mred", "a\u2028b", "\u202eabc", '"x"']
)
def test_hostile_values_stay_on_their_line(form: LogForm, hostile: str) -> None:
    (line,) = lines(form, path=f"/{hostile}", reward=hostile, client=hostile, request_id=hostile)
    assert line.isascii()
    assert line.isprintable()
    stream = io.StringIO()
    with ServerLog(form=form, stream=stream) as log:
        log.say("warning", hostile, detail=hostile)
    (line,) = stream.getvalue().splitlines()
    assert line.isprintable()


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_not_logged(form: LogForm) -> None:
    found = lines(form, path="/score?api_key=s3cret-123&x=1", client="Bearer s3cret-123")
    stream = io.StringIO()
    with ServerLog(form=form, stream=stream) as log:
        log.say("error", "peer sent Authorization: Bearer s3cret-123", header="Basic s3cret-123")
    text = "\n".join(found) + stream.getvalue()
    assert "s3cret" not in text
    assert "x=1" in text


def test_long_values_are_cut() -> None:
    (line,) = lines(path="/" + "x" * 100_000)
    assert len(line) < 3_000


def test_a_flood_of_errors_is_counted_not_shown() -> None:
    stream = io.StringIO()
    with ServerLog(form="json", stream=stream) as log:
        for _ in range(3_000):
            log.record(request_event("/score", request_id="r", status=500, seconds=0.1))
        time.sleep(1.05)
        log.record(request_event("/last", request_id="r", status=500, seconds=0.1))
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    shown = sum(record.get("path") == "/score" for record in records)
    assert MOST_LINES <= shown <= 2 * MOST_LINES
    told = sum(int(record["message"].split()[0]) for record in records if "message" in record)
    assert shown + told == 3_000
    assert records[-1]["path"] == "/last"


@pytest.mark.parametrize("form", ["text", "json"])
def test_records_of_the_standard_library(form: LogForm) -> None:
    stream = io.StringIO()
    logger = logging.Logger("uvicorn.error")
    with ServerLog(form=form, stream=stream) as log:
        logger.addHandler(log.handler())
        logger.warning("Invalid %s", "request\nreceived")
        logger.warning("wrong %d", "number")
        try:
            raise KeyError("no way\n")
        except KeyError:
            logger.exception("it broke")
    text = stream.getvalue()
    if form == "text":
        assert "WARNING  Invalid request\\nreceived logger=uvicorn.error\n" in text
        assert "\n    KeyError: 'no way\\n'\n" in text
    else:
        first, second, third = (json.loads(line) for line in text.splitlines())
        assert (first["message"], first["logger"]) == ("Invalid request\nreceived", "uvicorn.error")
        assert second["message"] == "wrong %d"
        assert third["traceback"].startswith("Traceback")


def test_a_reader_that_stalls_stalls_nobody() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader) as left, os.fdopen(writer, "w") as stream:
        log = ServerLog(form="json", every=True, stream=stream)

        def record_all() -> None:
            for i in range(30_000):
                log.record(request_event("/score", request_id=f"r-{i}", status=200, seconds=0.01))

        recording = threading.Thread(target=record_all, daemon=True)
        recording.start()
        recording.join(30)
        stalled = recording.is_alive()
        # Read in any case: the stream cannot be closed while a write to it waits.
        rest = threading.Thread(target=left.read, daemon=True)
        rest.start()
        log.close()
        stream.close()
        rest.join(30)
        assert not stalled
        assert not rest.is_alive()


def test_a_stream_that_is_gone_is_no_harm() -> None:
    stream = io.StringIO()
    with ServerLog(stream=stream) as log:
        stream.close()
        log.say("info", "nobody reads this")
        time.sleep(0.1)
        log.say("info", "nor this")


def test_request_ids_are_unique_and_sane() -> None:
    makers = [RequestIds() for _ in range(10)]
    found = [make() for make in makers for _ in range(1000)]
    assert len(set(found)) == len(found)
    assert all(sane_request_id(each.encode()) == each for each in found)


@pytest.mark.parametrize(
    "value",
    [b"", b"a b", b"a\n", b"\n", b"a\x00", "é".encode(), b"<script>", b'"', b"x" * 129, b"a;b", b"a,b"],
)
def test_request_ids_that_are_not_repeated(value: bytes) -> None:
    assert sane_request_id(value) is None
    assert sane_request_id(b"x" * 128) == "x" * 128

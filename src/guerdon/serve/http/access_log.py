"""The server's log: a line per request, as text or as JSON, and all other messages in the same form.

Lines are written by a thread of their own, so that a terminal that blocks does not block the server.
"""

from __future__ import annotations

import functools
import itertools
import json
import logging
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, TextIO

from guerdon.serve.http.recorders import RequestEvent
from guerdon.serve.redaction import redacted_path, redacted_text

LogForm = Literal["text", "json"]

SLOW = 1.0
"""Seconds from which a request is logged however it ended."""

MOST_LINES = 100
"""Lines about requests in one second, unless every request is logged."""

_WAITING = 10_000
_PAUSE = 0.02
_LONGEST = 2_000
_SANE = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_BARE = re.compile(r"[A-Za-z0-9._:/+@%?&\[\]-]+")


class RequestIds:
    """Makes request ids: unique, cheap, and not to be guessed from one to the next server.

    >>> new_id = RequestIds()
    >>> new_id() != new_id()
    True
    """

    def __init__(self) -> None:
        self._prefix = os.urandom(9).hex()
        self._numbers = itertools.count(1)

    def __call__(self) -> str:
        return f"{self._prefix}-{next(self._numbers):x}"


def sane_request_id(value: bytes) -> str | None:
    """The caller's own request id, from a raw header, if it is one that may be repeated and logged.

    >>> sane_request_id(b"req-7/a"), sane_request_id(b"a b"), sane_request_id(b"x" * 129)
    ('req-7/a', None, None)
    """
    return value.decode("ascii") if _SANE.fullmatch(value) else None


class ServerLog:
    """Where the server's log lines go; use as a context manager, or ``close`` it.

    - ``form``: ``"text"`` or ``"json"``, an object a line.
    - ``every``: whether each request is logged. Otherwise only those that were refused, failed or took
      ``slow`` seconds are, and at most ``MOST_LINES`` of them a second; what is left out is counted.
    - ``quiet``: that no request is logged, whatever became of it.
    - ``stream``: standard error by default.

    >>> import io
    >>> with ServerLog(form="json", stream=io.StringIO()) as log:
    ...     log.say("info", "listening", port=8000)
    """

    def __init__(
        self,
        *,
        form: LogForm = "text",
        every: bool = False,
        quiet: bool = False,
        slow: float = SLOW,
        stream: TextIO | None = None,
    ) -> None:
        self.form, self.every, self.quiet, self.slow = form, every, quiet, slow
        self._stream = sys.stderr if stream is None else stream
        self._lines: deque[tuple[float, str, Mapping[str, Any]]] = deque(maxlen=_WAITING)
        self._wake = threading.Event()
        self._closing = False
        self._second = self._count = self._left_out = 0
        self._thread = threading.Thread(target=self._write, name="guerdon-log", daemon=True)
        self._thread.start()

    def __enter__(self) -> ServerLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is left; what comes later is lost."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout=2.0)

    def record(self, event: RequestEvent) -> None:
        """Log an answered request, where it was refused, failed, was slow, or all are logged."""
        status, reply = event.status, event.reply
        failed = reply is not None and reply.failures
        if self.quiet or not (self.every or status >= 400 or event.seconds >= self.slow or failed):
            return
        now = time.time()
        if not self._has_room(int(now)):
            return
        level = "error" if status >= 500 else "info" if status < 400 and not failed else "warning"
        request = event.request
        fields = {
            "request_id": request.request_id,
            "method": request.method,
            "path": event.path,
            "reward": event.reward,
            "status": status,
            "ms": event.seconds * 1000,
            "samples": event.samples,
            "failures": event.failures,
            "client": request.client,
        }
        self._put((now, level, fields))

    def say(self, level: str, message: str, **fields: Any) -> None:
        """Log something else that happened; ``level`` is ``info``, ``warning`` or ``error``."""
        self._put((time.time(), level, {"message": message, **fields}))

    def handler(self) -> logging.Handler:
        """What takes the records of the standard library's loggers here: uvicorn's, asyncio's, guerdon's."""
        return _Handler(self)

    def _has_room(self, second: int) -> bool:
        if second != self._second:
            left_out, self._left_out = self._left_out, 0
            self._second, self._count = second, 0
            if left_out:
                self.say("warning", f"{left_out} more lines were left out")
        self._count += 1
        if self.every or self._count <= MOST_LINES:
            return True
        self._left_out += 1
        return False

    def _put(self, line: tuple[float, str, Mapping[str, Any]]) -> None:
        if len(self._lines) == _WAITING:  # the oldest gives way
            self._left_out += 1
        self._lines.append(line)
        if not self._wake.is_set():
            self._wake.set()

    def _write(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if not self._closing:
                time.sleep(_PAUSE)  # lines that come close together are written at once
            closing = self._closing
            lines = [self._lines.popleft() for _ in range(len(self._lines))]
            try:
                self._stream.write("".join(self._line(*line) for line in lines))
                self._stream.flush()
            except (OSError, ValueError):  # the terminal is gone; the server goes on
                pass
            if closing:
                return

    def _line(self, at: float, level: str, fields: Mapping[str, Any]) -> str:
        shown = {name: _clean(name, value) for name, value in fields.items() if value not in ("", None)}
        if self.form == "json":
            time_text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
            return json.dumps({"time": time_text, "level": level, **shown}, default=str) + "\n"
        return text_line(at, level, shown) + "\n"


def _clean(name: str, value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, str):
        text = redacted_path(value) if name == "path" else redacted_text(value)
        return text if len(text) <= _LONGEST or name == "traceback" else text[:_LONGEST] + "…"
    return value


def text_line(at: float, level: str, fields: Mapping[str, Any]) -> str:
    """A line for a terminal, in local time; whatever a value holds, it stays on the line.

    >>> text_line(0.0, "info", {"message": "listening", "port": 8000})[13:]
    'INFO     listening port=8000'
    """
    clock = f"{_clock(int(at))}.{int(at % 1 * 1000):03}"
    parts = [f"{clock} {level.upper():<8}"]
    rest = dict(fields)
    if "method" in rest and "status" in rest:
        method, path, status = rest.pop("method"), rest.pop("path", ""), rest.pop("status")
        parts.append(f"{_quoted(method)} {_quoted(path)} {status} {rest.pop('ms', 0.0):.1f} ms")
    elif "message" in rest:
        parts.append(_printable(str(rest.pop("message"))))
    trace = rest.pop("traceback", None)
    parts += [f"{name}={_quoted(value)}" for name, value in rest.items() if value != 0]
    lines = [" ".join(parts)]
    if trace:
        lines += [f"    {_printable(line)}" for line in str(trace).splitlines()]
    return "\n".join(lines)


@functools.lru_cache(maxsize=4)
def _clock(second: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(second))


def _quoted(value: Any) -> str:
    text = str(value)
    return text if _BARE.fullmatch(text) else json.dumps(text)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class _Handler(logging.Handler):
    def __init__(self, log: ServerLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # a call that does not fit its own format
            message = str(record.msg)
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info:
            fields["traceback"] = logging.Formatter().formatException(record.exc_info)
        self._log.say(record.levelname.lower(), message, **fields)

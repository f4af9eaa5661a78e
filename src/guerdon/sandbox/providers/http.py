"""HTTP for remote providers: kept connections, deadlines, bounded answers and retries, on the standard library."""

from __future__ import annotations

import http.client
import os
import re
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from guerdon.errors import InputError
from guerdon.retry_timing import backoff, retry_after
from guerdon.sandbox.providers.transport import ServiceError, ServiceResponse, TimedSocket, TransientError

RETRIED = frozenset({429, 500, 502, 503, 504})
"""Statuses that may pass. A program leaves nothing behind in a provider's sandbox, so it may run again."""

IDLE_CONNECTIONS = 64
EXCERPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a request that failed on the way is sent again, and after what wait."""

    attempts: int = 4
    """Attempts in all; 1 never tries again."""
    first_wait_s: float = 0.25
    """The longest first wait; each further one is up to twice the one before."""
    longest_wait_s: float = 30.0
    """Bounds a wait. A service that asks for a longer one (Retry-After) is given up at once."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InputError(f"attempts must be 1 or more, not {self.attempts!r}")
        if self.first_wait_s < 0 or self.longest_wait_s < 0:
            raise InputError("first_wait_s and longest_wait_s must be 0 or more")


class Http:
    """Requests to one service. Safe to use from several threads at once, and in a forked process.

    ``headers`` go with every request; ``secrets`` are struck out of every message. Certificates are verified
    against the system's authorities unless ``context`` says otherwise. Redirects are never followed, so
    neither a key nor a program goes to a host that was not named.
    """

    def __init__(
        self,
        address: str,
        *,
        name: str,
        headers: Mapping[str, str] | None = None,
        secrets: tuple[str, ...] = (),
        key_hint: str = "",
        retries: Retries | None = None,
        connect_s: float = 10.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.scheme, self.host, self.port, self.prefix = parts_of(address)
        self.name = name
        self.headers = dict(headers or {})
        self.secrets = tuple(secret for secret in secrets if secret)
        self.key_hint = key_hint
        self.retries = retries or Retries()
        self.connect_s = connect_s
        self._context = context
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()
        self._closed = False

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        within_s: float = 30.0,
        limit: int = 16 << 20,
    ) -> bytes:
        """The body of a 2xx answer, after as many attempts as it takes and is allowed.

        ``within_s`` is for each attempt. ServiceError says what went wrong.
        """
        attempt = 1
        while True:
            try:
                with self.opened(method, path, body=body, headers=headers, within_s=within_s) as answer:
                    return answer.whole(limit)
            except TransientError as failure:
                if failure.stale:
                    continue
                again = self._wait(failure, attempt)
                if again is None:
                    tried = f" ({attempt} attempts)" if attempt > 1 else ""
                    raise ServiceError(
                        f"{failure}{tried}", status=failure.status, body=failure.body
                    ) from failure
            time.sleep(again)
            attempt += 1

    def _wait(self, failure: TransientError, attempt: int) -> float | None:
        """Seconds until the next attempt, None for no further one."""
        if attempt >= self.retries.attempts or self._closed:
            return None
        if failure.wait_s is not None:
            return failure.wait_s if failure.wait_s <= self.retries.longest_wait_s else None
        return backoff(attempt, first=self.retries.first_wait_s, longest=self.retries.longest_wait_s)

    @contextmanager
    def opened(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        within_s: float = 30.0,
    ) -> Iterator[ServiceResponse]:
        """One attempt: a 2xx answer to read from. ServiceError, or TransientError where another may do better."""
        connection, kept = self._connection()
        answer = None
        try:
            answer = self._exchange(
                connection, kept, method, path, body, headers, time.monotonic() + within_s
            )
            yield self._accepted(answer, method, path, len(body))
        except TimeoutError as error:
            raise ServiceError(f"{self} did not answer within {within_s:g} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise TransientError(f"the connection to {self} broke: {self.clean(_reason(error))}") from error
        finally:
            self._give_back(connection, answer is not None and answer.finish())

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        kept: bool,
        method: str,
        path: str,
        body: bytes,
        headers: Mapping[str, str] | None,
        deadline: float,
    ) -> ServiceResponse:
        if not kept:
            try:
                connection.connect()
            except ssl.SSLCertVerificationError as error:
                raise ServiceError(
                    f"the certificate of {self} is not valid: {error.verify_message}"
                ) from error
            except OSError as error:
                raise TransientError(f"{self} cannot be reached: {self.clean(_reason(error))}") from error
            connection.sock = TimedSocket(connection.sock)
        timed: Any = connection.sock
        timed.deadline = deadline
        try:
            connection.request(method, self.prefix + path, body or None, {**self.headers, **(headers or {})})
            response = connection.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected) as error:
            if kept:
                raise TransientError("the kept connection was closed", stale=True) from error
            raise
        return ServiceResponse(response)

    def _accepted(self, answer: ServiceResponse, method: str, path: str, size: int) -> ServiceResponse:
        if not 200 <= answer.status < 300:
            raise self._refusal(answer, method, path, size)
        return answer

    def _refusal(self, answer: ServiceResponse, method: str, path: str, size: int) -> ServiceError:
        status = answer.status
        if 300 <= status < 400:
            there = urlsplit(answer.headers.get("Location", "")).netloc or "another address"
            return ServiceError(
                f"{self} redirects ({status}) to {self.clean(there)}: give that address instead"
            )
        body = answer.whole(1 << 20)
        said = self.clean(_excerpt(body))
        said = f": {said}" if said else ""
        if status in RETRIED:
            wait_s = retry_after(answer.headers)
            often = ", which is asked too often: use fewer workers" if status == 429 else ""
            return TransientError(
                f"{self} answered {status}{often}{said}", status=status, body=body, wait_s=wait_s
            )
        if status in (401, 403):
            hint = self.key_hint or "check the address"
            return ServiceError(f"{self} refused access ({status}): {hint}", status=status, body=body)
        if status == 404:
            message = f"{self} has no {method} {self.prefix}{path} (404): check the address{said}"
            return ServiceError(message, status=status, body=body)
        if status == 413:
            message = f"{self} takes no request of {-(-size // 1024)} KiB (413): raise its limit"
            return ServiceError(message, status=status, body=body)
        return ServiceError(f"{self} answered {status}{said}", status=status, body=body)

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it was used before."""
        with self._lock:
            if self._process != os.getpid():  # a fork: these connections are the parent's
                self._process = os.getpid()
                self._idle.clear()
            if self._closed:
                raise ServiceError(f"{self} was closed: open the sandbox again")
            if self._idle:
                return self._idle.pop(), True
            if self.scheme == "https" and self._context is None:
                self._context = ssl.create_default_context()
        if self.scheme == "http":
            return http.client.HTTPConnection(self.host, self.port, timeout=self.connect_s), False
        return (
            http.client.HTTPSConnection(self.host, self.port, timeout=self.connect_s, context=self._context),
            False,
        )

    def _give_back(self, connection: http.client.HTTPConnection, good: bool) -> None:
        with self._lock:
            if good and not self._closed and len(self._idle) < IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Closes idle connections; those in use are closed when their answer has come."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def clean(self, text: str) -> str:
        """The text without keys and without anything that breaks a line."""
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return " ".join(text.split())

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name} at {self.scheme}://{host}:{self.port}"


def parts_of(address: str) -> tuple[str, str, int, str]:
    """Scheme, host, port and path prefix of an address.

    Raises InputError for what is no plain http or https address.

    >>> parts_of("https://pistons.example/api/v2/piston/")
    ('https', 'pistons.example', 443, '/api/v2/piston')
    """
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        raise InputError(f"{_shown(address)} has no valid port") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{_shown(address)} is not an address: write http://HOST:PORT or https://HOST")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError(
            f"{_shown(address)}: give a key as api_key or in the environment, not in the address"
        )
    return (
        parts.scheme,
        parts.hostname,
        port or (443 if parts.scheme == "https" else 80),
        parts.path.rstrip("/"),
    )


def _shown(address: str) -> str:
    """An address for a message: without what may be a key."""
    return re.sub(r"//[^/@]*@", "//…@", address.partition("?")[0].partition("#")[0])


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _excerpt(body: bytes) -> str:
    text = body[: 4 * EXCERPT].decode("utf-8", "replace")
    return text if len(text) <= EXCERPT else text[:EXCERPT] + "…"

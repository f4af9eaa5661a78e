"""Transport: HTTP requests to one server, with kept-alive connections, limits, retries and deadlines.

It uses aiohttp: a request costs a twentieth of the time that it costs with httpx (``benchmarks/calling.py``), and
aiohttp is typed and has WebSockets too.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import io
import os
import ssl
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies

from guerdon.errors import DeadlineError, InputError, MissingExtraError, RemoteError, RewardError
from guerdon.retry_timing import retry_after
from guerdon.serve.client.address import Address
from guerdon.serve.client.options import CallOptions
from guerdon.serve.client.response import HttpResponse
from guerdon.serve.client.retries import Backoff, Deadline

if TYPE_CHECKING:
    import aiohttp

_CONNECT_SECONDS = 10.0
_CLOSE_SECONDS = 1.0
_REDIRECTS = 3
_CHUNK = 1 << 16
_LARGE = 1 << 20


def import_aiohttp() -> Any:
    """aiohttp, or MissingExtraError that says how it is installed."""
    try:
        import aiohttp
    except ImportError:
        raise MissingExtraError.of("client", "calling a reward server") from None
    return aiohttp


_open: weakref.WeakSet[Transport] = weakref.WeakSet()
_sessions: set[aiohttp.ClientSession] = set()
"""Held until they are closed, lest one is collected as garbage before it was."""


def _close_soon(transport: Transport) -> None:
    if not transport.loop.is_closed() and transport.process == os.getpid():
        with contextlib.suppress(RuntimeError):  # it was closed meanwhile
            transport.loop.call_soon_threadsafe(lambda: transport.loop.create_task(transport.close()))


@atexit.register
def _close_all() -> None:
    """Close what nobody closed on loops that still run; at the interpreter's end it would be complained of."""
    for transport in tuple(_open):
        if transport.loop.is_running() and transport.process == os.getpid():
            with contextlib.suppress(Exception):  # nobody is left to report it to
                asyncio.run_coroutine_threadsafe(transport.close(), transport.loop).result(_CLOSE_SECONDS)


class Transport:
    """Requests to one server from one event loop; made and used on that loop."""

    def __init__(self, address: Address, options: CallOptions) -> None:
        self.address, self.options = address, options
        self.aiohttp = import_aiohttp()
        self.loop = asyncio.get_running_loop()
        self.process = os.getpid()
        self.backoff = Backoff(options.retries)
        self.semaphore = asyncio.Semaphore(options.max_connections)
        """A place for each request that may be in flight."""
        self._key = options.key
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "guerdon"}
        if self._key:
            self._headers["Authorization"] = f"Bearer {self._key}"
        self._tls: ssl.SSLContext | bool = True
        if options.ca_file is not None:
            try:
                self._tls = ssl.create_default_context(cafile=os.fspath(options.ca_file))
            except (OSError, ssl.SSLError) as error:
                raise InputError(f"ca_file {os.fspath(options.ca_file)!r} cannot be read: {error}") from None
        self.tasks: set[asyncio.Task[None]] = set()
        """Tasks that run for as long as the connections are open."""
        self.before_close: list[Callable[[], Awaitable[None]]] = []
        self._holder: AsyncGenerator[aiohttp.ClientSession] | None = None
        self._session: aiohttp.ClientSession | None = None

    async def session(self) -> aiohttp.ClientSession:
        """The pool of connections, opened at first use."""
        if self._session is None:
            # An event loop closes the asynchronous generators that were begun on it before it ends itself, and
            # so the connections of a client that nobody closed.
            holder = self._held()
            self._session = await anext(holder)
            self._holder = holder
            _open.add(self)
        return self._session

    async def _held(self) -> AsyncGenerator[aiohttp.ClientSession]:
        aiohttp = self.aiohttp
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls, keepalive_timeout=30.0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            auto_decompress=False,
            read_bufsize=1 << 18,
            trust_env=bool(getproxies()),
        )
        _sessions.add(session)
        try:
            yield session
        finally:
            await session.close()
            _sessions.discard(session)

    def close_with(self, owner: object) -> None:
        """Close once ``owner`` is no more."""
        weakref.finalize(owner, _close_soon, self).atexit = False

    async def close(self) -> None:
        """Close the connections."""
        for task in tuple(self.tasks):
            task.cancel()
        for call in self.before_close:
            await call()
        holder, self._holder, self._session = self._holder, None, None
        if holder is not None:
            await holder.aclose()

    # One request.

    async def request(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        deadline: Deadline | None = None,
        is_final: Callable[[HttpResponse], bool] | None = None,
    ) -> HttpResponse:
        """The answer to a request, sent again after faults; any status that is no fault is an answer.

        ``is_final`` knows answers that are none either, in spite of their status. A POST carries one
        idempotency key over all its tries. Raises DeadlineError where the time is over, RemoteError where every
        try ended in a fault.
        """
        async with self.semaphore:
            deadline = deadline or self.options.deadline()
            sent = self._headers_for(body, headers)
            tries = 0
            while True:
                tries += 1
                try:
                    async with asyncio.timeout(deadline.timeout()):
                        answer = await self._send_once(method, url, body, sent)
                except (TimeoutError, RewardError, self.aiohttp.ClientError, OSError) as error:
                    fault, wait = self.transient_error(error, url, deadline), 0.0
                else:
                    if not answer.is_retryable or (is_final is not None and is_final(answer)):
                        return answer
                    fault, wait = self.redacted(answer.error()), retry_after(answer.headers) or 0.0
                await self.wait_before_retry(fault, tries, wait, deadline)

    def _headers_for(self, body: bytes | None, headers: Mapping[str, str] | None) -> dict[str, str]:
        if body is None:
            return dict(headers or {})
        return {
            "Content-Type": "application/json",
            "Idempotency-Key": os.urandom(16).hex(),
            **(headers or {}),
        }

    async def wait_before_retry(
        self, fault: RewardError, tries: int, wait: float, deadline: Deadline
    ) -> None:
        """Wait until the next try. Raises the fault where there is to be none."""
        if tries > self.backoff.retries:
            times = f" ({tries} tries)" if tries > 1 else ""
            raise type(fault)(f"{fault.message}{times}", **fault.about)
        wait = max(wait, self.backoff.wait(tries))
        if wait >= deadline.left():
            raise type(fault)(
                f"{fault.message} ({tries} tries; the next would come after the deadline of "
                f"{deadline.seconds:g} s)",
                **fault.about,
            )
        await asyncio.sleep(wait)

    def transient_error(self, error: BaseException, url: str, deadline: Deadline) -> RewardError:
        """What went wrong on the way, as an error to try again after; raises what no other try would cure."""
        aiohttp = self.aiohttp
        if isinstance(error, RewardError):
            raise error
        if isinstance(error, TimeoutError) and deadline.left() <= 0:
            raise DeadlineError(f"{url} did not answer within {deadline.seconds:g} s", url=url) from None
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ServerFingerprintMismatch):
            raise self.redacted(
                RemoteError(f"{url} cannot be trusted: {error}; ca_file= names its authority", url=url)
            ) from None
        if isinstance(error, aiohttp.ClientConnectorError):
            reason = f"cannot be reached: {error.os_error.strerror or error.os_error}"
        elif isinstance(error, TimeoutError):
            reason = f"cannot be reached: no connection within {_CONNECT_SECONDS:g} s"
        else:
            reason = f"broke off: {error or type(error).__name__}"
        return self.redacted(RemoteError(f"{url} {reason}", url=url))

    def redacted(self, error: RewardError) -> RewardError:
        """The error without the key, which a server may have repeated."""
        if not self._key or self._key not in error.message:
            return error
        return type(error)(error.message.replace(self._key, "…"), **error.about)

    async def _send_once(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> HttpResponse:
        session = await self.session()
        for _ in range(_REDIRECTS + 1):
            async with session.request(
                method, url, data=_data(body), headers=headers, allow_redirects=False
            ) as response:
                # The headers are read without regard to case; as a plain dict they would not be.
                answer = HttpResponse(url, response.status, response.headers, await self._body(response, url))
            target = _redirect(answer, method)
            if target is None:
                return answer
            url = target
        raise RemoteError(f"{url} redirects in a circle", url=url)

    async def _body(self, response: aiohttp.ClientResponse, url: str) -> bytes:
        limit, length = self.options.max_response, response.content_length
        if length is not None and length <= limit:
            return await response.read()
        if length is None:
            parts: list[bytes] = []
            size = 0
            while size <= limit and (part := await response.content.read(_CHUNK)):
                parts.append(part)
                size += len(part)
            if size <= limit:
                return b"".join(parts)
        response.close()
        raise RemoteError(f"{url} answered with more than {limit} bytes", url=url)

    # One request whose answer comes in lines.

    @asynccontextmanager
    async def stream_lines(
        self, url: str, body: bytes, headers: Mapping[str, str], deadline: Deadline
    ) -> AsyncIterator[HttpResponse | AsyncIterator[bytes]]:
        """One try of a POST: the lines of a streamed answer, or the whole answer where it is not streamed.

        What breaks on the way is raised as it comes, for ``transient_error``.
        """
        session = await self.session()
        async with (
            asyncio.timeout(deadline.timeout()),
            session.post(
                url, data=body, headers=self._headers_for(body, headers), allow_redirects=False
            ) as response,
        ):
            if response.status == 200 and response.content_type in (
                "application/jsonl",
                "application/x-ndjson",
            ):
                yield self._lines(response, url)
            else:
                yield HttpResponse(url, response.status, response.headers, await self._body(response, url))

    async def _lines(self, response: aiohttp.ClientResponse, url: str) -> AsyncIterator[bytes]:
        rest = b""
        async for part in response.content.iter_any():
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line
            if len(rest) > self.options.max_response:
                raise RemoteError(f"{url} answered with a line of more than {len(rest)} bytes", url=url)
        if rest:
            yield rest


def _data(body: bytes | None) -> Any:
    """A body as aiohttp wants it: one that is large is written chunk by chunk, so that the loop turns."""
    return io.BytesIO(body) if body is not None and len(body) > _LARGE else body


def _redirect(answer: HttpResponse, method: str) -> str | None:
    """Where to ask instead, on the same host only: the key is for that one."""
    location = answer.headers.get("Location")
    kept = answer.status in (307, 308) or (answer.status in (301, 302) and method == "GET")
    if not location or not kept:
        return None
    target = urljoin(answer.url, location)
    here, there = urlsplit(answer.url), urlsplit(target)
    return target if (here.scheme, here.netloc) == (there.scheme, there.netloc) else None

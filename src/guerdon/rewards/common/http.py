"""What rewards need that ask a server: connections that are shared by an event loop, and when to ask again."""

from __future__ import annotations

import asyncio
import math
import time
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from guerdon.errors import MissingExtraError

if TYPE_CHECKING:
    import aiohttp

_CONNECT_SECONDS = 10.0


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that a server asks to wait: ``Retry-After-Ms``, or ``Retry-After`` as a number or a date; else 0.

    >>> retry_after({"Retry-After": "2"}), retry_after({"Retry-After-Ms": "250"}), retry_after({"Retry-After": "soon"})
    (2.0, 0.25, 0.0)
    """
    in_ms, text = (headers.get(name, "").strip() for name in ("Retry-After-Ms", "Retry-After"))
    try:
        seconds = float(in_ms) / 1000 if in_ms else float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError):
            return 0.0
    return seconds if 0.0 < seconds < math.inf else 0.0


def library(extra: str = "judge", what: str = "asking a judge") -> Any:
    """aiohttp. Raises MissingExtraError where it is not there, for the extra that brings it for ``what``."""
    try:
        import aiohttp
    except ImportError:
        raise MissingExtraError.of(extra, what) from None
    return aiohttp


class _Sessions:
    """The connections of each event loop, open for as long as somebody on it asks a server."""

    def __init__(self) -> None:
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, int]]
        self._open = weakref.WeakKeyDictionary()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[aiohttp.ClientSession]:
        """The connections of the running loop; the last one to leave closes them."""
        loop = asyncio.get_running_loop()
        session, users = self._open.get(loop, (None, 0))
        if session is None:
            session = self._opened()
        self._open[loop] = session, users + 1
        try:
            yield session
        finally:
            session, users = self._open[loop]
            if users > 1:
                self._open[loop] = session, users - 1
            else:
                del self._open[loop]
                await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        package = library()
        session: aiohttp.ClientSession = package.ClientSession(
            connector=package.TCPConnector(limit=0),
            cookie_jar=package.DummyCookieJar(),
            timeout=package.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            headers={"User-Agent": "guerdon"},
            trust_env=bool(getproxies()),
        )
        return session


SESSIONS = _Sessions()

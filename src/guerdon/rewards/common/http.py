"""What rewards need that ask a server: connections that are shared by an event loop."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from guerdon.errors import MissingExtraError

if TYPE_CHECKING:
    import aiohttp

_CONNECT_SECONDS = 10.0


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

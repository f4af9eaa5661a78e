"""Waiting for what a caller of the ASGI application waits for, as long as the caller does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request


async def wait_with_caller(
    request: Request, wait: asyncio.Future[Any], abandon: Callable[[], object]
) -> None:
    """Wait for what a caller waits for, as long as the caller does. Raises ClientDisconnect.

    What nobody waits for any more is abandoned: a caller who leaves at once would fill the queue with its requests.
    """
    leaving = asyncio.ensure_future(_leaves(request))
    try:
        await asyncio.wait((wait, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not wait.done():
            abandon()
    if not wait.done():
        raise ClientDisconnect


async def _leaves(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass

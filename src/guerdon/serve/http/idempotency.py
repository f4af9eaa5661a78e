"""Replies kept by idempotency key, for requests that are sent again."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from guerdon.serve.http.replies import HttpReply

MOST_REPLIES = 100_000
MOST_BYTES = 64 << 20
MOST_SECONDS = 600.0
_OVERHEAD = 400


class CacheStatus(Enum):
    """A request that is not answered from the cache."""

    FRESH = "fresh"
    """It is new: the caller answers it, and calls ``finish`` or ``forget``."""
    CONFLICT = "conflict"
    """Its key came before with another body."""


@dataclass(frozen=True, slots=True)
class CachedReply:
    """The request was answered before."""

    reply: HttpReply


@dataclass(frozen=True, slots=True)
class InFlightReply:
    """The same request is being answered."""

    _future: asyncio.Future[HttpReply | None]

    def when_done(self, callback: Callable[[HttpReply | None], None]) -> None:
        """Call ``callback`` with what ``reply`` returns."""
        self._future.add_done_callback(lambda future: callback(future.result()))

    async def reply(self) -> HttpReply | None:
        """The reply once there is one; None if it was forgotten, so that the request has to start again."""
        # Shielded: of several that wait, one that gives up must not take the answer from the others.
        return await asyncio.shield(self._future)


class _Pending:
    __slots__ = ("digest", "future")

    def __init__(self, digest: tuple[int, int]) -> None:
        self.digest = digest
        self.future: asyncio.Future[HttpReply | None] | None = None


class _Kept(NamedTuple):
    digest: tuple[int, int]
    reply: HttpReply
    size: int
    until: float


class IdempotencyCache:
    """Replies by key, bounded in number, bytes and age; for one event loop, without locks.

    What is in flight is never dropped; of what is answered the oldest goes first.

    >>> cache = IdempotencyCache()
    >>> cache.begin("k1", b"{}")
    <CacheStatus.FRESH: 'fresh'>
    >>> cache.finish("k1", HttpReply(200, b"[1.0]"))
    >>> cache.begin("k1", b"{}")
    CachedReply(reply=HttpReply(status=200, body=b'[1.0]', headers=()))
    >>> cache.begin("k1", b"[]")
    <CacheStatus.CONFLICT: 'conflict'>
    """

    def __init__(
        self,
        *,
        most: int = MOST_REPLIES,
        max_bytes: int = MOST_BYTES,
        max_age: float = MOST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._max_bytes, self._max_age, self._clock = most, max_bytes, max_age, clock
        self._pending: dict[Hashable, _Pending] = {}
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self.bytes = 0
        """Bytes that the kept replies take, about."""

    def __len__(self) -> int:
        return len(self._pending) + len(self._kept)

    def begin(self, key: Hashable, body: bytes) -> CacheStatus | InFlightReply | CachedReply:
        """What there is for a key. After ``CacheStatus.FRESH`` say ``finish`` or ``forget``, whatever happens."""
        # 64 bits of SipHash and the length: the key's owner would only deceive itself by a collision.
        digest = len(body), hash(body)
        if (pending := self._pending.get(key)) is not None:
            if pending.digest != digest:
                return CacheStatus.CONFLICT
            if pending.future is None:
                pending.future = asyncio.get_running_loop().create_future()
            return InFlightReply(pending.future)
        if (kept := self._kept.get(key)) is not None:
            if kept.until > self._clock():
                return CachedReply(kept.reply) if kept.digest == digest else CacheStatus.CONFLICT
            self._drop(key)
        self._pending[key] = _Pending(digest)
        return CacheStatus.FRESH

    def finish(self, key: Hashable, reply: HttpReply) -> None:
        """Keep the answer to what was begun, and give it to those that wait for the same."""
        if (pending := self._pending.pop(key, None)) is None:
            return
        _settle(pending, reply)
        size = _OVERHEAD + len(reply.body)
        now = self._clock()
        if size <= self._max_bytes:
            self._kept[key] = _Kept(pending.digest, reply, size, now + self._max_age)
            self.bytes += size
        self._trim(now)

    def forget(self, key: Hashable) -> None:
        """Forget a request that was refused, not answered, so that its repetition is tried again."""
        if (pending := self._pending.pop(key, None)) is not None:
            _settle(pending, None)

    def _trim(self, now: float) -> None:
        kept = self._kept
        while kept and (
            self.bytes > self._max_bytes or len(kept) > self._most or next(iter(kept.values())).until <= now
        ):
            self.bytes -= kept.popitem(last=False)[1].size

    def _drop(self, key: Hashable) -> None:
        self.bytes -= self._kept.pop(key).size


def _settle(pending: _Pending, reply: HttpReply | None) -> None:
    if pending.future is not None and not pending.future.done():
        pending.future.set_result(reply)

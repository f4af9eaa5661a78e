"""What is answered from the cache, and what the cache forgets."""

from __future__ import annotations

import asyncio

import pytest

from guerdon.serve.http.idempotency import (
    CachedReply,
    CacheStatus,
    IdempotencyCache,
    InFlightReply,
)
from guerdon.serve.http.replies import HttpReply

FRESH, CONFLICT = CacheStatus.FRESH, CacheStatus.CONFLICT
ONE = HttpReply(200, b"[1.0]", ((b"content-type", b"application/json"),))


def fill(
    idempotency_cache: IdempotencyCache, *keys: str, body: bytes = b"{}", reply: HttpReply = ONE
) -> None:
    for key in keys:
        assert idempotency_cache.begin(key, body) is FRESH
        idempotency_cache.finish(key, reply)


def kept(idempotency_cache: IdempotencyCache, *keys: str) -> str:
    """The keys that are answered from the cache."""
    return "".join(key for key in keys if isinstance(idempotency_cache.begin(key, b"{}"), CachedReply))


def test_answered_once_and_then_from_memory() -> None:
    idempotency_cache = IdempotencyCache()
    fill(idempotency_cache, "a")
    assert idempotency_cache.begin("a", b"{}") == CachedReply(ONE)
    assert idempotency_cache.begin("a", b"{ }") is CONFLICT
    assert idempotency_cache.begin("b", b"{}") is FRESH
    assert idempotency_cache.begin(("session", 1), b"{}") is FRESH


def test_a_failure_of_the_front_is_forgotten() -> None:
    idempotency_cache = IdempotencyCache()
    assert idempotency_cache.begin("a", b"{}") is FRESH
    idempotency_cache.forget("a")
    assert idempotency_cache.begin("a", b"other") is FRESH


def test_what_was_not_begun_changes_nothing() -> None:
    idempotency_cache = IdempotencyCache()
    idempotency_cache.finish("a", ONE)
    idempotency_cache.forget("a")
    assert len(idempotency_cache) == idempotency_cache.bytes == 0
    fill(idempotency_cache, "b")
    idempotency_cache.forget("b")
    assert kept(idempotency_cache, "b") == "b"


async def waiting(idempotency_cache: IdempotencyCache, count: int) -> list[asyncio.Task[HttpReply | None]]:
    found = [idempotency_cache.begin("a", b"{}") for _ in range(count)]
    tasks = [asyncio.ensure_future(item.reply()) for item in found if isinstance(item, InFlightReply)]
    assert len(tasks) == count
    await asyncio.sleep(0)
    return tasks


def test_the_same_in_flight_is_awaited() -> None:
    async def main() -> None:
        idempotency_cache = IdempotencyCache()
        assert idempotency_cache.begin("a", b"{}") is FRESH
        first, second, third = await waiting(idempotency_cache, 3)
        assert idempotency_cache.begin("a", b"[]") is CONFLICT
        first.cancel()
        await asyncio.sleep(0)
        idempotency_cache.finish("a", ONE)
        assert await asyncio.gather(second, third) == [ONE, ONE]
        assert first.cancelled()

    asyncio.run(main())


def test_those_that_wait_for_what_is_forgotten_begin_anew() -> None:
    async def main() -> None:
        idempotency_cache = IdempotencyCache()
        assert idempotency_cache.begin("a", b"{}") is FRESH
        tasks = await waiting(idempotency_cache, 2)
        idempotency_cache.forget("a")
        assert await asyncio.gather(*tasks) == [None, None]
        assert idempotency_cache.begin("a", b"{}") is FRESH

    asyncio.run(main())


def test_a_reply_may_be_larger_than_the_memory() -> None:
    async def main() -> None:
        idempotency_cache = IdempotencyCache(max_bytes=1000)
        assert idempotency_cache.begin("a", b"{}") is FRESH
        tasks = await waiting(idempotency_cache, 1)
        idempotency_cache.finish("a", HttpReply(200, b"x" * 5000))
        found = await tasks[0]
        assert found is not None
        assert len(found.body) == 5000
        assert idempotency_cache.bytes == 0
        assert idempotency_cache.begin("a", b"{}") is FRESH

    asyncio.run(main())


def test_bounded_in_number() -> None:
    idempotency_cache = IdempotencyCache(most=3)
    fill(idempotency_cache, *"abcde")
    assert kept(idempotency_cache, *"abcde") == "cde"


def test_bounded_in_bytes() -> None:
    idempotency_cache = IdempotencyCache(max_bytes=10_000)
    fill(idempotency_cache, *"abcdefgh", reply=HttpReply(200, b"x" * 2_000))
    assert idempotency_cache.bytes <= 10_000
    assert kept(idempotency_cache, *"abcdefgh") == "efgh"


def test_what_is_in_flight_is_not_dropped() -> None:
    idempotency_cache = IdempotencyCache(most=1)
    assert idempotency_cache.begin("long", b"{}") is FRESH
    fill(idempotency_cache, *"abc")
    idempotency_cache.finish("long", ONE)
    assert idempotency_cache.begin("long", b"{}") == CachedReply(ONE)


@pytest.mark.parametrize(("later", "answered"), [(599.0, "ab"), (600.0, "b"), (605.0, "")])
def test_bounded_in_age(later: float, answered: str) -> None:
    now = 0.0
    idempotency_cache = IdempotencyCache(clock=lambda: now)
    fill(idempotency_cache, "a")
    now = 5.0
    fill(idempotency_cache, "b")
    now = later
    fill(idempotency_cache, "new")
    assert kept(idempotency_cache, "a", "b") == answered
    assert len(idempotency_cache) == 3


def test_bytes_are_given_back_by_what_expires() -> None:
    now = 0.0
    idempotency_cache = IdempotencyCache(clock=lambda: now)
    fill(idempotency_cache, "a")
    one = idempotency_cache.bytes
    now = 1000.0
    fill(idempotency_cache, "a")
    assert idempotency_cache.bytes == one

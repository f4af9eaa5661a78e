"""What is answered from memory, and what the memory forgets."""

from __future__ import annotations

import asyncio

import pytest

from guerdon.serve.http.idempotency import Begun, Done, InFlight, Memory, Reply

FRESH, CONFLICT = Begun.FRESH, Begun.CONFLICT
ONE = Reply(200, b"[1.0]", ((b"content-type", b"application/json"),))


def fill(memory: Memory, *keys: str, body: bytes = b"{}", reply: Reply = ONE) -> None:
    for key in keys:
        assert memory.begin(key, body) is FRESH
        memory.finish(key, reply)


def kept(memory: Memory, *keys: str) -> str:
    """Those of the keys that are answered from memory."""
    return "".join(key for key in keys if isinstance(memory.begin(key, b"{}"), Done))


def test_answered_once_and_then_from_memory() -> None:
    memory = Memory()
    fill(memory, "a")
    assert memory.begin("a", b"{}") == Done(ONE)
    assert memory.begin("a", b"{ }") is CONFLICT
    assert memory.begin("b", b"{}") is FRESH
    assert memory.begin(("session", 1), b"{}") is FRESH


def test_a_failure_of_the_front_is_forgotten() -> None:
    memory = Memory()
    assert memory.begin("a", b"{}") is FRESH
    memory.forget("a")
    assert memory.begin("a", b"other") is FRESH


def test_what_was_not_begun_changes_nothing() -> None:
    memory = Memory()
    memory.finish("a", ONE)
    memory.forget("a")
    assert len(memory) == memory.bytes == 0
    fill(memory, "b")
    memory.forget("b")
    assert kept(memory, "b") == "b"


async def waiting(memory: Memory, count: int) -> list[asyncio.Task[Reply | None]]:
    found = [memory.begin("a", b"{}") for _ in range(count)]
    tasks = [asyncio.ensure_future(item.reply()) for item in found if isinstance(item, InFlight)]
    assert len(tasks) == count
    await asyncio.sleep(0)
    return tasks


def test_the_same_in_flight_is_awaited() -> None:
    async def main() -> None:
        memory = Memory()
        assert memory.begin("a", b"{}") is FRESH
        first, second, third = await waiting(memory, 3)
        assert memory.begin("a", b"[]") is CONFLICT
        first.cancel()
        await asyncio.sleep(0)
        memory.finish("a", ONE)
        assert await asyncio.gather(second, third) == [ONE, ONE]
        assert first.cancelled()

    asyncio.run(main())


def test_those_that_wait_for_what_is_forgotten_begin_anew() -> None:
    async def main() -> None:
        memory = Memory()
        assert memory.begin("a", b"{}") is FRESH
        tasks = await waiting(memory, 2)
        memory.forget("a")
        assert await asyncio.gather(*tasks) == [None, None]
        assert memory.begin("a", b"{}") is FRESH

    asyncio.run(main())


def test_a_reply_may_be_larger_than_the_memory() -> None:
    async def main() -> None:
        memory = Memory(max_bytes=1000)
        assert memory.begin("a", b"{}") is FRESH
        tasks = await waiting(memory, 1)
        memory.finish("a", Reply(200, b"x" * 5000))
        found = await tasks[0]
        assert found is not None
        assert len(found.body) == 5000
        assert memory.bytes == 0
        assert memory.begin("a", b"{}") is FRESH

    asyncio.run(main())


def test_bounded_in_number() -> None:
    memory = Memory(most=3)
    fill(memory, *"abcde")
    assert kept(memory, *"abcde") == "cde"


def test_bounded_in_bytes() -> None:
    memory = Memory(max_bytes=10_000)
    fill(memory, *"abcdefgh", reply=Reply(200, b"x" * 2_000))
    assert memory.bytes <= 10_000
    assert kept(memory, *"abcdefgh") == "efgh"


def test_what_is_in_flight_is_not_dropped() -> None:
    memory = Memory(most=1)
    assert memory.begin("long", b"{}") is FRESH
    fill(memory, *"abc")
    memory.finish("long", ONE)
    assert memory.begin("long", b"{}") == Done(ONE)


@pytest.mark.parametrize(("later", "answered"), [(599.0, "ab"), (600.0, "b"), (605.0, "")])
def test_bounded_in_age(later: float, answered: str) -> None:
    now = 0.0
    memory = Memory(clock=lambda: now)
    fill(memory, "a")
    now = 5.0
    fill(memory, "b")
    now = later
    fill(memory, "new")
    assert kept(memory, "a", "b") == answered
    assert len(memory) == 3


def test_bytes_are_given_back_by_what_expires() -> None:
    now = 0.0
    memory = Memory(clock=lambda: now)
    fill(memory, "a")
    one = memory.bytes
    now = 1000.0
    fill(memory, "a")
    assert memory.bytes == one

"""Streams of samples over a network that fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from guerdon import AsyncRewardClient, RewardClient
from support.client_requests import rows
from support.misbehaving import Misbehaving


@pytest.mark.parametrize(
    "faults", [[], ["lines:0"], ["lines:100", "lines:1", "503", "drop"], ["500", "lines:255"]]
)
def test_a_stream_gives_every_result_once_and_in_order(server: Misbehaving, faults: list[str]) -> None:
    server.faults.extend(faults)
    given = rows(600)
    given[3]["messages"][0]["content"] = "raise"
    given[5] = {"prompt": "no messages"}
    with RewardClient(server.url) as client:
        results = list(client.stream_scores(row for row in given))
    assert [r.error_kind for r in results[:7]] == [None, None, None, "exception", None, "input", None]
    assert sum(r.score or 0.0 for r in results) == 598
    assert len(server.scored) == 599
    assert set(server.scored.values()) == {1}
    assert (results[0].reward, results[0].version) == ("scary", "v-1")


def test_a_stream_that_fails_gives_failures_for_what_is_missing(server: Misbehaving) -> None:
    server.faults.extend(["lines:56", "500"])
    with RewardClient(server.url, retries=0) as client:
        results = list(client.stream_scores(rows(256)))
    assert [r.error_kind for r in results] == ["remote"] * 200 + [None] * 56


def test_a_stream_is_read_only_some_chunks_ahead(server: Misbehaving) -> None:
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for row in rows(100_000):
            taken += 1
            yield row

    async def main() -> None:
        async with AsyncRewardClient(server.url) as client:
            stream = client.stream_scores(endless())
            assert (await anext(stream)).score == 1.0
            await stream.aclose()
        await asyncio.sleep(0.1)  # aiohttp closes the transport of a stream that was left a moment later

    asyncio.run(main())
    assert taken < 256 * 8


def test_the_network_fails_in_the_middle_of_10_000_samples(server: Misbehaving) -> None:
    found: list[Any] = []
    with RewardClient(server.url) as client:
        for result in client.stream_scores(rows(10_000)):
            found.append(result)
            if len(found) in (2_000, 5_000):
                server.stop()
                threading.Timer(0.3, server.start).start()
    assert len(found) == 10_000
    assert [r.error for r in found if r.failed] == []

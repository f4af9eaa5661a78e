"""ScoresStream: samples to version 1 of Guerdon's own format, results back in order as they come."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from guerdon.errors import InputError, RemoteError, RewardError
from guerdon.retry_timing import retry_after
from guerdon.serve.client.chunks import RowChunk, chunks
from guerdon.serve.client.response import HttpResponse
from guerdon.serve.client.results import read_result
from guerdon.serve.client.retries import RetryableError
from guerdon.serve.client.transport import Transport
from guerdon.serve.encoding import sample_bytes
from guerdon.serve.json_reading import MAX_ANSWER_VALUES, read_bounded_json
from guerdon.types import EvaluateResult, Sample

_MAX_IN_FLIGHT = 4
"""Chunks in flight at once."""
_STREAMED = {"Accept": "application/jsonl"}


class ScoresStream:
    """One pass over samples: chunks of them go out side by side, each answered line by line.

    A stream that is cut off is begun again with what it had not answered yet.
    """

    def __init__(self, transport: Transport, samples: Iterable[Sample | Mapping[str, Any]]) -> None:
        self._transport = transport
        self._url = transport.address / "v1/batch_score"
        self._unsent: dict[int, RewardError] = {}
        self._chunks = chunks(self._bodies(samples))

    def _bodies(self, samples: Iterable[Sample | Mapping[str, Any]]) -> Iterator[tuple[int, bytes]]:
        for place, sample in enumerate(samples):
            try:
                yield place, sample_bytes(sample)
            except InputError as error:
                self._unsent[place] = error
                yield place, b""

    async def batches(self) -> AsyncGenerator[list[EvaluateResult]]:
        """The results in order, in lists of those that are there."""
        in_flight: deque[tuple[asyncio.Task[None], list[asyncio.Future[EvaluateResult]]]] = deque()
        try:
            while True:
                while len(in_flight) < _MAX_IN_FLIGHT:
                    # The source is the caller's code and may take its time, so it is not read on this loop.
                    chunk = await asyncio.to_thread(next, self._chunks, None)
                    if chunk is None:
                        break
                    in_flight.append(self._start(chunk))
                if not in_flight:
                    return
                task, futures = in_flight[0]
                done = 0
                while done < len(futures):
                    await futures[done]
                    ready = done
                    while ready < len(futures) and futures[ready].done():
                        ready += 1
                    yield [future.result() for future in futures[done:ready]]
                    done = ready
                in_flight.popleft()
                await task
        finally:
            for task, futures in in_flight:
                task.cancel()
                for future in futures:
                    future.cancel()

    def _start(self, chunk: RowChunk) -> tuple[asyncio.Task[None], list[asyncio.Future[EvaluateResult]]]:
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[EvaluateResult]] = [loop.create_future() for _ in chunk]
        open_items: dict[int, bytes] = {}
        for i, (place, body) in enumerate(chunk):
            if (error := self._unsent.pop(place, None)) is not None:
                futures[i].set_result(EvaluateResult.failure(error))
            else:
                open_items[i] = body
        return asyncio.create_task(self._score(open_items, futures)), futures

    async def _score(
        self, open_items: dict[int, bytes], futures: list[asyncio.Future[EvaluateResult]]
    ) -> None:
        """Score the items of a chunk; each future is given its result, or the failure in place of it."""
        transport = self._transport
        tries, before, key = 0, -1, ""
        try:
            async with transport.semaphore:
                deadline = transport.options.deadline()
                while open_items:
                    tries += 1
                    if len(open_items) != before:  # another body, which another key is for
                        before, key = len(open_items), os.urandom(16).hex()
                    wait = 0.0
                    places = list(open_items)
                    body = b'{"samples":[' + b",".join(open_items.values()) + b"]}"
                    try:
                        async with transport.stream_lines(
                            self._url, body, {**_STREAMED, "Idempotency-Key": key}, deadline
                        ) as answer:
                            if isinstance(answer, HttpResponse):
                                if answer.is_retryable:
                                    wait = retry_after(answer.headers) or 0.0
                                    raise RetryableError(answer.error(), wait)
                                self._take_all(answer, places, open_items, futures)
                            else:
                                await self._take_lines(answer, places, open_items, futures)
                    except RetryableError as error:
                        fault = error.fault
                    except (TimeoutError, OSError, transport.aiohttp.ClientError) as error:
                        fault = transport.transient_error(error, self._url, deadline)
                    else:
                        fault = RemoteError(f"{self._url} broke off", url=self._url)
                    if open_items:
                        # What came counts as progress, and the tries are counted from zero again.
                        tries = tries if len(open_items) == before else 1
                        await transport.wait_before_retry(fault, tries, wait, deadline)
        except RewardError as error:
            for i in open_items:
                if not futures[i].done():
                    futures[i].set_result(EvaluateResult.failure(transport.redacted(error)))

    async def _take_lines(
        self,
        lines: AsyncIterator[bytes],
        places: list[int],
        open_items: dict[int, bytes],
        futures: list[asyncio.Future[EvaluateResult]],
    ) -> None:
        async for line in lines:
            try:
                value = read_bounded_json(line, MAX_ANSWER_VALUES)
            except ValueError:
                return  # half a line: the stream was cut off there
            if isinstance(value, dict) and "index" in value:
                self._take(value, value["index"], places, open_items, futures)

    def _take_all(
        self,
        answer: HttpResponse,
        places: list[int],
        open_items: dict[int, bytes],
        futures: list[asyncio.Future[EvaluateResult]],
    ) -> None:
        results = answer.object().get("results")
        if not isinstance(results, list) or len(results) != len(places):
            raise RemoteError(
                f"{self._url} did not answer {len(places)} samples with as many results", url=self._url
            )
        for index, value in enumerate(results):
            self._take(value, index, places, open_items, futures)

    def _take(
        self,
        value: Any,
        index: Any,
        places: list[int],
        open_items: dict[int, bytes],
        futures: list[asyncio.Future[EvaluateResult]],
    ) -> None:
        if not isinstance(index, int) or not 0 <= index < len(places):
            raise RemoteError(f"{self._url} answered a sample that was not sent", url=self._url)
        i = places[index]
        if open_items.pop(i, None) is not None and not futures[i].done():
            try:
                futures[i].set_result(read_result(value, self._url))
            except RemoteError as error:
                futures[i].set_result(EvaluateResult.failure(error))

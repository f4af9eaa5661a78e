"""BatchScorer: many conversations scored in chunks, several chunks at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from guerdon.errors import BindingError, InputError, RemoteError, RewardError
from guerdon.serve.client.chunks import RowChunk, chunks
from guerdon.serve.client.response import HttpResponse, problem_text
from guerdon.serve.client.results import raise_if_error, read_response
from guerdon.serve.client.transport import Transport
from guerdon.serve.encoding import request_bytes
from guerdon.serve.models import Request, Response

OnError = Literal["raise", "return"]
_CONCURRENT_CHUNKS = 8


class BatchScorer:
    """Scores one batch. Raises BindingError for an ``on_error`` that does not exist."""

    def __init__(self, transport: Transport, url: str, on_error: OnError) -> None:
        if on_error not in ("raise", "return"):
            raise BindingError(f'on_error must be "raise" or "return", not {on_error!r}')
        self._transport, self._url = transport, url
        self._keeps_errors = on_error == "return"
        self._outcomes: dict[int, Response | RewardError] = {}
        """The response to each request, or its failure, by the request's index."""

    async def score(self, requests: Sequence[Request]) -> list[Response | RewardError]:
        """The responses in order; the first failure is raised unless failures are returned."""
        bodies = ((index, request_bytes(request)) for index, request in enumerate(requests))
        limit = min(_CONCURRENT_CHUNKS, self._transport.options.max_connections)
        semaphore = asyncio.Semaphore(limit)
        async with asyncio.TaskGroup() as group:
            for chunk in chunks(bodies):
                await semaphore.acquire()
                task = group.create_task(self._score_chunk(chunk))
                task.add_done_callback(lambda _: semaphore.release())
                if not self._keeps_errors and any(
                    isinstance(outcome, RewardError) for outcome in self._outcomes.values()
                ):
                    break
        ordered = [self._outcomes[index] for index in sorted(self._outcomes)]
        return ordered if self._keeps_errors else [raise_if_error(outcome) for outcome in ordered]

    async def _score_chunk(self, chunk: RowChunk) -> None:
        """Score a chunk. A failure of the request is one of every item, a failure of an item is that item's only."""
        try:
            may_split = self._keeps_errors and len(chunk) > 1
            response = await self._post(chunk, (lambda r: r.status == 500) if may_split else None)
            if may_split and response.status == 500:
                # Other servers answer so where one item raises; sent alone, each item has its own answer.
                await asyncio.gather(*(self._score_chunk([item]) for item in chunk))
                return
            if self._keeps_errors and (rejected := _rejected_items(response, len(chunk))):
                # Other servers reject a whole batch for one item.
                for i, error in rejected.items():
                    self._outcomes[chunk[i][0]] = error
                chunk = [item for i, item in enumerate(chunk) if i not in rejected]
                if not chunk:
                    return
                response = await self._post(chunk)
            items = response.object().get("responses")
            if not isinstance(items, list) or len(items) != len(chunk):
                raise RemoteError(
                    f"{response.url} did not answer {len(chunk)} requests with as many responses",
                    url=response.url,
                )
        except RewardError as error:
            self._outcomes.update((index, error) for index, _ in chunk)
        else:
            for (index, _), item in zip(chunk, items, strict=True):
                self._outcomes[index] = read_response(item, response.url)

    async def _post(
        self, chunk: RowChunk, is_final: Callable[[HttpResponse], bool] | None = None
    ) -> HttpResponse:
        body = b'{"requests":[' + b",".join(body for _, body in chunk) + b"]}"
        return await self._transport.request("POST", self._url, body, is_final=is_final)


def _rejected_items(response: HttpResponse, count: int) -> dict[int, RewardError]:
    """By place, the items for which a batch was rejected; empty where it was not, or for another reason."""
    found: dict[int, list[str]] = {}
    for problem in response.problems() if response.status == 422 else ():
        match problem.get("loc"):
            case ["body", "requests", int(place), *rest] if place < count:
                found.setdefault(place, []).append(problem_text({**problem, "loc": rest}))
            case _:
                return {}
    return {place: InputError("; ".join(texts)) for place, texts in found.items()}

"""A request with many slow samples: split into chunks that any free worker scores, then rendered as one response."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from guerdon.scoring.outcome import Outcome
from guerdon.serve.dispatch.jobs import PendingRequest, WorkDispatcher, WorkItem
from guerdon.serve.messages import WorkerReply


class SplitRequest:
    """A request whose samples are scored in chunks; ``reply`` says which are scored already, and which are not."""

    def __init__(self, request: PendingRequest, reply: WorkerReply) -> None:
        self.request, self.reply = request, reply
        self.chunks: list[WorkItem] = []
        self._found: list[Outcome | None] = [*reply.outcomes, *([None] * len(reply.rows))]
        self._left = len(reply.rows)

    def begin(self, dispatcher: WorkDispatcher) -> None:
        """Have the samples that are left scored by any free worker."""
        request, reply = self.request, self.reply
        if request.parse_only:
            request.on_parsed(pickle.loads(reply.context))
        request.children = self.chunks
        if reply.outcomes and request.parse_only:
            request.on_outcomes(0, reply.outcomes)
        if reply.rows:
            self.enqueue(dispatcher, len(reply.outcomes), reply.rows)
        else:
            self._complete(dispatcher, reply.outcomes)

    def enqueue(self, dispatcher: WorkDispatcher, first: int, rows: tuple[bytes, ...]) -> None:
        """Hand out the samples from the one at ``first`` on."""
        size = dispatcher.chunk_rows(len(rows))
        for start in range(0, len(rows), size):
            chunk = SampleChunk(self, first + start, rows[start : start + size])
            self.chunks.append(chunk)
            dispatcher.enqueue(chunk)

    def take(self, dispatcher: WorkDispatcher, start: int, outcomes: Sequence[Outcome]) -> bool:
        """Take the outcomes of a chunk; whether they were the last."""
        self._found[start : start + len(outcomes)] = outcomes
        self._left -= len(outcomes)
        if self.request.parse_only and not self.request.settled:
            self.request.on_outcomes(start, outcomes)
        if self._left:
            return False
        self._complete(dispatcher, tuple(outcome for outcome in self._found if outcome is not None))
        return True

    def _complete(self, dispatcher: WorkDispatcher, outcomes: tuple[Outcome, ...]) -> None:
        """All samples are scored: have the response rendered, or hand the outcomes on."""
        request = self.request
        if request.settled:
            return
        if request.parse_only:
            dispatcher.settle(request, self.reply._replace(outcomes=outcomes, rows=()))
        else:
            rendering = ResponseRendering(request, self.reply, outcomes)
            request.children = [rendering]
            dispatcher.enqueue(rendering)


class SampleChunk(WorkItem):
    """Some samples of a request."""

    plain = False

    def __init__(self, split: SplitRequest, start: int, rows: tuple[bytes, ...]) -> None:
        self._split, self._start, self.rows = split, start, rows

    @property
    def request(self) -> PendingRequest:
        return self._split.request

    def on_reply(self, dispatcher: WorkDispatcher, reply: WorkerReply) -> None:
        if not self._split.take(dispatcher, self._start, reply.outcomes) and reply.rows:
            self._split.enqueue(dispatcher, self._start + len(reply.outcomes), reply.rows)

    def on_failure(self, dispatcher: WorkDispatcher, verdict: Outcome) -> None:
        self.on_reply(dispatcher, WorkerReply(0, 0.0, outcomes=(verdict,) * len(self.rows or ())))


class ResponseRendering(WorkItem):
    """A request whose samples are all scored and whose response is to be written."""

    plain = False

    def __init__(self, request: PendingRequest, reply: WorkerReply, outcomes: tuple[Outcome, ...]) -> None:
        self._request, self.outcomes = request, outcomes
        self.choices, self.context = (reply.choice,), reply.context

    @property
    def request(self) -> PendingRequest:
        return self._request

    def on_reply(self, dispatcher: WorkDispatcher, reply: WorkerReply) -> None:
        dispatcher.settle(self._request, reply)

    def on_failure(self, dispatcher: WorkDispatcher, verdict: Outcome) -> None:
        self._request.on_failure(dispatcher, verdict)

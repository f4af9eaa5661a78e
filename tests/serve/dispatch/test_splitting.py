"""Requests in chunks: every sample is scored once, in whatever order the chunks come back."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from guerdon.scoring.outcome import Outcome, failure
from guerdon.serve.dispatch.jobs import PendingRequest, WorkItem
from guerdon.serve.dispatch.splitting import ResponseRendering, SampleChunk, SplitRequest
from guerdon.serve.messages import WorkerReply


class Request(PendingRequest):
    """Keeps what comes."""

    def __init__(self, parse_only: bool = False) -> None:
        self.parse_only = parse_only
        self.parsed: list[Any] = []
        self.came: list[tuple[int, Sequence[Outcome]]] = []

    def done(self, reply: WorkerReply) -> None:
        raise AssertionError("the dispatcher settles it")

    def on_parsed(self, context: Any) -> None:
        self.parsed.append(context)

    def on_outcomes(self, start: int, outcomes: Sequence[Outcome]) -> None:
        self.came.append((start, outcomes))


class Queue:
    """A dispatcher that hands out nothing by itself."""

    def __init__(self) -> None:
        self.work: list[WorkItem] = []
        self.settled: list[WorkerReply] = []

    def settle(self, request: PendingRequest, reply: WorkerReply) -> None:
        request.settled = True
        self.settled.append(reply)

    def split_request(self, request: PendingRequest, reply: WorkerReply) -> None:
        SplitRequest(request, reply).begin(self)

    def enqueue(self, work: WorkItem) -> None:
        self.work.append(work)

    def chunk_rows(self, count: int) -> int:
        return 2

    def answer(self, position: int, *, only: int | None = None) -> None:
        """Score a chunk, or the first few samples of it: each is worth its row's number."""
        chunk = self.work.pop(position)
        rows = chunk.rows or ()
        some, rest = rows[:only], rows[len(rows[:only]) :]
        chunk.on_reply(self, WorkerReply(0, 0.0, outcomes=tuple(map(scored, some)), rows=rest))


def scored(row: bytes) -> Outcome:
    return Outcome(float(row))


ROWS = (b"1", b"2", b"3", b"4", b"5")
REPLY = WorkerReply(
    0, 0.0, choice=(3, "score"), outcomes=(Outcome(0.0),), rows=ROWS, context=pickle.dumps("c")
)
ALL = tuple(Outcome(float(n)) for n in range(6))


def test_chunks_may_come_back_in_any_order() -> None:
    request, queue = Request(), Queue()
    request.on_reply(queue, REPLY)
    assert [chunk.rows for chunk in queue.work] == [(b"1", b"2"), (b"3", b"4"), (b"5",)]
    assert list(request.children) == queue.work
    for position in (1, 1, 0):
        queue.answer(position)
    (rendering,) = queue.work
    assert isinstance(rendering, ResponseRendering)
    assert (rendering.outcomes, rendering.choices, rendering.context) == (ALL, ((3, "score"),), REPLY.context)
    assert list(request.children) == [rendering]
    written = WorkerReply(0, 0.0, 200, b"{}")
    rendering.on_reply(queue, written)
    assert queue.settled == [written]


def test_a_chunk_that_takes_long_is_split_again() -> None:
    request, queue = Request(), Queue()
    request.on_reply(queue, REPLY)
    queue.answer(0, only=1)
    assert [chunk.rows for chunk in queue.work] == [(b"3", b"4"), (b"5",), (b"2",)]
    for _ in range(3):
        queue.answer(0)
    assert queue.work[0].outcomes == ALL


def test_a_chunk_that_nobody_can_answer_fails_alone() -> None:
    request, queue = Request(), Queue()
    request.on_reply(queue, REPLY)
    crash = failure("crash", "gone")
    queue.work.pop(1).on_failure(queue, crash)
    for _ in range(2):
        queue.answer(0)
    assert queue.work[0].outcomes == (*ALL[:3], crash, crash, ALL[5])


def test_outcomes_are_handed_on_as_they_come() -> None:
    request, queue = Request(parse_only=True), Queue()
    request.on_reply(queue, REPLY)
    assert request.parsed == ["c"]
    for _ in range(3):
        queue.answer(0)
    assert [start for start, _ in request.came] == [0, 1, 3, 5]
    assert queue.work == []
    assert [reply.outcomes for reply in queue.settled] == [ALL]


@pytest.mark.parametrize("parse_only", [False, True])
def test_nothing_is_left_to_score(parse_only: bool) -> None:
    request, queue = Request(parse_only), Queue()
    request.on_reply(queue, REPLY._replace(outcomes=ALL, rows=()))
    assert len(queue.settled) == parse_only
    assert [type(work) for work in queue.work] == ([] if parse_only else [ResponseRendering])


def test_a_request_that_was_given_up_is_not_rendered() -> None:
    request, queue = Request(), Queue()
    request.on_reply(queue, REPLY)
    request.settled = True
    while queue.work:
        assert isinstance(queue.work[0], SampleChunk)
        queue.answer(0)
    assert queue.settled == []

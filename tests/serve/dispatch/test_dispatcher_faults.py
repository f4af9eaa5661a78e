"""What goes wrong with one request or one worker leaves the others alone; what is lost is answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from guerdon import RewardFunction
from guerdon.scoring.process.worker_process import WorkerProcess
from guerdon.serve.dispatch.dispatcher import Dispatcher
from guerdon.serve.dispatch.jobs import PendingRequest
from guerdon.serve.formats import FORMATS
from guerdon.serve.launch import spec_of
from guerdon.serve.messages import WorkerReply
from guerdon.serve.options import ServeOptions
from support import serve_work
from support.serve_work import row

V1 = next(i for i, format in enumerate(FORMATS) if format.name == "v1")


class Request(PendingRequest):
    """Keeps its reply, or raises when it comes."""

    choices = ((V1, "score"),)

    def __init__(self, text: str, *, raises: bool = False) -> None:
        self.body = json.dumps(row(text)).encode()
        self.request_id = text
        self.raises = raises
        self.reply: asyncio.Future[WorkerReply] = asyncio.get_running_loop().create_future()

    def done(self, reply: WorkerReply) -> None:
        self.reply.set_result(reply)
        if self.raises:
            raise RuntimeError("the transport is closed")

    async def score(self) -> Any:
        return json.loads((await asyncio.wait_for(self.reply, 20)).body)["score"]


def dispatching(test: Callable[[Dispatcher], Awaitable[None]], workers: int = 1) -> None:
    """Run a test with a dispatcher whose workers are real."""
    spec = spec_of(RewardFunction(serve_work.act), ServeOptions(workers=workers, timeout=20))
    assert spec.worker is not None
    worker = spec.worker

    async def run() -> None:
        dispatcher = Dispatcher(spec.name, lambda: WorkerProcess(worker), spec.limits)
        await dispatcher.start()
        try:
            await test(dispatcher)
        finally:
            dispatcher.close()

    asyncio.run(run())


def test_a_reply_that_cannot_be_sent_keeps_no_other_from_being(caplog: pytest.LogCaptureFixture) -> None:
    async def test(dispatcher: Dispatcher) -> None:
        for _ in range(3):
            requests = [Request("a" * n, raises=n % 2 == 0) for n in range(1, 9)]
            for request in requests:
                dispatcher.submit(request)
            assert [await request.score() for request in requests] == list(range(1, 9))
        assert dispatcher.in_flight == 0

    dispatching(test)
    assert "the reply to request aa could not be sent" in caplog.text


def test_a_reply_that_cannot_be_read_fails_its_own_request() -> None:
    async def test(dispatcher: Dispatcher) -> None:
        first, second = Request("sleep 0.3"), Request("ab")
        for request in (first, second):
            dispatcher.submit(request)
        await asyncio.sleep(0.1)
        (worker,) = dispatcher._workers
        identity = next(number for number, work in worker.in_flight.items() if work is first)
        dispatcher.on_replies(worker, [(identity, 0.1, "no", "such", "fields", 1, 2, 3, 4, 5, 6, 7)])
        assert (await first.reply).status == 500
        assert await second.score() == 2.0

    dispatching(test)


@pytest.mark.parametrize(
    "message", [("replies", 7), ("replies", [7]), ("ready",), 7, ("replies", [({}, 0.0)])]
)
def test_a_worker_that_sends_what_is_no_message_is_replaced(message: Any) -> None:
    async def test(dispatcher: Dispatcher) -> None:
        (worker,) = dispatcher._workers
        dispatcher._group.on_message(worker, message)
        request = Request("abc")
        dispatcher.submit(request)
        assert await request.score() == 3.0
        assert sum(dispatcher.restarts.values()) == 1

    dispatching(test)


def test_a_request_that_was_lost_is_answered() -> None:
    async def test(dispatcher: Dispatcher) -> None:
        lost, kept = Request("sleep 0.5"), Request("ab")
        dispatcher.submit(lost)
        await asyncio.sleep(0.1)
        dispatcher._workers[0].in_flight.clear()
        dispatcher.submit(kept)
        reply = await asyncio.wait_for(lost.reply, 20)
        assert (reply.status, "lost this request" in reply.body.decode()) == (503, True)
        assert await kept.score() == 2.0

    dispatching(test)


def test_supervision_goes_on_whatever_one_part_of_it_raises(caplog: pytest.LogCaptureFixture) -> None:
    async def test(dispatcher: Dispatcher) -> None:
        (worker,) = dispatcher._workers
        worker.handle.running = None  # type: ignore[method-assign, assignment]
        request = Request("sleep 0.2")
        dispatcher.submit(request)
        assert await request.score() == 9.0
        del worker.handle.running
        worker.handle.kill()
        again = Request("abcd")
        dispatcher.submit(again)
        assert await again.score() == 4.0

    dispatching(test)
    assert "supervision failed" in caplog.text

"""RewardServer as Adaptive's users write it: its constructor, its hooks, what ``score`` may do."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, field_validator

from guerdon import (
    BatchedResponse,
    EvaluateResult,
    Response,
    RewardServer,
    ServerInfo,
    ValidatedRequest,
)
from guerdon.errors import InputError, RewardError
from support import serve_work
from support.serve_work import call, row, turns


class Letter(BaseModel):
    scary_letter: str = Field(min_length=1, max_length=1)


class Scary(RewardServer[Letter]):
    """The reference's own."""

    def __init__(self, port: int = 8000, blocking: bool = True, **kwargs: Any) -> None:
        super().__init__(port, Letter, blocking, **kwargs)

    async def score(self, request: ValidatedRequest[Letter]) -> Response:
        count = request.turns[-1].content.count(request.metadata.scary_letter)
        return Response(reward=float(not count), metadata={"feedback": f"{count} letters"})

    async def info(self) -> ServerInfo:
        return ServerInfo(version="1.0", name="Scary Letter Detector", description="Rewards.")


@pytest.fixture(scope="module", params=[None, 2], ids=["in place", "2 workers"])
def server(request: pytest.FixtureRequest) -> Iterator[Scary]:
    with Scary(port=0, blocking=False, workers=request.param) as running:
        yield running


def url(server: RewardServer[Any]) -> str:
    assert server.url is not None
    return server.url


@pytest.mark.sample(1, seconds=2)
def test_the_server_of_the_reference(server: Scary) -> None:
    assert call(url(server), "/info").json == {
        "version": "1.0",
        "name": "Scary Letter Detector",
        "description": "Rewards.",
    }
    assert call(url(server), "/metadata_schema").json == Letter.model_json_schema()
    reply = call(url(server), "/score", turns("Baltic Sea.", metadata={"scary_letter": "d"}))
    assert reply.json == {"reward": 1.0, "metadata": {"feedback": "0 letters"}, "id": None}
    requests = [turns(text, id=n, metadata={"scary_letter": "a"}) for n, text in enumerate(["a", "b", "aa"])]
    reply = call(url(server), "/batch_score", {"requests": requests})
    assert [(r["reward"], r["id"]) for r in reply.json["responses"]] == [(0.0, 0), (1.0, 1), (0.0, 2)]
    result = call(url(server), "/v1/score", row("b", metadata={"scary_letter": "a"}, id="x")).json
    assert (result["score"], result["id"], result["reward"]) == (1.0, "x", "Scary")
    # The metadata class keeps the field, wherever a format puts it.
    assert call(url(server), "/reward", row("b", scary_letter="a")).json["score"] == 1.0


FIELD = ("scary_letter",)


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        (turns("a"), [("missing", FIELD)]),
        (turns("a", metadata=None), [("missing", FIELD)]),
        (turns("a", metadata={}), [("missing", FIELD)]),
        (turns("a", metadata={"scary_letter": "ab"}), [("string_too_long", FIELD)]),
        (turns("a", metadata={"scary_letter": 3}), [("string_type", FIELD)]),
        (turns("a", metadata=[]), [("model_type", ())]),
    ],
)
def test_metadata_is_held_against_the_class(server: Scary, given: Any, problems: list[Any]) -> None:
    reply = call(url(server), "/score", given)
    assert reply.status == 422
    found = [(problem["type"], problem["loc"]) for problem in reply.json["detail"]]
    assert found == [(kind, ["body", "metadata", *place]) for kind, place in problems]
    batch = {"requests": [turns("a", metadata={"scary_letter": "a"}), given, given]}
    reply = call(url(server), "/batch_score", batch)
    found = [(problem["type"], problem["loc"]) for problem in reply.json["detail"]]
    assert found == [
        (kind, ["body", "requests", n, "metadata", *place]) for n in (1, 2) for kind, place in problems
    ]


def test_unknown_fields_are_named(server: Scary) -> None:
    given = {**turns("a", metadata={"scary_letter": "a"}), "foo": 1, "bar": 2}
    reply = call(url(server), "/score", given)
    assert sorted(problem["loc"][-1] for problem in reply.json["detail"]) == ["bar", "foo"]


def test_empty_metadata() -> None:
    with serve_work.ActServer(port=0, blocking=False) as running:
        cases: list[dict[str, Any]] = [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"any": [1]}}]
        for metadata in cases:
            assert call(url(running), "/score", {**turns("abc"), **metadata}).json["reward"] == 3.0


# The constructor.


def test_it_accepts_once_it_returns_and_nothing_listens_once_it_is_stopped() -> None:
    server = Scary(port=0, blocking=False)
    assert server.port > 0
    assert url(server) == f"http://127.0.0.1:{server.port}"
    with socket.create_connection(("127.0.0.1", server.port), timeout=5):
        pass
    with pytest.raises(InputError, match=f"port {server.port}.*choose another port"):
        Scary(port=server.port, blocking=False)
    port = server.port
    server.stop()
    server.stop()
    assert server.url is None
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    with Scary(port=port, blocking=False) as again:
        assert again.port == port


def test_adaptives_own_words_for_options(capfd: pytest.CaptureFixture[str]) -> None:
    with Scary(port=0, blocking=False, verbose=True, request_timeout_s=0.3) as server:
        assert call(url(server), "/score", turns("ab", metadata={"scary_letter": "q"})).status == 200
    assert "POST /score 200" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"port": 70_000}, "port"),
        ({"port": 0, "host": "0.0.0.0"}, "API key"),
        ({"port": 0, "wrokers": 2}, "no option 'wrokers'"),
        ({"port": 0, "workers": -1}, "workers"),
        ({"port": 0, "timeout": 0}, "0 is not a number of seconds"),
        ({"port": 0, "host": "no.such.host.invalid", "api_key": "k"}, "cannot listen"),
        ({"port": 0, "max_queue": 0}, "max_queue"),
    ],
)
def test_options_that_are_wrong(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Scary(blocking=False, **options)


def test_it_has_the_constructor_of_the_reference() -> None:
    class Positional(Scary):
        def __init__(self) -> None:
            RewardServer.__init__(self, 0, Letter, False)

    with Positional() as server:
        assert call(url(server), "/info").status == 200


# The hooks.


class Hooked(serve_work.ActServer):
    """Writes down what is called, and where."""

    def __init__(self, log: list[Any], **kwargs: Any) -> None:
        self.log = log
        super().__init__(**kwargs)

    def setup(self) -> None:
        self.log.append(("setup", os.getpid()))

    def cleanup(self) -> None:
        self.log.append(("cleanup", os.getpid()))


class AsyncHooked(Hooked):
    async def setup(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.loop = asyncio.get_running_loop()
        super().setup()

    async def score(self, request: Any) -> Any:
        assert asyncio.get_running_loop() is self.loop
        return await super().score(request)

    async def cleanup(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().cleanup()


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("cls", [Hooked, AsyncHooked])
def test_hooks_run_once_each_in_this_process(cls: type[Hooked]) -> None:
    log: list[Any] = []
    with cls(log, port=0, blocking=False) as running:
        assert log == [("setup", os.getpid())]
        for _ in range(3):
            assert call(url(running), "/score", turns("abc")).json["reward"] == 3.0
    assert log == [("setup", os.getpid()), ("cleanup", os.getpid())]


class FailsAtSetup(serve_work.ActServer):
    async def setup(self) -> None:
        raise LookupError("no database")


class FailsAtInfo(serve_work.ActServer):
    async def info(self) -> ServerInfo:
        raise LookupError("no database")


class FailsAtCleanup(serve_work.ActServer):
    def cleanup(self) -> None:
        raise LookupError("no database")


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("workers", [None, 1])
@pytest.mark.parametrize("cls", [FailsAtSetup, FailsAtInfo])
def test_a_hook_that_fails_keeps_the_server_from_starting(cls: Any, workers: int | None) -> None:
    with pytest.raises(RewardError, match="LookupError: no database"):
        cls(port=0, blocking=False, workers=workers)


def test_a_cleanup_that_fails_does_not_keep_the_server_from_stopping() -> None:
    server = FailsAtCleanup(port=0, blocking=False)
    server.stop()
    assert server.url is None


# What score may do.


SHARED = Response(reward=0.5, metadata={"shared": True}, id=4)


class Odd(serve_work.ActServer):
    """Gives back whatever the completion names."""

    async def score(self, request: Any) -> Any:
        name = request.turns[-1].content
        if name == "raise":
            raise ValueError("no")
        if name == "set":
            response = Response(reward=1)
            response.reward = float("inf")
            return response
        return {
            "shared": SHARED,
            "huge": Response(reward=1, metadata={"text": "é" * 300_000, "n": list(range(9999))}),
            "nan": lambda: Response(reward=float("nan")),
            "nan inside": Response(reward=1, metadata={"a": [{"b": float("nan")}]}),
            "nan as text": Response(reward=1, metadata={"a": "NaN", "b": "Infinity"}),
            "object": Response(reward=1, metadata={"a": object()}),
            "text": "good",
            "nothing": None,
            "number": 0.25,
            "bool": True,
            "dict": {"score": 0.75, "reason": "so"},
            "result": EvaluateResult(0.5, reason="half"),
        }[name]


@pytest.fixture(scope="module")
def odd() -> Iterator[Odd]:
    with Odd(port=0, blocking=False) as running:
        yield running


@pytest.mark.parametrize(
    ("name", "reward", "metadata"),
    [
        ("shared", 0.5, {"shared": True}),
        ("huge", 1.0, {"text": "é" * 300_000, "n": list(range(9999))}),
        ("nan as text", 1.0, {"a": "NaN", "b": "Infinity"}),
        ("number", 0.25, {}),
        ("bool", 1.0, {}),
        ("dict", 0.75, {"reason": "so"}),
        ("result", 0.5, {"reason": "half"}),
    ],
)
def test_results(odd: Odd, name: str, reward: float, metadata: Any) -> None:
    reply = call(url(odd), "/score", turns(name, id=9))
    assert reply.json == {"reward": reward, "metadata": metadata, "id": 9}
    alone = call(url(odd), "/score", turns(name))
    assert alone.json["id"] == (4 if name == "shared" else None)


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("raise", "exception", "ValueError: no"),
        ("nan", "invalid_result", "is not a score"),
        ("set", "invalid_result", "reward must be finite, not inf"),
        ("nan inside", "invalid_result", "metadata.a[0].b must be finite"),
        ("object", "invalid_result", "object"),
        ("text", "invalid_result", "a str is not a score"),
        ("nothing", "invalid_result", "returned no reward"),
        ("unknown", "exception", "KeyError"),
    ],
)
def test_failures(odd: Odd, name: str, kind: str, says: str) -> None:
    reply = call(url(odd), "/score", turns(name, id=9))
    assert reply.error[:2] == (500, kind)
    assert says in reply.error[2]
    requests = [turns("number", id=1), turns(name, id=2), turns("bool", id=3)]
    items = call(url(odd), "/batch_score", {"requests": requests}).json["responses"]
    assert [item["reward"] for item in items] == [0.25, None, 1.0]
    assert (items[1]["id"], items[1]["error"]["kind"]) == (2, kind)
    whole = call(url(odd), "/batch_score", {"requests": requests}, {"X-Batch-Errors": "fail"})
    assert whole.error[:2] == (500, kind)


class Plain(serve_work.ActServer):
    """A score that is no coroutine function."""

    def score(self, request: Any) -> Any:
        return Response(reward=serve_work.act(request.turns[-1].content))


def through(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapper


class Wrapped(serve_work.ActServer):
    """A score behind a decorator, which awaits."""

    @through
    async def score(self, request: Any) -> Any:
        await asyncio.sleep(0.01)
        return await super().score(request)


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("workers", [None, 1])
@pytest.mark.parametrize("cls", [Plain, Wrapped])
def test_scores_that_are_no_plain_coroutines(cls: Any, workers: int | None) -> None:
    with cls(port=0, blocking=False, workers=workers) as running:
        assert call(url(running), "/score", turns("abc")).json["reward"] == 3.0
        assert call(url(running), "/v1/score", row("abc")).json["score"] == 3.0
        reply = call(url(running), "/batch_score", {"requests": [turns("a"), turns("raise x"), turns("ab")]})
        assert [item["reward"] for item in reply.json["responses"]] == [1.0, None, 2.0]


class Together(serve_work.ActServer):
    """Scores a batch at once, unless one says otherwise."""

    async def batch_score(self, requests: Any) -> BatchedResponse:
        texts = [request.turns[-1].content for request in requests.requests]
        if "fail" in texts:
            raise ValueError("not together")
        if "await" in texts and len(texts) > 1:
            await asyncio.sleep(1e6)
        responses = [Response(reward=100.0 + len(text)) for text in texts]
        return BatchedResponse(responses=responses[1:] if "short" in texts else responses)

    async def score(self, request: Any) -> Any:
        return Response(reward=await serve_work.act_async(request.turns[-1].content))


@pytest.mark.sample(1, seconds=5)
@pytest.mark.parametrize("workers", [None, 1])
def test_batch_score(workers: int | None) -> None:
    with Together(port=0, blocking=False, workers=workers, timeout=0.5) as running:

        def rewards(*texts: str) -> list[Any]:
            requests = [turns(text, id=n) for n, text in enumerate(texts)]
            items = call(url(running), "/batch_score", {"requests": requests}).json["responses"]
            assert [item["id"] for item in items] == list(range(len(texts)))
            return [item["error"]["kind"] if item["reward"] is None else item["reward"] for item in items]

        assert rewards("a", "abc") == [101.0, 103.0]
        assert rewards() == []
        # Each alone where it fails as a whole.
        assert rewards("a", "fail", "raise x") == [1.0, 4.0, "exception"]
        assert rewards("a", "await", "abc") == [1.0, "timeout", 3.0]
        assert call(url(running), "/score", turns("abc")).json["reward"] == 3.0
        # One response too few fails all, and the server is not asked again.
        assert rewards("a", "short") == ["wrong_length"] * 2
        assert rewards("a", "abc") == ["wrong_length"] * 2
        assert call(url(running), "/score", turns("abc")).status == 500


class Grumpy(BaseModel):
    """Its validator raises what is no validation error, or hangs."""

    word: str = ""

    @field_validator("word")
    @classmethod
    def _check(cls, word: str) -> str:
        if word == "key":
            raise KeyError("which")
        if word == "hang":
            time.sleep(60)
        if word == "leave":
            os._exit(4)
        return word


class GrumpyServer(RewardServer[Grumpy]):
    def __init__(self, port: int = 8000, blocking: bool = True, **kwargs: Any) -> None:
        super().__init__(port, Grumpy, blocking, **kwargs)

    async def score(self, request: Any) -> Response:
        return Response(reward=len(request.metadata.word))

    async def info(self) -> ServerInfo:
        return ServerInfo(version="1", name="grumpy", description="")


@pytest.mark.sample(1, seconds=6)
@pytest.mark.parametrize(
    ("word", "workers", "status", "kind"),
    [
        ("key", None, 500, "exception"),
        ("key", 1, 500, "exception"),
        ("hang", 1, 504, "timeout"),
        ("leave", 1, 500, "crash"),
    ],
)
def test_metadata_classes_with_code_of_their_own(
    word: str, workers: int | None, status: int, kind: str
) -> None:
    with GrumpyServer(port=0, blocking=False, workers=workers, timeout=0.3) as running:
        reply = call(url(running), "/score", turns("a", metadata={"word": word}, id=3))
        assert reply.error[:2] == (status, kind)
        assert call(url(running), "/score", turns("a", metadata={"word": "abc"})).json["reward"] == 3.0
        assert call(url(running), "/health/ready").status == 200


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize(
    ("order", "kind"),
    [("loop", "timeout"), ("sleep 2", "timeout"), ("await", "timeout"), ("swallow", "timeout")],
)
def test_a_score_that_overruns_beside_this_process(order: str, kind: str) -> None:
    with serve_work.AsyncActServer(port=0, blocking=False, timeout=0.4) as running:
        reply = call(url(running), "/score", turns(order, id=8))
        assert (*reply.error[:2], reply.json["id"]) == (504, kind, 8)
        assert call(url(running), "/score", turns("abc")).json["reward"] == 3.0
        requests = [turns(text) for text in ("a", order, "abc")]
        items = call(url(running), "/batch_score", {"requests": requests}).json["responses"]
        assert [item["reward"] for item in items] == [1.0, None, 3.0]


# Blocking servers, as scripts.

SCRIPT = """
import os, signal, sys, threading
sys.path.insert(0, {tests!r})
from support.serve_work import ActServer

class Script(ActServer):
    def cleanup(self):
        print("cleaned", flush=True)

    def setup(self):
        print("ready", os.getpid(), flush=True)

    async def score(self, request):
        if request.turns[-1].content == "signal this thread":
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        return await super().score(request)

if __name__ == "__main__":
    Script(port={port})
    print("returned", flush=True)
"""


def _script(tmp_path: Path) -> tuple[subprocess.Popen[str], str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = tmp_path / "script.py"
    tests = str(Path(__file__).parent.parent)
    path.write_text(textwrap.dedent(SCRIPT.format(tests=tests, port=port)), encoding="utf-8")
    command = [sys.executable, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            call(address, "/info")
        except OSError:
            time.sleep(0.05)
        else:
            return process, address
    raise AssertionError("it does not listen")


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_blocking_server_ends_in_good_order(tmp_path: Path, number: int) -> None:
    process, address = _script(tmp_path)
    assert call(address, "/score", turns("abc")).json["reward"] == 3.0
    found: list[Any] = []
    busy = serve_work.in_thread(lambda: found.append(call(address, "/score", turns("sleep 0.5"))))
    time.sleep(0.2)
    process.send_signal(number)
    said, errors = process.communicate(timeout=20)
    busy.join()
    assert found[0].json["reward"] == 9.0
    assert said.split()[2:] == ["cleaned", "returned"]
    assert process.returncode == 0
    assert "Traceback" not in errors


def test_a_signal_that_interrupts_no_call_of_the_main_thread_ends_a_blocking_server(tmp_path: Path) -> None:
    process, address = _script(tmp_path)
    time.sleep(0.5)  # until its main thread waits for the server to end
    assert call(address, "/score", turns("signal this thread")).status == 200
    said, errors = process.communicate(timeout=20)
    assert (said.split()[2:], process.returncode) == (["cleaned", "returned"], 0), errors


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    process, address = _script(tmp_path)
    busy = serve_work.in_thread(lambda: _ignoring(lambda: call(address, "/score", turns("sleep 30"))))
    time.sleep(0.2)
    process.kill()
    until = time.monotonic() + 8
    listens = True
    while listens and time.monotonic() < until:
        try:
            call(address, "/info", timeout=2)
            time.sleep(0.1)
        except OSError:
            listens = False
    assert not listens
    _, errors = process.communicate(timeout=20)
    busy.join(10)
    assert not busy.is_alive()
    assert "Traceback" not in errors


def _ignoring(job: Callable[[], Any]) -> None:
    try:
        job()
    except (OSError, Exception):
        return

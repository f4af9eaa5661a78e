"""RewardClient and AsyncRewardClient against a server on a real socket that misbehaves on demand."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from guerdon import AsyncRewardClient, Request, Response, RewardClient, Turn
from guerdon.errors import (
    BindingError,
    DeadlineError,
    ExecutionError,
    InputError,
    InvalidResultError,
    RemoteError,
    RewardError,
)
from support.misbehaving import SCHEMA, Misbehaving

KEY = "sk-very-secret"


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving() as server:
        yield server


@pytest.fixture
def adaptive() -> Iterator[Misbehaving]:
    with Misbehaving(v1=False) as server:
        yield server


def asked(text: str, letter: str | None = "z", id: int | None = None) -> Request:
    metadata = None if letter is None else {"scary_letter": letter}
    return Request(turns=[Turn(role="assistant", content=text)], metadata=metadata, id=id)


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"messages": [{"role": "assistant", "content": f"text {i}"}], "scary_letter": "z", "id": i}
        for i in range(count)
    ]


def posts(server: Misbehaving) -> list[dict[str, str]]:
    return [headers for method, _, headers, _ in server.seen if method == "POST"]


# What is asked and answered.


@pytest.mark.parametrize("named", ["positional", "url", "base_url", "setting"])
def test_the_address_has_several_spellings(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("GUERDON_BASE_URL", server.url)
    given = {"positional": (server.url + "/",)}.get(named, ())
    options = {named: server.url} if named in ("url", "base_url") else {}
    with RewardClient(*given, **options) as client:
        assert client.score(asked("abc", "b")).reward == 0.0
        assert client.score(asked("abc", "d", id=7)) == Response(
            reward=1.0, metadata={"feedback": "0 scary letters"}, id=7
        )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "give the server's address as url=, or set GUERDON_BASE_URL"),
        ({"url": "http://a", "base_url": "http://b"}, "two names for the same thing"),
        ({"url": "localhost:8000"}, "did you mean http://localhost:8000?"),
        ({"url": "ftp://a"}, "write it as http://host:8000"),
        ({"url": "http://a:x"}, "write it as http://host:8000"),
        ({"url": "http://me:secret@a"}, "must not hold a user name or a password"),
        ({"url": "http://a/?key=1"}, "leave out what follows"),
        ({"url": "http://a", "retries": -1}, "retries must be a whole number"),
        ({"url": "http://a", "timeout": 0}, "no number of seconds"),
        ({"url": "http://a", "max_connections": 0}, "whole number of 1 or more"),
        ({"url": "http://a", "transport": "carrier pigeon"}, 'transport must be "http"'),
        ({"url": "http://a", "api_key": "a\nb"}, "a header cannot carry"),
    ],
)
def test_options_that_do_not_fit(given: dict[str, Any], says: str) -> None:
    with pytest.raises(RewardError) as caught:
        RewardClient(**given)
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)


def test_info_and_schema(server: Misbehaving) -> None:
    with RewardClient(server.url) as client:
        info = client.info()
        assert (info.name, info.version, info.description) == ("scary", "v-1", "Letters that scare.")
        assert client.metadata_schema() == SCHEMA
        good, bad, none = client.batch_validate_metadata(
            [{"scary_letter": "a"}, {"scary_letter": "ab"}, None]
        ).responses
        assert good.is_valid
        assert good.error_message is None
        assert not bad.is_valid
        assert bad.error_message == "metadata.scary_letter: 'ab' is too long"
        assert "'scary_letter' is a required property" in str(none.error_message)
        assert client.validate_metadata({"scary_letter": "a"}).is_valid
    assert [path for _, path, _, _ in server.seen].count("/metadata_schema") == 1


FAILED = [
    ("raise", ExecutionError, "ValueError: no (scary.py, line 3)"),
    ("late", DeadlineError, "scary overran its deadline of 1 s and was ended"),
    ("nan", InvalidResultError, "scary returned an invalid result: score must be finite, not nan"),
]


@pytest.mark.parametrize("transport", ["http", "websocket", "auto"])
@pytest.mark.parametrize(("text", "error", "says"), FAILED)
def test_a_reward_that_fails_raises_the_error_of_its_kind_and_is_not_asked_again(
    server: Misbehaving, transport: Any, text: str, error: type[RewardError], says: str
) -> None:
    with RewardClient(server.url, transport=transport) as client, pytest.raises(error) as caught:
        client.score(asked(text))
    assert str(caught.value) == says
    assert server.scored[text] == 1


def test_failures_of_a_batch(server: Misbehaving) -> None:
    requests = [asked("a"), asked("raise"), asked("z"), asked("nan")]
    with RewardClient(server.url) as client:
        responses = client.batch_score(requests, on_error="return")
        assert [r.reward if isinstance(r, Response) else r.kind for r in responses] == [
            1.0,
            "exception",
            0.0,
            "invalid_result",
        ]
        with pytest.raises(ExecutionError, match="ValueError: no"):
            client.batch_score(requests)
        with pytest.raises(BindingError, match="on_error must be"):
            client.batch_score(requests, on_error="ignore")  # type: ignore[call-overload]
        assert client.batch_score([]) == []


def test_one_item_that_does_not_fit_does_not_fail_the_batch(adaptive: Misbehaving) -> None:
    requests = [asked("a"), asked("b", None), asked("z")]
    with RewardClient(adaptive.url) as client:
        first, second, third = client.batch_score(requests, on_error="return")
        assert (getattr(first, "reward", None), getattr(third, "reward", None)) == (1.0, 0.0)
        assert isinstance(second, InputError)
        assert str(second) == "metadata.scary_letter: Field required"
        with pytest.raises(InputError, match=r"requests\[1\].metadata.scary_letter: Field required"):
            client.batch_score(requests)


def test_one_item_that_raises_does_not_fail_the_batch_of_a_server_that_says_only_500(
    adaptive: Misbehaving,
) -> None:
    requests = [asked("a"), asked("raise"), asked("z")]
    with RewardClient(adaptive.url, retries=1) as client:
        first, second, third = client.batch_score(requests, on_error="return")
        assert (getattr(first, "reward", None), getattr(third, "reward", None)) == (1.0, 0.0)
        assert isinstance(second, RemoteError)
        assert "answered 500: 'Internal Server Error' (2 tries)" in str(second)


def test_a_large_batch_goes_in_pieces_and_comes_in_order(server: Misbehaving) -> None:
    requests = [asked("z" if i % 3 == 0 else "a") for i in range(1000)]
    big = [asked("a" * 1_500_000) for _ in range(5)]
    with RewardClient(server.url) as client:
        assert [r.reward for r in client.batch_score(requests)] == [float(i % 3 != 0) for i in range(1000)]
        sizes = [len(body["requests"]) for method, _, _, body in server.seen if method == "POST"]
        assert (sorted(sizes), sum(sizes)) == ([232, 256, 256, 256], 1000)
        server.seen.clear()
        assert len(client.batch_score(big)) == 5
        assert sorted(len(body["requests"]) for _, _, _, body in server.seen) == [1, 2, 2]


def test_a_piece_that_fails_fails_its_own_items_only(server: Misbehaving) -> None:
    server.faults.append("503")
    with RewardClient(server.url, retries=0, max_connections=1) as client:
        responses = client.batch_score([asked("a") for _ in range(300)], on_error="return")
    assert [isinstance(r, RemoteError) for r in responses] == [True] * 256 + [False] * 44


# Faults on the way.


@pytest.mark.parametrize(
    "faults",
    [
        ["drop"],
        ["half"],
        ["500"],
        ["503"],
        ["text"],
        ["429:0.05"],
        ["drop", "half", "503", "429:0.01", "text"],
    ],
)
def test_after_a_fault_the_request_is_sent_again_under_the_same_key(
    server: Misbehaving, faults: list[str]
) -> None:
    server.faults.extend(faults)
    with RewardClient(server.url) as client:
        assert client.score(asked("once")).reward == 1.0
        assert client.score(asked("other")).reward == 1.0
    assert server.scored == {"once": 1, "other": 1}
    keys = [headers["Idempotency-Key"] for headers in posts(server)]
    assert (len(keys), len(set(keys))) == (len(faults) + 2, 2)


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        ("drop", RemoteError, "broke off: "),
        ("503", RemoteError, "answered 503: in trouble (3 tries)"),
        ("text", RemoteError, "answered 500: 'Internal Server Error' (3 tries)"),
        ("429:0.01", RemoteError, "answered 429: full (3 tries)"),
    ],
)
def test_faults_that_do_not_end(server: Misbehaving, fault: str, error: type[RewardError], says: str) -> None:
    server.faults.extend([fault] * 9)
    with RewardClient(server.url, retries=2) as client, pytest.raises(error) as caught:
        client.score(asked("a"))
    assert says in str(caught.value)
    assert len(posts(server)) == 3


def test_retry_after_is_waited_for_but_not_beyond_the_deadline(server: Misbehaving) -> None:
    server.faults.append("429:0.4")
    started = time.monotonic()
    with RewardClient(server.url) as client:
        assert client.score(asked("a")).reward == 1.0
        assert time.monotonic() - started >= 0.4
        server.faults.append("429:600")
    with (
        RewardClient(server.url, timeout=5) as client,
        pytest.raises(RemoteError, match="1 tries; the next would come after the deadline of 5 s"),
    ):
        client.score(asked("b"))
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_the_deadline_holds_over_all_tries(server: Misbehaving, transport: Any) -> None:
    server.faults.extend(["slow:5"] * 3)
    server.socket_faults.extend(["silence"] * 3)
    started = time.monotonic()
    with RewardClient(server.url, timeout=0.5, transport=transport) as client:
        with pytest.raises(DeadlineError, match="did not answer within"):
            client.score(asked("a"))
        assert time.monotonic() - started < 2


def test_an_answer_that_is_too_large_or_goes_in_circles(server: Misbehaving) -> None:
    from guerdon.serve.client.transport import CallOptions

    server.faults.extend(["circle"] * 9)
    with RewardClient(server.url) as client:
        with pytest.raises(RemoteError, match="redirects in a circle"):
            client.score(asked("a"))
        server.faults.clear()
        server.faults.append("huge")
        client._client.options = CallOptions(max_response=1_000_000)
        client.close()
        with pytest.raises(RemoteError, match="more than 1000000 bytes"):
            client.score(asked("a"))


def test_the_key_is_not_taken_to_another_host(server: Misbehaving) -> None:
    with Misbehaving() as other, RewardClient(server.url, api_key=KEY) as client:
        for target, host in ((f"{server.url}/info", True), (f"{other.url}/info", False)):
            # The address is that of a page which redirects.
            moved = f"{server.url}/moved?to={target}"
            answer = asyncio.run_coroutine_threadsafe(_get(client, moved), _loop_of(client)).result()
            assert (answer.status == 200) is host
            assert host or "a redirect to" in str(answer.error())
        assert other.seen == []


async def _get(client: RewardClient, url: str) -> Any:
    return await client._client._on_this_loop().request("GET", url)


def _loop_of(client: RewardClient) -> asyncio.AbstractEventLoop:
    from guerdon.serve.client.event_loop import network_loop

    client.info()
    return network_loop()


@pytest.mark.parametrize("given", ["argument", "setting"])
def test_the_key_is_sent_and_shown_nowhere(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    server.key = KEY
    if given == "setting":
        monkeypatch.setenv("GUERDON_API_KEY", KEY)
    with RewardClient(server.url, **({"api_key": KEY} if given == "argument" else {})) as client:
        assert client.score(asked("a")).reward == 1.0
        shown = f"{client!r} {client._client!r} {client._client.options!r}"
    assert KEY not in shown
    monkeypatch.delenv("GUERDON_API_KEY", raising=False)
    with (
        RewardClient(server.url, api_key="wrong-secret") as client,
        pytest.raises(
            RemoteError, match=r"refused the key \(403\); give api_key= or set GUERDON_API_KEY"
        ) as caught,
    ):
        client.score(asked("a"))
    assert "wrong-secret" not in str(caught.value)


def test_a_server_that_is_not_there() -> None:
    with (
        RewardClient("http://127.0.0.1:9", retries=1) as client,
        pytest.raises(RemoteError, match=r"http://127.0.0.1:9/score cannot be reached: .* \(2 tries\)"),
    ):
        client.score(asked("a"))


# Sockets.


@pytest.mark.parametrize("kind", ["server", "adaptive"])
@pytest.mark.parametrize(
    "faults",
    [
        [],
        ["drop"],
        ["away"],
        ["duplicate"],
        ["garbage"],
        ["drop after"],
        ["drop", "busy", "duplicate", "away"],
    ],
)
def test_over_a_socket_every_request_is_answered_once(
    request: pytest.FixtureRequest, kind: str, faults: list[str]
) -> None:
    server: Misbehaving = request.getfixturevalue(kind)

    async def main() -> list[float]:
        async with AsyncRewardClient(base_url=server.url) as client:
            await client.setup()
            server.socket_faults.extend(["", "", *faults])
            requests = [asked(f"{i} {'z' * (i % 2)}", id=i) for i in range(40)]
            responses = await asyncio.gather(*map(client.score, requests))
            assert [r.id for r in responses] == list(range(40))
            return [r.reward for r in responses]

    assert asyncio.run(main()) == [1.0, 0.0] * 20
    if kind == "server":
        assert set(server.scored.values()) == {1}, "a number of a session is scored once"
    sessions = [path for _, path, _, _ in server.seen if path.startswith("/ws")]
    assert len(set(sessions)) == 1
    assert ("?session=" in sessions[0]) is (kind == "server")


def test_a_socket_that_keeps_dropping(server: Misbehaving) -> None:
    server.socket_faults.extend(["drop"] * 99)
    with (
        RewardClient(server.url, retries=2, transport="websocket") as client,
        pytest.raises(RemoteError, match=r"drops the connection \(3 tries\)"),
    ):
        client.score(asked("a"))


def test_auto_goes_over_http_where_there_is_no_socket() -> None:
    with Misbehaving(sockets=False) as server:
        with RewardClient(server.url, transport="auto") as client:
            assert client.score(asked("a")).reward == 1.0
        with (
            RewardClient(server.url) as client,
            pytest.raises(RemoteError, match=r"takes no WebSocket \(404\)"),
        ):
            client.connect_websocket()


def test_a_socket_is_dropped_and_http_goes_on(server: Misbehaving) -> None:
    with RewardClient(server.url).connect_websocket() as client:
        assert client.score(asked("a")).reward == 1.0
        assert posts(server) == []
        client.drop_websocket()
        assert client.score(asked("a")).reward == 1.0
        assert len(posts(server)) == 1


# Streams.


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


def test_a_stream_is_read_only_some_pieces_ahead(server: Misbehaving) -> None:
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


# One client, many callers.


def test_from_many_threads_and_event_loops(server: Misbehaving) -> None:
    with RewardClient(server.url) as client, ThreadPoolExecutor(16) as pool:
        rewards = [r.reward for r in pool.map(client.score, [asked("az"[i % 2]) for i in range(200)])]
    assert rewards == [1.0, 0.0] * 100
    shared = AsyncRewardClient(server.url)
    for _ in range(2):
        assert asyncio.run(shared.score(asked("a"))).reward == 1.0

    async def calls_the_sync_one() -> float:
        with RewardClient(server.url) as inner:
            return inner.score(asked("a")).reward

    assert asyncio.run(calls_the_sync_one()) == 1.0


def test_a_client_that_nobody_closes_is_closed_in_silence(server: Misbehaving) -> None:
    script = (
        "import asyncio\nfrom guerdon import *\n"
        "request = Request(turns=[Turn(role='assistant', content='a')])\n"
        f"client = RewardClient({server.url!r}).connect_websocket()\nprint(client.score(request).reward)\n"
        f"print(RewardClient({server.url!r}).score(request).reward)\n"
        f"print(asyncio.run(AsyncRewardClient({server.url!r}).score(request)).reward)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ,
    )
    assert (done.stdout, done.stderr) == ("1.0\n1.0\n1.0\n", "")
    for _ in range(3):
        RewardClient(server.url).score(asked("a"))
        gc.collect()


def test_an_older_client_s_request_is_sent_as_theirs(server: Misbehaving) -> None:
    with RewardClient(server.url) as client:
        client.score(asked("a", None))
    assert server.seen[-1][3] == {
        "turns": [{"role": "assistant", "content": "a"}],
        "metadata": None,
        "id": None,
    }
    with RewardClient(server.url) as client, pytest.raises(InputError, match=r"must be a guerdon\.Request"):
        client.score(json.loads("{}"))


def test_without_the_extra_the_error_says_what_to_install() -> None:
    script = (
        "import sys\nsys.modules['aiohttp'] = None\nimport guerdon\n"
        "reward = guerdon.RewardFunction(endpoint='http://127.0.0.1:9', mode='remote')\n"
        "print(reward('a').error_kind)\n"
        "guerdon.RewardClient('http://127.0.0.1:9').info()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "missing_extra\n"
    assert done.stderr.endswith('calling a reward server needs an extra: pip install "guerdon[client]"\n')

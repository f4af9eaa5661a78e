"""What strangers may send: requests made up from the OpenAPI page, conversations on the sockets, raw bytes.

The reward has an answer for everything, so that no status of 5xx is asked for. ``GUERDON_FUZZ_CASES`` says how many
cases there are in all.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from support.served import Process, guerdon_serve, running

CASES = int(os.environ.get("GUERDON_FUZZ_CASES") or 600)
pytestmark = [pytest.mark.slow(seconds=CASES / 400)] if CASES > 1000 else []
ANSWER_SECONDS = 10.0
REWARD = """
from guerdon import EvaluateResult, reward_function


@reward_function
def fuzzed(response):
    return EvaluateResult(len(response), response)
"""


def part(share: float) -> settings:
    """Hypothesis's settings for a share of all the cases."""
    return settings(
        max_examples=max(int(CASES * share), 1),
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "fuzz.py").write_text(REWARD, encoding="utf-8")
    with running(
        guerdon_serve("fuzz.py::fuzzed", "--workers", "2", log=folder / "log.txt", folder=folder)
    ) as process:
        yield process
        assert process.popen.poll() is None, process.said()


# Requests.

HTTP_SHARE = 0.6


@pytest.mark.slow(seconds=40)
def test_requests_of_the_openapi_page(server: Process) -> None:
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 20
    share = HTTP_SHARE / len(operations) / len(GenerationMode)
    statuses: Counter[int] = Counter()
    with requests.Session() as session:
        for operation in operations:
            for mode in GenerationMode:
                explore(operation, mode, share, session, statuses)
        # Those that have few possible requests leave some to the path that takes every format.
        anything = next(o for o in operations if o.label == "POST /")
        for mode in GenerationMode:
            left = HTTP_SHARE - statuses.total() / CASES
            explore(anything, mode, left / 2 if mode is GenerationMode.POSITIVE else left, session, statuses)
    assert statuses.total() >= 0.9 * HTTP_SHARE * CASES
    assert statuses[200] > 0.05 * statuses.total(), statuses
    assert statuses[422] > 0.05 * statuses.total(), statuses


def explore(
    operation: Any, mode: GenerationMode, share: float, session: requests.Session, statuses: Counter[int]
) -> None:
    """Sends what fits the operation's description, or does not, and judges the answers."""
    path = {"reward": "fuzzed"} if "{reward}" in operation.path else None

    @part(share)
    @given(operation.as_strategy(generation_mode=mode, path_parameters=path))
    def check(case: Any) -> None:
        answer = case.call(session=session, timeout=ANSWER_SECONDS)
        statuses[answer.status_code] += 1
        assert answer.status_code < 500, f"{case.as_curl_command()}\n{answer.status_code} {answer.text}"
        assert answer.headers.get("x-request-id"), case.as_curl_command()
        if answer.status_code >= 400:
            told = json.loads(answer.text)
            # A result of /v1/score that failed says why in its error alone.
            assert told.get("detail") or "score" in told, (
                f"{case.as_curl_command()}\n{answer.status_code} {told}"
            )
            assert {"kind", "message"} <= set(told["error"]), told

    try:
        check()
    except Unsatisfiable:
        # There is no wrong way to ask for what takes nothing.
        assert mode is GenerationMode.NEGATIVE


STARTS = [
    *(b"", b"GET /info HTTP/1.1\r\n", b"POST /score HTTP/1.1\r\nContent-Length: 400\r\n\r\n"),
    b"POST /score HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n",
]


def test_raw_bytes(server: Process) -> None:
    @part(0.05)
    @given(st.sampled_from(STARTS), st.binary(max_size=300))
    def check(start: bytes, noise: bytes) -> None:
        with socket.create_connection(("127.0.0.1", server.port), ANSWER_SECONDS) as connection:
            connection.sendall(start + noise)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                while connection.recv(65536):
                    pass
        assert server.status("/health/live") == 200

    check()


# Conversations on a socket.

TEXT, BINARY, CLOSE, PING, PONG, MORE = 1, 2, 8, 9, 10, 0


def frame(kind: int, payload: bytes, last: bool = True, reserved: int = 0, masked: bool = True) -> bytes:
    head = bytes([last << 7 | reserved << 4 | kind])
    size, bit = len(payload), masked << 7
    if size < 126:
        head += bytes([bit | size])
    elif size < 65536:
        head += bytes([bit | 126]) + struct.pack("!H", size)
    else:
        head += bytes([bit | 127]) + struct.pack("!Q", size)
    if not masked:
        return head + payload
    key = b"\x5a\x00\xff\x11"
    mask = (key * (size // 4 + 1))[:size]
    return head + key + (int.from_bytes(payload) ^ int.from_bytes(mask)).to_bytes(size)


@dataclass
class Talk:
    """A connection that has been upgraded, and what has come over it."""

    server: Process
    path: str
    answers: list[dict[str, Any]] = field(default_factory=list)
    pongs: list[bytes] = field(default_factory=list)
    closed: bool = False

    def __enter__(self) -> Talk:
        self._socket = socket.create_connection(("127.0.0.1", self.server.port), ANSWER_SECONDS)
        self._held = b""
        self._chunks: dict[Any, tuple[int, list[str]]] = {}
        self.send(
            f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self._held:
            self._receive()
        head, _, self._held = self._held.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101"), head
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def finish(self, data: bytes) -> None:
        """Send the last there is to send, and wait for the server to close."""
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            self.send(data)
            self._socket.shutdown(socket.SHUT_WR)
            while not self.closed:
                self._receive()

    def _receive(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            self.closed = True
        self._held += data

    def read(self) -> None:
        """Take what comes next: at least one frame, or the end."""
        while not self.closed and (frame := self._frame()) is None:
            self._receive()
        if self.closed:
            return
        assert frame is not None
        kind, payload = frame
        if kind == CLOSE:
            self.closed = True
        elif kind == PONG:
            self.pongs.append(payload)
        else:
            assert kind == TEXT
            self._take(json.loads(payload))

    def _frame(self) -> tuple[int, bytes] | None:
        held = self._held
        if len(held) < 2:
            return None
        assert held[0] & 0xF0 == 0x80, held[:2]
        size, start = held[1], 2
        if size >= 126:
            start = 4 if size == 126 else 10
            if len(held) < start:
                return None
            size = int.from_bytes(held[2:start], "big")
        if len(held) < start + size:
            return None
        self._held = held[start + size :]
        return held[0] & 15, held[start : start + size]

    def _take(self, value: dict[str, Any]) -> None:
        """One answer; Adaptive's come in chunks."""
        if "total_num_chunks" in value:
            assert value["id"] not in self._chunks
            self._chunks[value["id"]] = value["total_num_chunks"], []
        elif "chunk" in value:
            count, chunks = self._chunks[value["id"]]
            chunks.append(value["chunk"])
            if len(chunks) == count:
                del self._chunks[value["id"]]
                whole = json.loads("".join(chunks))
                assert whole["id"] == value["id"]
                self.answers.append(whole)
        else:
            self.answers.append(value)


def asked(path: str, number: Any, completion: str) -> dict[str, Any]:
    """A request for a score in the form of the path."""
    message = {"role": "assistant", "content": completion}
    if path == "/v1/ws":
        return {"n": number, "sample": {"messages": [message]}}
    return {"id": number, "turns": [message], "metadata": None}


def told(path: str, answer: dict[str, Any]) -> tuple[Any, Any]:
    """The number and the score in an answer; the score is None where it is an error."""
    if path == "/v1/ws":
        return answer["n"], answer.get("result", {}).get("score")
    return answer["id"], answer.get("reward")


plain = st.characters(exclude_categories=["Cs"])
completions = st.one_of(
    st.text(plain, max_size=50),
    st.text(plain, min_size=1, max_size=5).map(lambda text: text * 7000),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(plain, max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(plain, max_size=9), inner, max_size=3)
    ),
    max_leaves=6,
)
cuts = st.lists(st.integers(0, 100), max_size=4)
changes = st.tuples(st.sampled_from(["id", "n", "turns", "sample", "metadata", "messages", "extra"]), values)

acts = st.one_of(
    st.tuples(st.just("ask"), completions, cuts),
    st.tuples(st.just("junk"), st.one_of(st.text(plain, max_size=60), values.map(json.dumps)), cuts),
    st.tuples(st.just("changed"), changes, cuts),
    st.tuples(st.just("ping"), st.binary(max_size=125), st.just([])),
    st.tuples(st.just("pong"), st.binary(max_size=125), st.just([])),
)
ends = st.one_of(
    st.just(b""),
    st.binary(min_size=1, max_size=200),
    st.builds(frame, st.just(BINARY), st.binary(max_size=200)),
    st.builds(frame, st.just(TEXT), st.binary(min_size=1, max_size=50).map(lambda b: b + b"\xff")),
    st.builds(
        frame, st.integers(0, 15), st.binary(max_size=200), st.booleans(), st.integers(0, 7), st.booleans()
    ),
    st.builds(frame, st.just(CLOSE), st.integers(0, 65535).map(lambda code: struct.pack("!H", code))),
    st.builds(frame, st.just(CLOSE), st.binary(max_size=125)),
    st.just(b"\x81\xff" + b"\xff" * 8),
    st.just(frame(TEXT, b'{"id":', last=False)),
)


def split(payload: bytes, places: list[int]) -> bytes:
    """A text message as one frame or as several, with a ping between them."""
    bounds = [0, *sorted(len(payload) * place // 100 for place in places), len(payload)]
    pieces = [payload[a:b] for a, b in itertools.pairwise(bounds)]
    if len(pieces) == 1:
        return frame(TEXT, payload)
    first, *middle, last = pieces
    between = [frame(MORE, piece, last=False) for piece in middle]
    return b"".join([frame(TEXT, first, last=False), *between, frame(PING, b"between"), frame(MORE, last)])


@pytest.mark.parametrize("path", ["/ws", "/v1/ws", "/rewards/fuzzed/ws"])
def test_conversations(server: Process, path: str) -> None:
    @part((1 - HTTP_SHARE - 0.05) / 3)
    @given(st.lists(acts, max_size=8), ends)
    def check(acts: list[Any], end: bytes) -> None:
        converse(server, path, acts, end)

    check()


def converse(server: Process, path: str, acts: list[Any], end: bytes) -> None:
    """Every message is answered once, a right one with its score, whatever is said beside it."""
    form = "/v1/ws" if path.endswith("/v1/ws") else "/ws"
    expected: dict[int, int] = {}
    others, pongs, sent = 0, [], []
    for number, (kind, content, places) in enumerate(acts, 1000):
        if kind in ("ping", "pong"):
            sent.append(frame(PING if kind == "ping" else PONG, content))
            pongs += [content] * (kind == "ping")
            continue
        if kind == "ask":
            expected[number] = len(content)
            text = json.dumps(asked(form, number, content))
        elif kind == "changed":
            others += 1
            text = json.dumps({**asked(form, -number, "x"), content[0]: content[1]})
        else:
            others += 1
            text = content
        sent.append(split(text.encode(), places))
        pongs += [b"between"] * bool(places)
    with Talk(server, path) as talk:
        talk.send(b"".join(sent))
        while len(talk.answers) < len(expected) + others or len(talk.pongs) < len(pongs):
            talk.read()
            assert not talk.closed, f"closed after {len(talk.answers)} answers"
        scores = [told(form, answer) for answer in talk.answers]
        assert sorted(pair for pair in scores if pair[0] in expected) == sorted(expected.items())
        assert len(talk.answers) == len(expected) + others
        assert talk.pongs == pongs
        talk.finish(end)
    assert server.status("/health/live") == 200

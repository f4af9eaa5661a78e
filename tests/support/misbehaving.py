"""A reward server on a real socket that follows Guerdon's contract, or Adaptive's alone, and fails on demand.

The reward is the scary letter's: 1 unless the completion has the letter that the metadata names. A completion of
``raise``, ``late`` or ``nan`` fails as a reward does that raises, overruns or returns NaN.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import WSCloseCode, WSMsgType, web

from guerdon.serve.http.server import stop_accepting

INFO = {
    "version": "v-1",
    "name": "scary",
    "description": "Letters that scare.",
    "parameters": {"case": "lower"},
}
SCHEMA = {
    "type": "object",
    "properties": {"scary_letter": {"type": "string", "minLength": 1, "maxLength": 1}},
    "required": ["scary_letter"],
}
FAILURES = {
    "raise": (500, "exception", "ValueError: no (scary.py, line 3)"),
    "late": (504, "timeout", "scary overran its deadline of 1 s and was ended"),
    "nan": (500, "invalid_result", "scary returned an invalid result: score must be finite, not nan"),
}


def _transports() -> list[asyncio.Transport]:
    # asyncio has no public list of a loop's transports, and this one holds them weakly.
    return list(getattr(asyncio.get_running_loop(), "_transports", {}).values())


@contextlib.contextmanager
def aborted_at_the_end() -> Iterator[None]:
    """Close what the running loop has open now or opens meanwhile, so that no test is warned of it later."""
    open_now = _transports()
    try:
        yield
    finally:
        for transport in {*open_now, *_transports()}:
            transport.abort()


@dataclass
class Misbehaving:
    """``with Misbehaving() as server: … server.url``; it runs on a loop and a thread of its own."""

    v1: bool = True
    """Whether it is a Guerdon server; one of Adaptive's otherwise."""
    sockets: bool = True
    key: str | None = None
    health: dict[str, Any] | None = None
    """What /health answers where it is a server of Reward Kit's."""
    faults: deque[str] = field(default_factory=deque)
    """What the next requests for scores meet: drop, half, 500, 503, 429:SECONDS, slow:SECONDS, lines:COUNT."""
    socket_faults: deque[str] = field(default_factory=deque)
    """What the next frames meet: drop, duplicate, busy, garbage, silence."""
    seen: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)
    """Every request: method, path, headers, body."""
    scored: Counter[str] = field(default_factory=Counter)
    """How often each completion was scored, and not answered from memory."""
    version: str = "v-1"

    def __enter__(self) -> Self:
        self._memory: dict[str, tuple[int, Any]] = {}
        self._said: dict[tuple[str, int], Any] = {}
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.port = 0
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        asyncio.run_coroutine_threadsafe(self._settle(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, on the same port as before."""
        asyncio.run_coroutine_threadsafe(self._start(), self.loop).result()

    def stop(self) -> None:
        """Drop every connection and stop listening."""
        asyncio.run_coroutine_threadsafe(self._stop(), self.loop).result()

    async def _stop(self) -> None:
        await stop_accepting([self._listening])
        with aborted_at_the_end():
            await self._runner.cleanup()

    async def _settle(self) -> None:
        """Let connections that were accepted during the clean-up be closed, too."""
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        with aborted_at_the_end():
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.02)

    async def _start(self) -> None:
        app = web.Application(middlewares=[self._look], client_max_size=1 << 26)
        routes: dict[str, Callable[[web.Request], Any]] = {
            "/info": self._info,
            "/metadata_schema": self._schema,
        }
        routes |= {"/score": self._score, "/batch_score": self._batch_score, "/moved": self._moved}
        routes |= {"/reward": self._reward, "/evaluate": self._reward, "/v1/reward/{name}": self._reward}
        routes |= {"/v1/models/{who}/{model}/reward": self._reward}
        if self.sockets:
            routes["/ws"] = self._socket
        if self.health is not None:
            routes["/health"] = self._health
            del routes["/info"]
        if self.v1:
            for root in ("", "/rewards/scary"):
                routes |= {f"{root}/v1/info": self._v1_info, f"{root}/v1/schema": self._v1_schema}
                routes |= {f"{root}/v1/score": self._v1_score, f"{root}/v1/batch_score": self._v1_batch}
                if self.sockets:
                    routes[f"{root}/v1/ws"] = self._socket
        for path, handler in routes.items():
            app.router.add_route("*", path, handler)
        self._runner = web.AppRunner(app, shutdown_timeout=0.05)
        await self._runner.setup()
        assert self._runner.server is not None
        self._listening = await self.loop.create_server(
            self._runner.server, "127.0.0.1", self.port, reuse_address=True
        )
        self.port = self._listening.sockets[0].getsockname()[1]

    # What every request meets.

    @web.middleware
    async def _look(self, request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        raw = await request.read() if request.method == "POST" else b""
        body = json.loads(raw) if raw else None
        self.seen.append((request.method, request.path_qs, dict(request.headers), body))
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            said = request.headers.get("Authorization", "nothing")
            return web.json_response({"detail": f"not with {said}"}, status=403)
        if request.method == "POST" and (refusal := await self._fault(request)) is not None:
            return refusal
        key = request.headers.get("Idempotency-Key")
        response: web.StreamResponse
        if key in self._memory and "jsonl" not in request.headers.get("Accept", ""):
            status, value = self._memory[key]
            response = web.json_response(value, status=status, headers={"Idempotency-Replayed": "true"})
        else:
            response = await handler(request)
        if key is not None and self.v1 and isinstance(response, web.Response):
            self._memory[key] = (response.status, json.loads(response.body or b"null"))
        if self._after == "half":
            await self._cut(request, response)
        return response

    _after = ""

    async def _fault(self, request: web.Request) -> web.Response | None:
        fault, _, number = (self.faults.popleft() if self.faults else "").partition(":")
        self._after = fault if fault in ("half", "lines") else ""
        self._lines = int(number or 0) if fault == "lines" else -1
        if fault == "drop" and request.transport is not None:
            request.transport.abort()
        if fault == "slow":
            await asyncio.sleep(float(number))
        if fault == "text":
            return web.Response(status=500, text="Internal Server Error")
        if fault in ("500", "503"):
            return web.json_response({"detail": "in trouble"}, status=int(fault))
        if fault == "429":
            return web.json_response({"detail": "full"}, status=429, headers={"Retry-After": number})
        if fault == "huge":
            return web.Response(body=b" " * 3_000_000, content_type="application/json")
        if fault == "circle":
            return web.Response(status=307, headers={"Location": request.path})
        return None

    async def _cut(self, request: web.Request, response: web.StreamResponse) -> None:
        body = response.body if isinstance(response, web.Response) else b""
        assert isinstance(body, bytes)
        assert request.transport is not None
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        request.transport.write(head.encode() + body[: len(body) // 2])  # type: ignore[attr-defined]
        await asyncio.sleep(0.02)
        request.transport.abort()

    # The reward.

    def _verdict(self, text: str, metadata: Any) -> tuple[float, str] | tuple[int, str, str]:
        self.scored[text] += 1
        if text in FAILURES:
            return FAILURES[text]
        count = text.count((metadata or {}).get("scary_letter", "z"))
        return (0.0 if count else 1.0), f"{count} scary letters"

    def _response(self, request: Any) -> tuple[int, dict[str, Any]]:
        verdict = self._verdict(request["turns"][-1]["content"], request.get("metadata"))
        if len(verdict) == 3:
            status, kind, message = verdict
            failure = {"error": {"kind": kind, "message": message}}
            return status, {"reward": None, "metadata": {}, "id": request.get("id"), **failure}
        reward, words = verdict
        return 200, {"reward": reward, "metadata": {"feedback": words}, "id": request.get("id")}

    def _result(self, row: Any) -> tuple[int, dict[str, Any]]:
        columns = row.get("metadata") or {}
        verdict = self._verdict(row["messages"][-1]["content"], columns)
        made = {"reward": "scary", "version": self.version, "parameters": INFO["parameters"]}
        empty = {"id": row.get("id"), "score": None, "reason": None, "metrics": {}, "error": None}
        if len(verdict) == 3:
            status, kind, message = verdict
            return status, {**empty, "error": {"kind": kind, "message": message}, **made}
        score, words = verdict
        metrics = {"letters": {"score": score, "success": score == 1.0, "reason": words, "weight": None}}
        return 200, {**empty, "score": score, "reason": words, "metrics": metrics, **made}

    async def _info(self, request: web.Request) -> web.Response:
        return web.json_response({n: v for n, v in INFO.items() if n != "parameters"})

    async def _schema(self, request: web.Request) -> web.Response:
        return web.json_response(SCHEMA)

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response(self.health)

    async def _moved(self, request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": request.query["to"]})

    async def _score(self, request: web.Request) -> web.Response:
        body = await request.json()
        if not self.v1 and body["turns"][-1]["content"] in FAILURES:
            return web.Response(status=500, text="Internal Server Error")
        status, value = self._response(body)
        return web.json_response(value, status=status)

    async def _batch_score(self, request: web.Request) -> web.Response:
        asked = (await request.json())["requests"]
        problems = [
            {
                "type": "missing",
                "loc": ["body", "requests", i, "metadata", "scary_letter"],
                "msg": "Field required",
            }
            for i, one in enumerate(asked)
            if "scary_letter" not in (one.get("metadata") or {})
        ]
        if problems:
            return web.json_response({"detail": problems}, status=422)
        if not self.v1 and any(one["turns"][-1]["content"] in FAILURES for one in asked):
            return web.Response(status=500, text="Internal Server Error")
        return web.json_response({"responses": [self._response(one)[1] for one in asked]})

    async def _reward(self, request: web.Request) -> web.Response:
        body = await request.json()
        columns = body.get("kwargs", body)
        verdict = self._verdict(body["messages"][-1]["content"], columns)
        if len(verdict) == 3:
            _, kind, message = verdict
            failed = {"score": 0.0, "reason": None, "metrics": {}, "error": message, "is_score_valid": False}
            return web.json_response({**failed, "error_kind": kind})
        score, words = verdict
        metrics = {"letters": {"score": score, "reason": words, "success": score == 1.0}}
        return web.json_response({"score": score, "reason": words, "metrics": metrics, "error": None})

    # Guerdon's own format.

    async def _v1_info(self, request: web.Request) -> web.Response:
        return web.json_response({**INFO, "version": self.version, "guerdon": "0.2", "is_batch": False})

    async def _v1_schema(self, request: web.Request) -> web.Response:
        parameters = [{"name": "response", "required": True}, {"name": "scary_letter", "required": True}]
        return web.json_response({"metadata": SCHEMA, "parameters": parameters})

    async def _v1_score(self, request: web.Request) -> web.Response:
        status, value = self._result(await request.json())
        return web.json_response(value, status=status)

    async def _v1_batch(self, request: web.Request) -> web.StreamResponse:
        samples = (await request.json())["samples"]
        if "jsonl" not in request.headers.get("Accept", ""):
            return web.json_response({"results": [self._result(sample)[1] for sample in samples]})
        stop = self._lines
        response = web.StreamResponse(headers={"Content-Type": "application/jsonl"})
        await response.prepare(request)
        for index, sample in reversed(list(enumerate(samples))):
            if stop == 0:
                await response.write(b'{"index": 0, "sco')
                await asyncio.sleep(0.02)
                assert request.transport is not None
                request.transport.abort()
                return response
            stop -= 1
            line = json.dumps({**self._result(sample)[1], "index": index})
            await response.write(line.encode() + b"\n")
        await response.write(b'{"done": %d}\n' % len(samples))
        return response

    # Sockets.

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        session = request.query.get("session", str(id(socket)))
        is_v1 = request.path.endswith("/v1/ws")
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            frame = json.loads(message.data)
            n = frame["n"] if is_v1 else frame["id"]
            fault = self.socket_faults.popleft() if self.socket_faults else ""
            if fault == "drop":
                assert request.transport is not None
                request.transport.abort()
                break
            if fault == "away":
                await socket.close(code=WSCloseCode.GOING_AWAY)
                break
            if fault == "silence":
                continue
            if fault == "garbage":
                await socket.send_str("[1")
                continue
            if fault == "busy":
                error = {"error": {"kind": "busy", "message": "the queue is full"}}
                await socket.send_json({"n" if is_v1 else "id": n, **error})
                continue
            if (session, n) not in self._said:
                self._said[session, n] = (
                    self._result(frame["sample"])[1] if is_v1 else self._response(frame)[1]
                )
            for _ in range(2 if fault == "duplicate" else 1):
                await self._say(socket, n, self._said[session, n], is_v1)
            if fault == "drop after":
                assert request.transport is not None
                request.transport.abort()
                break
        return socket

    async def _say(self, socket: web.WebSocketResponse, n: int, value: Any, is_v1: bool) -> None:
        if is_v1:
            await socket.send_json({"n": n, "result": value})
        elif "error" in value:
            await socket.send_json({"id": n, "error": value["error"]})
        else:
            text = json.dumps({**value, "id": n})
            chunks = [text[i : i + 20] for i in range(0, len(text), 20)]
            await socket.send_json({"id": n, "total_num_chunks": len(chunks)})
            for chunk in chunks:
                await socket.send_json({"id": n, "chunk": chunk})

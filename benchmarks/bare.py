"""The scary letter reward as a bare ASGI function: pydantic reads and writes, and nothing else is there.

``floor`` is the same without HTTP, in one process: what no server can be faster than.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, Field

Event = dict[str, Any]


class ScaryLetter(BaseModel):
    scary_letter: str = Field(min_length=1, max_length=1)


class Turn(BaseModel):
    role: str
    content: str


class Request(BaseModel):
    turns: list[Turn]
    metadata: ScaryLetter
    id: int | None = None


class Batch(BaseModel):
    requests: list[Request]


class Response(BaseModel):
    reward: float
    metadata: dict[str, Any]
    id: int | None = None


read_one = Request.__pydantic_validator__.validate_json
read_many = Batch.__pydantic_validator__.validate_json
write = Response.__pydantic_serializer__.to_json


async def score(request: Request) -> Response:
    count = request.turns[-1].content.count(request.metadata.scary_letter)
    feedback = f"There were {count} scary letters!" if count else "There were no scary letters!"
    return Response(reward=float(count == 0), metadata={"feedback": feedback})


async def answer(path: str, body: bytes) -> bytes:
    if path == "/score":
        return write(await score(read_one(body)))
    return b'{"responses":[' + b",".join([write(await score(r)) for r in read_many(body).requests]) + b"]}"


def floor(path: str, body: bytes, rewards: int, seconds: float) -> float:
    """Rewards a second of decoding, calling and encoding."""
    begun, count = time.perf_counter(), 0
    while (now := time.perf_counter()) < begun + seconds:
        try:
            answer(path, body).send(None)
        except StopIteration:
            count += rewards
    return count / (now - begun)


async def app(
    scope: Event, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]
) -> None:
    if scope["type"] == "websocket":
        await talk(receive, send)
        return
    if scope["type"] != "http":
        return
    event = await receive()
    body = event.get("body", b"")
    while event.get("more_body"):
        event = await receive()
        body += event["body"]
    out = b"{}" if scope["method"] == "GET" else await answer(scope["path"], body)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(out))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": out})


async def talk(receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]) -> None:
    import json

    await receive()
    await send({"type": "websocket.accept"})
    while (event := await receive())["type"] == "websocket.receive":
        request = read_one(event["text"])
        response = await score(request)
        response.id = request.id
        chunk = json.dumps(write(response).decode())
        await send({"type": "websocket.send", "text": f'{{"id":{request.id},"total_num_chunks":1}}'})
        await send({"type": "websocket.send", "text": f'{{"id":{request.id},"chunk":{chunk}}}'})


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(
        app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", lifespan="off", ws="websockets"
    )

"""How fast a reward server is called, against a bare server in the same run.

    python benchmarks/calling.py [--requests 4000]

The server answers every POST with the same bytes, so that what is left is the client's price. 32 requests are in
flight. Measured are the HTTP libraries that are installed, by themselves, and Guerdon's own clients.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import importlib
import importlib.util
import os
import platform
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from guerdon import AsyncRewardClient, Request, RewardClient, Turn

IN_FLIGHT = 32
ANSWER = b'{"reward":1.0,"metadata":{"feedback":"There were no scary letters!"},"id":null}'
REQUEST = Request(
    turns=[
        Turn(role="user", content="What sea touches Stockholm?"),
        Turn(role="assistant", content="The Baltic Sea is the one that touches it, as maps show us."),
    ],
    metadata={"scary_letter": "z"},
)
BODY = REQUEST.model_dump_json().encode()
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer k"}


class Bare(asyncio.Protocol):
    """HTTP/1.1 with as little as it takes."""

    def connection_made(self, transport: Any) -> None:
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            head = self.held[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.held) < end + 4 + length:
                return
            self.held = self.held[end + 4 + length :]
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
            self.transport.write(b"Content-Length: %d\r\n\r\n" % len(ANSWER) + ANSWER)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def spread(count: int, call: Callable[[], Awaitable[Any]]) -> None:
    left = iter(range(count))

    async def one_after_the_other() -> None:
        for _ in left:
            await call()

    await asyncio.gather(*(one_after_the_other() for _ in range(IN_FLIGHT)))


async def with_httpx(library: Any, url: str, count: int) -> None:
    async with library.AsyncClient(limits=library.Limits(max_connections=IN_FLIGHT)) as client:
        await spread(count, lambda: client.post(f"{url}/score", content=BODY, headers=HEADERS))


async def with_aiohttp(library: Any, url: str, count: int) -> None:
    async with library.ClientSession(connector=library.TCPConnector(limit=IN_FLIGHT)) as client:

        async def call() -> bytes:
            async with client.post(f"{url}/score", data=BODY, headers=HEADERS) as response:
                body: bytes = await response.read()
                return body

        await spread(count, call)


def with_threads(url: str, count: int) -> None:
    def calls(share: int) -> None:
        connection = http.client.HTTPConnection(url.removeprefix("http://"))
        for _ in range(share):
            connection.request("POST", "/score", BODY, HEADERS)
            connection.getresponse().read()
        connection.close()

    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(calls, [count // IN_FLIGHT] * IN_FLIGHT))


async def with_ours(url: str, count: int) -> None:
    async with AsyncRewardClient(url, api_key="k") as client:
        await spread(count, lambda: client.score(REQUEST))


def with_our_threads(url: str, count: int) -> None:
    with RewardClient(url, api_key="k") as client, ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(client.score, [REQUEST] * count))


def with_one_of_ours(url: str, count: int) -> None:
    with RewardClient(url, api_key="k") as client:
        for _ in range(count):
            client.score(REQUEST)


def measured(name: str, count: int, run: Callable[[], Any]) -> None:
    before, started = os.times(), time.perf_counter()
    run()
    seconds, after = time.perf_counter() - started, os.times()
    used = after.user + after.system - before.user - before.system
    print(f"{name:<38} {count / seconds:>9,.0f} /s {used / count * 1e6:>8,.0f} µs of processor a request")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    count = options.requests
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        print(
            f"Python {platform.python_version()}, {os.cpu_count()} processors, {IN_FLIGHT} requests in flight"
        )
        for name, run in (("httpx", with_httpx), ("httpx2", with_httpx), ("aiohttp", with_aiohttp)):
            if importlib.util.find_spec(name) is not None:
                library = importlib.import_module(name)
                measured(name, count, lambda run=run, library=library: asyncio.run(run(library, url, count)))
        measured("http.client in threads", count, lambda: with_threads(url, count))
        measured("guerdon.AsyncRewardClient", count, lambda: asyncio.run(with_ours(url, count)))
        measured("guerdon.RewardClient in 32 threads", count, lambda: with_our_threads(url, count))
        measured("guerdon.RewardClient, one at a time", count, lambda: with_one_of_ours(url, count))
        server.terminate()


if __name__ == "__main__":
    main()

"""Whether the server's memory stays flat under load: 10 minutes at 80 % of what it can do.

    python benchmarks/soak.py [--minutes 10] [--share 0.8]

First the capacity is measured with 32 requests in flight. Then requests leave at a fixed rate, whatever the
answers take, and latencies count from when a request was due. The resident memory of all the server's
processes is read every second. The drift is the mean of the last half against that of the first, after a
warm-up of a tenth of the time. Ends with status 1 where it is more than 5 % or a request failed.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from array import array
from collections import deque
from dataclasses import dataclass, field

from load import Load, Measured, Server, free_port, measure, run
from serving import CLASS, FILE, KEY, load_of, ours

MAX_DRIFT = 0.05
CAPACITY_SECONDS = 10.0
CONNECTIONS = 64
TICK = 0.002
LAST_SECONDS = 30.0


@dataclass
class Soak:
    """What was seen while the load ran."""

    resident: list[int] = field(default_factory=list)
    latencies: array[float] = field(default_factory=lambda: array("d"))
    sent: int = 0
    failed: int = 0


class Paced(asyncio.Protocol):
    """One connection that takes the next request that is due, and waits where there is none."""

    def __init__(self, request: bytes, due: deque[float], idle: list[Paced], soak: Soak) -> None:
        self._request, self._due, self._idle, self._soak = request, due, idle, soak
        self._held = b""
        self._since: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._idle.append(self)

    def send(self) -> None:
        self._since = self._due.popleft()
        self._soak.sent += 1
        self._transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._held += data
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._held[:end].lower()
        size = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(self._held) < end + 4 + size:
            return
        self._soak.failed += not head.startswith(b"http/1.1 200")
        self._held = b""
        assert self._since is not None
        self._soak.latencies.append(time.perf_counter() - self._since)
        self._since = None
        if self._due:
            self.send()
        else:
            self._idle.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._soak.failed += self._since is not None
        self._since = None


async def soak(server: Server, load: Load, rate: float, seconds: float) -> Soak:
    """Keeps the rate for so many seconds, and reads the memory every second."""
    seen, due, idle = Soak(), deque[float](), list[Paced]()
    head = f"POST {load.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    request = head.encode() + server.header + f"Content-Length: {len(load.body)}\r\n\r\n".encode() + load.body
    loop = asyncio.get_running_loop()
    for _ in range(CONNECTIONS):
        await loop.create_connection(lambda: Paced(request, due, idle, seen), "127.0.0.1", server.port)
    begun = time.perf_counter()
    planned, looked = 0, begun
    while (now := time.perf_counter()) < begun + seconds:
        while planned < (now - begun) * rate:
            due.append(begun + planned / rate)
            planned += 1
        while due and idle:
            idle.pop().send()
        if now >= looked:
            seen.resident.append(server.resident_bytes())
            looked += 1.0
        await asyncio.sleep(TICK)
    for _ in range(int(LAST_SECONDS / TICK)):
        if not due and len(seen.latencies) + seen.failed >= seen.sent:
            break
        await asyncio.sleep(TICK)
    seen.failed += len(due) + max(seen.sent - len(seen.latencies) - seen.failed, 0)
    return seen


def drift(resident: list[int]) -> float:
    """How much the last half holds more than the first, after the warm-up, as a share."""
    after = resident[len(resident) // 10 :]
    half = len(after) // 2
    return statistics.mean(after[half:]) / statistics.mean(after[:half]) - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--share", type=float, default=0.8, help="of the capacity")
    given = parser.parse_args()
    port = free_port()
    load = load_of("score", 60, "guerdon")
    assert load is not None
    with Server(ours(f"{FILE}::{CLASS}", port, "--api-key", KEY), port, KEY) as server:
        measure(server, load, 1.0)
        capacity = measure(server, load, CAPACITY_SECONDS).per_second
        rate = given.share * capacity
        print(f"capacity {capacity:,.0f} a second, load {rate:,.0f} a second for {given.minutes:g} minutes")
        seen = run(soak(server, load, rate, given.minutes * 60))
    share = drift(seen.resident)
    all_of = Measured(latencies=list(seen.latencies))
    megabytes = [b / 2**20 for b in seen.resident]
    print(f"requests   {seen.sent:,} sent, {seen.failed} failed")
    print(f"latency    p50 {all_of.latency(0.5):.2f} ms   p99 {all_of.latency(0.99):.2f} ms")
    print(
        f"memory     first {megabytes[0]:.1f} MB   last {megabytes[-1]:.1f} MB   most {max(megabytes):.1f} MB"
    )
    print(f"drift      {share:+.2%} of the last half against the first, {MAX_DRIFT:.0%} allowed")
    return int(share > MAX_DRIFT or seen.failed > 0)


if __name__ == "__main__":
    sys.exit(main())

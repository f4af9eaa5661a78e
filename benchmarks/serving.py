"""How many rewards a server gives, against the servers that people use now, in the same run.

    python benchmarks/serving.py [--full] [--servers adaptive-sdk,guerdon] [--only score,client]

Every server serves the scary letter reward: adaptive-sdk's and reward-kit's own, each in an environment of its
own that pip makes at the first run; ours, with a key, limits and metrics on, served by ``guerdon serve`` and as a
class that listens by itself, as adaptive-sdk's does; and a bare ASGI function under uvicorn that reads and writes
with pydantic. One raw client drives them in turns. The floor is the same reward decoded, called and encoded in
one process without HTTP. A figure is the median of several rounds.

The CPU second is the server's, all its processes together. Where the client and the server share few
processors, it says more than the second does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bare import floor
from load import Load, Measured, Server, free_port, measure, median_of

import guerdon

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests"))  # the environments of the peers are made as the tests make them

from interop.environments import PEERS, environment, python_of  # noqa: E402

KEY = "benchmark-key"
COMPLETION = "The Baltic Sea is the one that touches it, as maps show us. "
LENGTHS = (60, 2000)
BATCH = 256
PARTS = ("score", "batch", "ws", "client", "workers")
SERVERS = ("adaptive-sdk", "reward-kit", "guerdon", "RewardServer", "bare ASGI")
OURS = ("guerdon", "RewardServer")
CLASS = "ScaryLetterServer"
FILE = ROOT / "examples" / "servers" / "scary_letter.py"


@dataclass(frozen=True)
class Effort:
    """How long and how often is measured."""

    seconds: float
    rounds: int


QUICK, FULL = Effort(1.0, 3), Effort(4.0, 5)


def command(name: str, port: int) -> tuple[list[str], Mapping[str, str] | None]:
    """How a server is started, and the environment variables that it gets."""
    if name == "adaptive-sdk":
        return [str(python_of("adaptive")), str(PEERS / "adaptive_server.py"), str(port)], environment()
    if name == "reward-kit":
        script = str(PEERS / "reward_kit_server.py")
        return [str(python_of("reward_kit")), script, str(port), "server"], environment()
    if name == "bare ASGI":
        return [sys.executable, str(HERE / "bare.py"), str(port)], None
    if name == "RewardServer":
        code = f"import scary_letter; scary_letter.{CLASS}({port}, api_key={KEY!r})"
        return [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(FILE.parent)!r}); {code}"], None
    return ours(f"{FILE}::{CLASS}", port, "--api-key", KEY), None


def ours(reward: str, port: int, *options: str) -> list[str]:
    """The command line that serves a reward with guerdon."""
    return [sys.executable, "-m", "guerdon", "serve", reward, "--port", str(port), *options]


@contextlib.contextmanager
def started(names: Sequence[str]) -> Iterator[dict[str, Server]]:
    """The servers, all running at once: those that wait for their turn cost nothing."""
    with contextlib.ExitStack() as stack:
        servers = {}
        for name in names:
            port = free_port()
            line, env = command(name, port)
            key = KEY if name in OURS else None
            servers[name] = stack.enter_context(Server(line, port, key, env))
        yield servers


def load_of(part: str, length: int, server: str) -> Load | None:
    """The load of a part of the benchmark; None where a server does not know that kind of request."""
    completion = (COMPLETION * (length // len(COMPLETION) + 1))[:length]
    turns = [
        {"role": "user", "content": "What sea touches Stockholm?"},
        {"role": "assistant", "content": completion},
    ]
    if server == "reward-kit":
        body = {"messages": turns, "scary_letter": "z"}
        return Load(_json(body), 32, path="/reward") if part == "score" else None
    one = {"turns": turns, "metadata": {"scary_letter": "z"}}
    if part == "batch":
        return Load(_json({"requests": [one] * BATCH}), 4, path="/batch_score", rewards=BATCH)
    return Load(_json(one), 32, socket=part == "ws")


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


TITLES = {
    "score": "/score, 32 in flight",
    "batch": f"/batch_score, {BATCH} an item, 4 in flight",
    "ws": "WebSocket, 32 in flight",
}


def serving(part: str, servers: Mapping[str, Server], effort: Effort) -> None:
    """Compares the servers on one kind of request."""
    for length in LENGTHS:
        loads = {name: load for name in servers if (load := load_of(part, length, name))}
        rounds: dict[str, list[Measured]] = {name: [] for name in loads}
        for turn in range(effort.rounds + 1):
            for name, load in loads.items():
                got = measure(servers[name], load, effort.seconds if turn else 0.5)
                if turn:
                    rounds[name].append(got)
        print(f"\n{TITLES[part]}, completions of {length:,} characters")
        base = median_of(rounds["adaptive-sdk"]) if "adaptive-sdk" in rounds else None
        for name, measured in rounds.items():
            line(name, measured, base)
        if part != "ws":
            load = load_of(part, length, "guerdon")
            assert load is not None
            alone = floor(load.path, load.body, load.rewards, effort.seconds)
            print(f"  {'floor, no HTTP':<14} {alone:>9,.0f} a second {alone:>9,.0f} a CPU second")


def line(name: str, rounds: list[Measured], base: tuple[float, float] | None) -> None:
    second, cpu_second = median_of(rounds)
    all_of = Measured(latencies=[latency for r in rounds for latency in r.latencies])
    text = (
        f"  {name:<14} {second:>9,.0f} a second {cpu_second:>9,.0f} a CPU second   "
        f"p50 {all_of.latency(0.5):7.2f} ms   p99 {all_of.latency(0.99):7.2f} ms"
    )
    if base:
        text += f"   {second / base[0]:5.2f}x a second {cpu_second / base[1]:5.2f}x a CPU second"
    print(text)


def clients(effort: Effort) -> None:
    """Our client and adaptive-sdk's against one and the same server, ours without a key."""
    packages = {"adaptive-sdk": ("adaptive_sdk.external", python_of("adaptive"), environment())}
    packages["guerdon"] = ("guerdon", Path(sys.executable), dict(os.environ))
    port = free_port()
    found: dict[str, list[Measured]] = {name: [] for name in packages}
    with Server(ours(f"{FILE}::{CLASS}", port), port) as server:
        for _ in range(effort.rounds):
            for name, (package, python, env) in packages.items():
                arguments = [package, f"http://127.0.0.1:{server.port}", str(effort.seconds)]
                done = subprocess.run(
                    [str(python), str(HERE / "client_load.py"), *arguments],
                    env=env, capture_output=True, text=True, check=False,
                )  # fmt: skip
                if done.returncode:
                    raise RuntimeError(f"the client of {name} failed:\n{done.stderr[-2000:]}")
                said = json.loads(done.stdout.splitlines()[-1])
                found[name].append(Measured(said["done"], said["seconds"], said["cpu"]))
    print("\nclients, /score, 32 at a time against the same server")
    base = median_of(found["adaptive-sdk"])
    for name, rounds in found.items():
        second, cpu_second = median_of(rounds)
        print(
            f"  {name:<14} {second:>9,.0f} a second {cpu_second:>9,.0f} a CPU second of the client   "
            f"{second / base[0]:5.2f}x a second {cpu_second / base[1]:5.2f}x a CPU second"
        )


def workers(effort: Effort) -> None:
    """What a second worker brings to a reward that burns a millisecond."""
    turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": COMPLETION}]
    one = {"turns": turns}
    loads = {
        "/score": Load(_json(one), 32),
        "/batch_score": Load(_json({"requests": [one] * BATCH}), 4, path="/batch_score", rewards=BATCH),
    }
    print(f"\na reward that burns 1 ms of processor time, {os.cpu_count()} processors")
    with contextlib.ExitStack() as stack:
        running = {}
        for count in (1, 2):
            port = free_port()
            line_ = ours(f"{HERE / 'burn.py'}::one_millisecond", port, "--workers", str(count))
            running[count] = stack.enter_context(Server(line_, port))
        for path, load in loads.items():
            rounds: dict[int, list[Measured]] = {1: [], 2: []}
            for turn in range(effort.rounds + 1):
                for count, server in running.items():
                    got = measure(server, load, max(effort.seconds, 2.0) if turn else 0.5)
                    if turn:
                        rounds[count].append(got)
            (single, _), (double, _) = median_of(rounds[1]), median_of(rounds[2])
            print(
                f"  {path:<14} 1 worker {single:>7,.0f} a second   2 workers {double:>7,.0f} a second   "
                f"{double / single:5.2f}x"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--full", action="store_true", help="measure longer, for figures to publish")
    parser.add_argument("--servers", default=",".join(SERVERS), help=f"some of {', '.join(SERVERS)}")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    given = parser.parse_args()
    effort = FULL if given.full else QUICK
    chosen, parts = given.servers.split(","), given.only.split(",")
    if unknown := [name for name in chosen if name not in SERVERS] + [p for p in parts if p not in PARTS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    print(f"guerdon {guerdon.__version__}, Python {platform.python_version()}, {os.cpu_count()} processors")
    asked = [part for part in parts if part in TITLES]
    if asked:
        with started(chosen) as servers:
            for part in asked:
                serving(part, servers, effort)
    if "client" in parts:
        clients(effort)
    if "workers" in parts:
        workers(effort)


if __name__ == "__main__":
    main()

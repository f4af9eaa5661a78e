"""Whether the sandbox lasts: nothing grows over 100,000 runs, and no result is wrong when fork servers are killed.

    python benchmarks/sandbox_soak.py [--runs 100000] [--killed-runs 10000] [--kills 100] [--isolation auto]

First one process runs programs of several kinds, one after the other through ``map``. Ten times on the way the
memory of this process and of the fork servers, descriptors, processes and the files in the temporary folder are
counted. Then fork servers are killed at random while programs run, each of which prints a number of its own. Ends
with status 1 where something has grown after the first tenth, or a result was wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from guerdon.sandbox import NO_VERDICT, Sandbox

PARTS = 10
MOST_GROWTH_KB = 2048
PROGRAMS = (
    "print({0})",
    "import sys\nprint(sys.stdin.read() or {0})",
    "open('left', 'w').write('x' * 1000)\nprint({0})",
    "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(10)\nprint({0})",
    "import threading\nt = threading.Thread(target=print, args=({0},))\nt.start(); t.join()",
    "try:\n    1 / 0\nexcept ZeroDivisionError:\n    print({0})",
)


def programs(first: int, count: int) -> Iterator[str]:
    """Programs that print their number, each of the next kind."""
    return (PROGRAMS[number % len(PROGRAMS)].format(number) for number in range(first, first + count))


def below(pid: int) -> list[int]:
    """All processes below one."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            for child in map(int, (thread / "children").read_text().split()):
                found.append(child)
                with suppress(OSError):
                    found += below(child)
    return found


def resident_kb(pid: int) -> int:
    """Its memory that is not a file's, shared pages divided among those who share them; 0 where it is gone."""
    with suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss_Anon:"))
    return 0


def state() -> dict[str, int]:
    """What could grow."""
    servers = below(os.getpid())
    return {
        "this process, KB": resident_kb(os.getpid()),
        "fork servers, KB": sum(map(resident_kb, servers)),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "servers' descriptors": sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in servers),
        "processes": len(servers),
        "threads": threading.active_count(),
        "temporary files": len(os.listdir(tempfile.gettempdir())),
    }


def endurance(isolation: str, runs: int) -> bool:
    """Whether nothing grew."""
    seen: list[dict[str, int]] = []
    wrong = 0
    with Sandbox(isolation) as sandbox:
        print(f"{runs:,} runs, tier {sandbox.tier}, {sandbox.workers} workers")
        begun = time.perf_counter()
        for part in range(PARTS):
            first, count = part * runs // PARTS, runs // PARTS
            for number, done in enumerate(sandbox.map(programs(first, count)), first):
                wrong += done.stdout != f"{number}\n"
            time.sleep(0.5)  # the next forks are being made
            seen.append(state())
            print(
                f"  {first + count:>9,}  " + "   ".join(f"{k} {v:,}" for k, v in seen[-1].items()), flush=True
            )
        rate = runs / (time.perf_counter() - begun)
    grown = [
        name
        for name, value in seen[-1].items()
        if value - seen[0][name] > (MOST_GROWTH_KB if name.endswith("KB") else 0)
    ]
    print(f"  {rate:,.0f} a second, {wrong} wrong, grown: {', '.join(grown) or 'nothing'}")
    return not grown and not wrong


def crashes(isolation: str, runs: int, kills: int) -> bool:
    """Whether no result was wrong."""
    killed, over, dice = 0, threading.Event(), random.Random(1)

    def kill_at_random() -> None:
        nonlocal killed
        while killed < kills and not over.wait(dice.uniform(0, 0.2)):
            servers = below(os.getpid())
            if servers:
                with suppress(ProcessLookupError):
                    os.kill(dice.choice(servers), signal.SIGKILL)
                    killed += 1

    outcomes: Counter[str] = Counter()
    print(f"{runs:,} runs while {kills} processes of the sandbox are killed at random")
    with Sandbox(isolation) as sandbox:
        killer = threading.Thread(target=kill_at_random)
        killer.start()
        for number, done in enumerate(sandbox.map(programs(0, runs))):
            if done.status == "ok" and done.stdout == f"{number}\n":
                outcomes["right"] += 1
            elif done.status in NO_VERDICT:
                outcomes["reported as lost"] += 1
            else:
                # The program itself may be what was killed, and is told so.
                outcomes["program killed" if done.status == "killed" and not done.stdout else "wrong"] += 1
        over.set()
        killer.join()
    left = below(os.getpid())
    print(
        f"  killed {killed}; " + ", ".join(f"{k} {v:,}" for k, v in outcomes.items()) + f"; left {len(left)}"
    )
    return outcomes["wrong"] == 0 and not left


def main() -> int:
    """Runs both parts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--killed-runs", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--isolation", default="auto")
    given = parser.parse_args()
    lasts = endurance(given.isolation, given.runs) if given.runs else True
    holds = crashes(given.isolation, given.killed_runs, given.kills) if given.killed_runs else True
    return int(not (lasts and holds))


if __name__ == "__main__":
    sys.exit(main())

"""The ways in which a reward may be called, each from samples to outcomes in the samples' order."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from guerdon.reward.function import RewardFunction
from guerdon.scoring.outcome import Outcome, pack
from guerdon.scoring.run import score
from guerdon.types import Sample

THREADS = 16
_PATIENCE = 60.0
"""Seconds beyond the deadlines of all samples after which a way is taken to hang."""


@dataclass(frozen=True, slots=True)
class Call:
    """A reward and how long a sample may take."""

    reward: RewardFunction
    timeout: float
    seed: int = 0
    rows: int = 1
    """How many of the samples are rows; what follows them are hostile ones."""


class HangError(Exception):
    """Threads that did not come to their end."""


Way = Callable[[Call, Sequence[Sample]], list[list[Outcome]]]
"""Gives, for each sample, one outcome or several, all of which should be alike."""


def in_workers(call: Call, samples: Sequence[Sample], workers: int = 1) -> tuple[list[Outcome], list[float]]:
    """The outcomes in worker processes, which survive everything, and the seconds that each took."""
    scores = score(call.reward, samples, timeout=call.timeout, workers=workers, on_error="result")
    seconds = [float(row["seconds"]) for row in scores.rows()]
    return [pack(result) for result in scores], seconds


def _alone(call: Call, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """One after the other in this process."""
    return [[pack(call.reward.evaluate(sample))] for sample in samples]


def _batch(call: Call, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """All at once, each row twice."""
    results = [pack(result) for result in call.reward.evaluate_batch([*samples, *samples[: call.rows]])]
    again = results[len(samples) :]
    return [[result, *again[i : i + 1]] for i, result in enumerate(results[: len(samples)])]


def _permuted(call: Call, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """At once in another order."""
    order = list(range(len(samples)))
    random.Random(call.seed).shuffle(order)
    results = call.reward.evaluate_batch([samples[i] for i in order])
    found: list[list[Outcome]] = [[] for _ in samples]
    for i, result in zip(order, results, strict=True):
        found[i].append(pack(result))
    return found


def _threads(call: Call, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """In many threads at once: each takes up all of the rows, from another place on, and its share of the rest."""
    found: list[list[Outcome]] = [[] for _ in samples]
    until = time.monotonic() + call.timeout * len(samples) + _PATIENCE

    def run(number: int) -> None:
        start = number * len(samples) // THREADS
        for offset in range(len(samples)):
            i = (start + offset) % len(samples)
            if i < call.rows or i % THREADS == number:
                found[i].append(pack(call.reward.evaluate(samples[i])))

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:  # their calls have no deadline, and a test must not hang with them
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            raise HangError
    return found


def _workers(call: Call, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """In two worker processes and in another order, so that each has seen other samples before."""
    order = list(range(len(samples)))
    random.Random(call.seed + 1).shuffle(order)
    outcomes, _ = in_workers(call, [samples[i] for i in order], workers=2)
    found: list[list[Outcome]] = [[] for _ in samples]
    for i, outcome in zip(order, outcomes, strict=True):
        found[i].append(outcome)
    return found


def _http(call: Call, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """By a server on this machine, as a remote reward."""
    from guerdon.serve.background import BackgroundServer
    from guerdon.serve.run import serve

    served = call.reward.with_name("checked")
    running = serve(served, port=0, blocking=False, workers=1, timeout=call.timeout, quiet=True)
    assert isinstance(running, BackgroundServer)
    with running:
        remote = RewardFunction(endpoint=f"{running.url}/rewards/checked", mode="remote")
        timeout = (call.timeout + 1) * (len(samples) + 1)  # they wait for one worker
        scores = score(remote, samples, timeout=timeout, on_error="result")
        return [[pack(result)] for result in scores]


WAYS: Mapping[str, Way] = {
    "call": _alone,
    "batch": _batch,
    "permuted": _permuted,
    "thread": _threads,
    "worker": _workers,
    "http": _http,
}
"""Each way by name."""


def travels(sample: Sample) -> bool:
    """Whether a sample can be sent over HTTP: JSON has no lone surrogates, and a remote reward says so."""
    try:
        json.dumps(sample.to_row(), ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def go(name: str, call: Call, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """What a way gives. Raises HangError where threads do not come to their end."""
    return WAYS[name](call, samples)

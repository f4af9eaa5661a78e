"""The modes in which a reward may be called, each from samples to outcomes in the samples' order."""

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
"""Seconds beyond the deadlines of all samples after which a mode counts as hanging."""


@dataclass(frozen=True, slots=True)
class CheckedReward:
    """A reward under check, and how long a sample may take."""

    reward: RewardFunction
    timeout: float
    seed: int = 0
    rows: int = 1
    """How many of the samples are rows; adversarial ones follow."""


class HangError(Exception):
    """Some threads did not end in time."""


CallMode = Callable[[CheckedReward, Sequence[Sample]], list[list[Outcome]]]
"""Gives, for each sample, one outcome or several, all of which should be alike."""


def in_workers(
    checked: CheckedReward, samples: Sequence[Sample], workers: int = 1
) -> tuple[list[Outcome], list[float]]:
    """The outcomes in worker processes, and the seconds that each took; survives what a reward does."""
    scores = score(checked.reward, samples, timeout=checked.timeout, workers=workers, on_error="result")
    seconds = [float(row["seconds"]) for row in scores.rows()]
    return [pack(result) for result in scores], seconds


def _alone(checked: CheckedReward, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """One after the other in this process."""
    return [[pack(checked.reward.evaluate(sample))] for sample in samples]


def _batch(checked: CheckedReward, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """All at once, each row twice."""
    results = [pack(result) for result in checked.reward.evaluate_batch([*samples, *samples[: checked.rows]])]
    again = results[len(samples) :]
    return [[result, *again[i : i + 1]] for i, result in enumerate(results[: len(samples)])]


def _permuted(checked: CheckedReward, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """At once in another order."""
    order = list(range(len(samples)))
    random.Random(checked.seed).shuffle(order)
    results = checked.reward.evaluate_batch([samples[i] for i in order])
    found: list[list[Outcome]] = [[] for _ in samples]
    for i, result in zip(order, results, strict=True):
        found[i].append(pack(result))
    return found


def _threads(checked: CheckedReward, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """In many threads at once: each takes up all of the rows, from another place on, and its share of the rest."""
    found: list[list[Outcome]] = [[] for _ in samples]
    until = time.monotonic() + checked.timeout * len(samples) + _PATIENCE

    def run(number: int) -> None:
        start = number * len(samples) // THREADS
        for offset in range(len(samples)):
            i = (start + offset) % len(samples)
            if i < checked.rows or i % THREADS == number:
                found[i].append(pack(checked.reward.evaluate(samples[i])))

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:  # their calls have no deadline, and a test must not hang with them
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            raise HangError
    return found


def _workers(checked: CheckedReward, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """In two worker processes and in another order, so that each has seen other samples before."""
    order = list(range(len(samples)))
    random.Random(checked.seed + 1).shuffle(order)
    outcomes, _ = in_workers(checked, [samples[i] for i in order], workers=2)
    found: list[list[Outcome]] = [[] for _ in samples]
    for i, outcome in zip(order, outcomes, strict=True):
        found[i].append(outcome)
    return found


def _http(checked: CheckedReward, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """By a server on this machine, as a remote reward."""
    from guerdon.serve.background import BackgroundServer
    from guerdon.serve.run import serve

    served = checked.reward.with_name("checked")
    running = serve(served, port=0, blocking=False, workers=1, timeout=checked.timeout, quiet=True)
    assert isinstance(running, BackgroundServer)
    with running:
        remote = RewardFunction(endpoint=f"{running.url}/rewards/checked", mode="remote")
        timeout = (checked.timeout + 1) * (len(samples) + 1)  # they wait for one worker
        scores = score(remote, samples, timeout=timeout, on_error="result")
        return [[pack(result)] for result in scores]


CALL_MODES: Mapping[str, CallMode] = {
    "call": _alone,
    "batch": _batch,
    "permuted": _permuted,
    "thread": _threads,
    "worker": _workers,
    "http": _http,
}
"""Each mode by name."""


def is_sendable(sample: Sample) -> bool:
    """Whether a sample can be sent over HTTP: JSON cannot carry lone surrogates, and a remote reward refuses them."""
    try:
        json.dumps(sample.to_row(), ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def call_by_mode(name: str, checked: CheckedReward, samples: Sequence[Sample]) -> list[list[Outcome]]:
    """The outcomes in a mode. Raises HangError if threads do not end."""
    return CALL_MODES[name](checked, samples)

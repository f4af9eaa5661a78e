"""Direct calls under a deadline: one sample scored in a worker process, from whatever thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.reward.binding.annotations import ceilings_of, settings_of
from guerdon.reward.function import RewardFunction
from guerdon.scoring.engine.base import PendingSample
from guerdon.scoring.engine.factory import make_engine
from guerdon.scoring.outcome import unpack
from guerdon.scoring.run import RunOptions, limits_of
from guerdon.scoring.worker.entry import inside_worker
from guerdon.types import EvaluateResult, Sample


def evaluate_isolated(
    reward: RewardFunction, sample: Sample, explicit: Mapping[str, Any], timeout: float
) -> EvaluateResult:
    """The verdict on one sample, from a worker process that is killed after ``timeout`` seconds.

    The worker is kept for the next call of the same reward. Inside a worker the call is made in place:
    the deadline there is held from outside.
    """
    if inside_worker():
        return reward.evaluate(sample, explicit)
    # What the sample does not carry: fixed arguments, and what is never taken from a sample, or not as it is.
    mine = {*settings_of(reward.func), *ceilings_of(reward.func)} if reward.func is not None else set()
    fixed = {*reward.parameters, *mine}
    overrides = {name: value for name, value in explicit.items() if name in fixed}
    limits = limits_of(reward, RunOptions(timeout=timeout, workers=1, concurrency=1, batch_size=1), 1)
    called = RewardFunction(reward, **overrides) if overrides else reward
    engine = make_engine(called, iter([PendingSample(0, sample, 0)]), limits, given_workers=True)
    (record,) = (record for batch in engine for record in batch)
    return unpack(record.outcome, reward.provenance)

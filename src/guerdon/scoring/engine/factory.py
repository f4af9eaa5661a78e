"""Which engine scores a reward."""

from __future__ import annotations

from collections.abc import Iterator

from guerdon.errors import BindingError
from guerdon.reward.function import RewardFunction
from guerdon.scoring.engine.base import Engine, EngineLimits, PendingSample
from guerdon.scoring.engine.in_process import AsyncInProcessEngine, InProcessEngine
from guerdon.scoring.engine.pool import WorkerPoolEngine
from guerdon.scoring.process.worker_process import WorkerSpec


def make_engine(
    reward: RewardFunction,
    items: Iterator[PendingSample],
    limits: EngineLimits,
    given_workers: bool,
    may_block: bool = False,
) -> Engine:
    """The engine for a reward.

    An async reward that cannot be pickled stays in this process, unless ``given_workers`` says that the caller
    asked for workers. With ``may_block`` the next item may take long to come, and a thread waits for it.
    """
    if limits.workers == 0:
        return (AsyncInProcessEngine if reward.is_async else InProcessEngine)(reward, items, limits)
    try:
        spec = WorkerSpec.of(reward, limits.max_memory)
    except BindingError:
        if reward.is_async and not given_workers:
            return AsyncInProcessEngine(reward, items, limits)
        raise
    return WorkerPoolEngine(reward, items, limits, spec, may_block)

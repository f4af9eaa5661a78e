"""The order in which problems are learnt from, and how many steps that takes."""

from __future__ import annotations

import functools
import random

from guerdon.train.config.schema import Config


class BatchSampler:
    """Problems in an order that is shuffled anew for each pass over them, the same for the same seed.

    The problems of a step follow from its number alone, so a resumed run needs no state.

    >>> order = BatchSampler(10, batch=4, seed=1)
    >>> sorted(order.batch(0) + order.batch(1) + order.batch(2)[:2])
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    def __init__(self, count: int, *, batch: int, seed: int) -> None:
        self._count, self._size, self._seed = count, batch, seed
        self._pass = functools.lru_cache(maxsize=2)(self._shuffled)

    def _shuffled(self, number: int) -> list[int]:
        order = list(range(self._count))
        random.Random(f"{self._seed}/{number}").shuffle(order)
        return order

    def batch(self, step: int) -> list[int]:
        """The positions of the problems of a step; steps count from 0."""
        places = range(step * self._size, (step + 1) * self._size)
        return [self._pass(place // self._count)[place % self._count] for place in places]


def total_steps(config: Config, problems: int) -> int:
    """The steps of a whole run: ``num_batches`` an epoch, else as many as the problems fill, at least one."""
    training = config.training
    return training.num_epochs * (training.num_batches or max(problems // training.micro_batch_size, 1))

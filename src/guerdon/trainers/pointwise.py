"""Pointwise: an adapter for trainers that ask for one sample at a time and need a number for each."""

from __future__ import annotations

from typing import Any, ClassVar

from guerdon.errors import BindingError, RewardError
from guerdon.trainers.adapter import Adapter, logger
from guerdon.types import EvaluateResult, Sample


class Pointwise(Adapter):
    """A reward that is asked from many coroutines or threads at once; all calls share one engine.

    Raises BindingError for ``on_failure="skip"``: these trainers cannot do without a number.
    """

    taken: ClassVar[frozenset[str]] = frozenset()
    """Names that the trainer has values of its own for; a component of such a name gets ``metric_`` before it."""

    def __init__(self, reward: Any, **options: Any) -> None:
        super().__init__(reward, **options)
        self._last_logged = ""
        if self.on_failure == "skip":
            raise BindingError(
                f'{self.trainer} needs a number for every sample: on_failure must be a number or "raise"'
            )

    def verdicts(self, samples: list[Sample]) -> list[EvaluateResult]:
        """As ``results``; what keeps every sample from being scored is logged, since some trainers swallow it."""
        try:
            return self.results(samples)
        except RewardError as error:
            self._log_error(error)
            raise

    async def averdicts(self, samples: list[Sample]) -> list[EvaluateResult]:
        """The async twin of ``verdicts``."""
        try:
            return await self.aresults(samples)
        except RewardError as error:
            self._log_error(error)
            raise

    def _log_error(self, error: RewardError) -> None:
        if str(error) == self._last_logged:  # every other sample would say the same
            return
        self._last_logged = str(error)
        logger.error("%s cannot score for %s: %s", self.__name__, self.trainer, error)

    def score_of(self, result: EvaluateResult) -> float:
        """The score, or what the policy makes of a sample without one."""
        number = self.number(result)
        assert number is not None
        return number

    def details(self, result: EvaluateResult) -> dict[str, float]:
        """What is logged beside the score, under the same keys for every sample: ``failed`` and the components."""
        parts = self.parts(result)
        named = {f"metric_{n}" if n in self.taken or n == "failed" else n: v for n, v in parts.items()}
        return {"failed": float(result.failed), **named}

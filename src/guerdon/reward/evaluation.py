"""How a reward scores one sample or a batch, and the one place where exceptions become failed results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType

from pydantic import ValidationError

from guerdon.checks import reason_of, text_of
from guerdon.errors import ExecutionError, InvalidResultError, WrongLengthError
from guerdon.reward.binding.returns import is_result_error, not_asked_again
from guerdon.reward.identity import RewardIdentity
from guerdon.reward.scorers.component import NO_ARGUMENTS, CallArguments
from guerdon.reward.scorers.event_loop import ends_the_caller, gather, run_coroutine
from guerdon.types import EvaluateResult, Sample

DEFAULT_CONCURRENCY = 64
"""Concurrent calls of an async reward that sets no ``concurrency``."""

_ERROR_LENGTH = 2000
_READY_SECONDS = 60.0


class RewardEvaluation(RewardIdentity):
    """The verdicts of a reward; scoring turns whatever it raises into a failed result, but for KeyboardInterrupt."""

    def prepare(self) -> None:
        """Run what the reward and its components run once in a process, before the first sample."""
        for component in self.components:
            component.reward.prepare()
        if self.options.prepare is not None:
            self.options.prepare(**self.parameters)

    def check_ready(self) -> None:
        """Raise RewardError where what the reward and its components need is not there: a package, a model, a server.

        What was there is not looked for again for a minute.
        """
        for component in self.components:
            component.reward.check_ready()
        if self.options.reach is None and not self._scorer.is_remote:
            return
        if time.monotonic() - self._ready_at > _READY_SECONDS:
            self._scorer.check_ready()
            if self.options.reach is not None:
                self.options.reach(**self.parameters)
            self._ready_at = time.monotonic()

    def evaluate(self, sample: Sample, explicit: CallArguments = NO_ARGUMENTS) -> EvaluateResult:
        """The verdict on one sample, in this process and without a deadline; failures are results."""
        if self.is_async:
            return run_coroutine(self.aevaluate(sample, explicit))
        if self.is_batch:
            return self.evaluate_batch([sample], explicit)[0]
        try:
            result = self._scorer.score(sample, explicit)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the edge: what a reward raises is its sample's failure
            result = self.failure_of(error)
        return result.with_provenance(self._provenance or self.provenance)

    async def aevaluate(self, sample: Sample, explicit: CallArguments = NO_ARGUMENTS) -> EvaluateResult:
        """The async twin of ``evaluate``; a sync reward is called as it is."""
        if not self.is_async:
            return self.evaluate(sample, explicit)
        if self.is_batch:
            return (await self.aevaluate_batch([sample], explicit))[0]
        try:
            result = await self._scorer.ascore(sample, explicit)
        except BaseException as error:  # the edge, as above
            if ends_the_caller(error):
                raise
            result = self.failure_of(error)
        if self._scorer.is_remote and result.provenance is not None:  # as the server reports it
            name = self.options.name
            return result.with_provenance(replace(result.provenance, reward=name)) if name else result
        return result.with_provenance(self._provenance or self.provenance)

    def evaluate_batch(
        self, samples: Sequence[Sample], explicit: CallArguments = NO_ARGUMENTS
    ) -> list[EvaluateResult]:
        """The verdicts on a batch, in order; where a batch call raises, each sample is scored alone.

        One that returns another number of results is a failure of all, and the reward is not called again.
        """
        if self.is_async and samples:
            return run_coroutine(self.aevaluate_batch(samples, explicit))
        if not self.is_batch or not samples:
            return [self.evaluate(sample, explicit) for sample in samples]
        if self.wrong_length is not None:
            return self._not_asked(len(samples))
        try:
            results = self._scorer.score_batch(samples, explicit)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the edge, as above
            if isinstance(error, WrongLengthError):
                return self._miscounted(error, len(samples))
            if len(samples) > 1:
                return [self.evaluate_batch([sample], explicit)[0] for sample in samples]
            results = [self.failure_of(error)]
        return self._signed(results)

    async def aevaluate_batch(
        self, samples: Sequence[Sample], explicit: CallArguments = NO_ARGUMENTS
    ) -> list[EvaluateResult]:
        """The async twin of ``evaluate_batch``."""
        if not self.is_batch or not samples:
            calls = (self.aevaluate(sample, explicit) for sample in samples)
            return await gather(calls, self.concurrency or DEFAULT_CONCURRENCY)
        if not self.is_async:
            return self.evaluate_batch(samples, explicit)
        if self.wrong_length is not None:
            return self._not_asked(len(samples))
        try:
            results = await self._scorer.ascore_batch(samples, explicit)
        except BaseException as error:  # the edge, as above
            if ends_the_caller(error):
                raise
            if isinstance(error, WrongLengthError):
                return self._miscounted(error, len(samples))
            if len(samples) > 1:
                return [(await self.aevaluate_batch([sample], explicit))[0] for sample in samples]
            results = [self.failure_of(error)]
        return self._signed(results)

    def _miscounted(self, error: WrongLengthError, count: int) -> list[EvaluateResult]:
        """The failures of a batch for which the reward returned another number of results."""
        self.wrong_length = str(error)
        return self._signed([self.failure_of(error) for _ in range(count)])

    def _not_asked(self, count: int) -> list[EvaluateResult]:
        """The failures of samples for which a reward that miscounted is not called."""
        error = WrongLengthError(not_asked_again(self.wrong_length or ""), reward=self.name)
        return self._signed([EvaluateResult.failure(error) for _ in range(count)])

    def ask_again(self) -> None:
        """Forget that the reward, or a component, returned a wrong number of results: a new run starts."""
        self.wrong_length = None
        for component in self.components:
            component.reward.ask_again()

    def _signed(self, results: Sequence[EvaluateResult]) -> list[EvaluateResult]:
        provenance = self.provenance
        return [result.with_provenance(provenance) for result in results]

    def failure_of(self, error: BaseException) -> EvaluateResult:
        """The result for what the reward raised, with the place in its source; the edge where errors end."""
        if isinstance(error, ValidationError) and is_result_error(error):
            text = f"{self.name} made an invalid result: {reason_of(error)}"
            error = InvalidResultError(text, reward=self.name).with_traceback(error.__traceback__)
        if isinstance(error, SystemExit):
            error = ExecutionError(f"{self.name} tried to exit: SystemExit({error.code!r})", reward=self.name)
        text = text_of(error)[:_ERROR_LENGTH] + self._where(error.__traceback__)
        return EvaluateResult.failure(error, message=text)

    def _where(self, traceback: TracebackType | None) -> str:
        """The deepest line of the user's own file that the exception came through."""
        code = getattr(getattr(self.func, "__call__", None), "__code__", None)
        file = getattr(getattr(self.func, "__code__", code), "co_filename", None)
        line = 0
        while traceback is not None and file is not None:
            if traceback.tb_frame.f_code.co_filename == file:
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        return f" ({file.replace(chr(92), '/').rpartition('/')[2]}, line {line})" if line and file else ""

"""How a reward is called like its function: under its deadline, with one sample or with lists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from guerdon.errors import BindingError, DeadlineError
from guerdon.reward import hooks
from guerdon.reward.binding.call_arguments import (
    RESPONSE_NAMES,
    arguments_by_name,
    batch_size,
    coerced_batch,
    is_batch_call,
    sample_of,
    without_absent,
)
from guerdon.reward.evaluation import RewardEvaluation
from guerdon.reward.scorers.component import CallArguments
from guerdon.reward.scorers.event_loop import ends_the_caller
from guerdon.reward.scorers.function_scorer import FunctionScorer
from guerdon.types import EvaluateResult, Sample, check_ending

_RESPONSES = frozenset({*RESPONSE_NAMES, "completions", "queries", "solution_strs"})


class DirectCall(RewardEvaluation):
    """Calls of a reward, with the deadline and the failure policy of its options."""

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A result, an awaitable of one, or a list of results."""
        explicit = arguments_by_name(
            self.name,
            self._scorer.signature(),
            self.parameters,
            args,
            kwargs,
            any_name=self.options.metadata_schema is not None,
        )
        explicit = without_absent(self._scorer.signature(), explicit)
        self.ask_again()
        if self.is_batch and is_batch_call(explicit):
            return self._call_batch(explicit)
        sample, explicit = sample_of(explicit)
        if not self._takes_any_ending:
            check_ending(sample.messages)
        self._scorer.check(sample, explicit)
        self.provenance  # noqa: B018  a notebook may have given anew what the function refers to
        if self.returns_awaitable:
            return self._acall(sample, explicit)
        evaluate = self._isolated() or self.evaluate
        return self._delivered(evaluate(sample, explicit))

    @property
    def _takes_any_ending(self) -> bool:
        """Whether a conversation may end with the user: a function that gets the messages sees that for itself."""
        reads = self.reads
        return self.allows_any_ending or reads is None or _RESPONSES.isdisjoint(reads)

    def _isolated(self) -> Callable[[Sample, CallArguments], EvaluateResult] | None:
        """Evaluation in a worker process; None where there is no deadline, or something else enforces it."""
        run, seconds = hooks.run_isolated, self.timeout
        if run is None or seconds is None or self.options.enforces_timeout or self._scorer.is_remote:
            return None
        return lambda sample, explicit: run(self, sample, explicit, seconds).with_provenance(self.provenance)

    async def _acall(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        if (evaluate := self._isolated()) is not None:
            import asyncio

            return self._delivered(await asyncio.to_thread(evaluate, sample, explicit))
        return self._delivered(await self._within_timeout(self.aevaluate(sample, explicit)))

    async def _within_timeout(self, verdict: Awaitable[EvaluateResult]) -> EvaluateResult:
        """The verdict of an async call on this event loop, which is cancelled at its deadline."""
        import asyncio

        try:
            async with asyncio.timeout(self.timeout) as deadline:
                return await verdict
        except TimeoutError:
            if not deadline.expired():
                raise
            error = DeadlineError(f"{self.name} did not end within {self.timeout:g} s", reward=self.name)
            return self._signed([EvaluateResult.failure(error)])[0]

    def _delivered(self, result: EvaluateResult) -> EvaluateResult:
        if result.failed and self.options.on_error == "raise":
            result.unwrap()
        return result

    def _call_batch(self, explicit: dict[str, Any]) -> Any:
        """The function called with the lists as they are given."""
        scorer = self._scorer
        if not isinstance(scorer, FunctionScorer):
            raise BindingError(f"{self.name} is a composition: call it with one sample, or score many")
        size = batch_size(self.name, scorer.signature(), self.parameters, explicit)
        samples = [Sample(messages=[]) for _ in range(size)]
        explicit = {
            name: coerced_batch(name, value, any_ending=self._takes_any_ending)
            for name, value in explicit.items()
        }
        if self.is_async:
            return self._acall_batch(scorer, samples, explicit)
        try:
            results = scorer.score_batch(samples, explicit)
        except BindingError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the edge: what a reward raises is its samples' failure
            results = [self.failure_of(error) for _ in samples]
        return self._delivered_all(results)

    async def _acall_batch(
        self, scorer: FunctionScorer, samples: list[Sample], explicit: CallArguments
    ) -> list[EvaluateResult]:
        try:
            results = await scorer.ascore_batch(samples, explicit)
        except BindingError:
            raise
        except BaseException as error:  # the edge, as above
            if ends_the_caller(error):
                raise
            results = [self.failure_of(error) for _ in samples]
        return self._delivered_all(results)

    def _delivered_all(self, results: list[EvaluateResult]) -> list[EvaluateResult]:
        return [self._delivered(result) for result in self._signed(results)]

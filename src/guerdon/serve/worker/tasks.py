"""The items of one request, to be scored one by one or as a whole."""

from __future__ import annotations

import inspect
import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pydantic import BaseModel

from guerdon.errors import WrongLengthError
from guerdon.reward.function import RewardFunction
from guerdon.reward.scorers.event_loop import ends_the_caller
from guerdon.scoring.evaluate import ascore_samples, samples_of, score_samples
from guerdon.scoring.outcome import Outcome, failure, pack
from guerdon.scoring.process.ipc import StatusPage
from guerdon.scoring.row_pickle import row_bytes
from guerdon.serve.formats.adaptive import EncodedResponse, ServerRequests, reply_of, written
from guerdon.serve.formats.base import Format, ParsedRequest, RewardInfo
from guerdon.serve.messages import EVERY, WorkerReply
from guerdon.serve.redaction import redacted_text
from guerdon.types import Sample

_PART_SECONDS = 0.02
"""How long a call may go on before what is left of it is given back, for other workers to share."""


def known_outcome(known_outcomes: Mapping[int, Outcome], item: int) -> Outcome | None:
    """What is known of an item before it is scored: its own outcome, or that of all."""
    return known_outcomes.get(item) or known_outcomes.get(EVERY)


class ScoringServer(Protocol):
    """What a worker calls on a RewardServer."""

    metadata_cls: type[BaseModel]
    allow_any_ending: bool

    def score(self, request: Any) -> Any: ...
    def batch_score(self, requests: Any) -> Any: ...
    def overrides_batch_score(self) -> bool: ...
    def info(self) -> Any: ...
    def setup(self) -> Any: ...
    def cleanup(self) -> Any: ...


class ScoringTask(ABC):
    """The items of one call; an item that is an Outcome already needs no scoring."""

    items: Sequence[Any]
    divisible = False
    """Whether what is left of them can be given back, for others to share."""
    whole = False
    """Whether the items are scored together, by a batched reward."""

    @abstractmethod
    def run(self, item: Any) -> Any:
        """The result of one item of a sync reward, or of an async one that never waits; does not raise."""

    @abstractmethod
    async def arun(self, item: Any) -> Any:
        """The result of one item of an async reward; does not raise but where it is cancelled."""

    def run_all(self, items: Sequence[Any]) -> list[Any]:
        """The results of all items at once, where ``whole``."""
        return [self.run(item) for item in items]

    async def arun_all(self, items: Sequence[Any]) -> list[Any]:
        """The async twin of ``run_all``."""
        return [await self.arun(item) for item in items]

    def run_each(self, known_outcomes: Mapping[int, Outcome], status_page: StatusPage) -> list[Any]:
        """The results of the items, scored one by one; only of the first ones if it takes long."""
        results: list[Any] = []
        until = time.monotonic() + _PART_SECONDS
        for i, item in enumerate(self.items):
            now = time.monotonic()
            if now > until and i and self.divisible:
                break
            status_page.step(i, now)
            if known_outcomes and (outcome := known_outcome(known_outcomes, i)) is not None:
                results.append(outcome)
            else:
                results.append(item if type(item) is Outcome else self.run(item))
        return results

    @abstractmethod
    def answer(self, call_id: int, seconds: float, results: Sequence[Any]) -> WorkerReply:
        """The answer for the results of all items."""

    def rest(
        self, call_id: int, seconds: float, results: Sequence[Any], known_outcomes: Any
    ) -> WorkerReply | None:
        """The results so far and the items that are left, for others to share; None where they cannot be."""
        return None


class RewardFunctionTask(ScoringTask):
    """Samples for a RewardFunction."""

    def __init__(
        self,
        reward: RewardFunction,
        reward_info: RewardInfo,
        parsed: ParsedRequest,
        choice: tuple[int, str] = (0, ""),
        format: Format | None = None,
    ) -> None:
        self._reward, self._reward_info = reward, reward_info
        self._choice, self._format, self._context = choice, format, parsed.context
        self.items = parsed.samples
        self.whole = reward.is_batch
        self.divisible = True

    def run(self, item: Sample) -> Outcome:
        if self._reward.is_async:
            result: Outcome = pack(run_at_once(self._reward.aevaluate(item)))
            return result
        return pack(self._reward.evaluate(item))

    async def arun(self, item: Sample) -> Outcome:
        return pack(await self._reward.aevaluate(item))

    def run_all(self, items: Sequence[Sample | Outcome]) -> list[Any]:
        return score_samples(self._reward, items)

    async def arun_all(self, items: Sequence[Sample | Outcome]) -> list[Any]:
        # The deadline is the caller's, which ends the call from outside.
        return await ascore_samples(self._reward, items, float("inf"))

    def answer(self, call_id: int, seconds: float, results: Sequence[Outcome]) -> WorkerReply:
        results = redacted(results)
        if self._format is None:
            return WorkerReply(call_id, seconds, outcomes=tuple(results))
        status, body = self._format.write(self._choice[1], self._context, results, self._reward_info)
        return WorkerReply(call_id, seconds, status, body, *scores_and_failures(results), self._choice)

    def rest(
        self, call_id: int, seconds: float, results: Sequence[Outcome], known_outcomes: Mapping[int, Outcome]
    ) -> WorkerReply | None:
        left = range(len(results), len(self.items))
        rows = tuple(_row(known_outcomes.get(i) or known_outcomes.get(EVERY) or self.items[i]) for i in left)
        context = pickle.dumps(self._context, 5)
        return WorkerReply(
            call_id,
            seconds,
            choice=self._choice,
            outcomes=tuple(redacted(results)),
            rows=rows,
            context=context,
        )


def _row(item: Sample | Outcome) -> bytes:
    row = item if isinstance(item, Outcome) else row_bytes(item)
    return row if isinstance(row, bytes) else pickle.dumps(row, 5)


def samples_of_rows(rows: Sequence[bytes]) -> list[Sample | Outcome]:
    """The samples of rows that ``rest`` gave; one that cannot be read is the failure that says why."""
    return samples_of(list(enumerate(rows)))


class RewardServerTask(ScoringTask):
    """Requests for a RewardServer, in its own format."""

    def __init__(
        self,
        server: ScoringServer,
        reward: RewardFunction,
        parsed: ServerRequests,
        choice: tuple[int, str],
    ) -> None:
        self._server, self._reward, self._choice = server, reward, choice
        self._score = server.score
        self._ids = parsed.ids
        self._batch_cls: Any = parsed.batch_cls
        self.items = list(zip(parsed.requests, parsed.ids, strict=False))
        self.whole = choice[1] == "batch_score" and server.overrides_batch_score()

    def run(self, item: Any) -> EncodedResponse | Outcome:
        try:
            return reply_of(run_at_once(self._score(item[0])), item[1], self._reward.name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the edge: what a reward raises is its item's failure
            return self._failure(error)

    def run_each(self, known_outcomes: Mapping[int, Outcome], status_page: StatusPage) -> list[Any]:
        # As above, with what it calls written out: for a reward that is quick, this loop is what a batch costs.
        if known_outcomes:
            return super().run_each(known_outcomes, status_page)
        results: list[Any] = []
        append, score, step, clock, name = (
            results.append,
            self._score,
            status_page.step,
            time.monotonic,
            self._reward.name,
        )
        for i, (request, identity) in enumerate(self.items):
            step(i, clock())
            try:
                value: Any = score(request)
                try:
                    value.send(None)
                except StopIteration as stop:
                    value = stop.value
                except AttributeError:
                    if hasattr(value, "send"):
                        raise
                append(reply_of(value, identity, name))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # the edge, as above
                append(self._failure(error))
        return results

    async def arun(self, item: Any) -> EncodedResponse | Outcome:
        try:
            result: Any = self._score(item[0])
            if inspect.isawaitable(result):
                result = await result
            return reply_of(result, item[1], self._reward.name)
        except BaseException as error:  # the edge, as above
            if ends_the_caller(error):
                raise
            return self._failure(error)

    def _failure(self, error: BaseException) -> Outcome:
        return redacted_failure(self._reward, error)

    async def arun_all(self, items: Sequence[Any]) -> list[Any]:
        """The batch as ``batch_score`` answers it; where that fails, each request alone."""
        good = [i for i, item in enumerate(items) if not isinstance(item, Outcome)]
        if not good:
            return list(items)
        batch = self._batch_cls.model_construct(requests=[items[i][0] for i in good])
        try:
            responses = (await self._server.batch_score(batch)).responses
            count = len(responses)
        except BaseException as error:  # which of them is at fault is not known
            if ends_the_caller(error):
                raise
            return [item if isinstance(item, Outcome) else await self.arun(item) for item in items]
        results: list[Any] = list(items)
        if count != len(good):
            text = f"batch_score of {self._reward.name} gave {count} responses for {len(good)} requests"
            failed = failure(WrongLengthError.kind, text)
            return [item if isinstance(item, Outcome) else failed for item in items]
        for i, response in zip(good, responses, strict=True):
            try:
                results[i] = reply_of(response, items[i][1], self._reward.name)
            except (Exception, SystemExit) as error:  # the edge, as above
                results[i] = self._failure(error)
        return results

    def run_all(self, items: Sequence[Any]) -> list[Any]:
        results: list[Any] = run_at_once(self.arun_all(items))
        return results

    def answer(
        self, call_id: int, seconds: float, results: Sequence[EncodedResponse | Outcome]
    ) -> WorkerReply:
        status, body = written(self._choice[1], self._ids, results)
        # A failure is an Outcome, of six fields; a reply has two.
        scores: list[Any] = [reply[0] if len(reply) == 2 else None for reply in results]
        failures = None
        if None in scores:
            failures = failures_of([reply for reply in results if len(reply) != 2])
            scores = [reply[0] if len(reply) == 2 else reply.kind or "error" for reply in results]
        return WorkerReply(call_id, seconds, status, body, scores, failures, self._choice)


def redacted(results: Sequence[Outcome]) -> Sequence[Outcome]:
    """Outcomes whose errors, which go to the caller and into the journal, hold no secrets."""
    if all(outcome.error is None for outcome in results):
        return results
    return [o if o.error is None else o._replace(error=redacted_text(o.error)) for o in results]


def redacted_failure(reward: RewardFunction, error: BaseException) -> Outcome:
    """What a reward raised as such an outcome."""
    return redacted([pack(reward.failure_of(error))])[0]


def failures_of(outcomes: Sequence[Any]) -> dict[str, int] | None:
    """How many of them failed, by kind; None where none did."""
    counts: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.error is not None:
            kind = outcome.kind or "error"
            counts[kind] = counts.get(kind, 0) + 1
    return counts or None


def scores_and_failures(
    outcomes: Sequence[Outcome],
) -> tuple[list[float | str | None], dict[str, int] | None]:
    """The scores, with a failure's kind in place of one, and how many failed, by kind."""
    scores: list[float | str | None] = [outcome.score for outcome in outcomes]
    if None not in scores or (failures := failures_of(outcomes)) is None:
        return scores, None
    return [o.score if o.error is None else o.kind or "error" for o in outcomes], failures


def run_at_once(coroutine: Any) -> Any:
    """The result of a coroutine that never suspends, or of what is none."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    except AttributeError:
        if hasattr(coroutine, "send"):
            raise
        return coroutine
    coroutine.close()
    raise RuntimeError("a coroutine without an await was suspended")

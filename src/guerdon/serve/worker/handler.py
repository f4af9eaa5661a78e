"""What answers the server's calls, in the process where the reward is.

It reads a request's body, scores what it holds and writes the response's body, so that the HTTP
server process parses no body and runs none of the user's code.
"""

from __future__ import annotations

import dis
import inspect
import pickle
import time
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from guerdon.checks import text_of
from guerdon.errors import InputError, MemoryLimitError, kind_of
from guerdon.reward.function import RewardFunction
from guerdon.reward.loading.callables import ServerScore
from guerdon.reward.scorers.function_scorer import FunctionScorer
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.process.ipc import StatusPage
from guerdon.serve.formats import FORMATS
from guerdon.serve.formats.adaptive import AdaptiveFormat, ServerReader, reply_of, written_one
from guerdon.serve.formats.base import (
    ParsedRequest,
    RefusedError,
    RewardInfo,
    json_bytes,
    read_object,
    with_response,
)
from guerdon.serve.messages import TOGETHER, WorkerReply, WorkerRequest
from guerdon.serve.redaction import redacted_text
from guerdon.serve.worker.tasks import (
    RewardFunctionTask,
    RewardServerTask,
    ScoringServer,
    ScoringTask,
    failures_of,
    known_outcome,
    redacted_failure,
    samples_of_rows,
)

_AWAITS = {"GET_AWAITABLE", "GET_ANEXT", "SEND", "BEFORE_ASYNC_WITH", "YIELD_VALUE"}
_ADAPTIVE = next(i for i, format in enumerate(FORMATS) if isinstance(format, AdaptiveFormat))
ANSWER_FIELDS = 7
"""How many fields of an WorkerReply travel where the rest is as it is by default."""
NOTHING: Mapping[int, Outcome] = {}


class RequestHandler:
    """Answers calls for one reward, one after the other; ``async_executor`` runs many at once."""

    def __init__(self, reward: RewardFunction, status_page: StatusPage) -> None:
        self.reward, self.status_page = reward, status_page
        self.server = reward_server_of(reward)
        self.reward_info = reward_info_of(reward)
        self.direct = not reward.is_async or never_suspends(_awaited(reward))
        """Whether an answer needs no event loop that turns meanwhile."""
        server = self.server
        self._reader = (
            None if server is None else ServerReader(server.metadata_cls, self.reward_info.any_ending)
        )
        quick = self.direct and self.server is not None and not self.server.overrides_batch_score()
        self._quick = _ADAPTIVE if quick else -1

    def answer(self, call: WorkerRequest) -> WorkerReply:
        """The answer to a call of a reward that never waits; raises nothing but what ends the process."""
        started = time.perf_counter()
        try:
            if call.outcomes is not None:
                return self.finished(call, started)
            work = self.work(call)
            if call.parse_only and (rest := work.rest(call.id, 0.0, (), NOTHING)) is not None:
                return rest
            return self._scored(call, work, started)
        except RefusedError as refused:
            return refusal(call, refused, started)
        except Exception as error:  # the edge: a metadata class may have the user's validators
            return broken(call, error, started)
        finally:
            self.status_page.stop()

    def answer_plain(
        self, identity: int, choices: tuple[tuple[int, str], ...], body: bytes
    ) -> tuple[Any, ...]:
        """As ``answer`` for a call that is no more than a body, with the answer packed.

        A single request for a RewardServer has a fast path. The status page keeps its entry: the caller, which may
        answer several requests, stops it after the last.
        """
        choice = choices[0]
        reader, server, started = self._reader, self.server, time.monotonic()
        if choice[0] != self._quick or choice[1] == "batch_score" or reader is None or server is None:
            return packed(self.answer(WorkerRequest(identity, choices, body)))
        try:
            request = reader.one(choice[1], body)
        except Exception:  # the user's own validators: ``answer`` reports what they raise
            request = None
        if request is None:  # it is in another format, or malformed
            return packed(self.answer(WorkerRequest(identity, choices, body)))
        number = request.__dict__["id"]
        self.status_page.begin(identity, started)
        try:
            value: Any = server.score(request)
            try:
                value.send(None)
            except StopIteration as stop:
                value = stop.value
            except AttributeError:
                if hasattr(value, "send"):
                    raise
            reply = reply_of(value, number, self.reward.name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the edge: what a reward raises is its sample's failure
            reply = redacted_failure(self.reward, error)
        status, response = written_one(choice[1], number, reply)
        seconds = time.monotonic() - started
        if len(reply) == 2:
            return (identity, seconds, status, response, (reply[0],), None, choice)
        return (identity, seconds, status, response, (None,), failures_of((reply,)), choice)

    def work(self, call: WorkerRequest) -> ScoringTask:
        """What a call asks. Raises RefusedError."""
        if call.rows is not None:
            return RewardFunctionTask(
                self.reward, self.reward_info, ParsedRequest(samples_of_rows(call.rows))
            )
        choice = call.choices[0] if len(call.choices) == 1 else _chosen(call)
        format = FORMATS[choice[0]]
        if self._reader is not None and isinstance(format, AdaptiveFormat):
            assert self.server is not None
            requests = self._reader.read(choice[1], call.body)
            return RewardServerTask(self.server, self.reward, requests, choice)
        parsed = format.read(choice[1], call.body, self.reward_info)
        if not self.reward_info.any_ending:
            parsed.samples = [with_response(sample) for sample in parsed.samples]
        return RewardFunctionTask(self.reward, self.reward_info, parsed, choice, format)

    def finished(self, call: WorkerRequest, started: float) -> WorkerReply:
        """The response to a call whose parts have all been scored."""
        assert call.outcomes is not None
        (choice,) = call.choices
        parsed = ParsedRequest([], pickle.loads(call.context))
        work = RewardFunctionTask(self.reward, self.reward_info, parsed, choice, FORMATS[choice[0]])
        return work.answer(call.id, time.perf_counter() - started, call.outcomes)

    def _scored(self, call: WorkerRequest, work: ScoringTask, started: float) -> WorkerReply:
        items, known, start = work.items, call.known_outcomes or NOTHING, self.status_page.start
        count = len(items)
        if work.whole and not call.one_by_one and count > 1:
            start(call.id, TOGETHER)
            results = work.run_all([known_outcome(known, i) or item for i, item in enumerate(items)])
            return work.answer(call.id, time.perf_counter() - started, results)
        start(call.id)
        results = work.run_each(known, self.status_page)
        if len(results) < count:
            rest = work.rest(call.id, time.perf_counter() - started, results, known)
            assert rest is not None
            return rest
        return work.answer(call.id, time.perf_counter() - started, results)


def packed(answer: WorkerReply) -> tuple[Any, ...]:
    """An answer as a plain tuple, which is quicker to pickle, without fields that are as they are by default."""
    return tuple(answer) if answer.status == 0 else tuple(answer[:ANSWER_FIELDS])


def refusal(
    call: WorkerRequest, refused: RefusedError, started: float, kind: str = InputError.kind
) -> WorkerReply:
    """The answer to a call that is not scored."""
    detail = refused.detail
    message = detail if isinstance(detail, str) else "; ".join(_sentence(item) for item in detail[:3])
    index, op = call.choices[0]
    if op == "frame":
        body = FORMATS[index].refused_frame(refused.id, kind, message)
    else:
        body = json_bytes({"detail": detail, "error": {"kind": kind, "message": message}})
    return WorkerReply(call.id, time.perf_counter() - started, refused.status, body, choice=call.choices[0])


def broken(call: WorkerRequest, error: Exception, started: float) -> WorkerReply:
    """The answer to a call that could not be read or written for what code of the user's raised."""
    kind, message = kind_of(error), redacted_text(text_of(error))
    if call.rows is not None:
        outcomes = (failure(kind, message),) * len(call.rows)
        return WorkerReply(call.id, time.perf_counter() - started, outcomes=outcomes)
    identity = FORMATS[call.choices[0][0]].identity_of(call.body)
    answer = refusal(call, RefusedError(500, message, identity), started, kind)
    return answer._replace(failures={kind: 1})


def ran_out_of_memory(answer: WorkerReply) -> bool:
    """Whether a sample did; the heap of a process in which that happened is not one to go on with."""
    if answer.failures is not None:
        return MemoryLimitError.kind in answer.failures
    return any(outcome.kind == MemoryLimitError.kind for outcome in answer.outcomes)


def _sentence(problem: Mapping[str, Any]) -> str:
    place = ".".join(map(str, problem["loc"]))
    return f"{place}: {problem['msg']}"


def _chosen(call: WorkerRequest) -> tuple[int, str]:
    """The format whose shape a body has, and the operation that its fields mean."""
    body = read_object(call.body)
    mine = [(index, op) for index, op in call.choices if FORMATS[index].claims(op, body)]
    if mine:
        return mine[0]
    fields = ", ".join(sorted(map(str, body))[:12]) or "none"
    names = ", ".join(dict.fromkeys(FORMATS[index].name for index, _ in call.choices))
    raise RefusedError(
        422, f"the body matches none of the wire formats served here ({names}); its fields: {fields}"
    )


def reward_info_of(reward: RewardFunction) -> RewardInfo:
    """What formats may know of a reward."""
    server = reward_server_of(reward)
    schema = server.metadata_cls if server is not None else reward.options.metadata_schema
    reads = reward.reads
    if reads is not None and schema is not None:
        reads |= schema.model_fields.keys()
    return RewardInfo(
        reward.name, reward.version, reward.parameters, schema, reads, any_ending_of(reward, server)
    )


def any_ending_of(reward: RewardFunction, server: ScoringServer | None) -> bool:
    """Whether a reward, or the RewardServer that it calls, scores conversations without a response."""
    return reward.allows_any_ending or (server is not None and server.allow_any_ending)


def reward_server_of(reward: RewardFunction) -> ScoringServer | None:
    """The RewardServer whose ``score`` the reward calls, where that is what it is."""
    scorer = reward.scorer
    function = scorer.function if isinstance(scorer, FunctionScorer) else None
    server: Any = function.server if isinstance(function, ServerScore) else None
    return server if hasattr(server, "overrides_batch_score") else None


def _awaited(reward: RewardFunction) -> Callable[..., Any] | None:
    """The async function behind a reward, where it is the only one."""
    server = reward_server_of(reward)
    if server is not None:
        return None if server.overrides_batch_score() else server.score
    scorer = reward.scorer
    return scorer.function if isinstance(scorer, FunctionScorer) and not reward.is_batch else None


def never_suspends(function: Callable[..., Any] | None) -> bool:
    """Whether a function awaits nothing, so that one step of its coroutine is all of it.

    >>> async def at_once(response): return 1.0
    >>> never_suspends(at_once)
    True
    """
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    # What a plain function returns may be awaitable, as that of a decorator's wrapper is.
    if not isinstance(code, CodeType) or not code.co_flags & inspect.CO_COROUTINE:
        return False
    return not any(instruction.opname in _AWAITS for instruction in dis.get_instructions(code))

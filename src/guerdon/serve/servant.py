"""Servant: what answers the server's calls, in the process where the reward is.

It reads a request's body, scores what it holds and writes the response's body, so that the process which speaks
HTTP parses nothing that a stranger sent and runs nothing that a user wrote.
"""

from __future__ import annotations

import dis
import inspect
import pickle
import time
from collections.abc import Callable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any

from guerdon.reward.function import RewardFunction
from guerdon.reward.scorer import FunctionScorer
from guerdon.reward.targets import ServerScore
from guerdon.scoring.outcome import Outcome
from guerdon.scoring.wire import Slot
from guerdon.serve.calls import EVERY, TOGETHER, Answer, Call
from guerdon.serve.format import Asked, RefusedError, Served, json_bytes, read_object
from guerdon.serve.protocols import FORMATS
from guerdon.serve.protocols.adaptive import AdaptiveFormat, ServerReader
from guerdon.serve.work import SampleWork, ServerWork, Work, items_of

if TYPE_CHECKING:
    from guerdon.serve.server import RewardServer

_PART_SECONDS = 0.02
"""How long a call may go on before what is left of it is given back, for other workers to share."""
_AWAITS = {"GET_AWAITABLE", "GET_ANEXT", "SEND", "BEFORE_ASYNC_WITH", "YIELD_VALUE"}
NOTHING: Mapping[int, Outcome] = {}


def known_of(known: Mapping[int, Outcome], item: int) -> Outcome | None:
    """What is known of an item before it is scored: its own outcome, or that of all."""
    return known.get(item) or known.get(EVERY)


class Servant:
    """Answers calls for one reward, each where it is asked for; ``guerdon.serve.flights`` has many at once."""

    def __init__(self, reward: RewardFunction, slot: Slot) -> None:
        self.reward, self.slot = reward, slot
        self.server = server_behind(reward)
        self.served = served_of(reward)
        self.direct = not reward.is_async or never_suspends(_awaited(reward))
        """Whether an answer needs no event loop that turns meanwhile."""
        self._reader = ServerReader(self.server) if self.server is not None else None

    def answer(self, call: Call) -> Answer:
        """The answer to a call of a reward that never waits; raises nothing but what ends the process."""
        started = time.perf_counter()
        try:
            if call.outcomes is not None:
                return self.finished(call, started)
            work = self.work(call)
            if call.read_only and (rest := work.rest(call.id, 0.0, (), NOTHING)) is not None:
                return rest
            return self._scored(call, work, started)
        except RefusedError as refused:
            return refusal(call, refused, started)
        finally:
            self.slot.stop()

    def work(self, call: Call) -> Work:
        """What a call asks. Raises RefusedError."""
        if call.rows is not None:
            return SampleWork(self.reward, self.served, Asked(items_of(call.rows)))
        choice = call.choices[0] if len(call.choices) == 1 else _chosen(call)
        format = FORMATS[choice[0]]
        if self._reader is not None and isinstance(format, AdaptiveFormat):
            assert self.server is not None
            asked = self._reader.read(choice[1], call.body)
            return ServerWork(self.server, self.reward, asked, choice)
        samples = format.read(choice[1], call.body, self.served)
        return SampleWork(self.reward, self.served, samples, choice, format)

    def finished(self, call: Call, started: float) -> Answer:
        """The response to a call whose parts have all been scored."""
        assert call.outcomes is not None
        (choice,) = call.choices
        asked = Asked([], pickle.loads(call.context))
        work = SampleWork(self.reward, self.served, asked, choice, FORMATS[choice[0]])
        return work.answer(call.id, time.perf_counter() - started, call.outcomes)

    def _scored(self, call: Call, work: Work, started: float) -> Answer:
        items, known, start = work.items, call.known or NOTHING, self.slot.start
        count = len(items)
        if work.whole and not call.careful and count > 1:
            start(call.id, TOGETHER)
            results = work.run_all([known_of(known, i) or item for i, item in enumerate(items)])
            return work.answer(call.id, time.perf_counter() - started, results)
        results = []
        for i, item in enumerate(items):
            start(call.id, i)
            if known and (outcome := known_of(known, i)) is not None:
                results.append(outcome)
            elif type(item) is Outcome:
                results.append(item)
            else:
                results.append(work.run(item))
            if i + 1 < count and (seconds := time.perf_counter() - started) > _PART_SECONDS:
                rest = work.rest(call.id, seconds, results, known)
                if rest is not None:
                    return rest
        return work.answer(call.id, time.perf_counter() - started, results)


def refusal(call: Call, refused: RefusedError, started: float) -> Answer:
    """The answer to a call that is not scored."""
    detail = refused.detail
    message = detail if isinstance(detail, str) else "; ".join(_sentence(item) for item in detail[:3])
    index, op = call.choices[0]
    if op == "frame":
        body = FORMATS[index].refused_frame(refused.id, "input", message)
    else:
        body = json_bytes({"detail": detail, "error": {"kind": "input", "message": message}})
    return Answer(call.id, time.perf_counter() - started, refused.status, body, choice=call.choices[0])


def _sentence(problem: Mapping[str, Any]) -> str:
    place = ".".join(map(str, problem["loc"]))
    return f"{place}: {problem['msg']}"


def _chosen(call: Call) -> tuple[int, str]:
    """The format whose shape a body has, and the operation that its fields mean."""
    body = read_object(call.body)
    mine = [(index, op) for index, op in call.choices if FORMATS[index].claims(op, body)]
    if mine:
        return mine[0]
    fields = ", ".join(sorted(map(str, body))[:12]) or "none"
    names = ", ".join(dict.fromkeys(FORMATS[index].name for index, _ in call.choices))
    raise RefusedError(
        422, f"the body has the shape of none of the formats spoken here ({names}); its fields: {fields}"
    )


def served_of(reward: RewardFunction) -> Served:
    """What formats may know of a reward."""
    server = server_behind(reward)
    schema = server.metadata_cls if server is not None else reward.options.metadata_schema
    return Served(reward.name, reward.version, reward.parameters, schema)


def server_behind(reward: RewardFunction) -> RewardServer[Any] | None:
    """The RewardServer whose ``score`` the reward calls, where that is what it is."""
    scorer = reward.scorer
    function = scorer.function if isinstance(scorer, FunctionScorer) else None
    server: Any = function.server if isinstance(function, ServerScore) else None
    return server if hasattr(server, "overrides_batch_score") else None


def _awaited(reward: RewardFunction) -> Callable[..., Any] | None:
    """The async function behind a reward, where it is the only one."""
    server = server_behind(reward)
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
    if not isinstance(code, CodeType) or code.co_flags & inspect.CO_ASYNC_GENERATOR:
        return False
    if not code.co_flags & inspect.CO_COROUTINE:
        return not code.co_flags & inspect.CO_GENERATOR
    return not any(instruction.opname in _AWAITS for instruction in dis.get_instructions(code))

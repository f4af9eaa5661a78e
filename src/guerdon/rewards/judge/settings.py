"""How often, how long and at what price a judge is asked: the numbers among the reward's parameters, read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import non_negative, one_of, shown
from guerdon.rewards.judge.cache import VerdictCache
from guerdon.rewards.judge.client import Usage
from guerdon.rewards.judge.endpoint import JudgeEndpoint
from guerdon.rewards.judge.prompts import VERSION
from guerdon.rewards.judge.votes import VOTINGS
from guerdon.types import MetricResult

CACHE = "GUERDON_JUDGE_CACHE"
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """How a judge is asked."""

    votes: int
    voting: str
    temperature: float
    seed: int
    max_tokens: int
    retries: int
    request_seconds: float
    seconds: float
    prompt_price: float | None
    completion_price: float | None
    cache: VerdictCache | None

    def costs(self, endpoint: JudgeEndpoint, usage: Usage) -> dict[str, MetricResult]:
        """What a judgement cost, and who gave it."""
        who = f"{endpoint.model}, prompts {VERSION}"
        found = {
            "judge": MetricResult(VERSION, reason=who),
            "requests": MetricResult(usage.requests),
            "cached": MetricResult(usage.cached),
        }
        if usage.tokens_reported or not usage.requests:
            found["prompt_tokens"] = MetricResult(usage.prompt_tokens)
            found["completion_tokens"] = MetricResult(usage.completion_tokens)
            if self.prompt_price is not None or self.completion_price is not None:
                asked = usage.prompt_tokens * (self.prompt_price or 0.0)
                given = usage.completion_tokens * (self.completion_price or 0.0)
                found["cost"] = MetricResult((asked + given) / _MILLION)
        return found


def manner(
    *,
    votes: Any,
    voting: Any,
    temperature: Any,
    seed: Any,
    max_tokens: Any,
    retries: Any,
    request_seconds: Any,
    seconds: Any,
    prompt_price: Any,
    completion_price: Any,
    cache: Any,
) -> JudgeSettings:
    """The numbers as they come, also as text. Raises InputError for what is out of range."""
    count = whole(votes, "votes", 1, 32)
    heat = non_negative(temperature, "temperature")
    path = cache if cache is not None else os.environ.get(CACHE, "").strip() or None
    if path is not None and not isinstance(path, str | os.PathLike):
        raise InputError(f"cache must be the path of a file, not {shown(path)}")
    return JudgeSettings(
        votes=count,
        voting=one_of(voting, VOTINGS, "voting"),
        temperature=heat if heat is not None else 0.0 if count == 1 else 1.0,
        seed=whole(seed, "seed", 0, 1 << 30),
        max_tokens=whole(max_tokens, "max_tokens", 16, _MILLION),
        retries=whole(retries, "retries", 0, 100),
        request_seconds=_positive(request_seconds, "request_seconds"),
        seconds=_positive(seconds, "seconds"),
        prompt_price=non_negative(prompt_price, "prompt_price"),
        completion_price=non_negative(completion_price, "completion_price"),
        cache=None if path is None else VerdictCache(path),
    )


def whole(value: Any, what: str, least: int, most: int) -> int:
    """A whole number in a range, also from text. Raises InputError naming ``what``."""
    number = non_negative(value, what)
    if number is None or number != int(number) or not least <= number <= most:
        raise InputError(f"{what} must be a whole number from {least} to {most}, not {shown(value)}")
    return int(number)


def _positive(value: Any, what: str) -> float:
    number = non_negative(value, what)
    if not number:
        raise InputError(f"{what} must be more than 0")
    return number

"""The judge's parameters, validated: who judges, what is asked, how often, for how long and at what price."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import non_negative, one_of, shown, yes_or_no
from guerdon.rewards.judge.cache import VerdictCache
from guerdon.rewards.judge.endpoint import JudgeEndpoint, endpoint
from guerdon.rewards.judge.prompts import FIELDS
from guerdon.rewards.judge.votes import VOTINGS

CACHE = "GUERDON_JUDGE_CACHE"
KINDS = tuple(FIELDS)
MOST_POINTS = 100
MOST_VOTES = 32
LEAST_CHARACTERS, MOST_CHARACTERS = 100, 10_000_000
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The parameters of the reward ``judge``; docs/judge.md describes each."""

    endpoint: JudgeEndpoint
    votes: int
    voting: str
    temperature: float
    seed: int
    """The seed of the first vote; each further vote adds one."""
    max_tokens: int
    retries: int
    request_seconds: float
    """Seconds for one request."""
    seconds: float
    """Seconds for the whole judgement."""
    prompt_price: float | None
    """For a million tokens, as is ``completion_price``."""
    completion_price: float | None
    cache: VerdictCache | None
    kind: str
    points: int
    system_prompt: str | None
    template: str | None
    reasoning: bool
    max_characters: int
    """Characters of the response, and of the conversation, that are shown."""

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any], asked: JudgeEndpoint | None = None) -> JudgeSettings:
        """The settings from the reward's parameters by name; numbers may be text. ``asked`` is the endpoint, if known.

        Raises InputError for a value that is out of range or of the wrong kind.
        """
        asked = asked or endpoint(given["base_url"], given["model"], given["key_variable"])
        votes = whole(given["votes"], "votes", 1, MOST_VOTES)
        heat = non_negative(given["temperature"], "temperature")
        return cls(
            endpoint=asked,
            cache=_cache(given["cache"]),
            votes=votes,
            voting=one_of(given["voting"], VOTINGS, "voting"),
            temperature=heat if heat is not None else 0.0 if votes == 1 else 1.0,
            seed=whole(given["seed"], "seed", 0, 1 << 30),
            max_tokens=whole(given["max_tokens"], "max_tokens", 16, _MILLION),
            retries=whole(given["retries"], "retries", 0, 100),
            request_seconds=_positive(given["request_seconds"], "request_seconds"),
            seconds=_positive(given["seconds"], "seconds"),
            prompt_price=non_negative(given["prompt_price"], "prompt_price"),
            completion_price=non_negative(given["completion_price"], "completion_price"),
            kind=one_of(given["kind"], KINDS, "kind"),
            points=whole(given["points"], "points", 2, MOST_POINTS),
            system_prompt=_text(given["system_prompt"], "system_prompt"),
            template=_text(given["template"], "template"),
            reasoning=yes_or_no(given["reasoning"], "reasoning"),
            max_characters=whole(
                given["max_characters"], "max_characters", LEAST_CHARACTERS, MOST_CHARACTERS
            ),
        )

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """The price of a judgement; None where neither price is set."""
        if self.prompt_price is None and self.completion_price is None:
            return None
        asked = prompt_tokens * (self.prompt_price or 0.0)
        given = completion_tokens * (self.completion_price or 0.0)
        return (asked + given) / _MILLION


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


def _text(value: Any, what: str) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise InputError(f"{what} must be a text that is not empty, not {shown(value)}")


def _cache(value: Any) -> VerdictCache | None:
    path = value if value is not None else os.environ.get(CACHE, "").strip() or None
    if path is not None and not isinstance(path, str | os.PathLike):
        raise InputError(f"cache must be the path of a file, not {shown(path)}")
    return None if path is None else VerdictCache(path)

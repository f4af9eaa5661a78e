"""A reward inside a composition: what it must offer, its name there and its weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from guerdon.types import EvaluateResult, Sample

CallArguments = Mapping[str, Any]
"""Arguments that a caller gave by name; they win over what the sample offers."""

NO_ARGUMENTS: CallArguments = {}


class RewardLike(Protocol):
    """What a component must offer; every RewardFunction does."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def is_async(self) -> bool: ...
    @property
    def returns_awaitable(self) -> bool: ...
    @property
    def is_batch(self) -> bool: ...
    @property
    def timeout(self) -> float | None: ...
    @property
    def reads(self) -> frozenset[str] | None: ...
    @property
    def allows_any_ending(self) -> bool: ...
    def prepare(self) -> None: ...
    def ask_again(self) -> None: ...
    def check_ready(self) -> None: ...
    def evaluate(self, sample: Sample, explicit: CallArguments = ...) -> EvaluateResult: ...
    async def aevaluate(self, sample: Sample, explicit: CallArguments = ...) -> EvaluateResult: ...
    def evaluate_batch(
        self, samples: Sequence[Sample], explicit: CallArguments = ...
    ) -> list[EvaluateResult]: ...
    async def aevaluate_batch(
        self, samples: Sequence[Sample], explicit: CallArguments = ...
    ) -> list[EvaluateResult]: ...
    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None: ...


@dataclass(frozen=True, slots=True)
class Component:
    """A reward inside a composition: under what name, and with what weight."""

    name: str
    reward: RewardLike
    weight: float | None = None


def named_components(rewards: Sequence[tuple[RewardLike, float | None]]) -> tuple[Component, ...]:
    """Components under their rewards' names; a name that comes again gets ``_2``, ``_3``, …"""
    taken: set[str] = set()
    components = []
    for reward, weight in rewards:
        base = reward.name.replace("/", ".")
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        components.append(Component(name, reward, weight))
    return tuple(components)

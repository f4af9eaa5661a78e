"""Who is measured: a reward with a threshold, ours or one made of another project's verdict."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.accuracy.suite import Case, Ours, Peer
from guerdon.reward.function import RewardFunction
from guerdon.reward.registry import get_reward_function

Verdict = Callable[[Mapping[str, Any]], bool | None]


@dataclass(frozen=True, slots=True)
class Verifier:
    """A reward that gives verdicts: a score of ``threshold`` or more is "right"."""

    label: str
    reward: RewardFunction
    threshold: float
    version: str
    """What decides its verdicts, so that an old result is not taken for a new one."""
    ours: bool = True
    unwarmed: RewardFunction | None = None
    """Of a peer, the same reward that tries nothing when a worker loads it."""

    @property
    def slug(self) -> str:
        """The label as a file is called."""
        return slug(self.label)

    def row(self, case: Case) -> Mapping[str, Any]:
        """What its reward is given of a case."""
        if self.ours:
            return {**case.row, "id": case.id}
        return {"messages": [{"role": "assistant", "content": ""}], "id": case.id, "case": dict(case.row)}


def slug(label: str) -> str:
    """The label as a file is called.

    >>> slug("math (strict)")
    'math-strict'
    """
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") or "verifier"


def of_ours(ours: Ours) -> Verifier:
    """Raises what resolving raises where there is no such reward, or it has no such parameter."""
    reward = get_reward_function(ours.reward, **ours.parameters)
    # The libraries behind a reward decide verdicts too.
    installed = _digest([reward.version, ours.threshold, _versions()])
    return Verifier(ours.label, reward, ours.threshold, f"{reward.version}+{installed}")


def is_installed(peer: Peer) -> bool:
    """Whether the peer's package is there."""
    try:
        return importlib.util.find_spec(peer.package) is not None
    except (ImportError, ValueError):
        return False


def of_peer(peer: Peer, example: Mapping[str, Any]) -> Verifier:
    """A reward of a peer's verdicts. ``example`` is a row that is tried when a worker loads it."""
    source = inspect.getsourcefile(peer.verdict)
    text = Path(source).read_text(encoding="utf-8") if source and Path(source).is_file() else ""
    reward = RewardFunction(PeerVerdict(peer.verdict, example), name=peer.label)
    unwarmed = RewardFunction(PeerVerdict(peer.verdict), name=peer.label)
    version = _digest([peer.label, text, _versions()])
    return Verifier(peer.label, reward, 0.5, version, ours=False, unwarmed=unwarmed)


class PeerVerdict:
    """Another project's verdict as a reward: 1, 0, or None where it decides nothing."""

    def __init__(self, verdict: Verdict, example: Mapping[str, Any] | None = None) -> None:
        self._verdict, self._example = verdict, example

    def __call__(self, case: Mapping[str, Any]) -> float | None:
        verdict = self._verdict(case)
        return None if verdict is None else float(bool(verdict))

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (self._verdict, self._example)


def _loaded(verdict: Verdict, example: Mapping[str, Any] | None) -> PeerVerdict:
    # Its imports take seconds, and must count as loading and not against the deadline of the first case.
    if example is not None:
        with contextlib.suppress(Exception):  # what it raises on a case is recorded when the case is scored
            verdict(example)
    return PeerVerdict(verdict, example)


@functools.cache
def _versions() -> str:
    """What is installed, in short."""
    names = {
        f"{distribution.name}=={distribution.version}" for distribution in importlib.metadata.distributions()
    }
    return _digest(sorted(names))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def digest_of_cases(cases: list[Case]) -> str:
    """A short hash of cases, the same in every process."""
    whole = hashlib.sha256()
    for case in cases:
        told = [case.id, case.right, case.kind, case.row]
        whole.update(json.dumps(told, sort_keys=True, default=repr).encode())
    return whole.hexdigest()[:12]

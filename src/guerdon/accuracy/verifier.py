"""What is measured: a reward with a threshold, from the catalogue or made of another project's verdict."""

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

from guerdon.accuracy.suite import CatalogueVerifier, ExternalVerifier, LabelledCase
from guerdon.reward.function import RewardFunction
from guerdon.reward.registry import get_reward_function

VerdictFunction = Callable[[Mapping[str, Any]], bool | None]


@dataclass(frozen=True, slots=True)
class Verifier:
    """A reward that gives verdicts: a score of ``threshold`` or more is "right"."""

    label: str
    reward: RewardFunction
    threshold: float
    version: str
    """What decides its verdicts, so that an old result is not taken for a new one."""
    catalogue: bool = True
    """False for another project's verifier."""
    unwarmed: RewardFunction | None = None
    """Of an external verifier, the same reward without the trial call when a worker loads it."""

    @property
    def slug(self) -> str:
        """The label as a file is called."""
        return slug(self.label)

    def row(self, case: LabelledCase) -> Mapping[str, Any]:
        """The row of a case as its reward takes it."""
        if self.catalogue:
            return {**case.row, "id": case.id}
        return {"messages": [{"role": "assistant", "content": ""}], "id": case.id, "case": dict(case.row)}


def slug(label: str) -> str:
    """The label as a file is called.

    >>> slug("math (strict)")
    'math-strict'
    """
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") or "verifier"


def resolve_catalogue(given: CatalogueVerifier) -> Verifier:
    """The verifier of a reward. Raises the error of ``get_reward_function`` for an unknown reward or parameter."""
    reward = get_reward_function(given.reward, **given.parameters)
    # The libraries behind a reward decide verdicts too.
    installed = _digest([reward.version, given.threshold, _versions()])
    return Verifier(given.label, reward, given.threshold, f"{reward.version}+{installed}")


def is_installed(external: ExternalVerifier) -> bool:
    """Whether the external verifier's package is installed."""
    try:
        return importlib.util.find_spec(external.package) is not None
    except (ImportError, ValueError):
        return False


def resolve_external(external: ExternalVerifier, example: Mapping[str, Any]) -> Verifier:
    """A reward of another project's verdicts. A worker tries the row ``example`` once when it loads the reward."""
    source = inspect.getsourcefile(external.verdict)
    text = Path(source).read_text(encoding="utf-8") if source and Path(source).is_file() else ""
    reward = RewardFunction(ExternalVerdict(external.verdict, example), name=external.label)
    unwarmed = RewardFunction(ExternalVerdict(external.verdict), name=external.label)
    version = _digest([external.label, text, _versions()])
    return Verifier(external.label, reward, 0.5, version, catalogue=False, unwarmed=unwarmed)


class ExternalVerdict:
    """Another project's verdict as a reward: 1, 0, or None where it decides nothing."""

    def __init__(self, verdict: VerdictFunction, example: Mapping[str, Any] | None = None) -> None:
        self._verdict, self._example = verdict, example

    def __call__(self, case: Mapping[str, Any]) -> float | None:
        verdict = self._verdict(case)
        return None if verdict is None else float(bool(verdict))

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (self._verdict, self._example)


def _loaded(verdict: VerdictFunction, example: Mapping[str, Any] | None) -> ExternalVerdict:
    # Its imports take seconds, and must count as loading and not against the deadline of the first case.
    if example is not None:
        with contextlib.suppress(Exception):  # what it raises on a case is recorded when the case is scored
            verdict(example)
    return ExternalVerdict(verdict, example)


@functools.cache
def _versions() -> str:
    """What is installed, in short."""
    names = {
        f"{distribution.name}=={distribution.version}" for distribution in importlib.metadata.distributions()
    }
    return _digest(sorted(names))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def digest_of_cases(cases: list[LabelledCase]) -> str:
    """A short hash of cases, the same in every process."""
    whole = hashlib.sha256()
    for case in cases:
        fields = [case.id, case.right, case.kind, case.row]
        whole.update(json.dumps(fields, sort_keys=True, default=repr).encode())
    return whole.hexdigest()[:12]

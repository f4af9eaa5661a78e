"""RewardIdentity: a reward's scorer and options, and the name, version and parameters derived from them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from guerdon.errors import RewardError
from guerdon.reward.loading.callables import name_of
from guerdon.reward.options import RewardOptions
from guerdon.reward.scorers.base import Scorer
from guerdon.reward.scorers.component import Component
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.reward.versioning.version import digest, in_progress
from guerdon.types import Provenance, Sample


class RewardIdentity:
    """A scorer and options under a name, with a version."""

    _scorer: Scorer
    options: RewardOptions
    is_async: bool
    """Whether it is scored on an event loop, many calls at once."""
    is_batch: bool
    """Whether the function behind takes lists of samples."""

    def _set(self, scorer: Scorer, options: RewardOptions) -> None:
        self._scorer = scorer
        self.options = options
        self.is_async = scorer.is_async
        self.is_batch = scorer.is_batch
        target = scorer.target
        self._own_name = options.name or (name_of(target) if target is not None else scorer.name)
        self.wrong_length: str | None = None
        """What it did wrong where it returned another number of results than it got samples: it is not asked again."""
        self._ready_at = -math.inf
        """When all that the reward needs was last seen to be there."""
        self._version: str | None = None
        self._snapshot = DependencySnapshot()
        self._provenance: Provenance | None = None
        if target is not None:
            functools.update_wrapper(self, target, updated=())  # type: ignore[arg-type]
        self.__name__ = self._own_name

    @property
    def name(self) -> str:
        """The name it was given, else its function's, else what a server calls it."""
        if self._scorer.is_remote and not self.options.name:
            return self._scorer.remote_name() or self._own_name
        return self._own_name

    @property
    def version(self) -> str:
        """A short hash over source, parameters and components; the same in every process.

        Computed again if a notebook cell or a reload rebound a global name that the
        function refers to.
        """
        if (remote := self._scorer.remote_provenance()) is not None:
            return remote.version
        if id(self) in in_progress.open:  # a reward that calls itself
            in_progress.looped = True
            return "itself"
        outermost = not in_progress.open
        in_progress.open.add(id(self))
        try:
            if self._version is not None and self._snapshot.is_current():
                return self._version
            schema = self.options.metadata_schema
            fields = schema.model_json_schema() if schema is not None else None
            snapshot = DependencySnapshot()
            version = digest([self._scorer.fingerprint_data(snapshot), fields])
            # Seen from within a circle, a reward looks different than from outside.
            if outermost or not in_progress.looped:
                self._version, self._snapshot, self._provenance = version, snapshot, None
            return version
        finally:
            in_progress.open.discard(id(self))
            if outermost:
                in_progress.looped = False

    @property
    def provenance(self) -> Provenance:
        """Name, version and parameters, as every result of this reward carries them."""
        if (remote := self._scorer.remote_provenance()) is not None:
            return replace(remote, reward=self.options.name) if self.options.name else remote
        version = self.version  # first: it drops a provenance that is out of date
        if self._provenance is None:
            self._provenance = Provenance(self.name, version, self.parameters)
        return self._provenance

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The fixed arguments, or the parts and settings of a composition."""
        return self._scorer.parameters

    @property
    def func(self) -> Callable[..., Any] | None:
        """The user's own function, class or instance; None for a composition that no factory made."""
        target: Callable[..., Any] | None = self._scorer.target
        return target

    @property
    def components(self) -> tuple[Component, ...]:
        """The parts of a composition; empty for a plain reward."""
        return self._scorer.components

    @property
    def scorer(self) -> Scorer:
        """The scorer that this reward wraps."""
        return self._scorer

    @property
    def timeout(self) -> float | None:
        """Seconds that one call may take, where the reward or its components say so."""
        return self.options.timeout if self.options.timeout is not None else self._scorer.timeout

    @property
    def returns_awaitable(self) -> bool:
        """Whether calling the reward gives an awaitable; not where it is async because a server is asked."""
        return self._scorer.returns_awaitable

    @property
    def concurrency(self) -> int | None:
        """How many calls of an async reward may be in flight at once, where the reward says so."""
        return self.options.concurrency

    @property
    def reads(self) -> frozenset[str] | None:
        """The names that it reads of a sample, those of its components included; None where they are not known."""
        if not self.components:
            return self._scorer.reads
        parts = [component.reward.reads for component in self.components]
        return frozenset().union(*(p for p in parts if p is not None)) if None not in parts else None

    @property
    def allows_any_ending(self) -> bool:
        """Whether it, or one of its components, scores conversations that do not end with the assistant."""
        return self.options.allow_any_ending or any(c.reward.allows_any_ending for c in self.components)

    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None:
        """A required parameter that none of the samples supplies, with the columns that there are."""
        return self._scorer.missing(samples)

    def __repr__(self) -> str:
        try:
            return f"<RewardFunction {self.name} {self.version}>"
        except RewardError as error:  # of a server; what is printed does not raise
            return f"<RewardFunction {self._own_name}: {error}>"

    def __eq__(self, other: object) -> bool:
        """Rewards are equal that have the same name and the same version."""
        if not isinstance(other, RewardIdentity):
            return NotImplemented
        return self is other or (self.name, self.version) == (other.name, other.version)

    def __hash__(self) -> int:
        return hash((self.name, self.version))

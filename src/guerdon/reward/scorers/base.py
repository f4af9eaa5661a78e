"""Scorer: the interface between a RewardFunction and what it wraps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.reward.binding.signature import Signature
from guerdon.reward.options import RewardOptions
from guerdon.reward.scorers.component import CallArguments, Component
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.types import EvaluateResult, Provenance, Sample


class Scorer(ABC):
    """Scores the samples of a reward, and raises where it cannot.

    The RewardFunction turns exceptions into failed results.
    """

    name: str = "reward"
    """The name of a reward that is given no other."""
    target: Any = None
    """The user's own function, class or instance, where the scorer calls one."""
    components: tuple[Component, ...] = ()
    """The parts of a composition."""
    is_async = False
    is_batch = False
    timeout: float | None = None
    """The deadline in seconds that the parts ask for, where they do."""
    is_remote = False
    """Whether a server scores; it then enforces deadlines and reports what made a score."""

    @property
    def takes_parameters(self) -> bool:
        """Whether ``with_parameters`` fixes more of them."""
        return self.is_remote

    @property
    def returns_awaitable(self) -> bool:
        """Whether a direct call gives an awaitable, as that of an async function does."""
        return self.is_async and not self.is_remote

    @property
    def reads(self) -> frozenset[str] | None:
        """The names that it reads of a sample; None where they are not known."""
        return None

    def remote_provenance(self) -> Provenance | None:
        """Name, version and parameters as a server reports them; None without a server, or if it does not answer."""
        return None

    def remote_name(self) -> str | None:
        """The name that a server gives the reward; None as above."""
        return None

    @abstractmethod
    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        """The verdict on one sample; not called where ``is_async``."""

    @abstractmethod
    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        """The verdict on one sample; only called where ``is_async``."""

    @abstractmethod
    def fingerprint_data(self, snapshot: DependencySnapshot) -> Any:
        """Everything that decides the verdicts, as JSON-able data from which the version is hashed.

        ``snapshot`` records the dependencies that were read, so that a change of one is noticed.
        """

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The reward's parameters as they stand, by name."""
        return {}

    def with_parameters(self, more: Mapping[str, Any]) -> Scorer:
        """The same with more parameters fixed; only called where ``takes_parameters``."""
        raise TypeError(f"{type(self).__name__} takes no parameters")

    def adapted_options(self, options: RewardOptions) -> RewardOptions:
        """The options of a reward that is rebuilt around this scorer, after its parameters changed."""
        return options

    def score_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        """The verdicts on a batch; only called where ``is_batch`` and not ``is_async``."""
        raise TypeError(f"{type(self).__name__} does not score batches")

    async def ascore_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        """The verdicts on a batch; only called where ``is_batch`` and ``is_async``."""
        raise TypeError(f"{type(self).__name__} does not score batches")

    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None:
        """A required parameter that none of the samples supplies, with the columns that there are."""
        return None

    def check_ready(self) -> None:
        """Raise RewardError where what it needs is not there."""
        return

    def check(self, sample: Sample, explicit: CallArguments) -> None:
        """Raise BindingError where a direct call lacks an argument, as Python does for the function itself."""
        return

    def signature(self) -> Signature | None:
        """The signature of the function behind, where there is one."""
        return None

"""Functions of the layers above, which ``guerdon/__init__`` sets here since this layer must not import them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guerdon.reward.scorers.base import Scorer
    from guerdon.types import EvaluateResult, Sample

    # Any stands for a RewardFunction, whose module imports this one.
    RemoteScorerFactory = Callable[["RemoteRewardSpec"], Scorer]
    ForeignWrapper = Callable[[str, Any, Mapping[str, Any]], Scorer | None]
    IsolatedRun = Callable[[Any, Sample, Mapping[str, Any], float], EvaluateResult]
    AdapterFactory = Callable[[str, Any, Mapping[str, Any]], Any]

run_isolated: IsolatedRun | None = None
"""Runs a direct call of a reward that has a ``timeout`` in a worker process, which is killed at the deadline.

Called with the reward, the sample, the explicit arguments and the seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteRewardSpec:
    """What RewardFunction was given for a reward that a server scores."""

    mode: str
    name: str | None
    endpoint: str | None
    model_id: str | None
    arguments: Mapping[str, Any]
    """The other keyword arguments: how the server is called, and fixed arguments of the reward."""


make_remote_scorer: RemoteScorerFactory | None = None
"""Makes the scorer of a reward whose mode is one of ``REMOTE_MODES``."""

REMOTE_MODES = ("remote", "hosted", "fireworks_hosted")

make_adapter: AdapterFactory | None = None
"""Makes what a trainer takes: called with the trainer's name, the reward and the adapter's options."""

wrap_foreign: ForeignWrapper | None = None
"""Makes the scorer of an object of another package that is not a function, or None where it knows no such object.

Called with the package's name, the object and the fixed arguments."""

FOREIGN_PACKAGES = frozenset({"autoevals", "deepeval", "openevals", "verifiers"})
"""The packages whose objects are offered to ``wrap_foreign``."""


def foreign_scorer(target: Any, fixed: Mapping[str, Any]) -> Scorer | None:
    """The scorer for an object of another package; None for any other object."""
    if wrap_foreign is None:
        return None
    owners = [target] if isinstance(target, FunctionType) else _classes_of(target)
    packages = (str(getattr(owner, "__module__", "")).partition(".")[0] for owner in owners)
    package = next((name for name in packages if name in FOREIGN_PACKAGES), None)
    return None if package is None else wrap_foreign(package, target, fixed)


def _classes_of(target: Any) -> tuple[type, ...]:
    return (target if isinstance(target, type) else type(target)).__mro__

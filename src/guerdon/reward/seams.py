"""Where a layer above hands this one what it must not import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guerdon.reward.function import RewardFunction
    from guerdon.types import EvaluateResult, Sample

    Isolation = Callable[[RewardFunction, Sample, Mapping[str, Any], float], EvaluateResult]

isolation: Isolation | None = None
"""How a direct call of a reward that has a ``timeout`` is run so that the deadline holds: in a worker process
of the scoring layer. Called with the reward, the sample, the explicit arguments and the seconds."""

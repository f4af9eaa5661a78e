"""The wire formats, one file each, in the order in which they are tried where several want a path."""

from __future__ import annotations

from guerdon.serve.formats.adaptive import AdaptiveFormat
from guerdon.serve.formats.base import Format
from guerdon.serve.formats.nemo_gym import NemoGymFormat
from guerdon.serve.formats.openenv import OpenEnvFormat
from guerdon.serve.formats.openrlhf import OpenRLHFFormat
from guerdon.serve.formats.reward_kit import RewardKitFormat
from guerdon.serve.formats.slime import SlimeFormat
from guerdon.serve.formats.v1 import V1Format

FORMATS: tuple[Format, ...] = (
    AdaptiveFormat(),
    V1Format(),
    RewardKitFormat(),
    OpenRLHFFormat(),
    SlimeFormat(),
    NemoGymFormat(),
    OpenEnvFormat(),
)

"""The wire formats, one file each, in the order in which they are tried where several want a path."""

from __future__ import annotations

from guerdon.serve.format import Format
from guerdon.serve.protocols.adaptive import AdaptiveFormat
from guerdon.serve.protocols.nemo_gym import NemoGymFormat
from guerdon.serve.protocols.openenv import OpenEnvFormat
from guerdon.serve.protocols.openrlhf import OpenRLHFFormat
from guerdon.serve.protocols.reward_kit import RewardKitFormat
from guerdon.serve.protocols.slime import SlimeFormat
from guerdon.serve.protocols.v1 import V1Format

FORMATS: tuple[Format, ...] = (
    AdaptiveFormat(),
    V1Format(),
    RewardKitFormat(),
    OpenRLHFFormat(),
    SlimeFormat(),
    NemoGymFormat(),
    OpenEnvFormat(),
)

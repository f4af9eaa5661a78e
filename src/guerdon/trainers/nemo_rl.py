"""NeMo RL: a reward as an environment, which is a Ray actor that scores a batch of conversations a step.

The interface is that of ``nemo_rl.environments.interfaces``, whose ``EnvironmentReturn.rewards`` is a tensor of
shape [B] or a mapping from name to one, whose sum is the reward.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from guerdon.errors import BindingError, InputError
from guerdon.reward.registry import resolve
from guerdon.trainers.adapter import Adapter, OnFailure
from guerdon.trainers.columns import listed, plain, read_sample, sample_of
from guerdon.trainers.optional_imports import package, refuse_skip
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import module_path, slug
from guerdon.trainers.weighted_parts import WeightedParts
from guerdon.types import Sample

_INSTALL = "it comes with NeMo RL's repository, github.com/NVIDIA-NeMo/RL"
_FQN = f"{__name__}.RewardEnvironment"
_OPTIONS = ("on_failure", "timeout", "workers", "concurrency", "max_memory", "name")


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentStep:
    """What a step gives, as Python values: all lists are as long as the batch."""

    rewards: list[float]
    parts: dict[str, list[float]] | None
    """The parts of each reward by name, where they were asked for."""
    observations: list[dict[str, str]]


class NemoRlAdapter(Adapter):
    """What an environment of NeMo RL asks: a batch of conversations with the ``extra_env_info`` of each.

    With ``named_rewards`` a step gives the parts of a weighted sum under ``reward/NAME``, as GDPO needs them.
    """

    trainer: ClassVar[str] = "nemo-rl"
    default_failure: ClassVar[OnFailure] = 0.0

    def __init__(self, reward: Any, *, named_rewards: bool = False, **options: Any) -> None:
        super().__init__(reward, **options)
        refuse_skip(self, "NeMo RL")
        self._weighted_parts = WeightedParts(self)
        self.named_rewards = named_rewards
        if named_rewards and not self._weighted_parts.keys:
            raise BindingError(
                f"{self.reward.name} is not a weighted sum, so it has no parts for named_rewards: compose it with "
                "guerdon.weighted"
            )

    def step(
        self,
        message_log_batch: Sequence[Sequence[Mapping[str, Any]]],
        metadata: Sequence[Mapping[str, Any] | None],
    ) -> EnvironmentStep:
        """The rewards of a batch. Raises InputError where the two differ in number."""
        message_log_batch = listed("message_log_batch", message_log_batch)
        metadata = listed("metadata", metadata)
        if len(message_log_batch) != len(metadata):
            raise InputError(f"{len(message_log_batch)} conversations and {len(metadata)} items of metadata")
        results = self.results(
            [read_sample(_sample, *pair) for pair in zip(message_log_batch, metadata, strict=True)]
        )
        rewards = [self.number(result) or 0.0 for result in results]
        parts = None
        if self.named_rewards:
            rows = [
                self._weighted_parts.parts(result, reward)
                for result, reward in zip(results, rewards, strict=True)
            ]
            parts = {f"reward/{name}": [row[name] for row in rows] for name in self._weighted_parts.keys}
        # Never empty: a tokenizer gives floats for no text, which would spoil the tokens of the conversation.
        said = [{"role": "environment", "content": f"Environment: reward {reward:.3g}"} for reward in rewards]
        return EnvironmentStep(rewards=rewards, parts=parts, observations=said)

    def metrics(self) -> dict[str, float]:
        """What failed so far, as shares of all samples, in all and by kind."""
        calls = max(self.failures.calls, 1)
        by_kind = {f"failed/{kind}": count / calls for kind, count in dict(self.failures.by_kind).items()}
        return {"failed": self.failures.total / calls, **by_kind}


def _sample(log: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any] | None) -> Sample:
    """The sample of a conversation: its last message is the completion."""
    messages = [{"role": str(m["role"]), "content": plain(m["content"])} for m in log]
    if not messages:
        raise InputError("the conversation has no messages")
    if messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": ""})
    return sample_of(messages[:-1], messages[-1:], metadata or {})


@functools.cache
def environment_class() -> Any:
    """The environment as a plain class, whose only argument is its part of the configuration.

    Its keys: ``reward`` (what ``get_reward_function`` takes), ``parameters``, ``named_rewards``, and the options of
    Adapter. Raises MissingExtraError where NeMo RL is not installed.
    """
    interfaces = package("nemo_rl.environments.interfaces", _INSTALL, "an environment of NeMo RL")
    interface: Any = interfaces.EnvironmentInterface

    class RewardEnvironment(interface):  # type: ignore[misc]
        """Scores each conversation once and ends it."""

        adapter: Any = None
        """The reward where the class was made for one; else the configuration names it."""

        def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
            self.cfg = dict(cfg or {})
            self.adapter = adapter_of(self.cfg) if self.adapter is None else self.adapter

        def step(self, message_log_batch: Any, metadata: Any, *args: Any, **kwargs: Any) -> Any:
            step = self.adapter.step(message_log_batch, metadata)
            return interfaces.EnvironmentReturn(
                observations=step.observations,
                metadata=metadata,
                next_stop_strings=[None] * len(metadata),
                **tensors_of(step),
                answers=None,
            )

        def global_post_process_and_metrics(self, batch: Any) -> Any:
            return batch, self.adapter.metrics()

        def shutdown(self) -> None:
            self.adapter.close()

    RewardEnvironment.__qualname__ = "RewardEnvironment"
    return RewardEnvironment


def adapter_of(cfg: Mapping[str, Any]) -> NemoRlAdapter:
    """The adapter that a part of the configuration asks for. Raises InputError where it names no reward."""
    if not cfg.get("reward"):
        raise InputError("the environment's configuration does not name a reward: env.NAME.reward=math")
    options = {name: cfg[name] for name in _OPTIONS if cfg.get(name) is not None}
    reward = resolve(cfg["reward"], **dict(cfg.get("parameters") or {}))
    return NemoRlAdapter(reward, named_rewards=bool(cfg.get("named_rewards")), **options)


def tensors_of(step: EnvironmentStep) -> dict[str, Any]:
    """``rewards`` and ``terminateds`` of an EnvironmentReturn: float32 tensors of shape [B], all finite."""
    import torch

    def tensor(values: list[float]) -> Any:
        limit = torch.finfo(torch.float32).max
        return torch.tensor(values, dtype=torch.float64).clamp(-limit, limit).float()

    rewards: Any = tensor(step.rewards)
    terminateds = torch.ones_like(rewards)
    if step.parts is not None:
        rewards = {name: tensor(values) for name, values in step.parts.items()}
    return {"rewards": rewards, "terminateds": terminateds}


def _actor(plain_class: Any) -> Any:
    ray = package("ray", _INSTALL, "an environment of NeMo RL")
    # Rollouts ask for one sample at a time, in as many threads; a step has no effect beyond its answer.
    return ray.remote(max_restarts=-1, max_task_retries=-1, max_concurrency=1000)(plain_class)


@functools.cache
def _registered_actor() -> Any:
    return _actor(environment_class())


def __getattr__(name: str) -> Any:
    if name == "RewardEnvironment":
        return _registered_actor()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def make(reward: Any, *, named_rewards: bool = False, **options: Any) -> Any:
    """A Ray actor class: ``task_to_env = {"math": reward.to_nemo_rl().remote({})}``.

    ``options`` are those of Adapter; ``on_failure`` is a number (0 by default) or ``"raise"``. Where the reward has
    a name, ``register`` and a configuration do the same. Raises BindingError for ``"skip"``, and for
    ``named_rewards`` of what is not a weighted sum; MissingExtraError where NeMo RL is not installed.
    """
    adapter = NemoRlAdapter(reward, named_rewards=named_rewards, **options)
    base = environment_class()
    return _actor(type(base)(f"RewardEnvironment_{slug(adapter.__name__)}", (base,), {"adapter": adapter}))


def register(env_name: str = "guerdon") -> None:
    """Make the environment known to NeMo RL as ``env_name``; the configuration ``env.<env_name>`` names the reward.

    The actor runs on the driver's own interpreter. A second call does nothing.
    """
    utils = package("nemo_rl.environments.utils", _INSTALL, "an environment of NeMo RL")
    actors = package(
        "nemo_rl.distributed.ray_actor_environment_registry", _INSTALL, "an environment of NeMo RL"
    )
    cluster = package("nemo_rl.distributed.virtual_cluster", _INSTALL, "an environment of NeMo RL")
    actors.ACTOR_ENVIRONMENT_REGISTRY.setdefault(_FQN, cluster.PY_EXECUTABLES.SYSTEM)
    if utils.ENV_REGISTRY.get(env_name, {}).get("actor_class_fqn") != _FQN:
        utils.register_env(env_name, _FQN)


def _setup_guide(request: SetupRequest) -> SetupGuide:
    """A launcher that registers the environment and runs NeMo RL's own script, and the configuration."""
    import json

    launcher = (
        '"""NeMo RL\'s script with Guerdon\'s environment: python run_with_guerdon.py examples/run_grpo.py …"""\n\n'
        "import os\nimport runpy\nimport sys\nfrom pathlib import Path\n\n"
        "from guerdon.trainers.nemo_rl import register\n\n"
        "HERE = str(Path(__file__).resolve().parent)\n"
        "sys.path.insert(0, HERE)  # where the reward is; the variable reaches Ray's workers\n"
        'os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")]))\n'
        'register("guerdon")\n'
        "sys.argv = sys.argv[1:]\n"
        'runpy.run_path(sys.argv[0], run_name="__main__")\n'
    )
    settings = {"reward": module_path(request), "parameters": dict(request.parameters), **request.options}
    # JSON is YAML, and quotes what would mean something else there.
    inner = "".join(
        f"    {name}: {json.dumps(value)}\n" for name, value in settings.items() if value not in ({}, None)
    )
    lines = (
        f"env:\n  guerdon:\n{inner}"
        'data:\n  default:\n    env_name: "guerdon"\n\n'
        "uv run run_with_guerdon.py examples/run_grpo.py --config <your configuration>\n"
    )
    note = (
        "Everything in a record's extra_env_info is a column for the reward. `named_rewards: true` gives the parts "
        "of a weighted sum by name, which GDPO needs; all environments of a run must agree on it."
    )
    return SetupGuide(files={"run_with_guerdon.py": launcher}, lines=lines, note=note)


TRAINER = Trainer(name="nemo-rl", title="NeMo RL", make=make, setup_guide=_setup_guide, aliases=("nemorl",))

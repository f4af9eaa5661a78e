"""SkyRL: a reward as a text environment of SkyRL-gym (0.4), of one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from guerdon.trainers.adapter import Adapter, OnFailure
from guerdon.trainers.columns import plain, read_sample, sample_of
from guerdon.trainers.optional_imports import package, refuse_skip
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import docstring_name, imports_source, options_source, reward_source, slug
from guerdon.types import EvaluateResult, Sample

_INSTALL = "pip install skyrl-gym"


class SkyrlAdapter(Adapter):
    """What a SkyRL environment asks: one sample a step, from as many threads as there are environments."""

    trainer: ClassVar[str] = "skyrl"
    default_failure: ClassVar[OnFailure] = 0.0

    def sample(self, prompt: Any, action: str, extras: Mapping[str, Any]) -> Sample:
        """The sample of one answer. ``extras`` are the columns of the row; those in its ``extra_info`` are columns,
        too, and ``reward_spec.ground_truth`` is the ground truth where the row has none of its own.
        """
        columns = {str(name): plain(value) for name, value in extras.items()}
        inner = columns.get("extra_info")
        if isinstance(inner, Mapping):
            columns = {**inner, **columns}
        spec = columns.get("reward_spec")
        if isinstance(spec, Mapping) and columns.get("ground_truth") is None:
            columns["ground_truth"] = spec.get("ground_truth")
        return sample_of(prompt, action, columns)

    def metadata(self, result: EvaluateResult) -> dict[str, Any]:
        """What is said of a step beside its reward: what made it, and what went wrong."""
        details: dict[str, Any] = {"failed": result.failed, **self.metrics(result)}
        details["guerdon"] = {
            "reward": self.reward.name,
            "version": self.reward.version,
            "reason": result.reason,
        }
        if result.failed:
            details["guerdon"] |= {"error": result.error, "error_kind": result.error_kind}
        return details

    def metrics(self, result: EvaluateResult) -> dict[str, float]:
        """Numbers under the same names for every sample: what the trainer averages over an environment's class."""
        parts = {f"reward/{name}": value for name, value in self.parts(result).items()}
        return {**parts, "failed": float(result.failed)}


def make(reward: Any, **options: Any) -> type:
    """A class for ``skyrl_gym.register(id=…, entry_point=…)``: an environment whose only step scores the answer.

    ``options`` are those of Adapter; ``on_failure`` is a number (0 by default) or ``"raise"``. A step's
    ``metadata`` and the environment's metrics have the components and ``failed``. Raises BindingError for
    ``on_failure="skip"``, MissingExtraError where skyrl-gym is not installed.
    """
    adapter = SkyrlAdapter(reward, **options)
    refuse_skip(adapter, "SkyRL-gym")
    base = package("skyrl_gym.envs.base_text_env", _INSTALL, "an environment of SkyRL-gym")
    text_env: Any = base.BaseTextEnv

    class RewardEnv(text_env):  # type: ignore[misc]
        """An environment of one step that scores the answer."""

        def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
            super().__init__()
            self.adapter = adapter
            self.extras = dict(extras or {})
            self.prompt: Any = self.extras.get("prompt")
            self._metrics: dict[str, float] = {}

        def init(self, prompt: Sequence[Mapping[str, Any]]) -> tuple[Any, dict[str, Any]]:
            self.prompt = prompt
            return prompt, {}

        def step(self, action: str) -> Any:
            self.turns += 1
            (result,) = adapter.results([read_sample(adapter.sample, self.prompt, action, self.extras)])
            self._metrics = adapter.metrics(result)
            return base.BaseTextEnvStepOutput(
                observations=[], reward=adapter.number(result), done=True, metadata=adapter.metadata(result)
            )

        def get_metrics(self) -> dict[str, float]:
            return dict(self._metrics)

    RewardEnv.__doc__ = adapter.__doc__ or RewardEnv.__doc__
    RewardEnv.__qualname__ = f"RewardEnv[{adapter.__name__}]"
    return RewardEnv


def _setup_guide(request: SetupRequest) -> SetupGuide:
    """The module with the environment, and the lines that register it."""
    name = slug(request.reward.name)
    module, identity = f"guerdon_{name}_env", f"guerdon-{name.replace('_', '-')}"
    text = (
        f'"""The reward {docstring_name(request)} as an environment of SkyRL-gym."""\n\n'
        f"{imports_source(request)}\n"
        f"RewardEnv = {reward_source(request, f'{module}.py')}.to_skyrl({options_source(request.options)})\n"
    )
    lines = (
        "# in the entry point, before the experiment runs (in the Ray task, where there is one):\n"
        "import skyrl_gym\n"
        f'skyrl_gym.register(id="{identity}", entry_point="{module}:RewardEnv")\n\n'
        "# on the command line:\n"
        f"environment.env_class={identity}\n"
    )
    note = (
        "The file must be importable where the generator runs. Every column of a row is one for the reward; "
        "reward_spec.ground_truth is its ground truth."
    )
    return SetupGuide(files={f"{module}.py": text}, lines=lines, note=note)


TRAINER = Trainer(
    name="skyrl",
    title="SkyRL-gym 0.4",
    make=make,
    setup_guide=_setup_guide,
    aliases=("skyrl-gym", "skyrl-train"),
)

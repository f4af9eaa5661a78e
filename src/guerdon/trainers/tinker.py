"""tinker-cookbook 0.6: environments of one turn whose ``step`` scores with a reward.

The cookbook makes environments by a group builder, which is pickled where rollouts run elsewhere; each is asked for its
first observation and then steps once with the tokens that were sampled. ``StepResult.metrics`` are averaged into the
training logs under ``env/…``. What ``step`` raises ends the training under the default strategy, and is tried again
or left out under the others. Sources: ``tinker_cookbook/rl/types.py``, ``problem_env.py``, ``rollout_strategy.py``.

The classes here have the methods of the cookbook's ``Env``, ``EnvGroupBuilder`` and ``RLDataset``; they do not derive
from them, so that they can be made and pickled where it is not installed.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from guerdon.errors import InputError
from guerdon.trainers.columns import messages_of, read_sample, sample_of
from guerdon.trainers.optional_imports import package
from guerdon.trainers.pointwise import Pointwise
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import IMPORT, identifier, module_source
from guerdon.types import EvaluateResult

_INSTALL = "pip install tinker-cookbook"
Prompt = str | Sequence[Mapping[str, Any]]


class TinkerReward(Pointwise):
    """A reward for tinker-cookbook: makes data sets, group builders and environments that score with it.

    A failed sample gets 0 unless ``on_failure`` is another number; ``on_failure="raise"`` leaves it to the cookbook's
    rollout strategy. The metrics ``NAME/failed`` and ``NAME/COMPONENT`` are the same for every sample.

    All copies of a reward that arrive in one process share its workers.
    """

    trainer = "tinker"

    def __init__(self, reward: Any, **options: Any) -> None:
        super().__init__(reward, **options)
        self._token = uuid.uuid4().hex
        _local_rewards.keep(self._token, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._token, self.__getstate__())

    def dataset(
        self, rows: Sequence[Mapping[str, Any]], renderer: Any, *, batch_size: int, group_size: int
    ) -> RewardDataset:
        """A data set of the cookbook's: ``batch_size`` prompts a step, ``group_size`` rollouts of each.

        A row has a ``prompt``, text or messages; its other columns are the reward's. Raises InputError for a row
        without one.
        """
        for number, row in enumerate(rows, 1):
            if not isinstance(row.get("prompt"), str | list | tuple):
                raise InputError(f"row {number} has no prompt; its columns: {', '.join(map(str, row))}")
        return RewardDataset(self, list(rows), renderer, batch_size, group_size)

    def builder(
        self, renderer: Any, prompt: Prompt, *, group_size: int, **columns: Any
    ) -> RewardGroupBuilder:
        """A builder of ``group_size`` environments for one prompt, with its columns for the reward."""
        return RewardGroupBuilder(self, renderer, prompt, group_size, columns)

    def env(self, renderer: Any, prompt: Prompt, **columns: Any) -> SingleTurnEnv:
        """An environment for one rollout."""
        return SingleTurnEnv(self, renderer, prompt, columns)

    def around(self, problem: Any, **columns: Any) -> SingleTurnEnv:
        """An environment that asks what a ``ProblemEnv`` asks and scores with this reward instead of its checks.

        The reference answer is the ground truth.
        """
        prompt = [*problem.convo_prefix, {"role": "user", "content": problem.get_question()}]
        return self.env(
            problem.renderer, prompt, **{"ground_truth": problem.get_reference_answer(), **columns}
        )

    async def verdict(self, prompt: Prompt, response: Any, **columns: Any) -> StepVerdict:
        """The reward of a response, a text or a message, for an ``Env`` of one's own."""
        (result,) = await self.averdicts([read_sample(sample_of, prompt, response, columns)])
        metrics = {f"{self.__name__}/{name}": value for name, value in self.details(result).items()}
        return StepVerdict(self.score_of(result), metrics, self._logs(result))

    def _logs(self, result: EvaluateResult) -> dict[str, str | int | float]:
        texts = {"error": result.error, "reason": result.reason, "version": result.version}
        return {f"{self.__name__}/{name}": text for name, text in texts.items() if text}


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """What a ``StepResult`` is made of."""

    reward: float
    metrics: dict[str, float]
    logs: dict[str, str | int | float]


class SingleTurnEnv:
    """One turn: a prompt, then the response, which ends the episode."""

    def __init__(
        self, reward: TinkerReward, renderer: Any, prompt: Prompt, columns: Mapping[str, Any]
    ) -> None:
        self._reward, self._renderer, self._columns = reward, renderer, dict(columns)
        self._prompt = [dict(message) for message in messages_of(prompt, [])]

    async def initial_observation(self) -> tuple[Any, Any]:
        """The prompt's tokens and what stops the generation."""
        prompt = self._renderer.build_generation_prompt(self._prompt)
        return prompt, self._renderer.get_stop_sequences()

    async def step(self, action: list[int], *, extra: Mapping[str, Any] | None = None) -> Any:
        """The StepResult for the sampled tokens."""
        tinker = package("tinker", _INSTALL, "scoring a step")
        cookbook = package("tinker_cookbook.rl.types", _INSTALL, "scoring a step")
        message, _ = self._renderer.parse_response(action)
        verdict = await self._reward.verdict(self._prompt, _chat_message(message), **self._columns)
        return cookbook.StepResult(
            reward=verdict.reward,
            episode_done=True,
            next_observation=tinker.ModelInput.empty(),
            next_stop_condition=self._renderer.get_stop_sequences(),
            metrics=verdict.metrics,
            logs=verdict.logs,
        )


@dataclass
class RewardGroupBuilder:
    """Makes the environments of a group; can be pickled where the renderer can."""

    reward: TinkerReward
    renderer: Any
    prompt: Prompt
    group_size: int
    columns: Mapping[str, Any] = field(default_factory=dict)

    async def make_envs(self) -> list[SingleTurnEnv]:
        """The environments of the group, fresh ones at each call."""
        one = (self.reward, self.renderer, self.prompt, self.columns)
        return [SingleTurnEnv(*one) for _ in range(self.group_size)]

    async def compute_group_rewards(
        self, trajectory_group: list[Any], env_group: Sequence[Any]
    ) -> list[tuple[float, dict[str, float]]]:
        """Nothing beyond what the steps gave."""
        return [(0.0, {}) for _ in trajectory_group]

    async def cleanup(self) -> None:
        """Nothing to clean up."""

    def logging_tags(self) -> list[str]:
        """The reward's name, under which the group's metrics are logged."""
        return [self.reward.__name__]


class RewardDataset:
    """Rows with a prompt, in order, as batches of group builders; a rest that fills no batch is left out."""

    def __init__(
        self,
        reward: TinkerReward,
        rows: list[Mapping[str, Any]],
        renderer: Any,
        batch_size: int,
        group_size: int,
    ) -> None:
        self._reward, self._rows, self._renderer = reward, rows, renderer
        self._batch_size, self._group_size = batch_size, group_size

    def get_batch(self, index: int) -> list[RewardGroupBuilder]:
        """The builders of one step."""
        rows = self._rows[index * self._batch_size : (index + 1) * self._batch_size]
        return [self._builder(dict(row)) for row in rows]

    def _builder(self, row: dict[str, Any]) -> RewardGroupBuilder:
        prompt = row.pop("prompt")
        return RewardGroupBuilder(self._reward, self._renderer, prompt, self._group_size, row)

    def __len__(self) -> int:
        return len(self._rows) // self._batch_size


def _chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message in OpenAI's chat form, of the cookbook's own: thinking is no part of the text."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part["text"]) for part in content if part.get("type") == "text")
    calls = [
        call.model_dump() if hasattr(call, "model_dump") else call for call in message.get("tool_calls") or ()
    ]
    return {"role": "assistant", "content": content or "", **({"tool_calls": calls} if calls else {})}


class _LocalRewards:
    """The rewards that are in this process already, by their identity."""

    def __init__(self) -> None:
        self._rewards: WeakValueDictionary[str, TinkerReward] = WeakValueDictionary()
        self._lock = threading.Lock()

    def keep(self, token: str, reward: TinkerReward) -> TinkerReward:
        with self._lock:
            return self._rewards.setdefault(token, reward)

    def __reduce__(self) -> str:
        return "_local_rewards"


_local_rewards = _LocalRewards()


def _restore(token: str, state: dict[str, Any]) -> TinkerReward:
    """The reward that a copy stands for: the one that arrived first, or the original."""
    reward = TinkerReward.__new__(TinkerReward)
    reward.__setstate__(state)
    return _local_rewards.keep(token, reward)


_BUILDER = '''

@chz.chz
class DatasetBuilder(RLDatasetBuilder):
    """Prompts of a JSON lines file: each line has a prompt, text or messages, and the reward's columns."""

    data: str
    model_name: str
    renderer_name: str
    batch_size: int = 32
    group_size: int = 8

    async def __call__(self):
        with open(self.data, encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        renderer = get_renderer(self.renderer_name, get_tokenizer(self.model_name), model_name=self.model_name)
        return {name}.dataset(rows, renderer, batch_size=self.batch_size, group_size=self.group_size), None
'''
_IMPORTS = f"""import json

import chz
{IMPORT}from tinker_cookbook.renderers import get_renderer
from tinker_cookbook.rl.types import RLDatasetBuilder
from tinker_cookbook.tokenizer_utils import get_tokenizer
"""


def _setup_guide(request: SetupRequest) -> SetupGuide:
    name = identifier(request)
    module = f"{name}_tinker"
    text = module_source(
        request,
        f"{module}.py",
        title="tinker-cookbook",
        attribute=name,
        trainer="tinker",
        imports=_IMPORTS,
    )
    return SetupGuide(
        files={f"{module}.py": text + _BUILDER.replace("{name}", name)},
        lines=f"from {module} import DatasetBuilder\n\n"
        "config = tinker_cookbook.rl.train.Config(\n"
        '    dataset_builder=DatasetBuilder(data="prompts.jsonl", model_name=MODEL, renderer_name=RENDERER),\n'
        "    …\n)\n",
        note="In an Env of your own: verdict = await "
        f"{name}.verdict(prompt, response, ground_truth=…), for StepResult's reward, metrics and logs.",
    )


TRAINER = Trainer(
    name="tinker",
    title="tinker-cookbook 0.6",
    make=TinkerReward,
    setup_guide=_setup_guide,
    aliases=("tinker-cookbook",),
)

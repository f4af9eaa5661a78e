"""verl 0.9: ``compute_score``, called by its reward managers for one sample at a time.

verl calls by keyword, ``compute_score(data_source=, solution_str=, ground_truth=, extra_info=, **reward_kwargs)``, and
takes a number or an object with ``score``. The other keys of the object go into the batch and into the metrics of
validation, so every sample must have the same ones. The managers ``naive``, ``dapo``, ``gdpo`` and ``rate_limited``
await an ``async def`` for all samples at once, and would call anything else in a few threads; ``remote`` and the older
``prime`` take a synchronous function only.

No file is needed: ``pkg://guerdon.trainers.verl`` has ``compute_score`` and ``compute_score_sync``, which read the
reward by ``reward_kwargs``.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from guerdon.errors import InputError, RewardError
from guerdon.reward.registry import resolve
from guerdon.trainers.columns import plain, read_sample, sample_of
from guerdon.trainers.pointwise import Pointwise
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import module_path
from guerdon.types import EvaluateResult, Sample

_BATCH = (
    *("prompts", "responses", "response_mask", "attention_mask", "input_ids", "position_ids", "rm_scores"),
    *("uid", "data_source", "index", "ability", "reward_model", "extra_info", "raw_prompt", "raw_prompt_ids"),
    *("agent_name", "tools_kwargs", "interaction_kwargs", "multi_modal_data", "multi_modal_inputs"),
    *("tool_extra_fields", "reward_scores", "turn_scores", "tool_rewards", "extras", "num_turns"),
    *("min_global_steps", "max_global_steps", "prompt_len", "response_len"),
)
_LOGS = ("score", "reward", "pred", "input", "output", "gts", "step", "request_id")
_PROMPTS = ("prompt", "raw_prompt", "question")
_NOT_COLUMNS = frozenset({"reward_model_tokenizer"})


class VerlReward(Pointwise):
    """A reward as verl calls it: ``compute_score`` is its async form, the object itself its synchronous one.

    Gives ``{"score": …, "failed": 0.0 or 1.0}`` and the components. The fields of ``extra_info`` are columns;
    ``prompt``, ``raw_prompt`` or ``question`` in it is the prompt. A failed sample gets 0 unless ``on_failure`` is
    another number; ``on_failure="raise"`` ends the training, under ``rate_limited`` it gives an unlogged 0.

    >>> import asyncio
    >>> score = VerlReward(lambda response, ground_truth: response == ground_truth, workers=0).compute_score
    >>> asyncio.run(score(data_source="sums", solution_str="4", ground_truth="4", extra_info={}))
    {'score': 1.0, 'failed': 0.0}
    """

    trainer = "verl"
    taken: ClassVar[frozenset[str]] = frozenset({*_BATCH, *_LOGS})

    async def compute_score(
        self, data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None, **more: Any
    ) -> dict[str, float]:
        """One sample's score with its details."""
        sample = read_sample(_sample, data_source, solution_str, ground_truth, extra_info, more)
        return self._payload((await self.averdicts([sample]))[0])

    def __call__(
        self, data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any = None, **more: Any
    ) -> dict[str, float]:
        """The same for managers that call from processes or threads."""
        sample = read_sample(_sample, data_source, solution_str, ground_truth, extra_info, more)
        return self._payload(self.verdicts([sample])[0])

    def _payload(self, result: EvaluateResult) -> dict[str, float]:
        return {"score": self.score_of(result), **self.details(result)}


def _sample(
    data_source: Any, solution_str: Any, ground_truth: Any, extra_info: Any, more: Mapping[str, Any]
) -> Sample:
    columns = _values(extra_info) if isinstance(extra_info, Mapping) else {}
    columns.update((name, value) for name, value in more.items() if name not in _NOT_COLUMNS)
    columns["data_source"] = data_source
    if ground_truth is not None:
        columns["ground_truth"] = ground_truth
    prompt = next((columns[name] for name in _PROMPTS if _is_prompt(columns.get(name))), None)
    text = plain(solution_str)
    if not isinstance(text, str):
        raise InputError(f"solution_str must be text, not {type(text).__name__}")
    return sample_of(prompt, str(text), columns)


def _is_prompt(value: Any) -> bool:
    value = plain(value)
    return isinstance(value, str) or (
        isinstance(value, list | tuple) and all(isinstance(message, Mapping) for message in value)
    )


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping as a dict, also where it is one of OmegaConf's, whose inner values are no dicts and lists."""
    return {str(name): _value(value) for name, value in given.items()}


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _values(value)
    if type(value).__name__ == "ListConfig":
        return [_value(item) for item in value]
    return plain(value)


class _RewardCache:
    """The rewards that configurations named, one for each in this process."""

    def __init__(self) -> None:
        self._rewards: dict[str, VerlReward] = {}
        self._lock = threading.Lock()

    def of(self, spec: Any, parameters: Any, options: Any) -> VerlReward:
        if not isinstance(spec, str) or not spec:
            raise InputError(
                "choose the reward that verl calls: +reward.custom_reward_function.reward_kwargs.reward=math"
            )
        fixed, adapted = _values(parameters or {}), _values(options or {})
        key = json.dumps([spec, fixed, adapted], sort_keys=True, default=repr)
        with self._lock:
            if key not in self._rewards:
                self._rewards[key] = _make_reward(spec, fixed, adapted)
            return self._rewards[key]


def _make_reward(spec: str, parameters: dict[str, Any], options: dict[str, Any]) -> VerlReward:
    reward = resolve(spec, **parameters)
    try:
        return VerlReward(reward, **options)
    except TypeError as error:
        if isinstance(error, RewardError):
            raise
        raise InputError(f"reward_kwargs.options: {error}") from None


_rewards = _RewardCache()


async def compute_score(
    data_source: Any,
    solution_str: Any,
    ground_truth: Any,
    extra_info: Any = None,
    *,
    reward: Any = None,
    parameters: Any = None,
    options: Any = None,
    **more: Any,
) -> dict[str, float]:
    """The reward that ``reward_kwargs`` name, for verl's managers that await.

    ``reward`` is a name, a path or an address; ``parameters`` are its own, ``options`` those of the adapter.
    Raises InputError where none is named or an option is unknown, ResolutionError where it is not found.

    >>> import asyncio
    >>> asyncio.run(compute_score("sums", "It is 4.", "4", reward="math", options={"workers": 0}))["score"]
    1.0
    """
    adapter = _rewards.of(reward, parameters, options)
    return await adapter.compute_score(data_source, solution_str, ground_truth, extra_info, **more)


def compute_score_sync(
    data_source: Any,
    solution_str: Any,
    ground_truth: Any,
    extra_info: Any = None,
    *,
    reward: Any = None,
    parameters: Any = None,
    options: Any = None,
    **more: Any,
) -> dict[str, float]:
    """The synchronous twin of ``compute_score``, for the managers ``remote`` and ``prime``."""
    adapter = _rewards.of(reward, parameters, options)
    return adapter(data_source, solution_str, ground_truth, extra_info, **more)


def _make(reward: Any, *, sync: bool = False, **options: Any) -> Any:
    """``compute_score`` of a reward; ``sync=True`` for the managers ``remote`` and ``prime``."""
    adapter = VerlReward(reward, **options)
    return adapter if sync else adapter.compute_score


def _setup_guide(request: SetupRequest) -> SetupGuide:
    options = dict(request.options)
    sync = bool(options.pop("sync", False))
    own, kwargs = "reward.custom_reward_function", "+reward.custom_reward_function.reward_kwargs"
    settings: dict[str, Any] = {
        f"{own}.path": "pkg://guerdon.trainers.verl",
        f"{own}.name": "compute_score_sync" if sync else "compute_score",
        f"{kwargs}.reward": module_path(request),
        **{f"{kwargs}.parameters.{name}": value for name, value in request.parameters.items()},
        **{f"{kwargs}.options.{name}": value for name, value in options.items()},
        "reward.reward_manager.name": "remote" if sync else "naive",
    }
    if not sync:
        settings["reward.num_workers"] = 1
    lines = " \\\n".join(shlex.quote(f"{key}={hydra_value(value)}") for key, value in settings.items())
    note = (
        "Add these to verl's command line; guerdon and the reward's file must be on every node. "
        "The managers naive, dapo, gdpo and rate_limited await compute_score; remote takes compute_score_sync. "
    )
    if not sync:
        note += "One reward worker uses all cores of its node; give as many as there are nodes."
    return SetupGuide(lines=lines, note=note)


def hydra_value(value: Any) -> str:
    """A value in the grammar of Hydra's command line.

    >>> hydra_value("file.py::fn"), hydra_value("a, b"), hydra_value([1, None, True]), hydra_value({"a": "1"})
    ('file.py::fn', "'a, b'", '[1,null,true]', "{a:'1'}")
    """
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{name}:{hydra_value(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(hydra_value, value)) + "]"
    if isinstance(value, float):
        return repr(value)  # JSON has other words for what is not finite
    if not isinstance(value, str):
        return json.dumps(value)
    if re.fullmatch(r"[A-Za-z/][\w/.:@+-]*", value) and value.lower() not in (
        "true",
        "false",
        "null",
        "nan",
        "inf",
    ):
        return value
    # A backslash stands for itself but before a quote, where it is doubled.
    escaped = re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), value)
    return f"'{escaped}'"


TRAINER = Trainer(name="verl", title="verl 0.9.1", make=_make, setup_guide=_setup_guide)

"""verifiers 0.4 and prime-rl: a reward of a task, or a function of the older releases' ``Rubric``.

A task's rewards are coroutines that are called with what they name of ``task``, ``trace`` and ``runtime``, all at once;
each gives a number, which counts with its weight, or an object whose every value counts with it, which is why
components are metrics of the trace here. What they raise makes an errored trace, which prime-rl does not train on.
A function of a ``Rubric`` (up to verifiers 0.3) is called with what it names of the rollout and the row, and counts
as 0 where it raises. Sources: ``verifiers/v1/task.py``, ``v1/utils/loaders.py``, ``legacy/rubrics/rubric.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.errors import BindingError
from guerdon.trainers.columns import read_sample, sample_of
from guerdon.trainers.foreign.verifiers import from_verifiers
from guerdon.trainers.optional_imports import package
from guerdon.trainers.pointwise import Pointwise
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import identifier, module_source
from guerdon.types import EvaluateResult, Sample

_OF_A_RUBRIC = ("answer", "info", "task")
_NO_COLUMNS = frozenset({"prompt", "example_id", "task"})


class VerifiersReward(Pointwise):
    """A reward as verifiers calls it: a task's reward and a rubric's function in one.

    In a task it also records the metrics ``NAME/failed`` and ``NAME/COMPONENT`` on the trace, the same for every
    sample. A failed sample gets 0 unless ``on_failure`` is another number; ``on_failure="raise"`` makes it an errored
    trace, in a rubric a 0. The fields of the task's data are columns, as is the row of a rubric.

    In code it is an attribute of the task's class, ``exact = vf.reward(weight=2.0)(reward.to_verifiers())``, or a
    function of a rubric, ``vf.Rubric(funcs=[reward.to_verifiers()])``; ``rubric()`` makes one that logs the components.
    """

    trainer = "verifiers"

    def __setattr__(self, name: str, value: Any) -> None:
        # vf.reward marks what it decorates by this name, and would put True in the reward's place.
        if name != "reward" or value is not True:
            super().__setattr__(name, value)

    async def __call__(self, task: Any = None, trace: Any = None, **given: Any) -> float:
        """The reward of a finished rollout."""
        if not hasattr(trace, "record_metric"):
            return self.score_of(await self._of_rollout({**given, "task": task}))
        (result,) = await self.averdicts([read_sample(_sample_of, task, trace)])
        for name, value in self.details(result).items():
            trace.record_metric(f"{self.__name__}/{name}", value)
        return self.score_of(result)

    async def _of_rollout(self, given: Mapping[str, Any]) -> EvaluateResult:
        (result,) = await self.averdicts([read_sample(_sample_of_rollout, given)])
        state = given.get("state")
        if isinstance(state, dict):
            state[self._key] = self.details(result)
        return result

    @property
    def _key(self) -> str:
        return f"{self.__name__}/details"

    def rubric(self, weight: float = 1.0) -> Any:
        """A ``Rubric`` of verifiers 0.3 or older with this reward, and its components as metrics.

        Raises BindingError where the installed release has no rubrics.
        """
        verifiers = package("verifiers", 'pip install "verifiers<0.4"', "a rubric")
        if not hasattr(verifiers, "Rubric"):
            raise BindingError(
                "verifiers 0.4 has no Rubric: plug the reward into a task; guerdon adapt shows how"
            )
        parts = [_RubricMetric(self, name) for name in ("failed", *self.components)]
        return verifiers.Rubric(funcs=[self, *parts], weights=[weight, *(0.0 for _ in parts)])


class _RubricMetric:
    """A metric of a rubric: one of the details of the verdict that the reward before it left with the rollout."""

    def __init__(self, reward: VerifiersReward, name: str) -> None:
        self._key, self._part = reward._key, name
        self.__name__ = f"{reward.__name__}/{name}"

    def __call__(self, state: Mapping[str, Any]) -> float:
        return float(state[self._key][self._part])


def _sample_of(task: Any, trace: Any) -> Sample:
    """A finished rollout: the final branch up to its last reply, which is the completion."""
    messages = [_message(message) for message in trace.messages]
    replies = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    reply = trace.last_reply
    if replies and (not reply or str(messages[replies[-1]].get("content") or "").strip() == reply):
        messages = messages[: replies[-1] + 1]
    else:
        messages.append({"role": "assistant", "content": reply})
    return sample_of(messages[:-1], messages[-1:], _fields(task if task is not None else trace.task.data))


def _fields(data: Any) -> dict[str, Any]:
    """What a task's data has beyond how its rollout runs, with its id."""
    base: Any = next(b for b in type(data).__mro__ if b.__name__ == "TaskData")
    values = {**data.__dict__, **(getattr(data, "model_extra", None) or {})}
    own = {name: _value(value) for name, value in values.items() if name not in base.model_fields}
    return {**own, "id": data.id if data.id is not None else data.idx}


def _sample_of_rollout(given: Mapping[str, Any]) -> Sample:
    """What a rubric offers: the row's columns, and of the rest what is not an object of the rubric's own."""
    state = given.get("state") or {}
    row = state.get("input") if isinstance(state.get("input"), Mapping) else {}
    columns = {name: value for name, value in (row or {}).items() if name not in _NO_COLUMNS}
    columns.update(
        {n: given[n] for n in _OF_A_RUBRIC if isinstance(given.get(n), str | dict | int | float | list)}
    )
    return sample_of(
        _conversation(given.get("prompt")),
        _conversation(given.get("completion")),
        {name: _value(value) for name, value in columns.items()},
    )


def _conversation(value: Any) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value if value is not None else ""
    return [_message(message) for message in value]


def _message(message: Any) -> dict[str, Any]:
    """A message in OpenAI's chat form, of verifiers' own."""
    given = dict(message) if isinstance(message, Mapping) else message.model_dump(exclude_none=True)
    kept = {name: value for name, value in given.items() if value is not None and name != "tool_calls"}
    calls = [_call(call) for call in given.get("tool_calls") or ()]
    return {"content": "", **kept, **({"tool_calls": calls} if calls else {})}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    if "function" in call:
        return dict(call)
    function = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call.get("id"), "type": "function", "function": function}


def _value(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def _setup_guide(request: SetupRequest) -> SetupGuide:
    name = identifier(request)
    module = f"{name}_verifiers"
    function = json.dumps(f"{module}:{name}")
    return SetupGuide(
        files={
            f"{module}.py": module_source(
                request, f"{module}.py", title="verifiers and prime-rl", attribute=name, trainer="verifiers"
            )
        },
        lines=f"[env.taskset.task.rewards.{name}]\nfn = {function}\nweight = 1.0\n",
        note="The file's folder must be on PYTHONPATH. The lines are those of vf-eval; in prime-rl the environment's "
        f"task set has them: taskset = {{ id = …, task.rewards.{name} = {{ fn = {function}, weight = 1.0 }} }}. "
        f"With verifiers 0.3 or older: from {module} import {name}; rubric = {name}.rubric().",
    )


TRAINER = Trainer(
    name="verifiers",
    title="verifiers 0.4 and prime-rl",
    make=VerifiersReward,
    setup_guide=_setup_guide,
    aliases=("prime-rl", "prime"),
)

__all__ = ["TRAINER", "VerifiersReward", "from_verifiers"]

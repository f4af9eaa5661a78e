"""OpenEnv: a reward as a rubric of an environment (openenv 0.10)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from guerdon.errors import InputError
from guerdon.trainers.adapter import Adapter, OnFailure
from guerdon.trainers.columns import plain, sample_of
from guerdon.trainers.optional_imports import package, refuse_skip
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import (
    IMPORT,
    docstring_name,
    imports_source,
    options_source,
    reward_source,
    slug,
)
from guerdon.types import Sample

_INSTALL = "pip install openenv"
_IMPORTS = f"{IMPORT}from guerdon.trainers.openenv import OpenenvAdapter, RewardRubric\n"
_TEXTS = ("response", "completion", "message", "content", "text", "answer", "action_str", "code")
"""Fields of an action that hold what the model wrote, the likeliest first."""
_PROMPTS = ("prompt", "question", "instruction", "task")
_FRAME = frozenset({"done", "reward", "metadata"})
"""Fields that every observation has; its metadata's entries are columns."""

SampleOf = Callable[[Any, Any], Sample]


class OpenenvAdapter(Adapter):
    """What a rubric asks: the sample of an action and the observation that followed it.

    ``completion`` and ``prompt`` name the field of the action and of the observation that hold what the model wrote
    and what it was asked; by default they are found by their names. ``sample`` makes the sample in their place.
    """

    trainer: ClassVar[str] = "openenv"
    default_failure: ClassVar[OnFailure] = 0.0

    def __init__(
        self,
        reward: Any,
        *,
        completion: str | None = None,
        prompt: str | None = None,
        sample: SampleOf | None = None,
        **options: Any,
    ) -> None:
        super().__init__(reward, **options)
        refuse_skip(self, "OpenEnv")
        self._completion, self._prompt, self._sample = completion, prompt, sample

    def sample(self, action: Any, observation: Any) -> Sample:
        """The sample of a step. Fields of the observation and of the action are columns, as are the entries of their
        ``metadata``; the observation's win, being the environment's own.

        Raises InputError where no field of the action holds a text.
        """
        if self._sample is not None:
            return self._sample(action, observation)
        acted, seen = _fields(action), _fields(observation)
        columns = {**_inner(acted), **_inner(seen)}
        columns |= {n: v for n, v in acted.items() if n != "metadata"}
        columns |= {n: v for n, v in seen.items() if n not in _FRAME}
        text = self._text(action, acted)
        return sample_of(self._context(columns, seen, text), text, columns)

    def _context(self, columns: Mapping[str, Any], seen: Mapping[str, Any], text: str) -> Any:
        said = seen.get("messages")
        if isinstance(said, list):
            # Where the environment shows the conversation, the answer itself may be the end of it already.
            last = _fields(said[-1]) if said else {}
            ends_so = last.get("role") == "assistant" and last.get("content") == text
            return said[:-1] if ends_so else said
        names = _PROMPTS if self._prompt is None else (self._prompt,)
        return next((columns[n] for n in names if isinstance(columns.get(n), str | list)), None)

    def _text(self, action: Any, acted: Mapping[str, Any]) -> str:
        if isinstance(action, str):
            return action
        names = _TEXTS if self._completion is None else (self._completion,)
        for name in names:
            if isinstance(acted.get(name), str):
                return str(acted[name])
        texts = [name for name, value in acted.items() if isinstance(value, str)]
        if self._completion is None and len(texts) == 1:
            return str(acted[texts[0]])
        there = ", ".join(acted) or "none"
        raise InputError(
            f"no field of {type(action).__name__} is known to hold what the model wrote (its fields: {there}); "
            'name it: completion="…"'
        )


def _fields(value: Any) -> dict[str, Any]:
    """What an action or an observation holds, by name: fields of a model, entries of a mapping."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    names = list(getattr(type(value), "model_fields", ())) or list(getattr(value, "__dict__", ()))
    extra = getattr(value, "__pydantic_extra__", None) or {}
    return {**{n: plain(getattr(value, n)) for n in names if not n.startswith("_")}, **plain(dict(extra))}


def _inner(fields: Mapping[str, Any]) -> dict[str, Any]:
    metadata = fields.get("metadata")
    return dict(metadata) if isinstance(metadata, Mapping) else {}


@functools.cache
def _classes() -> dict[str, Any]:
    rubric: Any = package("openenv.core.rubrics", _INSTALL, "a rubric of OpenEnv").Rubric

    class ComponentRubric(rubric):  # type: ignore[misc]
        """A component of a reward: ``last_score`` is its part of the last verdict."""

        def forward(self, action: Any, observation: Any) -> float:
            return float(self.last_score or 0.0)

    class RewardRubric(rubric):  # type: ignore[misc]
        """A reward as a rubric. Its components are child rubrics, with the score that they had last."""

        def __init__(self, adapter: OpenenvAdapter) -> None:
            super().__init__()
            self.adapter = adapter
            self.last_result = None
            for name in adapter.components:
                setattr(self, _attribute(name), ComponentRubric())

        def forward(self, action: Any, observation: Any) -> float:
            (result,) = self.adapter.results([self.adapter.sample(action, observation)])
            return self._settle(result)

        def _settle(self, result: Any) -> float:
            self.last_result = result
            for name, score in self.adapter.parts(result).items():
                getattr(self, _attribute(name)).last_score = score
            return float(self.adapter.number(result))  # type: ignore[arg-type]

        def state_dict(self) -> dict[str, Any]:
            return {"reward": self.adapter.reward.name, "version": self.adapter.reward.version}

    class AsyncRewardRubric(RewardRubric):
        """The same for an environment's ``step_async``: the event loop stays free."""

        async def forward(self, action: Any, observation: Any) -> float:  # type: ignore[override]
            (result,) = await self.adapter.aresults([self.adapter.sample(action, observation)])
            return self._settle(result)

    classes = {c.__name__: c for c in (ComponentRubric, RewardRubric, AsyncRewardRubric)}
    for name, cls in classes.items():
        # As members of this module, which they are by __getattr__: so they are found when they are unpickled.
        cls.__qualname__ = name
    return classes


def __getattr__(name: str) -> Any:
    if name in ("ComponentRubric", "RewardRubric", "AsyncRewardRubric"):
        return _classes()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _attribute(component: str) -> str:
    """The name of a child; one that a rubric has itself must stay what it is."""
    rubric = package("openenv.core.rubrics", _INSTALL, "a rubric of OpenEnv").Rubric
    return (
        f"{component}_"
        if hasattr(rubric, component) or component in ("adapter", "last_result")
        else component
    )


def make(reward: Any, *, asynchronous: bool = False, **options: Any) -> Any:
    """A rubric for ``Environment(rubric=…)``.

    ``asynchronous`` is for environments that call ``_apply_rubric_async``; ``completion``, ``prompt`` and ``sample``
    are explained at OpenenvAdapter, the other ``options`` at Adapter. ``on_failure`` is a number (0 by default) or
    ``"raise"``; ``rubric.last_result`` says what happened. Raises MissingExtraError where openenv is not installed.
    """
    adapter = OpenenvAdapter(reward, **options)
    return _classes()["AsyncRewardRubric" if asynchronous else "RewardRubric"](adapter)


def _setup_guide(request: SetupRequest) -> SetupGuide:
    """The module with the rubric, and the line that gives it to an environment."""
    module = f"guerdon_{slug(request.reward.name)}_rubric"
    options = options_source(request.options)
    source = reward_source(request, f"{module}.py")
    arguments = f"{source}, {options}" if options else source
    text = (
        f'"""The reward {docstring_name(request)} as a rubric of OpenEnv."""\n\n'
        f"{imports_source(request, _IMPORTS)}\n"
        f"ADAPTER = OpenenvAdapter({arguments})\n\n\n"
        "def rubric():\n"
        '    """A rubric for one environment: it keeps the last scores, and shares the workers with the others."""\n'
        "    return RewardRubric(ADAPTER)\n"
    )
    lines = (
        "# in the environment:\n"
        f"from {module} import rubric\n\n"
        "super().__init__(rubric=rubric())\n"
        "# and in step():\n"
        "observation.reward = self._apply_rubric(action, observation)\n"
    )
    note = f"`guerdon serve {request.spec}` is a whole environment of one step for OpenEnv's clients."
    return SetupGuide(files={f"{module}.py": text}, lines=lines, note=note)


TRAINER = Trainer(name="openenv", title="OpenEnv 0.10", make=make, setup_guide=_setup_guide)

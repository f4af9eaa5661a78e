"""ART 0.5: sets ``reward`` and ``metrics`` of trajectories, one by one or a group at a time.

ART scores nothing itself: the rollout function, or what ``gather_trajectory_groups`` calls after each group, sets
``Trajectory.reward``. The metrics are averaged into the logs. A rollout that raises is one of the group's exceptions,
and ends the run unless ``max_exceptions`` allows for it. Sources: ``art/trajectories.py``, ``art/gather.py``.
"""

from __future__ import annotations

import copy
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.trainers.adapter import Adapter
from guerdon.trainers.columns import read_sample, sample_of
from guerdon.trainers.optional_imports import package
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import identifier, module_source
from guerdon.types import EvaluateResult, Sample


class ArtReward(Adapter):
    """A reward for ART: ``after_each=reward`` for groups, ``await reward.score(trajectory)`` in a rollout.

    The metadata of a trajectory and of its group are columns; the last reply is the completion. The metrics
    ``NAME/failed`` and ``NAME/COMPONENT`` are the same for every trajectory; what went wrong is in its log. A failed
    trajectory gets 0 unless ``on_failure`` is another number; ``on_failure="skip"`` leaves it out of its group and
    among the group's exceptions.
    """

    trainer = "art"

    async def __call__(self, group: Any) -> Any:
        """The group with its trajectories scored; None, which ART leaves out, where none is left."""
        trajectories = list(group.trajectories)
        results = await self.aresults([read_sample(_sample_of, t, group.metadata) for t in trajectories])
        kept, failures = [], []
        for trajectory, result in zip(trajectories, results, strict=True):
            number = self.number(result)
            if number is not None:
                kept.append(self._set(trajectory, result, number))
            elif result.failed:
                failures.append(result)
        if not kept:
            return None
        scored = copy.copy(group)
        scored.trajectories = kept
        scored.exceptions = [*group.exceptions, *map(_exception_of, failures)]
        return scored

    async def score(self, trajectory: Any, **columns: Any) -> Any:
        """The trajectory with its reward set; further columns win over its metadata.

        Raises the failure of the sample, or NotApplicableError, unless ``on_failure`` is a number.
        """
        (result,) = await self.aresults([read_sample(_sample_of, trajectory, {}, columns)])
        number = self.number(result)
        return self._set(trajectory, result, result.unwrap() if number is None else number)

    def _set(self, trajectory: Any, result: EvaluateResult, number: float) -> Any:
        trajectory.reward = number
        details = {"failed": float(result.failed), **self.parts(result)}
        trajectory.metrics.update({f"{self.__name__}/{name}": value for name, value in details.items()})
        for word, text in (("error", result.error), ("reason", result.reason)):
            if text:
                trajectory.log(f"{self.__name__} {word}: {text}")
        return trajectory


def _sample_of(
    trajectory: Any, shared: Mapping[str, Any], columns: Mapping[str, Any] | None = None
) -> Sample:
    """The trajectory up to its last reply, which is the completion."""
    messages: Sequence[Any] = trajectory.messages()
    if not messages:
        raise InputError("the trajectory has no messages")
    replies = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    end = replies[-1] + 1 if replies else len(messages)
    completion = messages[end - 1 : end] if replies else [{"role": "assistant", "content": ""}]
    before = messages[: end - 1] if replies else messages
    return sample_of(before, completion, {**shared, **trajectory.metadata, **(columns or {})})


def _exception_of(result: EvaluateResult) -> Any:
    trajectories = package("art.trajectories", "pip install openpipe-art", "scoring a group")
    error = result.exception
    shown = "" if error is None else "".join(traceback.format_exception(error))
    return trajectories.PydanticException(
        type=str(result.error_kind), message=str(result.error), traceback=shown
    )


def _setup_guide(request: SetupRequest) -> SetupGuide:
    name = identifier(request)
    module = f"{name}_art"
    return SetupGuide(
        files={
            f"{module}.py": module_source(request, f"{module}.py", title="ART", attribute=name, trainer="art")
        },
        lines=f"from {module} import {name}\n\n"
        f"groups = await art.gather_trajectory_groups(groups, after_each={name})\n",
        note=f"Or in the rollout function: return await {name}.score(trajectory). "
        'What the reward reads besides the messages is the trajectory\'s metadata: metadata={"ground_truth": "4"}.',
    )


TRAINER = Trainer(
    name="art",
    title="ART 0.5",
    make=ArtReward,
    setup_guide=_setup_guide,
    aliases=("openpipe-art", "openpipe"),
)

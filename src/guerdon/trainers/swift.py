"""ms-swift: a class in its table ``orms``, which an external plugin fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from guerdon.errors import InputError
from guerdon.trainers.adapter import Adapter, OnFailure
from guerdon.trainers.columns import listed, read_sample, sample_of, values_of, wrong_column
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import IMPORT, adapter_source, docstring_name, identifier, imports_source
from guerdon.trainers.trl import asks_for
from guerdon.types import Sample

TAKEN = (
    "toolbench", "math", "accuracy", "format", "react_format", "cosine", "repetition", "soft_overlong",
)  # fmt: skip
"""What ms-swift 4.6 has in ``orms`` itself."""

_IMPORTS = f"from swift.rewards import orms\n\n{IMPORT}"


class SwiftReward(Adapter):
    """A reward as ms-swift calls it: ``orms["name"](args=…)`` gives ``f(completions, **columns)``.

    The adapter is both: called with ``args`` alone it gives itself, so that it stands in ``orms`` as it is and in
    ``reward_funcs`` of the trainer as well. The prompt is read from the column ``messages``, with which ms-swift
    hands over the whole conversation. A sample that failed, or to which the reward does not apply, is None by
    default: ms-swift adds nothing for it, so that it counts 0 where no other reward has a number.
    ms-swift has nothing for a reward to log into; failures are counted and logged by the adapter.

    >>> def exact(response, answer):
    ...     return response == answer
    >>> reward = SwiftReward(exact, workers=0)(args=None)
    >>> reward(["4", "6"], answer=["4", "5"])
    [1.0, 0.0]
    """

    trainer: ClassVar[str] = "swift"
    default_failure: ClassVar[OnFailure] = "skip"

    def __new__(cls, *args: Any, **options: Any) -> SwiftReward:
        # ms-swift's metrics are named by the class, so that each reward has one of its own.
        return super().__new__(type(cls.__name__, (cls,), {"__module__": cls.__module__}))

    def __init__(self, reward: Any, **options: Any) -> None:
        super().__init__(reward, **options)
        self._takes_ids = asks_for(self.reward, "response_token_ids")
        type(self).__name__ = type(self).__qualname__ = self.__name__

    def __call__(self, completions: Sequence[Any] | None = None, *, args: Any = None, **columns: Any) -> Any:
        """The numbers for completions; the adapter itself where there are none but the trainer's ``args``."""
        if completions is None:
            return self
        if args is not None:
            columns["args"] = args
        state = columns.get("trainer_state")
        if not isinstance(state, list):  # else it is a column of the data set, which takes its place
            columns.pop("trainer_state", None)
        if not self._takes_ids:
            columns.pop("response_token_ids", None)
        step = getattr(state, "global_step", None)
        results = self.results(_samples(completions, columns), step=step)
        return [self.number(result) for result in results]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.__getstate__(),)


def _restored(state: dict[str, Any]) -> SwiftReward:
    reward = SwiftReward.__new__(SwiftReward)
    reward.__setstate__(state)
    type(reward).__name__ = type(reward).__qualname__ = reward.__name__
    return reward


def _samples(completions: Sequence[Any], columns: Mapping[str, Any]) -> list[Sample]:
    samples = []
    completions = listed("completions", completions)
    columns = {name: values_of(name, values) for name, values in columns.items()}
    for position, completion in enumerate(completions):
        row = {}
        for name, given in columns.items():
            if not isinstance(given, list | tuple):
                row[name] = given
            elif len(given) == len(completions):
                row[name] = given[position]
            else:
                raise InputError(wrong_column(name, len(given), len(completions)))
        samples.append(read_sample(_sample, row, completion))
    return samples


def _sample(row: dict[str, Any], completion: Any) -> Sample:
    messages = row.pop("messages", None) or []
    return sample_of(list(messages)[:-1], completion, row)


def make(reward: Any, **options: Any) -> SwiftReward:
    """What stands in ms-swift's ``orms`` for a reward."""
    return SwiftReward(reward, **options)


def _setup_guide(request: SetupRequest) -> SetupGuide:
    name = identifier(request)
    module = f"{name}_swift"
    key = f"guerdon_{name}" if name in TAKEN else name
    return SetupGuide(
        files={
            f"{module}.py": (
                f'"""The reward {docstring_name(request)} for ms-swift."""\n\n'
                f"{imports_source(request, _IMPORTS)}\n"
                f"orms[{key!r}] = {adapter_source(request, 'swift', f'{module}.py')}\n"
            )
        },
        lines=(
            "swift rlhf --rlhf_type grpo --model MODEL --dataset DATASET \\\n"
            f"  --external_plugins {module}.py --reward_funcs {key}"
        ),
        note="A sample without a score adds nothing to the sum of rewards; with on_failure=NUMBER it has that score.",
    )


TRAINER = Trainer(
    name="swift", title="ms-swift 4.6", make=make, setup_guide=_setup_guide, aliases=("ms-swift", "msswift")
)

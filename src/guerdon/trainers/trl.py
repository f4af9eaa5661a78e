"""TRL: GRPO, RLOO and online DPO take a batched function of keywords."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from guerdon.errors import InputError
from guerdon.trainers.adapter import Adapter, OnFailure
from guerdon.trainers.columns import samples_of
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import identifier, module_source
from guerdon.types import EvaluateResult, Sample

Numbers = list[float | None]


class _TrlAdapter(Adapter):
    """What the forms of a TRL reward share: reading TRL's call, and logging into the trainer."""

    trainer: ClassVar[str] = "trl"
    default_failure: ClassVar[OnFailure] = "skip"

    def __init__(self, reward: Any, **options: Any) -> None:
        super().__init__(reward, **options)
        self._takes_ids = asks_for(self.reward, "completion_ids")
        # What was logged once is logged in every batch: TRL's table wants columns of one length, and the mean over
        # several steps is one over the steps that have a value.
        self._logged: dict[str, None] = dict.fromkeys(self.components)
        self._kinds: dict[str, None] = {}

    def _read(self, prompts: Any, completions: Any, ids: Any, columns: dict[str, Any]) -> _RewardCall:
        if self.on_failure == "skip" and _asked_by_online_dpo():
            raise InputError(
                f"TRL's online DPO counts a skipped sample as 0: make {self.__name__} with "
                'on_failure="raise" or on_failure=NUMBER'
            )
        own = {name: columns.pop(name, None) for name, is_own in _OWN.items() if is_own(columns.get(name))}
        own_environments = getattr(getattr(own.get("log_metric"), "__self__", None), "environments", None)
        if own_environments is not None:  # live objects of the user's, which no worker can be given
            columns.pop("environments", None)
        if ids is not None and self._takes_ids:
            columns["completion_ids"] = ids
        return _RewardCall(
            samples=samples_of(prompts, completions, columns),
            step=getattr(own.get("trainer_state"), "global_step", None),
            log_metric=own.get("log_metric"),
            log_extra=own.get("log_extra"),
        )

    def _numbers(self, call: _RewardCall, results: list[EvaluateResult]) -> Numbers:
        """What TRL gets for the results, after their parts were logged."""
        numbers = [self.number(result) for result in results]
        for result in results:
            self._logged.update(dict.fromkeys(result.metrics))
            if result.error is not None:
                self._kinds[result.error_kind or "error"] = None
        if call.log_metric is not None and results:
            for name, value in self._metrics(results).items():
                call.log_metric(name, value)
        if call.log_extra is not None:
            for name, values in self._columns(results).items():
                call.log_extra(name, values)
        return numbers

    def _metrics(self, results: list[EvaluateResult]) -> dict[str, float]:
        """Means of the components over the samples that have them, and the share of samples that failed.

        A component that no sample has is left out, as there is no number that would be true.
        """
        head = f"rewards/{self.__name__}"
        kinds = [result.error_kind or "error" for result in results if result.error is not None]
        shares = {f"{head}/failed": len(kinds) / len(results)}
        shares.update(
            (f"{head}/failed/{kind}", kinds.count(kind) / len(results)) for kind in list(self._kinds)
        )
        for name in list(self._logged):
            scores = [result.metrics[name].score for result in results if name in result.metrics]
            if scores:
                shares[f"{head}/{name}/mean"] = sum(scores) / len(scores)
        return shares

    def _columns(self, results: list[EvaluateResult]) -> dict[str, list[Any]]:
        """A column for each component and one for the errors in TRL's table of completions."""
        columns: dict[str, list[Any]] = {
            f"{self.__name__}/{name}": [r.metrics[name].score if name in r.metrics else None for r in results]
            for name in list(self._logged)
        }
        columns[f"{self.__name__}/error"] = [result.error for result in results]
        return columns


class TrlReward(_TrlAdapter):
    """A reward as TRL's trainers call it: ``f(prompts=, completions=, **columns) -> list[float | None]``.

    A sample that failed, or to which the reward does not apply, is None by default, which GRPO and RLOO leave
    out of the reward (TRL before 1.9 counts 0 where no other reward has a number). Online DPO would count 0
    always, so it needs ``on_failure="raise"`` or a number; InputError at its first call otherwise.

    With GRPO and RLOO the components of a reward are logged beside TRL's own metrics, as
    ``rewards/NAME/COMPONENT/mean``, failures as ``rewards/NAME/failed`` (a share of the batch) and
    ``rewards/NAME/failed/KIND``; both are columns of the table of completions. ``step`` is the trainer's.
    TRL's own arguments (``trainer_state``, ``log_extra``, ``log_metric``, ``environments``) never reach the reward;
    ``completion_ids`` does where it asks for it.

    >>> def exact(response, answer):
    ...     return response == answer
    >>> TrlReward(exact, workers=0)(prompts=["2 + 2?", "2 + 3?"], completions=["4", "6"], answer=["4", "5"])
    [1.0, 0.0]
    """

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,
        **columns: Any,
    ) -> Numbers:
        call = self._read(prompts, completions, completion_ids, columns)
        return self._numbers(call, self.results(call.samples, step=call.step, mode=call.mode))


class AsyncTrlReward(_TrlAdapter):
    """The same for TRL's async rewards, which GRPO and RLOO of TRL 1.10 and later run side by side."""

    async def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,
        **columns: Any,
    ) -> Numbers:
        call = self._read(prompts, completions, completion_ids, columns)
        return self._numbers(call, await self.aresults(call.samples, step=call.step, mode=call.mode))


def make(reward: Any, *, asynchronous: bool = False, **options: Any) -> TrlReward | AsyncTrlReward:
    """What TRL takes for a reward.

    ``asynchronous`` gives a reward that TRL awaits: several of them are scored side by side, in GRPO and RLOO.
    Async rewards are scored concurrently without it, too.
    """
    return AsyncTrlReward(reward, **options) if asynchronous else TrlReward(reward, **options)


@dataclass(frozen=True, kw_only=True, slots=True)
class _RewardCall:
    """One call of TRL's, read."""

    samples: list[Sample]
    step: int | None
    log_metric: Callable[[str, float], None] | None
    log_extra: Callable[[str, list[Any]], None] | None

    @property
    def mode(self) -> str:
        """The logging method that TRL passes, bound to the trainer that calls."""
        model = getattr(getattr(self.log_metric, "__self__", None), "model", None)
        return "train" if getattr(model, "training", True) else "eval"


# TRL replaces columns of these names; where a value is not TRL's, the trainer is one that does not.
_OWN: Mapping[str, Callable[[Any], bool]] = {
    "trainer_state": lambda value: value is None or hasattr(value, "global_step"),
    "log_metric": lambda value: value is None or callable(value),
    "log_extra": lambda value: value is None or callable(value),
}


def asks_for(reward: Any, name: str) -> bool:
    """Whether a RewardFunction may read a column; one that is elsewhere, or gathers what there is, may."""
    if reward.components:
        return any(asks_for(component.reward, name) for component in reward.components)
    signature = reward.scorer.signature()
    return signature is None or signature.takes_kwargs or name in signature.names


def _asked_by_online_dpo() -> bool:
    """Whether TRL's online DPO calls the adapter, which its arguments do not show for certain."""
    caller = sys._getframe().f_back
    for _ in range(2):  # a thread that was not started in Python may have none above the adapter
        caller = caller.f_back if caller is not None else None
    return caller is not None and ".online_dpo" in str(caller.f_globals.get("__name__"))


def _setup_guide(request: SetupRequest) -> SetupGuide:
    name = identifier(request)
    module = f"{name}_trl"
    return SetupGuide(
        files={
            f"{module}.py": module_source(request, f"{module}.py", title="TRL", attribute=name, trainer="trl")
        },
        lines=(
            "trl grpo --model_name_or_path MODEL --dataset_name DATASET --output_dir OUTPUT \\\n"
            f"  --reward_funcs {module}.{name}"
        ),
        note=(
            f"Run it where {module}.py is; `trl rloo` takes the same. In Python: `from {module} import {name}`, "
            f"then `GRPOTrainer(reward_funcs=[{name}], …)`."
        ),
    )


TRAINER = Trainer(name="trl", title="TRL 1.16", make=make, setup_guide=_setup_guide)

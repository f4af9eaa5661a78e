"""slime: ``async def custom_rm(args, sample)``, or a server's address.

slime calls the function for each sample at once, for a whole group with ``--group-rm``. What it returns becomes
``sample.reward``: a number, or with ``--reward-key`` an object that has the number under that key. What it raises ends
the rollout. Source: ``slime/rollout/rm_hub/__init__.py`` and ``docs/en/get_started/customization.md`` of slime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.data.labels import labelled_sample
from guerdon.errors import InputError
from guerdon.trainers.columns import plain, read_sample
from guerdon.trainers.pointwise import Pointwise
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import identifier, module_source
from guerdon.types import EvaluateResult, Sample


class SlimeReward(Pointwise):
    """A reward as slime calls it, ``custom_rm``.

    The fields of ``sample.metadata`` are columns, ``sample.label`` is the ground truth; one that is a JSON object is
    unpacked. With ``--reward-key`` the reward is an object that also has ``failed`` and the components.

    >>> import asyncio
    >>> from types import SimpleNamespace
    >>> custom_rm = SlimeReward(lambda response, ground_truth: response == ground_truth, workers=0).custom_rm
    >>> sample = SimpleNamespace(prompt="2 + 2?", response="4", label="4", metadata={})
    >>> asyncio.run(custom_rm(SimpleNamespace(reward_key=None), sample))
    1.0
    """

    trainer = "slime"

    async def custom_rm(self, args: Any, sample: Any, **more: Any) -> Any:
        """The reward of a sample, or a list of them for a list of samples.

        Raises InputError where ``--eval-reward-key`` is given without ``--reward-key``: slime does not say what a
        call is for, and takes a number for training and an object for evaluation then.
        """
        many = isinstance(sample, list | tuple)
        results = await self.averdicts([read_sample(_sample, one) for one in (sample if many else [sample])])
        rewards = [self._reward(args, result) for result in results]
        return rewards if many else rewards[0]

    def _reward(self, args: Any, result: EvaluateResult) -> float | dict[str, float]:
        key, evaluating = getattr(args, "reward_key", None), getattr(args, "eval_reward_key", None)
        score = self.score_of(result)
        if evaluating and not key:
            raise InputError("give --reward-key, too, where --eval-reward-key is given; both may be score")
        if not key:
            return score
        return {**self.details(result), key: score, evaluating or key: score}


def _sample(given: Any) -> Sample:
    if not isinstance(given.response, str):
        raise InputError(f"the response must be text, not {type(given.response).__name__}")
    metadata = given.metadata if isinstance(given.metadata, Mapping) else {}
    return labelled_sample(plain(given.prompt), given.response, plain(given.label), plain(dict(metadata)))


def _make(reward: Any, **options: Any) -> Any:
    """``custom_rm`` of a reward."""
    return SlimeReward(reward, **options).custom_rm


def _setup_guide(request: SetupRequest) -> SetupGuide:
    if request.spec.startswith(("http://", "https://")) and not request.parameters and not request.options:
        return SetupGuide(
            lines=f"--rm-type remote_rm --rm-url {request.spec.rstrip('/')}/reward --label-key ground_truth",
            note="A failed sample is an error status here, which slime tries ten times before it ends; with "
            "--on-failure a file is written that asks the same server and gives a number instead.",
        )
    module = f"{identifier(request)}_slime"
    return SetupGuide(
        files={
            f"{module}.py": module_source(
                request, f"{module}.py", title="slime", attribute="custom_rm", trainer="slime"
            )
        },
        lines=f"--custom-rm-path {module}.custom_rm --label-key ground_truth --metadata-key metadata",
        note="The file's folder must be on PYTHONPATH in Ray's runtime environment.",
    )


TRAINER = Trainer(name="slime", title="slime", make=_make, setup_guide=_setup_guide)

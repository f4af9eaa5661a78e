"""Tunix: a reward for ``GRPOLearner(reward_fns=…)`` and the learners that are made of it.

Tunix calls ``f(prompts=, completions=, **columns, mode=, trajectory_ids=)`` from the thread that prepares its
batches, with numpy arrays, and puts the numbers into an array that it adds up with ``nansum``
(``tunix/rl/reward_manager.py``, 0.1.7).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from guerdon.trainers.adapter import Adapter, OnFailure
from guerdon.trainers.columns import listed, plain, samples_of
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import adapter_source, docstring_name, identifier, imports_source
from guerdon.types import EvaluateResult

_OURS = ("mode", "trajectory_ids", "trajectory_rewards", "expected_step")
"""What Tunix sends beside the columns."""


class TunixReward(Adapter):
    """A reward as Tunix calls it.

    Tunix takes a number for every sample and nothing else: None ends the run, and NaN counts as 0, which is a
    verdict. So under ``on_failure="skip"``, the default, a sample without a score gets the mean of its group, by
    which its advantage is 0 and nothing is learnt from it; a group without any score gets 0 throughout.
    ``"raise"`` ends the run, a number is taken as it is. Failures are counted in ``failures`` and logged.

    A column may have the name of a field of Tunix's configuration (``beta``, ``epsilon``, ``num_generations``):
    the column is what the reward gets. Columns called ``mode``, ``step``, ``completions`` and ``trajectory_ids``
    are refused by Tunix itself.

    Tunix does not pass the training step to a reward. It is read from the trajectory ids, which count the batches
    that were sampled; after ``follow(learner)`` it is the learner's own count of steps.

    >>> from guerdon import RewardFunction
    >>> reward = RewardFunction(lambda response, answer: float(response == answer)).to_tunix(workers=0)
    >>> reward(prompts=["1+1"] * 2, completions=["2", "3"], answer=["2", "2"], mode="train")
    [1.0, 0.0]
    """

    trainer: ClassVar[str] = "tunix"
    default_failure: ClassVar[OnFailure] = "skip"

    def __init__(self, reward: Any, **options: Any) -> None:
        super().__init__(reward, **options)
        self._steps: Callable[[], int] | None = None
        self._last_step: int | None = None
        self._scored = threading.local()

    def __call__(self, /, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        """A finite number for each completion."""
        sent = {name: columns.pop(name, None) for name in _OURS}
        mode = str(sent["mode"] or "train")
        completions = listed("completions", plain(completions))
        identities = _identities(sent["trajectory_ids"], len(completions))
        results = self.results(
            samples_of(prompts, completions, columns), step=self._step(identities, mode), mode=mode
        )
        self._scored.results = results
        return self.numbers(results, identities or [_key(prompt) for prompt in prompts])

    def metrics(
        self, /, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> dict[str, tuple[float, Callable[..., Any]]]:
        """The components of what was scored just now, for ``GRPOLearner(metric_fns=[reward.metrics])``.

        ``rewards/NAME/COMPONENT`` is the mean over the samples that have a score, ``rewards/NAME/failed`` the share
        of those that failed.
        """
        import numpy

        results: Sequence[EvaluateResult] = getattr(self._scored, "results", ())
        if len(results) != len(completions):
            return {}
        scored = [self.parts(result) for result in results if result.score is not None]
        failed = sum(result.failed for result in results) / max(len(results), 1)
        means = {
            f"rewards/{self.__name__}/{name}": sum(parts[name] for parts in scored) / len(scored)
            for name in self.components
            if scored
        }
        means[f"rewards/{self.__name__}/failed"] = failed
        return {name: (value, numpy.mean) for name, value in means.items()}

    def follow(self, learner: Any) -> None:
        """Take the training step from a learner, for rewards that have a curriculum."""
        self._steps = lambda: int(learner.rl_cluster.global_steps)

    def _step(self, identities: Sequence[str], mode: str) -> int | None:
        if self._steps is not None:
            return self._steps()
        if mode == "train" and identities:
            first = int(identities[0])
            self._last_step = first // len(set(identities))
        return self._last_step

    def numbers(self, results: Sequence[EvaluateResult], groups: Sequence[str]) -> list[float]:
        """The number for each result, by the policy; ``groups`` says which of them belong to one prompt."""
        given = [self.number(result) for result in results]
        scores: dict[str, list[float]] = {}
        for group, number in zip(groups, given, strict=True):
            if number is not None:
                scores.setdefault(group, []).append(number)
        neutral = {group: sum(numbers) / len(numbers) for group, numbers in scores.items()}
        return [
            neutral.get(group, 0.0) if number is None else number
            for group, number in zip(groups, given, strict=True)
        ]

    def __getstate__(self) -> dict[str, Any]:
        left = ("_steps", "_scored")
        return {name: value for name, value in super().__getstate__().items() if name not in left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._steps, self._scored = None, threading.local()


def _identities(given: Any, count: int) -> list[str]:
    """The row of each sample, of trajectory ids such as ``12_3``; empty where Tunix sends none."""
    ids = plain(given)
    if not isinstance(ids, list | tuple) or len(ids) != count:
        return []
    rows = [str(one).partition("_")[0] for one in ids]
    return rows if all(row.isdigit() for row in rows) else []


def _key(prompt: Any) -> str:
    """The group of a sample where Tunix does not give it."""
    return prompt if isinstance(prompt, str) else repr(plain(prompt))


def _setup_guide(request: SetupRequest) -> SetupGuide:
    """The file that Tunix's command line takes, and the lines of a program."""
    name = identifier(request)
    module = f"{name}_tunix"
    source = adapter_source(request, "tunix", f"{module}.py")
    text = (
        f'"""{docstring_name(request)} for Tunix."""\n\n'
        f"{imports_source(request)}\n"
        f"reward = {source}\n\n\n"
        f"def {name}(prompts, completions, **columns):\n"
        "    return reward(prompts=prompts, completions=completions, **columns)\n"
    )
    lines = (
        f"from {module} import reward\n\n"
        "learner = GRPOLearner(rl_cluster, algo_config, reward_fns=[reward], metric_fns=[reward.metrics])\n"
        "reward.follow(learner)\n"
    )
    note = (
        f"Tunix's own command line: reward_functions=\"['$PWD/{module}.py']\"; it takes each public function of the "
        "file for a reward. The columns of the data set are the reward's arguments; Tunix does not allow mode, step, "
        "completions and trajectory_ids as names of columns."
    )
    return SetupGuide(files={f"{module}.py": text}, lines=lines, note=note)


TRAINER = Trainer(
    name="tunix",
    title="Tunix 0.1.7",
    make=TunixReward,
    setup_guide=_setup_guide,
    aliases=("google-tunix", "agent-tunix"),
)

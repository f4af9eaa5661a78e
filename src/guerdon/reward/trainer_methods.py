"""The methods of a RewardFunction that give what a trainer takes; the adapters are in ``guerdon.trainers``."""

from __future__ import annotations

from typing import Any, cast

from guerdon.errors import BindingError
from guerdon.reward import hooks
from guerdon.reward.export import PLAIN_FUNCTIONS, plain_function


class TrainerMethods:
    """A reward in the shape of each trainer's own rewards.

    All take the adapter's options: ``on_failure`` (``"raise"``, ``"skip"`` or a number, by default what the trainer
    can bear), ``timeout``, ``workers``, ``concurrency``, ``max_memory``, ``name`` and ``components``.
    """

    def to(self, trainer: str, /, **options: Any) -> Any:
        """What the trainer of this name takes; ``guerdon.trainers.trainers()`` lists them.

        ``to("response")`` and ``to("reward-kit")`` give plain functions: ``f(response, prompt, answer)`` gives a
        number, Reward Kit's ``f(messages, original_messages, ground_truth)`` an EvaluateResult. Their only option
        is ``on_failure``.

        Raises ResolutionError for an unknown trainer, BindingError for an option that it does not have,
        MissingExtraError where it needs the trainer's package and that is not installed.
        """
        key = _key(trainer)
        if key in PLAIN_FUNCTIONS:
            on_failure = options.pop("on_failure", None)
            if options:
                raise BindingError(f"{key} has no option {', '.join(options)}; it has on_failure")
            return plain_function(cast(Any, self), key, on_failure)
        assert hooks.make_adapter is not None
        return hooks.make_adapter(trainer, cast(Any, self), options)

    def as_function(self, convention: str, on_failure: str | float | None = None) -> Any:
        """``to(convention, on_failure=…)`` as a synchronous function.

        ``convention`` is ``trl``, ``tunix``, ``verl``, ``openrlhf``, ``response`` or ``reward-kit``;
        ``on_failure`` is ``"raise"``, ``"skip"`` (None in place of a score) or a number, by default what
        the convention's caller can bear. Raises ResolutionError for an unknown convention.
        """
        # verl's own form is a coroutine function unless it is asked for the other.
        synchronous = {"sync": True} if _key(convention) == "verl" else {}
        return self.to(str(convention), on_failure=on_failure, **synchronous)

    def to_trl(self, **options: Any) -> Any:
        """For ``GRPOTrainer(reward_funcs=…)`` and ``RLOOTrainer`` of TRL: a batched function."""
        return self.to("trl", **options)

    def get_trl_adapter(self, **options: Any) -> Any:
        """The same as ``to_trl``, under the name that Reward Kit has for it."""
        return self.to("trl", **options)

    def to_tunix(self, **options: Any) -> Any:
        """For ``GRPOLearner(reward_fns=…)`` of Tunix: a batched function of numbers."""
        return self.to("tunix", **options)

    def to_verl(self, **options: Any) -> Any:
        """verl's ``compute_score``."""
        return self.to("verl", **options)

    def to_openrlhf(self, **options: Any) -> Any:
        """OpenRLHF's ``reward_func``."""
        return self.to("openrlhf", **options)

    def to_verifiers(self, **options: Any) -> Any:
        """A reward of a verifiers task or rubric, which prime-rl takes too."""
        return self.to("verifiers", **options)

    def to_nemo_gym(self, **options: Any) -> Any:
        """A resources server of NeMo Gym."""
        return self.to("nemo-gym", **options)

    def to_nemo_rl(self, **options: Any) -> Any:
        """An environment of NeMo RL."""
        return self.to("nemo-rl", **options)

    def to_openenv(self, **options: Any) -> Any:
        """A rubric of OpenEnv."""
        return self.to("openenv", **options)

    def to_skyrl(self, **options: Any) -> Any:
        """A text environment of SkyRL-gym."""
        return self.to("skyrl", **options)

    def to_tinker(self, **options: Any) -> Any:
        """An environment of the tinker cookbook."""
        return self.to("tinker", **options)

    def to_art(self, **options: Any) -> Any:
        """What sets the rewards of ART's trajectories."""
        return self.to("art", **options)

    def to_slime(self, **options: Any) -> Any:
        """slime's custom reward function."""
        return self.to("slime", **options)

    def to_swift(self, **options: Any) -> Any:
        """A class for the ``orms`` of ms-swift."""
        return self.to("swift", **options)


def _key(name: object) -> str:
    return str(name).strip().lower().replace("_", "-")

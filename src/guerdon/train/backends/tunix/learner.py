"""Tunix's learner for each algorithm."""

from __future__ import annotations

from typing import Any

from guerdon.train.config.schema import Config


def build_learner(cluster: Any, config: Config, reward: Any) -> Any:
    """The learner of ``config.algorithm`` that trains on a cluster with a reward function."""
    algorithm, learner_class = _algorithm(config)
    return learner_class(rl_cluster=cluster, algo_config=algorithm, reward_fns=[reward])


def _algorithm(config: Config) -> tuple[Any, Any]:
    """Tunix's configuration of an algorithm, and its learner."""
    from tunix.rl.grpo import dapo_learner, drgrpo_learner, grpo_learner

    asked, name = config.grpo, config.algorithm
    common: dict[str, Any] = {
        "num_generations": asked.num_generations,
        "num_iterations": asked.num_iterations,
        "epsilon": asked.epsilon,
        # Half the squared log-ratio, whose gradient on the policy's own samples is that of the reverse KL
        # divergence, as TRL has it with its correction. That of Tunix's usual estimate is 0 on average, and that
        # of the low-variance one is the forward divergence's, which keeps a policy noisy.
        "kl_loss_mode": "mse_kl",
    }
    if name == "dapo":
        dapo = dapo_learner.DAPOConfig(**common, overlong_buffer=None)
        # Tunix asks for a reference model, which it does not use, unless this is 0.
        dapo.beta = 0.0
        return dapo, dapo_learner.DAPOLearner
    if name == "dr_grpo":
        return drgrpo_learner.DrGRPOConfig(**common, beta=asked.beta), drgrpo_learner.DrGRPOLearner
    if name == "rloo":
        common |= {"advantage_estimator": "rloo", "loss_agg_mode": "seq-mean-token-sum"}
    return grpo_learner.GRPOConfig(**common, beta=asked.beta), grpo_learner.GRPOLearner

"""Rewards of ours in Tunix's own GRPOLearner: what they gave and what Tunix made of it, as one object."""

import json
import sys
import threading
from pathlib import Path

import numpy
import optax
import tunix_rewards
from tunix.rl import rl_cluster
from tunix.rl.grpo.grpo_learner import GRPOConfig, GRPOLearner
from tunix.rl.rollout.base_rollout import RolloutConfig

from guerdon.train.backends.tunix.model import source_of
from guerdon.train.config.schema import Config

KINDS = ("plain", "sometimes", "fails", "slow")
GENERATIONS = 4
STEPS = 2


def batch() -> dict:
    """A prompt of each kind; every column is an array, as Tunix has them."""
    return {
        "prompts": numpy.array([f"{i}+{i}" for i in range(len(KINDS))]),
        "kind": numpy.array(KINDS),
        "beta": numpy.full(len(KINDS), 0.25),
        "num_generations": numpy.full(len(KINDS), 99),
    }


def cluster_of(steps: int) -> rl_cluster.RLCluster:
    """A cluster with a model of some thousand weights."""
    config = Config(backend="tunix", seed=1)
    config.training.data_source = "arithmetic"
    source = source_of(config)
    roles = rl_cluster.Role
    return rl_cluster.RLCluster(
        actor=source.model(),
        reference=source.model(),
        tokenizer=source.tokenizer,
        cluster_config=rl_cluster.ClusterConfig(
            role_to_mesh=dict.fromkeys((roles.ACTOR, roles.REFERENCE, roles.ROLLOUT), source.mesh),
            training_config=rl_cluster.RLTrainingConfig(
                actor_optimizer=optax.adamw(1e-3), eval_every_n_steps=steps, max_steps=steps
            ),
            rollout_config=RolloutConfig(
                max_tokens_to_generate=6, max_prompt_length=8, kv_cache_size=16, temperature=1.0
            ),
        ),
    )


def learner_of(rewards: list, seen: list) -> GRPOLearner:
    def advantages(prompts, completions, rewards, advantages, **columns):
        seen.append({"rewards": rewards.tolist(), "advantages": advantages.tolist()})
        return {}

    return GRPOLearner(
        rl_cluster=cluster_of(STEPS),
        algo_config=GRPOConfig(num_generations=GENERATIONS, beta=0.0),
        reward_fns=rewards,
        metric_fns=[*(reward.metrics for reward in rewards), advantages],
    )


def logged(learner: GRPOLearner, name: str) -> list[float]:
    history = learner.rl_cluster.actor_trainer.metrics_logger.get_metric_history("rewards", name, "train")
    return [float(value) for value in history]


def main() -> None:
    scored, seen, others = [], [], []

    def observe(given) -> None:
        main_thread = threading.current_thread() is threading.main_thread()
        scored.append(
            {
                "mode": given.mode,
                "step": given.step,
                "main_thread": main_thread,
                "scores": [result.score for result in given.results],
                "errors": [result.error_kind for result in given.results],
                "ids": [type(sample.metadata["kind"]).__name__ for sample in given.samples],
            }
        )

    def observe_other(given) -> None:
        others.append([result.score for result in given.results])

    one = tunix_rewards.both.to_tunix(timeout=0.5, workers=1, observe=observe)
    other = tunix_rewards.brief.with_name("kept").to_tunix(workers=1, observe=observe_other)
    learner = learner_of([one, other], seen)
    learner.train([batch()] * STEPS, [batch()])
    for told_of_one, scores in zip(scored, others, strict=True):
        told_of_one["other"] = scores
    names = [one.__name__, other.__name__]
    told = {
        "names": names,
        "scored": scored,
        "seen": seen,
        "failures": one.failures.by_kind,
        "logged": {
            name: logged(learner, name)
            for name in (
                *names,
                f"{names[0]}/kept",
                f"{names[0]}/brief",
                f"{names[0]}/failed",
                f"{names[1]}/failed",
            )
        },
    }
    sys.path.insert(0, str(Path.cwd()))
    plugged = __import__("kept_tunix")
    told["plugged"] = plugged.kept(
        prompts=["1+1"],
        completions=["=2."],
        mode="eval",
        trajectory_ids=["0_0"],
        kind=numpy.array(["plain"]),
        beta=numpy.array([0.25]),
        num_generations=numpy.array([99]),
    )
    one.close()
    other.close()
    print(json.dumps(told))


if __name__ == "__main__":
    main()

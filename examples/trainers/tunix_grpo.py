"""Tunix's GRPO with a reward, on your cluster."""

from my_rewards import last_number
from tunix.rl.grpo.grpo_learner import GRPOConfig, GRPOLearner

reward = last_number.to_tunix()


def learner_of(rl_cluster):
    config = GRPOConfig(num_generations=4, beta=0.04)
    learner = GRPOLearner(rl_cluster, config, reward_fns=[reward], metric_fns=[reward.metrics])
    reward.follow(learner)  # the training step, for rewards that have a curriculum
    return learner

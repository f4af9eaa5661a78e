"""A run of a few hundred steps with a model of some 400 million parameters, to measure speed.

The model has random weights (give ``model=huggingface model.path=…`` for a real one), so the run downloads nothing.
It shows how many tokens a second a machine generates and learns from, and which share of a step the rewards take.
Further arguments are those of ``guerdon train``:

    python examples/train_on_gpu.py
    python examples/train_on_gpu.py model.vllm=true training.num_batches=500

With a small model it runs on any machine: ``python examples/train_on_gpu.py model=tiny training.num_batches=3``.
"""

from __future__ import annotations

import json
import statistics
import sys

from guerdon.train.config.compose import compose
from guerdon.train.run.runner import train

SETTINGS = [
    "model=random",
    "training=arithmetic",
    "training.num_batches=300",
    "training.micro_batch_size=16",
    "training.save_interval_steps=100",
    "grpo.num_generations=8",
    "grpo.beta=0.0",
    "generation.max_prompt_length=32",
    "generation.max_generation_steps=128",
    "optimizer.learning_rate=1e-4",
]


def main(overrides: list[str]) -> None:
    run = train(compose([*SETTINGS, *overrides]))
    lines = run.folder.metrics.read_text(encoding="utf-8").splitlines()
    steps = [row for row in map(json.loads, lines) if "time/step" in row]
    later = steps[len(steps) // 10 :] or steps  # the first ones compile and warm up

    def median(name: str) -> float:
        return statistics.median([row[name] for row in later if row.get(name) is not None] or [float("nan")])

    print(
        f"{len(steps)} steps of {median('time/step'):.2f} s, {median('tokens_per_second'):,.0f} tokens a second"
    )
    print(f"rewards take {median('time/reward_share'):.1%} of a step")
    print(f"mean reward {steps[0]['reward/mean']:.3f} at first, {steps[-1]['reward/mean']:.3f} at the end")
    print(f"the run is in {run.folder.path}; see: guerdon train inspect {run.folder.path}")


if __name__ == "__main__":
    main(sys.argv[1:])

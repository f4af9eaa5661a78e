"""A task set of verifiers 0.4 whose tasks are scored with a reward."""

import json
from pathlib import Path

import verifiers.v1 as vf
from my_rewards import last_number


class Sum(vf.TaskData):
    ground_truth: str


class SumTask(vf.Task[Sum]):
    right = vf.reward(weight=1.0)(last_number.to_verifiers(name="right"))


class Sums(vf.Taskset[SumTask, vf.TasksetConfig]):
    def load(self):
        for line in Path("prompts.jsonl").read_text().splitlines():
            yield SumTask(Sum(**json.loads(line)), self.config.task)


__all__ = ["Sums"]

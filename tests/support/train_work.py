"""A backend without a model, at the seam where real trainers stand, and what its runs are told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.errors import InputError
from guerdon.train.backend import Backend, Policy, Prompt, TrainingContext, TrainingInterrupted
from guerdon.train.config.schema import Config
from guerdon.train.data.sampler import total_steps
from guerdon.trainers.adapter import Adapter, ScoredBatch
from guerdon.trainers.columns import sample_of


class Chronicle:
    """A monitor that remembers."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def scored(self, batch: ScoredBatch) -> None:
        self.told.append(("scored", batch.step, [result.score for result in batch.results]))

    def tokens(self, generated: int) -> None:
        self.told.append(("tokens", generated))

    def step(self, step: int, seconds: float, logs: Mapping[str, float]) -> None:
        self.told.append(("step", step))

    def checkpoint(self, step: int, path: Path) -> None:
        self.told.append(("checkpoint", step))

    def resume(self, step: int) -> None:
        self.told.append(("resume", step))

    def close(self) -> None:
        self.told.append(("close",))


class Parrot(Policy):
    """Answers every prompt with the same."""

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        temperature: float,
        top_p: float,
        top_k: int | None,
        max_new_tokens: int,
        seed: int,
    ) -> list[str]:
        return ["=7."] * len(prompts)


class ParrotBackend(Backend):
    """Learns nothing: has one response scored in each step, and saves its step as a checkpoint.

    Ctrl-C comes in the step that is the model's ``hidden_size``; the model ``broken`` cannot be had, and with
    ``num_layers=13`` something is wrong with the backend itself.
    """

    name = "parrot"
    algorithms = ("grpo", "rloo")

    def check(self, config: Config) -> None:
        if config.model.path == "broken":
            raise InputError("model.path: broken cannot be loaded")

    def train(self, context: TrainingContext) -> None:
        adapter = Adapter(context.reward, workers=0, observe=context.monitor.scored)
        begin = 0
        if context.resume_from is not None:
            begin = json.loads((context.resume_from / "state.json").read_text(encoding="utf-8"))["step"]
            context.monitor.resume(begin)
        for step in range(begin + 1, total_steps(context.config, len(context.train)) + 1):
            if context.config.model.num_layers == 13:
                raise RuntimeError("out of luck")
            problem = context.train[step % len(context.train)]
            adapter.results([sample_of(problem.prompt, "=7.", problem.columns)], step=step)
            context.monitor.step(step, 0.01, {"loss": 1.0 / step})
            if step == context.config.model.hidden_size:
                raise TrainingInterrupted(step, self._save(context, step))
            if step % context.config.training.save_interval_steps == 0:
                self._save(context, step)

    def _save(self, context: TrainingContext, step: int) -> Path:
        path = context.folder.checkpoint(step)
        path.mkdir(parents=True)
        (path / "state.json").write_text(json.dumps({"step": step}), encoding="utf-8")
        context.monitor.checkpoint(step, path)
        return path

    def policy(self, config: Config, checkpoint: Path | None) -> Policy:
        return Parrot()

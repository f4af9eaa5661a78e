"""TRL's trainers with what a run needs of them: its own checkpoints and learning rate, and no chatter."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainerHooks:
    """What a trainer asks its run."""

    rate_factor: Callable[[int], float]
    """The share of the learning rate at an update."""
    place: Callable[[int], Path]
    """Where the checkpoint after so many updates goes."""
    saved: Callable[[int, Path], None]
    """Told once a checkpoint is complete, after so many updates."""
    logged: Callable[[int, Mapping[str, Any]], tuple[bool, bool]]
    """Told of an update; says whether to save now, and whether to stop."""


def trainer_class(algorithm: str) -> Any:
    """The trainer of an algorithm, a subclass of TRL's; it takes ``hooks`` beside what TRL's takes."""
    from transformers import PrinterCallback, TrainerCallback
    from trl import GRPOTrainer, RLOOTrainer

    class StepCallback(TrainerCallback):
        """Hands on what TRL logs after each update, and has it save and stop."""

        def __init__(self, hooks: TrainerHooks) -> None:
            self._hooks = hooks

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **more: Any
        ) -> Any:
            if logs and "loss" in logs:
                save, stop = self._hooks.logged(state.global_step, logs)
                control.should_save = save
                control.should_training_stop = control.should_training_stop or stop
                state.log_history.clear()  # each checkpoint would hold all of it once more
            return control

    base: Any = RLOOTrainer if algorithm == "rloo" else GRPOTrainer

    class RunTrainer(base):  # type: ignore[misc]
        lr_scheduler: Any

        def __init__(self, *given: Any, hooks: TrainerHooks, **more: Any) -> None:
            self.hooks = hooks
            super().__init__(*given, **more)
            self.remove_callback(PrinterCallback)
            self.add_callback(StepCallback(hooks))

        def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
            from torch.optim.lr_scheduler import LambdaLR

            if self.lr_scheduler is None:
                self.lr_scheduler = LambdaLR(optimizer or self.optimizer, self.hooks.rate_factor)
                self._created_lr_scheduler = True
            return self.lr_scheduler

        def _save_checkpoint(self, model: Any, trial: Any) -> None:
            """Save under another name, and give the checkpoint its own once it is complete."""
            updates = self.state.global_step
            partial = Path(self.args.output_dir)
            shutil.rmtree(partial, ignore_errors=True)
            super()._save_checkpoint(model, trial)
            place = self.hooks.place(updates)
            if place.exists():
                shutil.rmtree(place)
            next(partial.glob("checkpoint-*")).rename(place)
            shutil.rmtree(partial, ignore_errors=True)
            self.hooks.saved(updates, place)

        def create_model_card(self, *given: Any, **more: Any) -> None:
            """A run says in its own folder what made it."""

        def _send_telemetry(self) -> None:
            """What is trained is told to nobody."""

    return RunTrainer

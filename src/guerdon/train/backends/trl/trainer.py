"""TRL's trainers with a run's own checkpoints and learning rate, and without messages of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.train.backends.base import StepEnd

_Base: Any = object
"""Stands for the class of TRL's that ``trainer_class`` adds, once TRL is needed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainerHooks:
    """What a trainer asks of its run."""

    rate_factor: Callable[[int], float]
    """The share of the learning rate at an update."""
    place: Callable[[int], Path]
    """Where the checkpoint after so many updates goes."""
    saved: Callable[[int, Path], None]
    """Called once a checkpoint is complete, after so many updates."""
    logged: Callable[[int, Mapping[str, Any]], StepEnd]
    """Called after an update with what TRL logged; says whether to save now, and whether to stop."""


class TrainerMixin(_Base):  # type: ignore[misc]
    """Beside a trainer of TRL's; it takes ``hooks`` in addition."""

    lr_scheduler: Any

    def __init__(self, *given: Any, hooks: TrainerHooks, **more: Any) -> None:
        from transformers import PrinterCallback

        self.hooks = hooks
        super().__init__(*given, **more)
        self.remove_callback(PrinterCallback)
        self.add_callback(_step_callback(hooks))

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        from torch.optim.lr_scheduler import LambdaLR

        if self.lr_scheduler is None:
            self.lr_scheduler = LambdaLR(optimizer or self.optimizer, self.hooks.rate_factor)
            self._created_lr_scheduler = True
        return self.lr_scheduler

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Save under another name, and rename the checkpoint once it is complete."""
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
        """Nothing: the run's folder describes the run."""

    def _send_telemetry(self) -> None:
        """Nothing: no figure leaves this machine."""


def trainer_class(algorithm: str) -> Any:
    """The trainer of an algorithm: TRL's, with TrainerMixin."""
    from trl import GRPOTrainer, RLOOTrainer

    base = RLOOTrainer if algorithm == "rloo" else GRPOTrainer
    return type("RunTrainer", (TrainerMixin, base), {})


def _step_callback(hooks: TrainerHooks) -> Any:
    """Passes on what TRL logs after each update, and has it save and stop."""
    from transformers import TrainerCallback

    class StepCallback(TrainerCallback):  # type: ignore[misc]
        def on_log(
            self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **more: Any
        ) -> Any:
            if logs and "loss" in logs:
                save, stop = hooks.logged(state.global_step, logs)
                control.should_save = save
                control.should_training_stop = control.should_training_stop or stop
                state.log_history.clear()  # each checkpoint would hold all of it once more
            return control

    return StepCallback()

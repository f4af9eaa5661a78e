"""Checkpoints of a Tunix run: the weights that learn, the optimizer's state and the step, complete or not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from guerdon.atomic_files import hidden_beside
from guerdon.errors import InputError
from guerdon.train.records.folder import RunFolder

_FACTS = "guerdon.json"
_STATE = "state"


def save(folder: RunFolder, step: int, model: Any, optimizer: Any) -> Path:
    """Write the checkpoint of a step under a temporary name, and rename it once it is complete."""
    import orbax.checkpoint as ocp

    path = folder.checkpoint(step)
    for left in path.parent.glob(f".{path.name}.*"):
        shutil.rmtree(left, ignore_errors=True)
    partial = hidden_beside(path)
    partial.mkdir(parents=True)
    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save((partial / _STATE).absolute(), _whole(model, optimizer))
    (partial / _FACTS).write_text(json.dumps({"step": step, "lora": _has_lora(model)}) + "\n", "utf-8")
    shutil.rmtree(path, ignore_errors=True)
    partial.rename(path)
    return path


def check(checkpoint: Path) -> None:
    """Raise InputError where a folder is no checkpoint of Tunix's."""
    try:
        int(json.loads((checkpoint / _FACTS).read_text("utf-8"))["step"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{checkpoint} is not a checkpoint of a run with backend=tunix") from error


def restore_model(checkpoint: Path, model: Any) -> None:
    """Put a checkpoint's weights into a model of the same shape."""
    from flax import nnx

    nnx.update(model, _restored(checkpoint, "model", _weights(model)))


def restore_optimizer(checkpoint: Path, optimizer: Any) -> None:
    """Put a checkpoint's optimizer state into the optimizer of such a model."""
    from flax import nnx

    nnx.update(optimizer, _restored(checkpoint, "optimizer", nnx.state(optimizer, nnx.optimizer.OptState)))


def _restored(checkpoint: Path, part: str, like: Any) -> Any:
    import orbax.checkpoint as ocp

    check(checkpoint)
    wanted = {part: like}
    handler = ocp.PyTreeCheckpointHandler()
    with ocp.Checkpointer(handler) as checkpointer:
        try:
            found = checkpointer.restore(
                (checkpoint / _STATE).absolute(),
                args=ocp.args.PyTreeRestore(
                    item=wanted,
                    restore_args=ocp.checkpoint_utils.construct_restore_args(wanted),
                    partial_restore=True,
                ),
            )
        except (ValueError, KeyError, FileNotFoundError) as error:
            reason = str(error).split("\n")[0]
            raise InputError(
                f"{checkpoint} does not fit the model of this configuration: {reason}"
            ) from error
    return found[part]


def _whole(model: Any, optimizer: Any) -> dict[str, Any]:
    from flax import nnx

    return {"model": _weights(model), "optimizer": nnx.state(optimizer, nnx.optimizer.OptState)}


def _weights(model: Any) -> Any:
    """The weights that learn: the adapters' alone where there are adapters."""
    from flax import nnx

    return nnx.state(model, nnx.LoRAParam) if _has_lora(model) else nnx.state(model, nnx.Param)


def _has_lora(model: Any) -> bool:
    from tunix.sft.utils import is_lora_enabled

    return bool(is_lora_enabled(model))

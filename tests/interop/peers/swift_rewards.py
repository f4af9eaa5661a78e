"""Loads plugins as ms-swift's command does and scores completions as its GRPO does; prints what came of it.

Called with plugin files, a comma and the names of rewards: ``a.py b.py , a b``.
"""

from __future__ import annotations

import json
import pickle
import sys
import threading
from typing import Any

import cloudpickle
import numpy
import torch
from swift.rewards import orms
from swift.rl_core.advantage import compute_advantages
from swift.rl_core.data import GRPOSample
from swift.rl_core.grpo_algorithm import score_completions
from swift.rlhf_trainers.utils import resolve_reward_funcs
from swift.utils import import_external_file
from transformers import TrainerState

KINDS = ("one", "half", "bad", "slow")


def samples() -> list[GRPOSample]:
    rows = []
    for position, kind in enumerate(KINDS * 2):
        turns = [{"role": "user", "content": f"{kind}="}, {"role": "assistant", "content": "4"}]
        extra = {
            "kind": numpy.str_(kind),
            "level": numpy.int64(position % 4),
            "args": "a column",
            "mode": [1, 2],
        }
        rows.append(
            GRPOSample.from_row(
                {"messages": turns, "prompt_id": str(position), "response_token_ids": [[1, 2]], **extra}
            )
        )
    return rows


def scored(rewards: list[Any], step: int) -> list[list[float | None]]:
    state = TrainerState(global_step=step)
    found = score_completions(samples(), rewards, [None] * len(rewards), False, torch.device("cpu"), state)
    compute_advantages(found, torch.ones(len(rewards)), 2)
    return [[None if number != number else number for number in row] for row in found.tolist()]


def main() -> None:
    split = sys.argv.index(",")
    for plugin in sys.argv[1:split]:
        import_external_file(plugin)
    asked = sys.argv[split + 1 :]
    rewards, names = resolve_reward_funcs(asked, args={"an": "argument"})
    told: dict[str, Any] = {"names": names, "known": sorted(orms), "rewards": scored(rewards, 3)}
    thread = threading.Thread(target=lambda: told.update(threaded=scored(rewards, 4)))
    thread.start()
    thread.join()
    told["failures"] = rewards[0].failures.by_kind
    for package in (pickle, cloudpickle):
        again = package.loads(package.dumps(rewards[0]))
        told[package.__name__] = [type(again).__name__, scored([again], 3)]
    print(json.dumps(told))


if __name__ == "__main__":
    main()

"""Finds rewards as axolotl does for ``trl.reward_funcs`` and scores with its reward workers; prints the result.

Called with the names of rewards: ``module.reward``.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from typing import Any

from axolotl.core.trainers.grpo import GRPOStrategy
from axolotl.core.trainers.grpo.fast_async_trainer import _persistent_reward_worker

KINDS = ("one", "half", "bad", "slow")


def main() -> None:
    rewards = [GRPOStrategy.get_reward_func(name) for name in sys.argv[1:]]
    names = [reward.__name__ for reward in rewards]
    prompts = [f"{kind}=" for kind in KINDS]
    rows = [{"prompt": p, "kind": k, "level": i} for i, (p, k) in enumerate(zip(prompts, KINDS, strict=True))]
    told: dict[str, Any] = {"names": names}
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        ours, theirs = context.Pipe()
        worker = context.Process(target=_persistent_reward_worker, args=(theirs,), daemon=True)
        worker.start()
        ours.send((rewards, prompts, ["4"] * 4, [[1]] * 4, rows, names))
        found = ours.recv()
        told[method] = [[None if number != number else number for number in numbers] for numbers in found]
        ours.send(None)
        worker.join()
    print(json.dumps(told))


if __name__ == "__main__":
    main()

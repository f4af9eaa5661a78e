"""Scores samples with the scorers of ``scorer_objects.py``; prints each verdict.

python scorers_run.py < rows, each {"scorer": NAME, "parameters": {…}, "arguments": {…}, "key": …}
"""

import asyncio
import inspect
import json
import sys
from pathlib import Path

import guerdon
from guerdon.trainers.foreign.openevals import from_openevals

OBJECTS = Path(__file__).with_name("scorer_objects.py")


def reward_of(row: dict) -> guerdon.RewardFunction:
    if row.get("key"):
        import scorer_objects

        return from_openevals(getattr(scorer_objects, row["scorer"]), key=row["key"])
    return guerdon.get_reward_function(f"{OBJECTS}::{row['scorer']}", **row.get("parameters", {}))


def told(row: dict) -> dict:
    try:
        reward = reward_of(row)
    except guerdon.RewardError as error:
        return {"refused": str(error)}
    result = reward(**row["arguments"])
    if inspect.isawaitable(result):
        result = asyncio.run(awaited(result))
    metrics = {name: [metric.score, metric.success] for name, metric in result.metrics.items()}
    return {
        "name": reward.name,
        "version": reward.version,
        "async": reward.is_async,
        "score": result.score,
        "reason": result.reason,
        "error": result.error,
        "metrics": metrics,
    }


async def awaited(result):
    return await result


def in_workers() -> list:
    replies = ["four", "fail", "4"]
    rows = [
        {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": reply}]}
        for reply in replies
    ]
    rewards = [guerdon.get_reward_function(f"{OBJECTS}::{name}") for name in ("length", "judged")]
    runs = [guerdon.score(reward, rows, workers=2) for reward in rewards]
    return [[[result.score, result.error, result.version] for result in run] for run in runs]


def main() -> None:
    results = [told(json.loads(line)) for line in sys.stdin]
    from deepeval.telemetry.client import telemetry_opt_out

    workers = in_workers()
    print(json.dumps({"results": results, "workers": workers, "silent": telemetry_opt_out()}))


if __name__ == "__main__":
    main()

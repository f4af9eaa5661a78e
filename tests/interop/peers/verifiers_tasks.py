"""Tasks of verifiers, scored by verifiers with rewards of ours; prints what the traces hold.

    python verifiers_tasks.py rewards.toml

The configuration plugs rewards into the tasks as vf-eval and prime-rl read it.
"""

import asyncio
import json
import pickle
import sys
import threading
import tomllib

import rewards_of_ours as ours
import verifiers.v1 as vf
from verifiers.v1.configs.agent import WireAgentConfig
from verifiers.v1.graph import MessageNode
from verifiers.v1.trace import AgentInfo, Trace, TraceTask
from verifiers.v1.utils.loaders import resolve_env_config

REPLIES = ["4", "5", "fail", "slow", "4 "]


class Sum(vf.TaskData):
    ground_truth: str
    reward: str = "a column named like one of theirs"
    weight: float = 3.0


class SumTask(vf.Task[Sum]):
    right = vf.reward(weight=2.0)(ours.answer.to_verifiers(timeout=2.0, name="right"))

    @vf.reward
    async def theirs(self, task, trace) -> float:
        return float(trace.last_reply == task.ground_truth)

    @vf.metric
    async def turns(self, trace) -> float:
        return trace.num_turns


class StrictTask(vf.Task[Sum]):
    strict = ours.answer.to_verifiers(timeout=2.0, name="strict", on_failure="raise")


class Sums(vf.Taskset[SumTask, vf.TasksetConfig]):
    def load(self):
        for reply in REPLIES:
            yield SumTask(Sum(prompt="2 + 2?", ground_truth="4", name=reply), self.config.task)


__all__ = ["Sums"]


def traced(task: vf.Task) -> Trace:
    messages = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": task.data.name}]
    nodes = [
        MessageNode(parent=i - 1 if i else None, message=message, sampled=bool(i))
        for i, message in enumerate(messages)
    ]
    about = TraceTask(type=type(task).__name__, data=task.data)
    return Trace(task=about, agent=AgentInfo(config=WireAgentConfig()), nodes=nodes)


async def scored(task: vf.Task) -> dict:
    trace = traced(task)
    try:
        await task.score(trace)
    except vf.RolloutError as error:
        trace.record_error(error)
    rewards = {name: None if r is None else r.value for name, r in trace.rewards.items()}
    return {
        "rewards": rewards,
        "reward": trace.reward,
        "metrics": trace.metrics,
        "ok": trace.ok,
        "error": trace.last_error.message if trace.last_error else None,
    }


async def run(tasks: list) -> tuple[list, int]:
    """All tasks at once, with the number of times that the event loop came by meanwhile."""
    turns = 0

    async def watch() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    watching = asyncio.create_task(watch())
    results = await asyncio.gather(*map(scored, tasks))
    watching.cancel()
    return results, turns


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        given = tomllib.load(file)
    env = resolve_env_config(
        {**given["env"], "taskset": {"id": "verifiers_tasks", **given["env"]["taskset"]}}
    )
    tasks = list(Sums(env.taskset))
    results, turns = asyncio.run(run(tasks))
    threaded: list = []
    thread = threading.Thread(target=lambda: threaded.extend(asyncio.run(run(tasks[:2]))[0]))
    thread.start()
    thread.join()
    copy = pickle.loads(pickle.dumps(SumTask.right))
    told = {
        "results": results,
        "turns": turns,
        "threaded": threaded,
        "names": [r.__name__ for r in [ours.both.to_verifiers(), ours.answer.to_verifiers()]],
        "failures": SumTask.right.failures.by_kind,
        "copied": asyncio.run(copy(task=tasks[0].data, trace=traced(tasks[0]))),
        "strict": asyncio.run(scored(StrictTask(tasks[2].data))),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()

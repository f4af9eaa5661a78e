"""Groups of ART's trajectories, gathered by ART and scored with rewards of ours; prints what they hold."""

import asyncio
import json
import pickle
import threading

import art
import rewards_of_ours as ours
from exact_art import exact
from openai.types.chat.chat_completion import Choice

REPLIES = ["4", "5", "fail", "slow"]


async def rollout(reply: str, **metadata) -> art.Trajectory:
    choice = Choice(index=0, finish_reason="stop", message={"role": "assistant", "content": reply})
    messages = [{"role": "user", "content": "2 + 2?"}, choice]
    more = {"ground_truth": "4", "reward": 7.0, "metrics": "columns named like theirs"}
    return art.Trajectory(messages_and_choices=messages, metadata={**more, **metadata})


async def gathered(reward, count: int = 1) -> list:
    groups = [art.TrajectoryGroup([rollout(reply) for reply in REPLIES], exceptions=[]) for _ in range(count)]
    return await art.gather_trajectory_groups(groups, after_each=reward, pbar_desc=None)


def told(groups: list) -> list:
    return [
        {
            "rewards": [t.reward for t in group],
            "metrics": [t.metrics for t in group],
            "logs": [t.logs for t in group],
            "exceptions": [e.message for e in group.exceptions],
        }
        for group in groups
    ]


async def alone(reward, reply: str) -> float:
    return (await reward.score(await rollout(reply), ground_truth="5")).reward


def main() -> None:
    copy = pickle.loads(pickle.dumps(exact))
    skipping = ours.both.to_art(timeout=2.0, on_failure="skip")
    failing = art.TrajectoryGroup([asyncio.run(rollout("fail"))])
    threaded: list = []
    thread = threading.Thread(target=lambda: threaded.extend(asyncio.run(gathered(copy))))
    groups = asyncio.run(gathered(exact, 2))
    thread.start()
    thread.join()
    print(
        json.dumps(
            {
                "default": told(groups),
                "threaded": told(threaded),
                "skipping": told(asyncio.run(gathered(skipping))),
                "all_failed": asyncio.run(skipping(failing)),
                "alone": asyncio.run(alone(exact, "5")),
                "names": [exact.__name__, ours.answer.to_art().__name__],
                "failures": exact.failures.by_kind,
            }
        )
    )


if __name__ == "__main__":
    main()

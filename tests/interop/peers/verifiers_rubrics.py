"""A rubric of verifiers that scores with a reward of ours, and rubrics as rewards of ours; prints the verdicts."""

import asyncio
import json
import sys
from pathlib import Path

import rewards_of_ours as ours
import verifiers as vf

import guerdon
from guerdon.trainers.verifiers import from_verifiers

RUBRICS = """
import verifiers as vf


def same(completion, answer):
    if completion[-1]["content"] == "fail":
        raise ValueError("it fails")
    return completion[-1]["content"] == answer


def level(completion, level=0, **kwargs):
    return WORTH * level


async def letters(parser, completion, state, info, prompt, task):
    assert state["completion"] is completion and info == {"unit": "apples"} and task == "sums"
    assert prompt[-1]["content"] == "2 + 2?"
    return len(parser.parse_answer(completion))


def group(completions):
    return [0.0 for _ in completions]


WORTH = 1.0
rubric = vf.Rubric(funcs=[same, level, letters], weights=[1.0, 0.5, 0.0])
rubric.add_reward_func(same, 0.25)
"""


def state_of(reply: str, **more) -> vf.State:
    row = {
        "prompt": [{"role": "user", "content": "2 + 2?"}],
        "answer": "4",
        "example_id": 0,
        "level": 1,
        **more,
    }
    state = vf.State(input={**row, "info": {"unit": "apples"}})
    state["completion"] = [vf.AssistantMessage(content=reply)]
    state["trajectory"] = []
    state["task"] = "sums"
    return state


def with_ours() -> dict:
    reward = ours.both.to_verifiers(timeout=2.0)
    rubric = reward.rubric(weight=2.0)
    states = [state_of(reply, reward=1, parser="a column") for reply in ("4", "5", "fail", "slow")]
    asyncio.run(rubric.score_group(states))
    told = [{"reward": state["reward"], "metrics": state["metrics"]} for state in states]
    return {"ours": told, "failures": reward.failures.by_kind}


def of_theirs() -> dict:
    file = Path("rubrics.py")
    file.write_text(RUBRICS)
    import rubrics

    reward = from_verifiers(rubrics.rubric)
    row = {"ground_truth": "4", "info": {"unit": "apples"}, "level": 1, "task": "sums"}
    chats = [
        [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": reply}]
        for reply in ("4", "55", "fail")
    ]
    scores = list(guerdon.score(reward, [{"messages": chat, **row} for chat in chats]))
    by_verifiers = [state_of(reply) for reply in ("4", "55")]
    for state in by_verifiers:
        asyncio.run(rubrics.rubric.score_rollout(state))
    versions = [reward.version, from_verifiers(rubrics.rubric).version]
    rubrics.WORTH = 2.0
    versions.append(from_verifiers(rubrics.rubric).version)
    try:
        group = from_verifiers(vf.Rubric(funcs=[rubrics.group])).name
    except guerdon.RewardError as error:
        group = str(error)
    return {
        "verdicts": [s.score for s in scores[:2]],
        "by_verifiers": [state["reward"] for state in by_verifiers],
        "weights": {c.name: c.weight for c in reward.components},
        "failed": scores[2].error,
        "versions": versions,
        "group": group,
        "named_by_path": guerdon.get_reward_function("rubrics.py::rubric").version,
    }


if __name__ == "__main__":
    json.dump({**with_ours(), "theirs": of_theirs()}, sys.stdout)
    print()

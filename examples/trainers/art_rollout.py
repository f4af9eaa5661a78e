"""ART: groups of rollouts, each scored as it is gathered."""

import art
from my_rewards import last_number

reward = last_number.to_art()


async def rollout(model, prompt, ground_truth):
    messages = [{"role": "user", "content": prompt}]
    answer = await model.openai_client().chat.completions.create(
        model=model.get_inference_name(), messages=messages
    )
    messages.append(answer.choices[0])
    return art.Trajectory(messages_and_choices=messages, metadata={"ground_truth": ground_truth})


async def groups_of(model, rows):
    groups = [art.TrajectoryGroup([rollout(model, **row) for _ in range(4)]) for row in rows]
    return await art.gather_trajectory_groups(groups, after_each=reward)

"""A rubric in an environment of OpenEnv: openenv_rubric.py SOURCES FOLDER sync|async < steps.jsonl > scores.jsonl.

FOLDER has ``guerdon_both_rubric.py``, as ``guerdon adapt`` writes it. Each line is the text of an action and what the
environment's observation shows.
"""

import asyncio
import json
import pickle
import sys
import threading
from typing import Any

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

sources, folder, manner = sys.argv[1:]
sys.path[:0] = [sources, folder]

from guerdon_both_rubric import ADAPTER, rubric  # noqa: E402

from guerdon.trainers.openenv import AsyncRewardRubric  # noqa: E402


class Said(Action):
    message: str


class Seen(Observation):
    question: str
    ground_truth: Any = None


class Quiz(Environment):
    def __init__(self, rubric):
        super().__init__(rubric=rubric)
        self.shown = {}

    def reset(self, seed=None, episode_id=None, **kwargs):
        self._reset_rubric()
        return Seen(**self.shown)

    def step(self, action, timeout_s=None, **kwargs):
        observation = Seen(**self.shown, done=True)
        observation.reward = self._apply_rubric(action, observation)
        return observation

    async def step_async(self, action, timeout_s=None, **kwargs):
        observation = Seen(**self.shown, done=True)
        observation.reward = await self._apply_rubric_async(action, observation)
        return observation

    @property
    def state(self):
        return State()


def told(env, observation):
    parts = {name: part.last_score for name, part in env.rubric.named_rubrics()}
    return observation.reward, parts, env.rubric.last_result.error_kind, env.rubric.state_dict()


def steps():
    for line in sys.stdin:
        text, shown = json.loads(line)
        # Half of them with a rubric that has been pickled, as one that goes to another process.
        made = AsyncRewardRubric(ADAPTER) if manner == "async" else rubric()
        env = Quiz(pickle.loads(pickle.dumps(made)) if len(text) % 2 else made)
        env.shown = shown
        env.reset()
        yield env, Said(message=text)


async def at_once():
    async def one(env, action):
        return told(env, await env.step_async(action))

    return await asyncio.gather(*[one(*step) for step in steps()])


def in_threads():
    found = {}

    def one(position, env, action):
        found[position] = told(env, env.step(action))

    threads = [threading.Thread(target=one, args=(i, *step)) for i, step in enumerate(steps())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[i] for i in range(len(threads))]


for answer in asyncio.run(at_once()) if manner == "async" else in_threads():
    print(json.dumps(answer))

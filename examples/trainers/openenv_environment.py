"""An environment of OpenEnv whose rubric is a reward."""

from my_rewards import last_number
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class Answer(Action):
    message: str


class Sums(Environment):
    def __init__(self):
        super().__init__(rubric=last_number.to_openenv())

    def reset(self, seed=None, episode_id=None, **options):
        self._reset_rubric()
        return Observation(metadata={"prompt": "2 + 2?"})

    def step(self, action, timeout_s=None, **options):
        observation = Observation(done=True, metadata={"ground_truth": "4"})
        observation.reward = self._apply_rubric(action, observation)
        return observation

    @property
    def state(self):
        return State()

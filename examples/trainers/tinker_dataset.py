"""tinker-cookbook: train.Config(dataset_builder=Sums(model_name=…, renderer_name=…), …)"""

import json
from pathlib import Path

import chz
from my_rewards import last_number
from tinker_cookbook.renderers import get_renderer
from tinker_cookbook.rl.types import RLDatasetBuilder
from tinker_cookbook.tokenizer_utils import get_tokenizer

reward = last_number.to_tinker()
rows = [json.loads(line) for line in Path("prompts.jsonl").read_text().splitlines()]


@chz.chz
class Sums(RLDatasetBuilder):
    model_name: str
    renderer_name: str

    async def __call__(self):
        tokenizer = get_tokenizer(self.model_name)
        renderer = get_renderer(self.renderer_name, tokenizer, model_name=self.model_name)
        return reward.dataset(rows, renderer, batch_size=2, group_size=4), None

"""A step of TRL's online DPO with a reward for its judge; prints what the judge preferred.

Called with the reward's place and a folder with a model.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from guerdon import get_reward_function


def main() -> None:
    from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer

    spec, folder = sys.argv[1:]
    seen: list[Any] = []
    judge = get_reward_function(spec).to_trl(judge=True, on_failure=-1.0, observe=seen.append)
    config = OnlineDPOConfig(
        output_dir="out",
        use_cpu=True,
        max_steps=2,
        per_device_train_batch_size=4,
        max_new_tokens=8,
        max_length=64,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = OnlineDPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder),
        judge=judge,
        args=config,
        train_dataset=Dataset.from_dict({"prompt": ["one=", "two=", "three=", "four="]}),
        processing_class=AutoTokenizer.from_pretrained(folder),
    )
    trainer.train()
    scores = [[result.score for result in batch.results] for batch in seen]
    prompts = [[sample.messages[0].content for sample in batch.samples] for batch in seen]
    margins = [logs["rewards/margins"] for logs in trainer.state.log_history if "rewards/margins" in logs]
    print(json.dumps({"scores": scores, "prompts": prompts, "margins": margins}))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

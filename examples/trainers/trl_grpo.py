"""TRL's GRPO with a reward; RLOOTrainer takes the same."""

import torch
from datasets import load_dataset
from my_rewards import last_number
from trl import GRPOConfig, GRPOTrainer

trainer = GRPOTrainer(
    model="model",  # a folder, or a name on the Hugging Face Hub
    reward_funcs=last_number.to_trl(),
    args=GRPOConfig(output_dir="run", max_completion_length=64, use_cpu=not torch.cuda.is_available()),
    train_dataset=load_dataset("json", data_files="prompts.jsonl", split="train"),
)
trainer.train()

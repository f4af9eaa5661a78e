"""Unsloth: its model, TRL's trainer, TRL's reward."""

from unsloth import FastLanguageModel  # before trl

# isort: split
import torch
from datasets import load_dataset
from my_rewards import last_number
from trl import GRPOConfig, GRPOTrainer

model, tokenizer = FastLanguageModel.from_pretrained("model", max_seq_length=128)
trainer = GRPOTrainer(
    model=model,
    processing_class=tokenizer,
    reward_funcs=last_number.to_trl(),
    args=GRPOConfig(output_dir="run", max_completion_length=64, use_cpu=not torch.cuda.is_available()),
    train_dataset=load_dataset("json", data_files="prompts.jsonl", split="train"),
)
trainer.train()

"""The configuration of a training run: agent-tunix's groups and keys, and Guerdon's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class ModelConfig:
    """The model that learns."""

    model_family: str = "tiny"
    """``tiny`` and ``random`` are made on the spot; ``huggingface`` loads ``path``; Tunix has families of its own."""
    model_size: str = ""
    """Of a family with several sizes, such as ``270m``."""
    path: str | None = None
    """A Hugging Face id or a folder."""
    lora_rank: int | None = None
    """Rank of the LoRA adapters; None trains all weights."""
    lora_alpha: float | None = None
    lora_module_path: str | None = None
    """A regular expression over module names; None takes the backend's usual ones."""
    mesh_shape: list[list[Any]] = field(default_factory=lambda: [[1, 1], ["fsdp", "tp"]])
    """Shape and axis names of Tunix's device mesh."""
    dtype: str = "auto"
    """``float32``, ``bfloat16``, or ``auto``: bfloat16 where a GPU has it."""
    gradient_checkpointing: bool = False
    vllm: bool = False
    """Whether vLLM generates the rollouts, which takes a GPU."""
    hidden_size: int = 64
    num_layers: int = 2
    num_heads: int = 4
    intermediate_size: int = 128
    """The last four shape models that are made on the spot."""


@dataclass(kw_only=True)
class OptimizerConfig:
    learning_rate: float = 3e-6
    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 0.0
    warmup_ratio: float = 0.1
    max_grad_norm: float = 1.0


@dataclass(kw_only=True)
class SchedulerConfig:
    """Shares of the run's steps: a linear warm-up, then a cosine decay."""

    warmup_steps_ratio: float = 0.1
    decay_steps_ratio: float = 1.0


@dataclass(kw_only=True)
class GrpoConfig:
    num_generations: int = 4
    """Responses to each prompt."""
    num_iterations: int = 1
    """Updates on each batch of rollouts."""
    beta: float = 0.0
    """Weight of the KL divergence from the first model."""
    epsilon: float = 0.2
    """How far a token's probability ratio may move from 1."""


@dataclass(kw_only=True)
class GenerationConfig:
    max_prompt_length: int = 256
    max_generation_steps: int = 256
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int | None = None
    eos_tokens: list[int] | None = None


@dataclass(kw_only=True)
class TrainingConfig:
    reward_function: Any = "math"
    """A name, ``file.py::function``, ``module.function``, a URL, or a list of these with weights."""
    reward_parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the reward, where it is one."""
    reward_modules: list[str] = field(default_factory=list)
    """Modules or files that are imported first, since they register rewards under names."""
    log_reward_stats: bool = False
    log_level: str = "info"
    train_data_dir: str | None = None
    """A file, a folder or a hub id; None where ``data_source`` says all."""
    test_data_dir: str | None = None
    """Held-out data; None holds out a part of the training data."""
    data_source: str = "file"
    """``file``, ``gsm8k``, or ``arithmetic``, which is made on the spot; also a file, a folder or a hub id."""
    split: str | None = None
    """Of a folder or a hub dataset; None takes ``train`` where there is one."""
    prompt_column: str | None = None
    """None takes ``prompt``, ``prompts``, ``messages``, ``question`` or ``problem``, whichever there is first."""
    answer_column: str | None = None
    """Becomes the ground truth; None leaves that to the columns ``ground_truth`` and ``answer``."""
    mapping: dict[str, str] = field(default_factory=dict)
    """From the name that the reward reads to the column's."""
    system_prompt: str | None = None
    train_fraction: float = 0.9
    """What is learnt from, the rest being held out; not used where there are held-out data anyway."""
    micro_batch_size: int = 4
    """Prompts a step."""
    num_batches: int | None = None
    """Steps an epoch; None takes all of the data."""
    num_test_batches: int | None = None
    num_epochs: int = 1
    eval_every_n_steps: int = 0
    """0 evaluates at the end only."""
    checkpoint_dir: str | None = None
    """Where checkpoints go; None puts them in the run's folder."""
    intermediate_checkpoint_dir: str | None = None
    save_interval_steps: int = 100
    max_checkpoints_to_keep: int = 3
    log_dir: str | None = None
    flush_every_n_steps: int = 1
    wandb_project: str | None = None
    trackio_project: str | None = None
    sample_table_rows: int = 16
    """Samples in a table that goes to Weights & Biases and trackio; 0 sends none."""
    sample_table_every_n_steps: int = 10
    """The first step and each of these has a table."""
    tensorboard: bool = True
    keep_samples: bool = True
    on_failure: Any = None
    """``raise``, ``skip`` or a number; None does what the backend can bear."""
    reward_timeout: float | None = None
    """Seconds that a sample's reward may take."""
    reward_workers: int | None = None
    reward_concurrency: int | None = None


@dataclass(kw_only=True)
class EvaluationConfig:
    checkpoint_dir: str | None = None
    step: int | None = None
    inference_config: str = "greedy"
    """``greedy``, ``standard`` or ``liberal``."""
    num_passes: int = 1
    verbose: bool = False


@dataclass(kw_only=True)
class Config:
    """A resolved configuration."""

    project_name: str = "guerdon"
    seed: int = 42
    debug: bool = False
    """Whether warnings and log lines of the trainer's libraries are shown."""
    backend: str = "trl"
    algorithm: str = "grpo"
    run_dir: str | None = None
    """The run's folder; None makes one under ``runs``."""
    experiment_name: str | None = None
    """A word for people, as is ``tags``."""
    tags: list[str] = field(default_factory=list)
    wandb_disabled: bool = False
    """Whether ``training.wandb_project`` is left alone."""
    model: ModelConfig = field(default_factory=ModelConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    grpo: GrpoConfig = field(default_factory=GrpoConfig)
    generation: GenerationConfig = field(default_factory=GenerationConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

"""A Qwen2 as Transformers saves it, loaded from its folder and trained with adapters by Tunix; says what it saw."""

import json
from pathlib import Path

import numpy
from safetensors.numpy import save_file

from guerdon import RewardFunction
from guerdon.train.backend import Problem, TrainingContext
from guerdon.train.backends.tiny import character_tokenizer
from guerdon.train.backends.tunix.backend import TunixBackend
from guerdon.train.config.schema import Config
from guerdon.train.records.folder import RunFolder

WIDTH, INNER, HEADS, LAYERS = 32, 64, 2, 1


class Watch:
    """Keeps what is told of a run."""

    def __init__(self) -> None:
        self.steps, self.checkpoints, self.scored_of = [], [], []

    def scored(self, batch) -> None:
        self.scored_of.append([result.score for result in batch.results])

    def tokens(self, generated) -> None:
        pass

    def step(self, step, seconds, logs) -> None:
        self.steps.append({"step": step, **logs})

    def checkpoint(self, step, path) -> None:
        self.checkpoints.append(path.name)

    def resume(self, step) -> None:
        pass

    def close(self) -> None:
        pass


def save_model(folder: Path) -> None:
    """Random weights under the names and in the shapes of Transformers' Qwen2."""
    folder.mkdir()
    tokenizer = character_tokenizer("0123456789+=. ")
    tokenizer.save_pretrained(folder)
    drawn = numpy.random.default_rng(0)

    def weight(*shape: int) -> numpy.ndarray:
        return drawn.normal(0, 0.1, shape).astype("float32")

    weights = {
        "model.embed_tokens.weight": weight(len(tokenizer), WIDTH),
        "model.norm.weight": numpy.ones(WIDTH, "float32"),
        "lm_head.weight": weight(len(tokenizer), WIDTH),
    }
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        for name in "qkvo":
            weights[f"{at}.self_attn.{name}_proj.weight"] = weight(WIDTH, WIDTH)
        for name in "qkv":
            weights[f"{at}.self_attn.{name}_proj.bias"] = weight(WIDTH)
        for name in ("gate", "up"):
            weights[f"{at}.mlp.{name}_proj.weight"] = weight(INNER, WIDTH)
        weights[f"{at}.mlp.down_proj.weight"] = weight(WIDTH, INNER)
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{at}.{name}.weight"] = numpy.ones(WIDTH, "float32")
    save_file(weights, folder / "model.safetensors")
    shape = {
        "model_type": "qwen2",
        "num_hidden_layers": LAYERS,
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
    }
    (folder / "config.json").write_text(json.dumps(shape))


def configured(folder: Path) -> Config:
    config = Config(backend="tunix", algorithm="dapo", seed=3)
    config.model.model_family, config.model.path, config.model.lora_rank = "huggingface", str(folder), 2
    config.grpo.num_generations = 4
    config.training.micro_batch_size, config.training.num_batches, config.training.reward_workers = 2, 3, 0
    config.training.save_interval_steps, config.training.max_checkpoints_to_keep = 1, 2
    config.generation.max_prompt_length, config.generation.max_generation_steps = 8, 3
    config.optimizer.learning_rate = 0.05
    return config


def main() -> None:
    folder, run, watch = Path("model"), RunFolder(Path("run")), Watch()
    save_model(folder)
    config, backend = configured(folder), TunixBackend()
    problems = [Problem(i, f"{i}+{i}", {"mode": "a", "step": "b", "beta": i}) for i in range(4)]

    def columns(response: str, mode: str, beta: int) -> float:
        assert (mode, type(beta)) == ("a", int)
        return len(set(response)) / 3

    context = TrainingContext(
        config=config,
        reward=RewardFunction(columns),
        train=problems,
        test=problems[:1],
        folder=run,
        monitor=watch,
    )
    backend.train(context)
    settings = {"temperature": 0.0, "top_p": 1.0, "top_k": None, "max_new_tokens": 3, "seed": 0}
    prompts = [problem.prompt for problem in problems]
    before, after = (
        backend.policy(config, place).generate(prompts, **settings) for place in (None, run.saved()[-1][1])
    )
    facts = json.loads((run.saved()[-1][1] / "guerdon.json").read_text())
    told = {
        "steps": watch.steps,
        "checkpoints": [path.name for _, path in run.saved()],
        "told": watch.checkpoints,
        "scored": watch.scored_of,
        "facts": facts,
        "changed": before != after,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()

"""Models, tokenizers and device meshes for Tunix: made on the spot, or loaded from a local folder."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.errors import InputError
from guerdon.train.backends.tiny import alphabet_of, character_tokenizer
from guerdon.train.config.schema import Config, ModelConfig
from guerdon.train.data.problem import Prompt

MADE_HERE = ("tiny", "random")
"""Model families with random weights."""

_ROOT = "tunix.models"
_LORA_MODULES = "|".join(
    f".*{name}"
    for name in (
        *("q_einsum", "kv_einsum", "attn_vec_einsum"),
        *("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    )
)

# What Transformers calls an architecture, and Tunix's folder for it, for those that a config.json describes fully.
_ARCHITECTURES = {"qwen2": "qwen2", "qwen3": "qwen3", "llama": "llama3"}


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where a run's model comes from, and how its prompts are written."""

    config: Config
    tokenizer: Any
    mesh: Any

    def model(self) -> Any:
        """The model as it is before training, on the mesh; the same each time."""
        model = _made(self.config, len(self.tokenizer)) if _is_made(self.config) else _loaded(self)
        if self.config.model.lora_rank:
            model = _with_lora(model, self.config.model, self.config.seed)
        reshard = importlib.import_module("tunix.rl.reshard")
        return reshard.reshard_model_to_mesh(model, self.mesh)

    def text(self, prompt: Prompt) -> str:
        """A prompt as the model reads it: a conversation by the tokenizer's chat template."""
        if isinstance(prompt, str):
            return prompt
        text: str = self.tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False)
        return text

    def read(self, tokens: Any) -> str:
        """The text of a completion's tokens, without those that only steer."""
        text: str = self.tokenizer.decode([int(token) for token in tokens], skip_special_tokens=True)
        return text

    def count(self, text: str) -> int:
        """The tokens of a prompt's text."""
        return len(self.tokenizer.encode(text))


def source_of(config: Config) -> ModelSource:
    """The source that a configuration names. Raises InputError as ``check_model`` does."""
    check_model(config)
    # transformers says on every import without torch that models cannot be used.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    return ModelSource(config, _tokenizer(config), mesh_of(config.model))


def check_model(config: Config) -> None:
    """Raise InputError that names the key at fault if the model cannot be used."""
    model = config.model
    if model.vllm:
        raise InputError(
            "model.vllm: Guerdon's Tunix backend generates with Tunix's own sampler; leave it out"
        )
    if model.model_family in MADE_HERE:
        if model.hidden_size % (2 * model.num_heads):
            raise InputError(
                f"model.hidden_size ({model.hidden_size}) must be a multiple of twice model.num_heads "
                f"({model.num_heads})"
            )
        return
    if model.path is None:
        raise InputError(
            "model.path is missing: the folder with the weights (safetensors) and the tokenizer of "
            f"{model.model_family}"
        )
    folder = Path(model.path).expanduser()
    if not folder.is_dir():
        raise InputError(
            f"model.path: there is no folder {model.path!r}; Tunix's models are loaded from a local folder: "
            f"huggingface-cli download {model.path} --local-dir FOLDER"
        )
    if not any(folder.glob("*.safetensors")):
        raise InputError(f"model.path: {model.path} has no *.safetensors")
    _named_or_described(model, folder)


def mesh_of(model: ModelConfig) -> Any:
    """The device mesh of ``model.mesh_shape``, with the axes ``fsdp`` and ``tp`` that Tunix's models name."""
    import jax

    try:
        sizes, names = ([int(n) for n in model.mesh_shape[0]], [str(name) for name in model.mesh_shape[1]])
        if len(sizes) != len(names) or min(sizes) < 1:
            raise ValueError
    except (ValueError, TypeError, IndexError):
        raise InputError(
            f'model.mesh_shape must be sizes and names such as [[1, 1], ["fsdp", "tp"]], not {model.mesh_shape!r}'
        ) from None
    for name in ("fsdp", "tp"):
        if name not in names:
            sizes, names = [*sizes, 1], [*names, name]
    wanted, there = 1, jax.device_count()
    for size in sizes:
        wanted *= size
    if wanted > there:
        raise InputError(f"model.mesh_shape needs {wanted} devices; there are {there}")
    auto = (jax.sharding.AxisType.Auto,) * len(names)
    return jax.make_mesh(tuple(sizes), tuple(names), axis_types=auto, devices=jax.devices()[:wanted])


def _is_made(config: Config) -> bool:
    return config.model.model_family in MADE_HERE


def _tokenizer(config: Config) -> Any:
    if _is_made(config) and config.model.path is None:
        return character_tokenizer(alphabet_of(config))
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(config.model.path, local_files_only=True)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"model.path: no tokenizer in {config.model.path}: {reason}") from error


def _dtype(model: ModelConfig) -> Any:
    import jax
    import jax.numpy as jnp

    if model.dtype == "auto":
        return jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16
    known = {"float32": jnp.float32, "bfloat16": jnp.bfloat16}
    if model.dtype not in known:
        raise InputError(f"model.dtype must be auto, float32 or bfloat16, not {model.dtype!r}")
    return known[model.dtype]


def _made(config: Config, vocabulary: int) -> Any:
    """A Qwen2 of the configured shape with random weights from the seed."""
    import jax
    import jax.numpy as jnp
    import numpy
    from flax import nnx
    from tunix.models.qwen2 import model as qwen2

    shape = config.model
    wanted = qwen2.ModelConfig(
        num_layers=shape.num_layers,
        vocab_size=vocabulary,
        embed_dim=shape.hidden_size,
        hidden_dim=shape.intermediate_size,
        num_heads=shape.num_heads,
        head_dim=shape.hidden_size // shape.num_heads,
        num_kv_heads=shape.num_heads,
        rope_theta=10_000,
        norm_eps=1e-6,
        # A tied embedding makes a random model repeat its last token, from which nothing can be learnt.
        use_tied_embedding=False,
        remat_config=_remat(qwen2, shape),
        dtype=_dtype(shape),
        param_dtype=_dtype(shape),
    )
    shapes = nnx.eval_shape(lambda: qwen2.Qwen2(wanted, rngs=nnx.Rngs(0)))
    # Drawn outside JAX, which would compile a program for each shape. A tiny model starts with larger weights than
    # is usual, since otherwise it learns the commonest answer long before it sees what the problem says.
    drawn = numpy.random.default_rng(config.seed)
    spread = 0.1 if shape.model_family == "tiny" else 0.02

    def fill(path: Any, like: Any) -> Any:
        if len(like.shape) > 1:
            return jnp.asarray(drawn.normal(0.0, spread, like.shape), like.dtype)
        return jnp.asarray(
            numpy.full(like.shape, 0.0 if "bias" in jax.tree_util.keystr(path) else 1.0), like.dtype
        )

    graph, state = nnx.split(shapes)
    return nnx.merge(graph, jax.tree_util.tree_map_with_path(fill, state))


def _remat(module: Any, model: ModelConfig) -> Any:
    return module.RematConfig.BLOCK if model.gradient_checkpointing else module.RematConfig.NONE


def _named_or_described(model: ModelConfig, folder: Path) -> tuple[str, Any]:
    """Tunix's folder for an architecture and its ModelConfig: by family and size, else from config.json."""
    if model.model_family == "huggingface":
        return _described(folder)
    naming = importlib.import_module(f"{_ROOT}.naming")
    automodel = importlib.import_module(f"{_ROOT}.automodel")
    name = re.sub(
        r"[.-]", lambda found: "p" if found[0] == "." else "_", f"{model.model_family}_{model.model_size}"
    )
    try:
        return naming.ModelNaming(model_name=name).model_config_category, automodel.call_model_config(name)
    except (ValueError, AttributeError, ImportError) as error:
        raise InputError(
            f"Tunix has no model {name!r} (model.model_family, model.model_size); with model=huggingface the shape "
            f"of a Qwen2, Qwen3 or Llama is read from its config.json"
        ) from error


def _described(folder: Path) -> tuple[str, Any]:
    try:
        fields: Mapping[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"model.path: {folder / 'config.json'} cannot be read: {error}") from error
    kind = str(fields.get("model_type"))
    if kind not in _ARCHITECTURES:
        raise InputError(
            f"model.path: a {kind} cannot be read from its config.json for Tunix, only {', '.join(_ARCHITECTURES)}; "
            "name Tunix's own model.model_family and model.model_size, such as gemma3 and 270m"
        )
    category = _ARCHITECTURES[kind]
    module = importlib.import_module(f"{_ROOT}.{category}.model")
    tied = {"llama3": "weight_tying"}.get(category, "use_tied_embedding")
    rope = fields.get("rope_parameters") or {}
    heads = int(fields["num_attention_heads"])
    config = module.ModelConfig(
        num_layers=int(fields["num_hidden_layers"]),
        vocab_size=int(fields["vocab_size"]),
        embed_dim=int(fields["hidden_size"]),
        hidden_dim=int(fields["intermediate_size"]),
        num_heads=heads,
        head_dim=int(fields.get("head_dim") or fields["hidden_size"] // heads),
        num_kv_heads=int(fields.get("num_key_value_heads") or heads),
        rope_theta=int(rope.get("rope_theta") or fields.get("rope_theta") or 10_000),
        norm_eps=float(fields.get("rms_norm_eps", 1e-6)),
        **{tied: bool(fields.get("tie_word_embeddings", False))},
    )
    return category, config


def _loaded(source: ModelSource) -> Any:
    """The model of a folder, with weights as Transformers saves them."""
    model = source.config.model
    folder = Path(str(model.path)).expanduser()
    category, config = _named_or_described(model, folder)
    module = importlib.import_module(f"{_ROOT}.{category}.model")
    for name, value in (("remat_config", _remat(module, model)), ("dtype", _dtype(model))):
        if hasattr(config, name):
            setattr(config, name, value)
    params = "params_safetensors" if category.startswith("gemma") else "params"
    loader = importlib.import_module(f"{_ROOT}.{category}.{params}")
    return loader.create_model_from_safe_tensors(str(folder), config, source.mesh, dtype=_dtype(model))


def _with_lora(model: Any, asked: ModelConfig, seed: int) -> Any:
    import qwix
    from flax import nnx

    provider = qwix.LoraProvider(
        module_path=asked.lora_module_path or _LORA_MODULES,
        rank=asked.lora_rank,
        alpha=asked.lora_alpha if asked.lora_alpha is not None else float(asked.lora_rank or 1),
    )
    return qwix.apply_lora_to_model(model, provider, rngs=nnx.Rngs(seed), **model.get_model_input())

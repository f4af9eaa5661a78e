"""Composing configurations: groups, presets, a project's own files, and what is said of mistakes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.train.config.compose import DEFAULTS, KEYS, OURS, combinations, compose, options, read, to_yaml
from guerdon.train.config.project import Project
from guerdon.train.config.schema import Config
from guerdon.train.config.validation import value_of

AGENT_TUNIX = {
    "config.yaml": """\
defaults:
  - model: gemma3_270m
  - optimizer: adamw
  - scheduler: warmup_cosine
  - grpo: default
  - generation: default
  - training: default
  - _self_
project_name: tunix-grpo
seed: 7
debug: false
hydra:
  run:
    dir: outputs/${project_name}/run
  job_logging:
    root:
      level: INFO
  callbacks: {}
""",
    "model/gemma3_270m.yaml": """\
model_family: gemma3
model_size: 270m
lora_rank: 16
lora_alpha: 32.0
lora_module_path: ".*q_einsum|.*kv_einsum"
mesh_shape: [[1, 4], ["fsdp", "tp"]]
""",
    "optimizer/adamw.yaml": "learning_rate: 1e-5\nbeta1: 0.9\nbeta2: 0.99\nweight_decay: 0.1\n",
    "generation/default.yaml": "max_generation_steps: 512\ntop_k: 50\neos_tokens: [1, 106]\n",
    "training/default.yaml": """\
train_data_dir: ./data/train
test_data_dir: ./data/test
data_source: huggingface
train_fraction: 1.0
micro_batch_size: 4
num_batches: 3738
checkpoint_dir: ./checkpoints/ckpts/
wandb_project: tunix-grpo
""",
    "experiment/quick_test.yaml": """\
# @package _global_
defaults:
  - override /model: gemma3_270m
  - override /training: default
model:
  lora_rank: 8
training:
  num_batches: 10
wandb_disabled: true
experiment_name: quick_test
tags: [testing, quick]
""",
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_the_defaults_are_those_of_the_dataclasses(here: Path) -> None:
    assert compose() == Config()


def test_every_group_and_every_option_of_ours_composes(here: Path) -> None:
    there = options()
    assert {*DEFAULTS, "experiment"} == set(there)
    for group, names in there.items():
        for name in names:
            needs = ["model.path=org/model"] if name == "huggingface" else []
            assert isinstance(compose([f"{group}={name}", *needs]), Config)


def test_every_file_of_ours_is_an_option() -> None:
    there = {f"{group}/{name}.yaml" for group, names in options().items() for name in names}
    assert {str(path.relative_to(OURS)) for path in OURS.rglob("*.yaml")} == there


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("model=gemma3_270m", "model.lora_rank", 32),
        ("+model=gemma3_270m", "model.lora_rank", 32),
        ("+experiment=quick_test", "training.num_batches", 10),
        ("experiment=quick_test", "training.num_batches", 10),
        ("optimizer.learning_rate=1e-5", "optimizer.learning_rate", 1e-5),
        ("++seed=3", "seed", 3),
        ("backend=tunix", "backend", "tunix"),
        ("training.reward_function=custom_rewards.my_reward_v1", "training.reward_function",
         "custom_rewards.my_reward_v1"),
        ("training.reward_function=dir/file.py::fn", "training.reward_function", "dir/file.py::fn"),
        ("training.reward_function=http://h:1/rewards/a", "training.reward_function", "http://h:1/rewards/a"),
        ("training.reward_function=[math,format]", "training.reward_function", ["math", "format"]),
        ("training.reward_function=[{name: math, weight: 0.8}]", "training.reward_function",
         [{"name": "math", "weight": 0.8}]),
        ("training.reward_parameters={tolerance: 0.01}", "training.reward_parameters", {"tolerance": 0.01}),
        ("training.reward_parameters.tolerance=0.01", "training.reward_parameters", {"tolerance": 0.01}),
        ("training.mapping.gold=answer", "training.mapping", {"gold": "answer"}),
        ("generation.top_k=null", "generation.top_k", None),
        ("generation.eos_tokens=[1,106]", "generation.eos_tokens", [1, 106]),
        ("project_name=${model.model_family}", "project_name", "tiny"),
        ("hydra.run.dir=mine", "run_dir", "mine"),
        ("run_dir=a b", "run_dir", "a b"),
    ],
)  # fmt: skip
def test_an_override_is_taken(here: Path, override: str, key: str, value: Any) -> None:
    assert value_of(compose([override]), key) == value


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("trainng.num_batches=1", "there is no key trainng.num_batches; did you mean training.num_batches?"),
        (
            "training.reward_fn=a",
            "there is no key training.reward_fn; did you mean training.reward_function?",
        ),
        ("num_generations=4", "there is no key num_generations; did you mean grpo.num_generations?"),
        ("+grpo.betta=0.1", "there is no key grpo.betta; did you mean grpo.beta?"),
        ("grpo.zzz=1", "there is no key grpo.zzz; grpo has num_generations, num_iterations, beta, epsilon"),
        ("zzz=1", "there is no key zzz; all there are: guerdon train --cfg job"),
        ("model=tinny", "there is no model=tinny; did you mean tiny?"),
        ("experiment=fast", "there is no experiment=fast; there are arithmetic, full_training, quick_test"),
        ("model=Qwen/Qwen3-0.6B", "model=huggingface model.path=Qwen/Qwen3-0.6B"),
        ("model=huggingface", "model.path must be set"),
        ("training.num_batches=x", "training.num_batches must be a whole number or null, not 'x'"),
        ("seed=null", "seed must be a whole number, not null"),
        ("debug=perhaps", "debug must be true or false, not 'perhaps'"),
        ("tags=a", "tags must be a list, written [a,b]"),
        ("algorithm=gropo", "algorithm=gropo is unknown; did you mean grpo?"),
        ("grpo.num_generations=1", "grpo.num_generations must be 2 or more, not 1"),
        ("generation.top_p=1.5", "generation.top_p must be over 0 and at most 1, not 1.5"),
        ("generation.top_p=nan", "generation.top_p must be over 0 and at most 1, not nan"),
        ("training.on_failure=perhaps", "training.on_failure must be raise, skip or a number"),
        ("seed=1,2", "--multirun"),
        ("seed", "'seed' is not of the form key=value"),
        ("--frobnicate", "there is no option --frobnicate"),
        ("training.reward_function=http://h/a?b=c", "goes in quotes"),
        ("training.reward_function=[math", "cannot be read"),
        ("~seed", "set it: seed=…"),
        ("model.path=${nothing}", "model.path: interpolation key 'nothing' not found"),
    ],
)
def test_a_mistake_is_said_in_one_line(here: Path, override: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        compose([override])
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_project_of_agent_tunix_composes_as_it_is(here: Path) -> None:
    write(here / "conf", AGENT_TUNIX)
    config = compose(["+experiment=quick_test", "optimizer.learning_rate=2e-5"])
    expected = {
        "project_name": "tunix-grpo", "seed": 7, "run_dir": "outputs/tunix-grpo/run", "wandb_disabled": True,
        "tags": ["testing", "quick"], "model.lora_rank": 8, "model.mesh_shape": [[1, 4], ["fsdp", "tp"]],
        "model.hidden_size": 64, "optimizer.learning_rate": 2e-5, "optimizer.weight_decay": 0.1,
        "generation.top_k": 50, "generation.temperature": 1.0, "training.num_batches": 10,
        "training.data_source": "huggingface", "training.log_reward_stats": False, "evaluation.num_passes": 1,
    }  # fmt: skip
    assert {key: value_of(config, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("files", "overrides", "key", "value"),
    [
        # The very example of agent-tunix's guide: keys below the group's own name.
        ({"training/default.yaml": "training:\n  reward_function: custom_rewards.v1\n"}, [],
         "training.reward_function", "custom_rewards.v1"),
        ({"training/default.yaml": "reward_function: v2\n"}, [], "training.reward_function", "v2"),
        ({"model/mine.yaml": "path: here\n"}, ["model=mine"], "model.path", "here"),
        ({"model/mine.yaml": "path: here\n"}, ["model=gemma3_1b"], "model.lora_rank", 32),
        ({"model/mine.yaml": "defaults: [gemma3_1b]\nlora_rank: 2\n"}, ["model=mine"], "model.model_size", "1b"),
        ({"config.yaml": "seed: 5\n"}, [], "seed", 5),
        ({"config.yaml": "seed: 5\n"}, ["seed=6"], "seed", 6),
        ({"config.yaml": "defaults:\n  - override /model: gemma3_1b\n"}, [], "model.model_size", "1b"),
        ({"config.yaml": "model:\n  lora_rank: 3\n"}, ["model=gemma3_1b"], "model.lora_rank", 3),
        ({"config.yaml": "defaults: [{model: gemma3_1b}, _self_]\n"}, ["model=tiny"], "model.model_size", ""),
        ({"experiment/mine.yaml": "# @package _global_\nseed: 9\n"}, ["+experiment=mine"], "seed", 9),
        ({"level/hard.yaml": "# @package _global_\nseed: 11\n"}, ["+level=hard"], "seed", 11),
    ],
)  # fmt: skip
def test_a_projects_files_are_composed_over_ours(
    here: Path, files: dict[str, str], overrides: list[str], key: str, value: Any
) -> None:
    write(here / "conf", files)
    assert value_of(compose(overrides), key) == value


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"config.yaml": "sead: 5\n"}, "conf/config.yaml: there is no key sead; did you mean seed?"),
        ({"training/default.yaml": "num_batch: 5\n"},
         "conf/training/default.yaml: there is no key training.num_batch; did you mean training.num_batches?"),
        ({"training/default.yaml": "num_batches: many\n"},
         "conf/training/default.yaml: training.num_batches must be a whole number or null, not 'many'"),
        ({"config.yaml": "defaults: [{model: gemma9}]\n"}, "there is no model=gemma9"),
        ({"config.yaml": "a: [1\n"}, "conf/config.yaml cannot be read"),
        ({"config.yaml": "- 1\n"}, "conf/config.yaml holds no keys with values"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_projects_file_names_the_file(here: Path, files: dict[str, str], says: str) -> None:
    write(here / "conf", files)
    with pytest.raises(InputError) as caught:
        compose()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_folder_and_another_main_file_may_be_named(here: Path) -> None:
    write(here / "elsewhere", {"config.yaml": "seed: 1\n", "long.yaml": "seed: 2\n"})
    write(here / "conf", {"config.yaml": "seed: 3\n"})
    assert compose().seed == 3
    assert compose(project=Project(folder=Path("elsewhere"))).seed == 1
    assert compose(project=Project(folder=Path("elsewhere"), name="long")).seed == 2
    with pytest.raises(InputError, match=r"no lang\.yaml in elsewhere; did you mean long\?"):
        compose(project=Project(folder=Path("elsewhere"), name="lang"))
    with pytest.raises(InputError, match="there is no folder nowhere"):
        compose(project=Project(folder=Path("nowhere")))


def test_a_sweep_has_a_run_for_each_combination(here: Path) -> None:
    runs = combinations(["seed=1,2", "model=tiny,gemma3_1b", "training.reward_function=[math,format]"])
    assert runs == [
        [f"seed={seed}", f"model={model}", "training.reward_function=[math,format]"]
        for seed in (1, 2)
        for model in ("tiny", "gemma3_1b")
    ]
    assert [run for (run,) in combinations(["seed=range(0,3)"])] == ["seed=0", "seed=1", "seed=2"]
    with pytest.raises(InputError, match="there is no model=giny; did you mean tiny"):
        combinations(["model=tiny,giny"])


def test_what_is_written_is_read_back(here: Path) -> None:
    config = compose(["+experiment=quick_test", "training.reward_function=[{name: math, weight: 0.8}]"])
    path = here / "config.yaml"
    path.write_text(to_yaml(config), encoding="utf-8")
    assert read(path) == config
    assert set(asdict(config)) <= set(KEYS)
    path.write_text("sede: 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="did you mean seed"):
        read(path)

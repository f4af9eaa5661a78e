"""The recipes of docs/trainers: each file of ``examples/trainers`` does its work in the package it is written for.

Where a package cannot be had, in no registry or only with a GPU, the file is called as that package's
documentation says it is.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from interop.conftest import EXAMPLES, OURS, Client, Interpreter
from interop.environments import PEERS, environment
from support.docs_runner import blocks
from support.tiny_models import save_policy
from support.trainer_peers import SOURCE, run_peer

ROOT = EXAMPLES.parent.parent
RECIPES = EXAMPLES.parent / "trainers"
REPLIES = ("It is 4.", "It is 5.", "Nobody knows.", "")
SCORES = [1.0, 0.0, 0.0, 0.0]
"""What the replies of ``recipes.py`` earn with the reward of all recipes."""
PROMPTS = [{"prompt": f"{n} + {n}?", "ground_truth": str(2 * n)} for n in (2, 1, 3, 4)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with all recipes and with prompts."""
    shutil.copytree(RECIPES, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    lines = [json.dumps(row) for row in PROMPTS]
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def on_pages(pages: str, directive: str) -> dict[str, str]:
    """The blocks of some pages of docs/ that have a directive, by what it names."""
    texts = [page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob(pages))]
    found = [block for text in texts for block in blocks(text)]
    return {b.directives[directive]: b.body + "\n" for b in found if directive in b.directives}


def test_the_pages_show_every_file() -> None:
    # That a block is its file is seen where the page is run.
    shown = {Path(name).name for name in on_pages("trainers/*.md", "same")}
    there = {path.name for path in RECIPES.iterdir() if path.is_file()}
    assert there == shown | {"my_rewards.py"}
    assert on_pages("writing-rewards.md", "file")["my_rewards.py"] == (RECIPES / "my_rewards.py").read_text(
        encoding="utf-8"
    )
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in shown if f'"{name}"' not in source] == [], "recipes that no test names"


def run_script(folder: Path, name: str, *before: str) -> list[dict[str, Any]]:
    """What a trainer's own log says, of a recipe that is run as a program."""
    save_policy(folder / "model")
    done = subprocess.run(
        [sys.executable, *before, name],
        cwd=folder,
        env={**environment(), **OURS, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (state,) = sorted((folder / "run").glob("checkpoint-*/trainer_state.json"))[-1:]
    history: list[dict[str, Any]] = json.loads(state.read_text())["log_history"]
    return history


@pytest.mark.torch
def test_trl(folder: Path) -> None:
    history = run_script(folder, "trl_grpo.py")
    assert all(0 <= step["rewards/last_number/mean"] <= 1 for step in history)
    assert {step["rewards/last_number/failed"] for step in history} == {0.0}


STAND_IN = """\
from transformers import AutoModelForCausalLM, AutoTokenizer


class FastLanguageModel:
    @staticmethod
    def from_pretrained(name, max_seq_length):
        return AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)
"""


@pytest.mark.torch
def test_unsloth(folder: Path) -> None:
    """Unsloth needs a GPU to be imported: here transformers loads the model, all else is the recipe's."""
    (folder / "unsloth.py").write_text(STAND_IN)
    history = run_script(folder, "unsloth_grpo.py")
    assert all(0 <= step["rewards/last_number/mean"] <= 1 for step in history)


def test_axolotl(interpreter: Interpreter, folder: Path) -> None:
    assert {"axolotl.yaml", "axolotl_reward.py"} <= {path.name for path in folder.iterdir()}
    told = run_peer(interpreter("axolotl"), "recipes.py", "axolotl", folder=folder)
    assert told["rewards"] == SCORES


def test_ms_swift(interpreter: Interpreter, folder: Path) -> None:
    assert (folder / "swift_plugin.py").exists()
    told = run_peer(interpreter("swift"), "recipes.py", "swift", folder=folder)
    assert told["rewards"] == SCORES
    assert told["names"] == ["last_number"]


def test_tunix(interpreter: Interpreter, folder: Path) -> None:
    assert (folder / "tunix_grpo.py").exists()
    told = run_peer(interpreter("tunix"), "recipes.py", "tunix", folder=folder)
    assert told["calls"] == 2 * 4
    (mean,), (failed,) = told["logged"].values()
    assert 0 <= mean <= 1
    assert failed == 0


def test_verl(interpreter: Interpreter, folder: Path) -> None:
    """The command line is taken from the shell that runs the recipe; what it says goes to verl's own loader."""
    shown = folder / "bin" / "python"
    shown.parent.mkdir()
    shown.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    shown.chmod(0o755)
    path = f"{shown.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "verl_grpo.sh"], cwd=folder, env={"PATH": path}, capture_output=True, text=True, check=True
    )
    module, *overrides = json.loads(done.stdout)[1:]
    assert module == "verl.trainer.main_ppo"
    rows = [{"response": text, "ground_truth": "4", "extra_info": {}} for text in REPLIES]
    jobs = [{"overrides": overrides, "rows": rows, "ray": False}]
    work = folder / "work"
    work.mkdir()
    done = subprocess.run(
        [str(interpreter("verl_managers")), str(PEERS / "verl_managers.py"), str(work)],
        input=json.dumps(jobs),
        cwd=folder,
        env={**environment(), **OURS},
        capture_output=True,
        text=True,
        timeout=480,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (answers,) = json.loads((work / "answers.json").read_text())
    assert [answer["reward_score"] for answer in answers] == SCORES


def test_openrlhf(client: Client, folder: Path) -> None:
    rows = [{"prompt": "2 + 2? ", "response": text, "label": "4"} for text in REPLIES]
    paths = {**OURS, "PYTHONPATH": f"{SOURCE}{os.pathsep}{folder}"}
    endpoint = str(folder / "openrlhf_reward.py")
    answers = client("trainers", "openrlhf_executor.py", rows, endpoint, **paths)
    assert [answer["reward"] for answer in answers] == [[score] for score in SCORES]


def test_verifiers(interpreter: Interpreter, folder: Path) -> None:
    files = {"verifiers_task.py", "verifiers_reward.py", "verifiers.toml"}
    assert files <= {path.name for path in folder.iterdir()}
    rows = [{**PROMPTS[0], "name": reply} for reply in REPLIES]  # what the traces of the script answer
    (folder / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    told = run_peer(interpreter("verifiers"), "recipes.py", "verifiers", folder=folder)
    assert [result["error"] for result in told["results"]] == [None] * len(REPLIES)
    for result, right in zip(told["results"], SCORES, strict=True):
        assert result["rewards"] == {"right": right, "last_number": right}
        assert result["metrics"]["last_number/failed"] == 0.0


def rollout(text: str) -> list[Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
    about = {"object": "response", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    response = {"id": "r", "created_at": 1.0, "model": "m", "output": [message], **about}
    asked = {"input": [{"role": "user", "content": "2 + 2?"}]}
    return ["/verify", {"responses_create_params": asked, "response": response, "expected_answer": "4"}]


def test_nemo_gym(client: Client, folder: Path) -> None:
    paths = {"PYTHONPATH": str(folder)}
    app = str(folder / "nemo_gym_app.py")
    cases = [rollout(text) for text in REPLIES]
    *answers, _ = client("nemo_gym", "nemo_gym_server.py", cases, str(SOURCE), app, **paths)
    assert [status for status, _ in answers] == [200] * len(REPLIES)
    assert [body["reward"] for _, body in answers] == SCORES


@pytest.fixture
def nemo_rl(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The places of NeMo RL, which is in no registry, where an environment makes itself known; its registry."""
    names = (
        "environments.utils",
        "distributed.ray_actor_environment_registry",
        "distributed.virtual_cluster",
    )
    utils, actors, cluster = (ModuleType(f"nemo_rl.{name}") for name in names)
    known: dict[str, Any] = {}
    utils.ENV_REGISTRY = known  # type: ignore[attr-defined]
    utils.register_env = lambda name, fqn: known.update({name: {"actor_class_fqn": fqn}})  # type: ignore[attr-defined]
    actors.ACTOR_ENVIRONMENT_REGISTRY = {}  # type: ignore[attr-defined]
    cluster.PY_EXECUTABLES = SimpleNamespace(SYSTEM="python")  # type: ignore[attr-defined]
    for name in ("nemo_rl", "nemo_rl.environments", "nemo_rl.distributed"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for module in (utils, actors, cluster):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return known


@pytest.mark.torch
def test_nemo_rl(nemo_rl: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import runpy

    from guerdon.trainers.nemo_rl import adapter_of

    monkeypatch.chdir(folder)
    script = "import json, pathlib, sys\npathlib.Path('argv.json').write_text(json.dumps(sys.argv))\n"
    (folder / "run_grpo.py").write_text(script)
    monkeypatch.setattr(sys, "argv", ["nemo_rl_run.py", "run_grpo.py", "--config", "nemo_rl.yaml"])
    runpy.run_path("nemo_rl_run.py", run_name="__main__")
    assert json.loads(Path("argv.json").read_text()) == ["run_grpo.py", "--config", "nemo_rl.yaml"]
    assert nemo_rl == {"guerdon": {"actor_class_fqn": "guerdon.trainers.nemo_rl.RewardEnvironment"}}

    config = yaml.safe_load((folder / "nemo_rl.yaml").read_text())
    assert config["data"]["default"]["env_name"] in config["env"]
    adapter = adapter_of(config["env"]["guerdon"])
    logs = [[{"role": "user", "content": "?"}, {"role": "assistant", "content": text}] for text in REPLIES]
    step = adapter.step(logs, [{"ground_truth": "4"}] * len(REPLIES))
    adapter.close()
    assert step.rewards == SCORES


def test_openenv(interpreter: Interpreter, folder: Path) -> None:
    assert (folder / "openenv_environment.py").exists()
    told = run_peer(interpreter("openenv"), "recipes.py", "openenv", folder=folder)
    assert told["rewards"] == SCORES


@pytest.fixture
def importable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder, on the path of this process."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_skyrl(importable: Path) -> None:
    skyrl_gym = pytest.importorskip("skyrl_gym", reason="skyrl-gym is a development dependency")
    importlib.import_module("skyrl_env.py".removesuffix(".py"))
    spec = {"reward_spec": {"method": "rule", "ground_truth": "4"}}
    try:
        environments = [skyrl_gym.make("last-number", env_config={}, extras=spec) for _ in REPLIES]
        for environment_ in environments:
            environment_.init([{"role": "user", "content": "2 + 2?"}])
        steps = [e.step(text) for e, text in zip(environments, REPLIES, strict=True)]
    finally:
        skyrl_gym.envs.deregister("last-number")
    assert [step["reward"] for step in steps] == SCORES


def test_tinker(interpreter: Interpreter, folder: Path) -> None:
    assert (folder / "tinker_dataset.py").exists()
    shutil.copy(PEERS / "rewards_of_ours.py", folder)
    (folder / "exact_tinker.py").write_text("exact = None\n")
    told = run_peer(interpreter("tinker"), "recipes.py", "tinker", folder=folder)
    assert told == {**told, "rewards": SCORES, "batches": 2}


def test_art(interpreter: Interpreter, folder: Path) -> None:
    assert (folder / "art_rollout.py").exists()
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    told = run_peer(interpreter("art"), "recipes.py", "art", folder=folder, **offline)
    assert sorted(told["rewards"], reverse=True) == SCORES
    assert told["errors"] == []


def test_slime(importable: Path) -> None:
    """slime is in no registry: the function is called as its documentation says."""
    custom_rm = importlib.import_module("slime_reward.py".removesuffix(".py")).custom_rm
    samples = [
        SimpleNamespace(prompt="2 + 2?", response=text, label="4", metadata={}, status="completed")
        for text in REPLIES
    ]
    args = SimpleNamespace(reward_key=None, eval_reward_key=None)

    async def scored() -> list[float]:
        return list(await asyncio.gather(*(custom_rm(args, sample) for sample in samples)))

    assert asyncio.run(scored()) == SCORES

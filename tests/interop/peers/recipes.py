"""The files of ``examples/trainers``, each used by the package that it is written for: recipes.py TRAINER.

Run in a folder with the files, ``prompts.jsonl`` and what else the recipe names; prints what came of it.
"""

import asyncio
import json
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REPLIES = ("It is 4.", "It is 5.", "Nobody knows.", "")


def prompts() -> list:
    return [json.loads(line) for line in Path("prompts.jsonl").read_text().splitlines()]


def tunix() -> dict:
    import numpy
    import tunix_grpo
    import tunix_learner

    learner = tunix_grpo.learner_of(tunix_learner.cluster_of(steps=1))
    columns = {"prompts": ["1+1", "2+2"], "ground_truth": ["2", "4"]}
    learner.train([{name: numpy.array(values) for name, values in columns.items()}])
    name = tunix_grpo.reward.__name__
    found = {key: tunix_learner.logged(learner, key) for key in (name, f"{name}/failed")}
    return {"logged": found, "calls": tunix_grpo.reward.failures.calls}


def verifiers() -> dict:
    import tomllib

    import verifiers_task
    from verifiers.v1.utils.loaders import resolve_env_config
    from verifiers_tasks import scored

    plugged = tomllib.loads(Path("verifiers.toml").read_text())["env"]
    given = {**plugged, "taskset": {"id": "verifiers_task", **plugged["taskset"]}}
    tasks = list(verifiers_task.Sums(resolve_env_config(given).taskset).load())

    async def all_of_them() -> list:
        return await asyncio.gather(*map(scored, tasks))

    return {"results": asyncio.run(all_of_them())}


def openenv() -> dict:
    from openenv_environment import Answer, Sums

    def played(reply: str) -> float:
        environment = Sums()
        environment.reset()
        return environment.step(Answer(message=reply)).reward

    return {"rewards": [played(reply) for reply in REPLIES]}


def tinker() -> dict:
    import tinker_dataset
    import tinker_envs
    from tinker_cookbook import tokenizer_utils
    from tinker_cookbook.rl.rollout_strategy import FailFast
    from tinker_cookbook.rl.rollouts import do_group_rollout

    tokenizer_utils.register_tokenizer("tests/bytes", tinker_envs.Bytes)
    made = tinker_dataset.Sums(model_name="tests/bytes", renderer_name="role_colon")
    dataset, _ = asyncio.run(made())
    policy = tinker_envs.Policy(REPLIES)
    group = asyncio.run(do_group_rollout(dataset.get_batch(0)[0], policy, strategy=FailFast()))
    return {"rewards": group.get_total_rewards(), "batches": len(dataset)}


class Model(BaseHTTPRequestHandler):
    """An endpoint in OpenAI's form that gives one reply after the other."""

    def __init__(self, left: list, *arguments) -> None:
        self.left = left
        super().__init__(*arguments)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": self.left.pop(0)}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        about = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
        body = json.dumps({**about, "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments) -> None:
        """Nothing: what is printed is the result."""


def art() -> dict:
    import art
    import art_rollout

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Model, list(REPLIES)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    model = art.Model(name="m", project="sums", inference_api_key="none", inference_base_url=url)
    rows = [{name: row[name] for name in ("prompt", "ground_truth")} for row in prompts()[:1]]
    (group,) = asyncio.run(art_rollout.groups_of(model, rows))
    return {"rewards": [t.reward for t in group], "errors": [e.message for e in group.exceptions]}


def swift() -> dict:
    import torch
    from swift.rewards import orms
    from swift.rl_core.data import GRPOSample
    from swift.rl_core.grpo_algorithm import score_completions
    from swift.rlhf_trainers.utils import resolve_reward_funcs
    from swift.utils import import_external_file
    from transformers import TrainerState

    import_external_file("swift_plugin.py")
    rewards, names = resolve_reward_funcs(["last_number"], args=None)
    rows = []
    for number, reply in enumerate(REPLIES):
        turns = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": reply}]
        row = {"messages": turns, "prompt_id": str(number), "response_token_ids": [[1]], "ground_truth": "4"}
        rows.append(GRPOSample.from_row(row))
    found = score_completions(rows, rewards, [None], False, torch.device("cpu"), TrainerState(global_step=0))
    return {"rewards": [row[0] for row in found.tolist()], "names": names, "known": "last_number" in orms}


def axolotl() -> dict:
    import yaml
    from axolotl.core.trainers.grpo import GRPOStrategy

    (name,) = yaml.safe_load(Path("axolotl.yaml").read_text())["trl"]["reward_funcs"]
    reward = GRPOStrategy.get_reward_func(name)
    truths = ["4"] * len(REPLIES)
    return {"rewards": reward(prompts=["2 + 2?"] * 4, completions=list(REPLIES), ground_truth=truths)}


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    print(json.dumps(globals()[sys.argv[1]]()))

"""verl's own reward managers and its reward loop with a reward: verl_managers.py FOLDER < jobs.json > answers.json.

A job is ``{"overrides": [...], "rows": [...], "ray": bool}``: overrides of verl's own configuration, and rows with
``response``, ``ground_truth`` and ``extra_info``, where a list in ``arrays`` arrives as numpy's. Each answer lists what
the manager gave for each row. FOLDER is for the tokenizer.
"""

import asyncio
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from tensordict import TensorDict
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.reward_loop import RewardLoopManager
from verl.trainer.ppo.reward import load_reward_manager

LENGTH = 16


def make_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """One token a character, and a padding token; saved where verl's workers load it from."""
    letters = [chr(code) for code in range(32, 127)]
    vocabulary = {letter: number for number, letter in enumerate(["<pad>", *letters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<pad>")
    made.save_pretrained(folder)
    return made


def batch_of(rows: list, tokenizer: PreTrainedTokenizerFast) -> DataProto:
    """The rows as a rollout leaves them: responses padded on the right, everything else in arrays of objects."""
    responses = torch.zeros(len(rows), LENGTH, dtype=torch.long)
    mask = torch.zeros(len(rows), 2 * LENGTH, dtype=torch.long)
    mask[:, :LENGTH] = 1
    for number, row in enumerate(rows):
        ids = tokenizer.encode(row["response"], add_special_tokens=False)
        responses[number, : len(ids)] = torch.tensor(ids)
        mask[number, LENGTH : LENGTH + len(ids)] = 1
    prompts = torch.ones(len(rows), LENGTH, dtype=torch.long)
    tensors = {"prompts": prompts, "responses": responses, "attention_mask": mask}
    infos = []
    for row in rows:
        arrays = {name: np.array(values) for name, values in row.get("arrays", {}).items()}
        infos.append({**row["extra_info"], **arrays, "flag": np.bool_(True), "note": np.str_("as it is")})
    columns = {
        "data_source": ["numbers"] * len(rows),
        "reward_model": [{"ground_truth": row["ground_truth"], "style": "rule"} for row in rows],
        "extra_info": infos,
    }
    return DataProto(
        batch=TensorDict(tensors, batch_size=len(rows)),
        non_tensor_batch={name: objects(values) for name, values in columns.items()},
    )


def objects(values: list) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def with_manager(config, tokenizer, data: DataProto) -> list:
    """Each row through the manager that verl's own loader makes, all at once as in a rollout."""
    manager = load_reward_manager(config, tokenizer)

    async def run() -> list:
        return await asyncio.gather(*(manager.run_single(data[i : i + 1]) for i in range(len(data))))

    return manager.loop.run_until_complete(asyncio.wait_for(run(), 120))


def with_reward_loop(config, data: DataProto) -> list:
    """The batch through verl's reward loop: actors on Ray, which load the manager themselves."""
    import ray

    if not ray.is_initialized():
        ray.init(num_cpus=4, include_dashboard=False, log_to_driver=True, logging_level="ERROR")
    loop = RewardLoopManager(config)
    done = loop.compute_rm_score(data)
    for worker in loop.reward_loop_workers:
        ray.kill(worker)
    scores = done.batch["rm_scores"].sum(dim=1).tolist()
    keys = done.meta_info["reward_extra_keys"]
    infos = [{key: done.non_tensor_batch[key][i].item() for key in keys} for i in range(len(data))]
    return [{"reward_score": s, "reward_extra_info": i} for s, i in zip(scores, infos, strict=True)]


def main(folder: Path) -> None:
    tokenizer = make_tokenizer(folder / "tokenizer")
    configs = Path(importlib.util.find_spec("verl").submodule_search_locations[0]) / "trainer" / "config"
    answers = []
    for job in json.load(sys.stdin):
        with initialize_config_dir(str(configs), version_base=None):
            own = [f"actor_rollout_ref.model.path={folder / 'tokenizer'}"]
            config = compose("ppo_trainer", overrides=[*own, *job["overrides"]])
        data = batch_of(job["rows"], tokenizer)
        answers.append(
            with_reward_loop(config, data) if job["ray"] else with_manager(config, tokenizer, data)
        )
    Path(folder / "answers.json").write_text(json.dumps(answers, default=float))


main(Path(sys.argv[1]))

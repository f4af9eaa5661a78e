"""Runs with the real TRL: what they learn, save and go on with, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guerdon import RewardFunction
from guerdon.errors import BindingError, InputError, RewardError
from guerdon.train.backend import TrainingInterrupted
from guerdon.train.backends.tiny import character_tokenizer
from guerdon.train.backends.trl.backend import TrlBackend
from guerdon.train.backends.trl.models import first_model
from guerdon.train.config.schema import Config
from guerdon.train.data.problem import Problem
from support import trl_work
from support.served import guerdon_serve, running
from support.trl_work import Kept, do, small_config

pytestmark = pytest.mark.torch
ALGORITHMS = TrlBackend.algorithms


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Kept, Path]:
    """A run that nothing disturbs, with its folder."""
    folder = tmp_path_factory.mktemp("whole")
    return do(small_config(), folder), folder


def test_a_run_reports_every_step_and_keeps_its_checkpoints(whole: tuple[Kept, Path]) -> None:
    kept, folder = whole
    assert [step for step, _ in kept.steps] == [1, 2, 3, 4, 5, 6]
    assert [step for step, _ in kept.checkpoints] == [2, 4, 6]
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == [
        "step-000002",
        "step-000004",
        "step-000006",
    ]
    trained = [batch for batch in kept.batches if batch.mode == "train"]
    assert [batch.step for batch in trained] == [0, 1, 2, 3, 4, 5]
    assert {len(batch.samples) for batch in trained} == {16}
    assert [(b.step, len(b.samples)) for b in kept.batches if b.mode == "eval"] == [(3, 6), (6, 6)]
    assert kept.generated > 6 * 16
    figures = kept.steps[0][1]
    assert {"loss", "learning_rate", "grad_norm", "entropy"} <= figures.keys()
    assert not any(name.startswith("reward") for name in figures)


def test_the_terminal_is_left_to_the_monitor(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    do(small_config(**{"training.num_batches": 1}), tmp_path)
    assert capfd.readouterr() == ("", "")


def test_killed_and_gone_on_with_is_the_same_curve(tmp_path: Path, whole: tuple[Kept, Path]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(trl_work.__file__).parents[1])}
    command = [sys.executable, trl_work.__file__, str(tmp_path), "5"]
    ended = subprocess.run(command, env=environment, timeout=300, check=False)
    assert ended.returncode == -signal.SIGKILL
    saved = trl_work.RunFolder(tmp_path).saved()
    assert [step for step, _ in saved] == [2, 4]
    resumed = do(small_config(), tmp_path, resume_from=saved[-1][1])
    assert resumed.steps[0][0] == 5
    undisturbed, _ = whole
    assert resumed.curve() == undisturbed.curve(after=4)
    assert resumed.figures() == undisturbed.figures(after=4)


def test_ctrl_c_saves_the_step_and_the_run_goes_on_from_there(
    tmp_path: Path, whole: tuple[Kept, Path]
) -> None:
    kept = Kept(signal_after=3)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(TrainingInterrupted) as raised:
        do(small_config(), tmp_path, kept)
    step, path = raised.value.step, raised.value.checkpoint
    assert (step, path.name) == (4, "step-000004") or (step, path.name) == (3, "step-000003")
    assert signal.getsignal(signal.SIGINT) is before
    resumed = do(small_config(), tmp_path, resume_from=path)
    undisturbed, _ = whole
    assert kept.curve() + resumed.curve() == undisturbed.curve()


def test_a_finished_run_has_nothing_to_go_on_with(whole: tuple[Kept, Path]) -> None:
    _, folder = whole
    kept = do(small_config(), folder, resume_from=folder / "checkpoints" / "step-000006")
    assert (kept.steps, kept.batches) == ([], [])


def test_only_so_many_checkpoints_are_kept(tmp_path: Path) -> None:
    config = small_config(**{"training.num_batches": 3, "training.save_interval_steps": 1})
    config.training.max_checkpoints_to_keep = 2
    kept = do(config, tmp_path)
    assert [step for step, _ in kept.checkpoints] == [1, 2, 3]
    assert [step for step, _ in trl_work.RunFolder(tmp_path).saved()] == [2, 3]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_from_a_penalty_and_repeated_updates(algorithm: str, tmp_path: Path) -> None:
    config = small_config(
        **{
            "algorithm": algorithm,
            "grpo.beta": 0.04,
            "grpo.num_iterations": 2,
            "training.num_batches": 2,
            "training.save_interval_steps": 1,
        }
    )
    kept = do(config, tmp_path)
    assert [step for step, _ in kept.steps] == [1, 2]
    assert [batch.step for batch in kept.batches] == [0, 1, 2]
    assert all("kl" in logs and logs["grad_norm"] > 0 for _, logs in kept.steps)
    if algorithm == "grpo":  # repeated updates and a penalty are gone on with exactly, too
        again = do(config, tmp_path, resume_from=tmp_path / "checkpoints" / "step-000001")
        assert (again.curve(), again.figures()) == (kept.curve(after=1), kept.figures(after=1))


def failing(response: str, ground_truth: str) -> float:
    if response.startswith(("0", "1", "2", "3", "4")):
        raise RuntimeError("a bug")
    return float(ground_truth in response)


def test_failed_samples_are_left_out_and_counted(tmp_path: Path) -> None:
    kept = do(small_config(**{"training.num_batches": 2}), tmp_path, reward=RewardFunction(failing))
    failures = kept.batches[-1].adapter.failures
    assert failures.by_kind.keys() == {"exception"}
    assert 0 < failures.total < failures.calls
    assert all(abs(logs["loss"]) < 1e3 for _, logs in kept.steps)


def test_failed_samples_end_the_run_where_that_is_asked(tmp_path: Path) -> None:
    config = small_config(**{"training.on_failure": "raise"})
    with pytest.raises(RewardError, match="a bug"):
        do(config, tmp_path, reward=RewardFunction(failing))


def by_step(response: str, step: int, level: str) -> float:
    return float(len(response) > step) + (level == "hard")


def test_columns_of_any_kind_and_the_step_reach_the_reward(tmp_path: Path) -> None:
    """Columns that no table could hold together, one of which has the name of TRL's own."""
    train = [
        Problem(1, "1+1", {"level": "hard", "trainer_state": [1]}),
        Problem("b", "2+1", {"level": "easy"}),
    ]
    config = small_config(**{"training.micro_batch_size": 2, "training.num_batches": 1})
    kept = do(config, tmp_path, reward=RewardFunction(by_step), train=train, test=[])
    samples = kept.batches[0].samples
    assert {sample.id for sample in samples} == {1, "b"}
    assert {json.dumps(sample.metadata.get("trainer_state")) for sample in samples} == {"[1]", "null"}


def test_conversations_are_prompts_too(tmp_path: Path) -> None:
    train = [
        Problem(n, [{"role": "user", "content": f"{n}+1"}], {"ground_truth": str(n + 1)}) for n in range(4)
    ]
    kept = do(small_config(**{"training.num_batches": 1}), tmp_path, train=train, test=train[:1])
    sample = kept.batches[0].samples[0]
    assert [message.role for message in sample.messages] == ["user", "assistant"]


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as Hugging Face's are."""
    folder = tmp_path_factory.mktemp("model")
    made = first_model(small_config())
    made.model.save_pretrained(folder)
    made.tokenizer.save_pretrained(folder)
    return folder


def test_adapters_are_trained_on_a_model_from_a_folder(saved_model: Path, tmp_path: Path) -> None:
    config = small_config(
        **{
            "model.model_family": "huggingface",
            "model.path": str(saved_model),
            "model.lora_rank": 4,
            "grpo.beta": 0.04,
            "training.num_batches": 2,
            "model.gradient_checkpointing": True,
            "optimizer.learning_rate": 0.3,
        }
    )
    kept = do(config, tmp_path)
    checkpoint = kept.checkpoints[-1][1]
    assert (checkpoint / "adapter_config.json").is_file()
    assert not (checkpoint / "model.safetensors").exists()
    backend = TrlBackend()
    before, after = (_greedy(backend, config, place) for place in (None, checkpoint))
    evaluated = [sample.response for sample in kept.batches[-1].samples]
    assert after == evaluated != before


def _greedy(backend: TrlBackend, config: Config, checkpoint: Path | None, seed: int = 1) -> list[str]:
    policy = backend.policy(config, checkpoint)
    prompts = [problem.prompt for problem in trl_work.problems(config)[1]]
    asked: dict[str, Any] = {"top_p": 1.0, "top_k": None, "max_new_tokens": 4, "seed": seed}
    return policy.generate(prompts, temperature=0.0, **asked)


def test_a_policy_answers_as_the_run_did(whole: tuple[Kept, Path]) -> None:
    kept, folder = whole
    evaluated = [sample.response for sample in kept.batches[-1].samples]
    assert _greedy(TrlBackend(), small_config(), folder / "checkpoints" / "step-000006") == evaluated


def test_a_policy_draws_the_same_for_the_same_seed(whole: tuple[Kept, Path]) -> None:
    policy = TrlBackend().policy(small_config(), whole[1] / "checkpoints" / "step-000002")
    drawn = [
        policy.generate(["1+1"] * 8, temperature=1.0, top_p=0.9, top_k=10, max_new_tokens=6, seed=seed)
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"algorithm": "gpro"}, "did you mean grpo"),
        ({"grpo.num_generations": 1}, "grpo.num_generations must be 2 or more"),
        ({"generation.temperature": 0.0}, "generation.temperature must be over 0"),
        ({"optimizer.learning_rate": 0.0}, "optimizer.learning_rate must be above 0"),
        ({"model.model_family": "gemma3"}, "model.path is missing"),
        ({"model.dtype": "float8"}, "model.dtype=float8 is unknown"),
        ({"model.hidden_size": 30}, "model.hidden_size must be a multiple"),
        ({"model.lora_rank": 0}, "model.lora_rank must be 1 or more"),
        ({"model.vllm": True}, "model.vllm=true needs"),
    ],
)
def test_what_cannot_be_is_refused_before_it_starts(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        TrlBackend().check(small_config(**changes))


@pytest.mark.parametrize(
    ("changes", "train", "said"),
    [
        ({"generation.max_prompt_length": 2}, [Problem("long", "1+1")], r"max_prompt_length=2 \(long\)"),
        ({}, [Problem(1, "1+1"), Problem(2, [{"role": "user", "content": "1"}])], "all of one kind"),
        ({}, [], "no problems to train on"),
        ({"model.model_family": "huggingface", "model.path": "./nothing"}, None, "no model can be loaded"),
        ({"model.lora_rank": 2, "model.lora_module_path": "nothing"}, None, "TRL refuses"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_first_step(
    changes: dict[str, Any], train: list[Problem] | None, said: str, tmp_path: Path
) -> None:
    given = {} if train is None else {"train": train, "test": []}
    with pytest.raises((InputError, BindingError), match=said):
        do(small_config(**changes), tmp_path, **given)


def test_a_tokenizer_of_characters_gives_back_what_it_was_given() -> None:
    tokenizer = character_tokenizer("abc \n")
    assert tokenizer.decode(tokenizer("cab \n a").input_ids) == "cab \n a"
    assert tokenizer("d").input_ids == [tokenizer.unk_token_id]


def test_a_reward_of_a_server_gives_the_same_curve(tmp_path: Path) -> None:
    served = guerdon_serve("guerdon.train.data.arithmetic.sums", log=tmp_path / "server.log")
    config = small_config(**{"training.num_batches": 3})
    with running(served) as server:
        reward = RewardFunction(endpoint=server.url, mode="remote")
        kept = do(config, tmp_path, reward=reward)
    here = do(config, tmp_path / "here")
    assert kept.curve() == here.curve()
    assert kept.figures() == here.figures()

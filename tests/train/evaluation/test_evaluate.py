"""Evaluating a run: what is asked, what is written, and how a checkpoint is found. The model is canned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guerdon import RewardFunction, reward_function, weighted
from guerdon.errors import InputError, RemoteError
from guerdon.train.backend import Backend, Policy, TrainingContext
from guerdon.train.backends import registry
from guerdon.train.config.schema import Config
from guerdon.train.data.problem import Problem, Prompt
from guerdon.train.evaluation.eval_metrics import EvalCriteria
from guerdon.train.evaluation.evaluate import Evaluation, EvaluationRequest, Evaluator, checkpoint_of, write
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.run_reader import RunReader

PROBLEMS = [Problem(i, f"{i}+1", {"answer": str(i + 1)}) for i in range(4)]
CALLS: list[dict[str, Any]] = []


class Canned(Policy):
    """Right on every problem after training, on the even ones in every other pass before."""

    def __init__(self, trained: bool) -> None:
        self.trained = trained

    def generate(self, prompts: Sequence[Prompt], **how: Any) -> list[str]:
        CALLS.append({"prompts": len(prompts), **how})
        numbers = [int(str(prompt)[0]) for prompt in prompts]
        if self.trained:
            return [f"={n + 1}." for n in numbers]
        return [f"{n + 1}" if n % 2 == 0 and how["seed"] % 2 else "bad" if n == 3 else "?" for n in numbers]


class CannedBackend(Backend):
    name = "canned"
    algorithms = ("grpo",)

    def check_support(self, config: Config) -> None:
        return

    def train(self, context: TrainingContext) -> None:
        raise NotImplementedError

    def policy(self, config: Config, checkpoint: Path | None) -> Policy:
        return Canned(checkpoint is not None)


@reward_function
def right(response: str, answer: str) -> float:
    if response == "bad":
        raise ValueError("cannot be read")
    return float(response.strip("=.") == answer)


@reward_function
def answer_format(response: str) -> float:
    return float(response.startswith("="))


@pytest.fixture
def evaluator(monkeypatch: pytest.MonkeyPatch) -> Evaluator:
    monkeypatch.setattr(registry, "BACKENDS", {"canned": f"{__name__}:CannedBackend"})
    CALLS.clear()
    config = Config(backend="canned", seed=10)
    config.training.reward_workers = 0
    reward = weighted(right, answer_format, weights=[0.8, 0.2])
    return Evaluator(config=config, reward=reward, problems=PROBLEMS, criteria=EvalCriteria.of(reward))


def test_before_and_after(evaluator: Evaluator, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    asked = EvaluationRequest(checkpoint=None, step=0, inference="standard", passes=2, batch=3)
    before, _ = evaluator.evaluate(asked, lambda done, total: seen.append((done, total)))
    trained = EvaluationRequest(checkpoint=tmp_path, step=7, inference="standard", passes=2)
    after, answers = evaluator.evaluate(trained)
    assert seen == [(3, 8), (4, 8), (7, 8), (8, 8)]
    assert [(call["prompts"], call["seed"]) for call in CALLS] == [
        (3, 10),
        (1, 10),
        (3, 11),
        (1, 11),
        (4, 10),
        (4, 11),
    ]
    assert (CALLS[0]["temperature"], CALLS[0]["top_p"], CALLS[0]["top_k"]) == (0.7, 0.95, 50)
    assert before.right == [0.5, 0.0, 0.5, None]
    assert before.failed == 2
    assert before.accuracy is not None
    assert before.format is not None
    assert before.accuracy.value == pytest.approx(1 / 3)
    assert before.format.value == 0.0
    assert after.right == [1.0] * 4
    assert after.reward == 1.0
    assert before.lengths is not None
    assert after.lengths is not None
    assert (before.lengths.count, before.lengths.mean, before.lengths.correlation) == (6, 1.0, None)
    assert (after.lengths.count, after.lengths.mean) == (8, 3.0)
    found = Evaluation(
        made_by=evaluator.reward.provenance,
        inference="standard",
        criteria=evaluator.criteria,
        after=after,
        before=before,
        answers=answers,
    )
    assert found.changes == (3, 0)
    path = write(found, tmp_path / "evaluations" / "step-000007.json")
    written = json.loads(path.read_text())
    assert (written["reward"], written["accuracy_component"], written["format_component"]) == (
        "weighted",
        "right",
        "answer_format",
    )
    assert written["after"]["pass_at"]["2"]["value"] == 1.0
    rows = [json.loads(line) for line in path.with_suffix(".samples.jsonl").read_text().splitlines()]
    assert [(row["id"], row["pass"], row["response"], row["answer"]) for row in rows[3:5]] == [
        (3, 0, "=4.", "4"),
        (0, 1, "=1.", "1"),
    ]
    assert {row["version"] for row in rows} == {evaluator.reward.version}


@reward_function
def broken(response: str) -> float:
    raise ValueError("no such thing")


def test_where_every_answer_fails_the_evaluation_says_so(evaluator: Evaluator, tmp_path: Path) -> None:
    failing = replace(evaluator, reward=broken)
    metrics, answers = failing.evaluate(EvaluationRequest(checkpoint=tmp_path, step=7, passes=2))
    found = Evaluation(
        made_by=broken.provenance,
        inference="greedy",
        criteria=failing.criteria,
        after=metrics,
        answers=answers,
    )
    assert found.all_failed is not None
    assert found.all_failed.startswith(
        "all 8 samples after training failed with exception: ValueError: no such"
    )
    assert found.to_dict()["all_failed"] == found.all_failed
    assert replace(found, answers=[]).all_failed is None


def test_a_reward_that_is_not_there_is_told_before_the_model_is_loaded(
    evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "BACKENDS", {})
    away = RewardFunction(endpoint="http://127.0.0.1:9", mode="remote", retries=0)
    with pytest.raises(RemoteError, match="cannot be reached"):
        replace(evaluator, reward=away).evaluate(EvaluationRequest(checkpoint=None, step=0))


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"inference": "wild"}, "there are greedy, standard, liberal"), ({"passes": 0}, "num_passes")],
)
def test_questions_that_cannot_be_asked(evaluator: Evaluator, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        evaluator.evaluate(EvaluationRequest(checkpoint=None, step=0, **changes))


def run_folder(path: Path, *steps: int) -> RunFolder:
    folder = RunFolder(path)
    path.mkdir()
    folder.config.touch()
    for step in steps:
        folder.checkpoint(step).mkdir(parents=True)
    (path / "checkpoints" / "step-000099.partial").mkdir(parents=True, exist_ok=True)
    return folder


def test_the_latest_checkpoint_of_a_run_or_the_one_that_is_named(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", 5, 10)
    assert checkpoint_of(folder.path) == (folder, 10, folder.checkpoint(10))
    assert checkpoint_of(folder.path, 5)[1:] == (5, folder.checkpoint(5))
    assert checkpoint_of(folder.checkpoint(5))[1:] == (5, folder.checkpoint(5))


@pytest.mark.parametrize(
    ("place", "step", "says"),
    [
        (".", None, "is not the folder of a run"),
        ("nowhere", None, "is not the folder of a run"),
        ("run", 7, "no checkpoint of step 7; there are 5"),
        ("run/checkpoints/step-000099.partial", None, "not a complete checkpoint"),
        ("empty", None, "no checkpoint yet"),
    ],
)
def test_places_without_a_checkpoint(tmp_path: Path, place: str, step: int | None, says: str) -> None:
    run_folder(tmp_path / "run", 5)
    run_folder(tmp_path / "empty")
    with pytest.raises(InputError, match=says):
        checkpoint_of(tmp_path / place, step)


@pytest.mark.parametrize("way", ["run/checkpoints", "elsewhere"])
def test_a_checkpoint_that_lies_elsewhere(tmp_path: Path, way: str) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    folder.config.touch()
    folder.metrics.touch()
    folder.place_checkpoints(tmp_path / "elsewhere")
    folder.checkpoint(5).mkdir()
    found, number, checkpoint = checkpoint_of(tmp_path / way / "step-000005")
    assert (found, number, checkpoint) == (folder, 5, folder.checkpoint(5))
    assert RunReader.of(tmp_path / way / "step-000005").folder == folder
    with pytest.raises(InputError, match="not a complete checkpoint"):
        checkpoint_of(tmp_path / way / "step-000006")


def test_no_two_runs_share_a_place_for_checkpoints(tmp_path: Path) -> None:
    for name in ("run", "again"):
        (tmp_path / name).mkdir()
    RunFolder(tmp_path / "run").place_checkpoints(tmp_path / "elsewhere")
    RunFolder(tmp_path / "run").checkpoint(5).mkdir()
    with pytest.raises(InputError, match="holds checkpoints of another run"):
        RunFolder(tmp_path / "again").place_checkpoints(tmp_path / "elsewhere")

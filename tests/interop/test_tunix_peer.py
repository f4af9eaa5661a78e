"""Tunix itself: rewards of ours in its learner, and ``guerdon train backend=tunix`` from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from interop.conftest import Interpreter
from interop.environments import PEERS, environment
from support.served import guerdon_serve, running
from support.trainer_peers import RUN_SECONDS, SOURCE, adapted, run_peer

GENERATIONS = 4
SUMS = "guerdon.train.data.arithmetic.sums"
OVERRIDES = ("+experiment=arithmetic", "backend=tunix", "training.tensorboard=false")
STEPS = 240


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """JAX compiles most of these programs once and keeps them here."""
    kept = str(tmp_path_factory.mktemp("jax"))
    return {"JAX_COMPILATION_CACHE_DIR": kept, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2"}


def test_a_learner_with_rewards_of_ours(
    interpreter: Interpreter, compiled: Mapping[str, str], tmp_path: Path
) -> None:
    adapted(f"{PEERS / 'tunix_rewards.py'}::both", "tunix", tmp_path)
    told = run_peer(interpreter("tunix"), "tunix_learner.py", folder=tmp_path, **compiled)

    one, other = told["names"]
    assert (one, other[:5]) == ("kept", "kept_")
    train = [batch for batch in told["scored"] if batch["mode"] == "train"]
    assert [batch["step"] for batch in train] == [0, 1]
    assert {batch["mode"] for batch in told["scored"]} == {"train", "eval"}
    assert not any(batch["main_thread"] for batch in train), "Tunix prepares its batches in a thread"
    plain, sometimes, fails, slow = (
        slice(i, i + GENERATIONS) for i in range(0, 4 * GENERATIONS, GENERATIONS)
    )
    for batch in told["scored"]:
        assert batch["errors"][plain] == [None] * GENERATIONS
        assert batch["errors"][fails] == ["exception"] * GENERATIONS
        assert batch["errors"][slow] == ["timeout"] * GENERATIONS
        assert set(batch["ids"]) == {"str"}
    kinds = [kind for batch in told["scored"] for kind in batch["errors"] if kind]
    assert told["failures"] == {kind: kinds.count(kind) for kind in ("exception", "timeout")}
    assert "it fails" in told["stderr"]

    logged = told["logged"]
    # Tunix adds the two rewards up. Where one failed, it counts with the mean of its group, and nothing is learnt
    # from it; a group of which it knows nothing gets 0 from it, and the other reward is left to tell them apart.
    for seen, ours, theirs in zip(told["seen"], *by_reward(told["scored"]), strict=True):
        for group in (plain, sometimes, fails, slow):
            known = [score for score in ours[group] if score is not None]
            mean = sum(known) / len(known) if known else 0.0
            expected = [
                (mean if score is None else score) + other
                for score, other in zip(ours[group], theirs[group], strict=True)
            ]
            assert seen["rewards"][group] == pytest.approx(expected)
    assert any(0 < sum(e is None for e in batch["errors"][sometimes]) < GENERATIONS for batch in train)
    assert logged[f"{one}/failed"][0] == pytest.approx(sum(e is not None for e in train[0]["errors"]) / 16)
    assert logged[f"{other}/failed"] == [0.0] * len(logged[f"{other}/failed"])
    assert 0 < logged[f"{one}/brief"][0] <= 1
    assert told["plugged"] == [pytest.approx(0.5 * 3 / 8 + 0.5 / 4)]


def by_reward(scored: list[dict[str, Any]]) -> tuple[list[list[float | None]], list[list[float | None]]]:
    """The scores of the two rewards, batch by batch."""
    return [batch["scores"] for batch in scored], [batch["other"] for batch in scored]


class Training:
    """A run of ``guerdon train`` in Tunix's environment."""

    def __init__(self, python: Path, folder: Path, variables: Mapping[str, str], *arguments: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [str(python), "-m", "guerdon", "train", *arguments],
            env={**environment(), "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def steps(self) -> list[dict[str, Any]]:
        metrics = self.folder / "metrics.jsonl"
        lines = metrics.read_text().splitlines() if metrics.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def until(self, step: int) -> None:
        """Wait until a step is done."""
        for _ in range(RUN_SECONDS * 10):
            if (steps := self.steps()) and steps[-1]["step"] >= step:
                return
            assert self.process.poll() is None, self.process.communicate()[0][-4000:]
            time.sleep(0.1)
        self.process.kill()
        raise AssertionError(self.process.communicate()[0][-4000:])

    def ended(self) -> str:
        output, _ = self.process.communicate(timeout=RUN_SECONDS)
        return output


Start = Callable[..., Training]


@pytest.fixture(scope="module")
def start(interpreter: Interpreter, compiled: Mapping[str, str]) -> Start:
    """Starts a run of the sums in a folder: ``start(folder, "seed=7")``, or goes on with one: ``resume=True``."""

    def run(folder: Path, *overrides: str, resume: bool = False) -> Training:
        arguments = ("--resume", str(folder)) if resume else (*OVERRIDES, *overrides, f"run_dir={folder}")
        return Training(interpreter("tunix"), folder, compiled, *arguments)

    return run


def curve(steps: list[dict[str, Any]]) -> dict[int, tuple[float, float, float]]:
    return {row["step"]: (row["reward/mean"], row["train/loss"], row["train/grad_norm"]) for row in steps}


@pytest.fixture(scope="module")
def learnt(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Training:
    """A whole run, from nothing to right sums."""
    training = start(tmp_path_factory.mktemp("learnt") / "run")
    output = training.ended()
    assert training.process.returncode == 0, output[-4000:]
    return training


def test_a_tiny_model_learns_sums(learnt: Training, interpreter: Interpreter, tmp_path: Path) -> None:
    steps = learnt.steps()
    assert [row["step"] for row in steps] == list(range(1, STEPS + 1))
    means = [row["reward/mean"] for row in steps]
    assert sum(means[:5]) / 5 < 0.15
    assert sum(means[-10:]) / 10 > 0.8
    assert steps[-1]["eval/reward/correct/mean"] >= 0.5
    assert {"train/learning_rate", "train/kl", "tokens_per_second", "time/reward_share"} <= set(steps[-1])
    told = run_peer(interpreter("tunix"), "tunix_policy.py", str(learnt.folder), folder=tmp_path)
    assert told["after"] > told["before"] + 0.5
    assert told["again"], "greedy answers know no seed"
    assert told["chat"]
    assert told["same_seed"]
    assert not told["other_seed"]


def test_a_killed_run_goes_on_as_if_nothing_had_been(learnt: Training, start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    # Evaluating more often changes nothing of what is learnt either.
    killed = start(folder, "training.save_interval_steps=3", "training.eval_every_n_steps=2")
    killed.until(5)
    killed.process.kill()
    killed.ended()
    resumed = start(folder, resume=True)
    resumed.until(8)
    resumed.process.send_signal(signal.SIGINT)
    output = resumed.ended()
    assert resumed.process.returncode == 130, output[-4000:]
    rows, whole = curve(resumed.steps()), curve(learnt.steps())
    assert set(range(1, 9)) <= set(rows)
    assert {step: whole[step] for step in rows} == rows
    assert (folder / "checkpoints" / f"step-{max(rows):06d}").is_dir(), "Ctrl-C saves"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(guerdon_serve(SUMS, log=tmp_path_factory.mktemp("served") / "log.txt")) as process:
        yield f"{process.url}/rewards/sums"


def test_an_endpoint_gives_the_same_curve(
    learnt: Training, start: Start, address: str, tmp_path: Path
) -> None:
    remote = start(tmp_path / "run", f"training.reward_function={address}")
    remote.until(6)
    remote.process.kill()
    remote.ended()
    rows, whole = curve(remote.steps()), curve(learnt.steps())
    assert len(rows) >= 6
    assert {step: whole[step] for step in rows} == rows


def test_a_model_in_a_folder_is_trained_with_adapters(
    interpreter: Interpreter, compiled: Mapping[str, str], tmp_path: Path
) -> None:
    told = run_peer(interpreter("tunix"), "tunix_folder.py", folder=tmp_path, **compiled)
    assert [row["step"] for row in told["steps"]] == [1, 2, 3]
    assert told["told"] == ["step-000001", "step-000002", "step-000003"]
    assert told["checkpoints"] == told["told"][1:], "two are kept"
    assert [len(scores) for scores in told["scored"]] == [8, 8, 8, 1], "three steps and a held-out problem"
    assert None not in told["scored"][0], "columns with names of Tunix's arrive as they are"
    assert told["facts"] == {"step": 3, "lora": True}
    assert told["changed"]

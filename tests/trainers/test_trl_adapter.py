"""TRL's own trainers with our rewards: what they learn from, what they log, what fails and what is slow."""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from guerdon import RewardFunction, Sample, get_reward_function, reward_function
from guerdon.cli.app import main as guerdon
from guerdon.errors import InputError, RewardError
from guerdon.trainers import ScoredBatch
from support.served import guerdon_serve, running
from support.tiny_models import letter_tokenizer, save_policy
from support.trl_rewards import SCORES, TIMEOUT, asynchronous_grade, grade, levels

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning"),
    pytest.mark.filterwarnings("ignore::trl.import_utils.TRLExperimentalWarning"),
]
GRADE = f"{Path(__file__).resolve().parents[1] / 'support' / 'trl_rewards.py'}::grade"
KINDS = ("one", "half", "bad", "slow")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    import torch

    torch.set_num_threads(1)
    return str(save_policy(tmp_path_factory.mktemp("policy")))


def rows(chat: bool = False) -> Any:
    """One row a kind, with numpy columns and columns that are called like arguments of TRL's and of ours."""
    import numpy
    from datasets import Dataset

    prompts: list[Any] = [f"{kind}=" for kind in KINDS]
    if chat:
        prompts = [[{"role": "user", "content": prompt}] for prompt in prompts]
    columns = {
        "kind": list(KINDS),
        "level": [0, 1, 2, 3],
        "log_metric": [7] * 4,
        "trainer_state": ["a state"] * 4,
        "num_generations": [99] * 4,
        "messages": ["a column"] * 4,
        "mode": ["a column"] * 4,
    }

    def as_numpy(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {
            name: values if name == "prompt" else list(numpy.array(values)) for name, values in batch.items()
        }

    return Dataset.from_dict({"prompt": prompts, **columns}).with_transform(as_numpy)


def trainer_of(
    algorithm: str, model: str, rewards: list[Any], folder: Path, data: Any, **options: Any
) -> Any:
    import trl

    kinds = {"grpo": (trl.GRPOConfig, trl.GRPOTrainer), "rloo": (trl.RLOOConfig, trl.RLOOTrainer)}
    config, trainer = kinds[algorithm]
    arguments = config(
        output_dir=str(folder),
        use_cpu=True,
        num_generations=2,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=8,
        max_completion_length=4,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        **{"max_steps": 2, **options},
    )
    return trainer(
        model=model,
        reward_funcs=rewards,
        args=arguments,
        train_dataset=data,
        eval_dataset=data,
        processing_class=letter_tokenizer(),
    )


@pytest.mark.parametrize(
    ("algorithm", "reward", "asynchronous", "chat"),
    [
        ("grpo", grade, False, False),
        ("grpo", asynchronous_grade, True, True),
        ("rloo", asynchronous_grade, True, False),
        ("rloo", grade, False, True),
    ],
    ids=["grpo", "grpo-async-chat", "rloo-async", "rloo-chat"],
)
def test_two_steps(
    algorithm: str, reward: RewardFunction, asynchronous: bool, chat: bool, model: str, tmp_path: Path
) -> None:
    import pandas

    seen: list[ScoredBatch] = []
    first = reward.to_trl(timeout=TIMEOUT, asynchronous=asynchronous, observe=seen.append)
    second = levels.to_trl(asynchronous=asynchronous and not chat)
    name = first.__name__
    assert {name, second.__name__} <= {"grade", f"grade_{reward.version[:6]}", f"grade_{levels.version[:6]}"}
    assert name != second.__name__
    with_table = {"log_completions": True} if algorithm == "grpo" and not chat else {}
    trainer = trainer_of(algorithm, model, [first, second], tmp_path, rows(chat), **with_table)
    trainer.train()
    trainer.evaluate()
    history = trainer.state.log_history
    for step, logs in enumerate(history[:2]):
        assert logs[f"rewards/{name}/mean"] == pytest.approx(0.75)
        assert logs[f"rewards/{second.__name__}/mean"] == pytest.approx(1.5 + 10 * step)
        assert logs[f"rewards/{name}/double/mean"] == pytest.approx(1.5)
        assert logs[f"rewards/{name}/failed"] == 0.5
        assert logs[f"rewards/{name}/failed/exception"] == logs[f"rewards/{name}/failed/timeout"] == 0.25
        assert logs[f"rewards/{second.__name__}/failed"] == 0.0
        assert math.isfinite(logs["reward"])
        assert math.isfinite(logs["loss"])
    assert history[-1][f"eval_rewards/{name}/mean"] == pytest.approx(0.75)
    assert history[-1][f"eval_rewards/{name}/double/mean"] == pytest.approx(1.5)
    assert [(batch.step, batch.mode) for batch in seen] == [(0, "train"), (1, "train"), (2, "eval")]
    for sample, result in zip(seen[0].samples, seen[0].results, strict=True):
        assert sample.messages[0].content == f"{sample.metadata['kind']}="
        assert result.score == SCORES.get(sample.metadata["kind"])
        assert sample.metadata["num_generations"] == 99
        assert sample.metadata["mode"] == "a column"
    assert first.failures.by_kind == {"exception": 6, "timeout": 6}
    if with_table:
        table = pandas.read_parquet(tmp_path / "completions" / "completions_00001.parquet")
        scored = table[table["prompt"].isin(["one=", "half="])]
        assert set(scored[f"{name}/double"]) == {1.0, 2.0}
        assert scored[f"{name}/error"].isna().all()
        assert table[table["prompt"] == "bad="][f"{name}/double"].isna().all()
        assert table[table["prompt"] == "bad="][f"{name}/error"].str.startswith("ValueError: no luck").all()


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RewardFunction]:
    log = tmp_path_factory.mktemp("served") / "log.txt"
    with running(guerdon_serve(GRADE, "--timeout", str(TIMEOUT), log=log)) as server:
        yield RewardFunction(endpoint=f"{server.url}/rewards/grade", mode="remote")


def test_a_served_reward(remote: RewardFunction, model: str, tmp_path: Path) -> None:
    reward = remote.to_trl()
    trainer = trainer_of("grpo", model, [reward], tmp_path, rows(), max_steps=1)
    trainer.train()
    logs = trainer.state.log_history[0]
    assert logs[f"rewards/{reward.__name__}/mean"] == pytest.approx(0.75)
    assert logs[f"rewards/{reward.__name__}/double/mean"] == pytest.approx(1.5)
    assert (
        logs[f"rewards/{reward.__name__}/failed/exception"]
        == logs[f"rewards/{reward.__name__}/failed/timeout"]
        == 0.25
    )


def test_a_failure_ends_the_run_where_asked(model: str, tmp_path: Path) -> None:
    reward = grade.to_trl(timeout=TIMEOUT, on_failure="raise")
    with pytest.raises(RewardError, match=r"no luck|deadline"):
        trainer_of("grpo", model, [reward], tmp_path, rows()).train()


def call(reward: Any, times: int = 1) -> Any:
    """A call as TRL makes it."""
    kinds = [*KINDS[:3]] * times
    return reward(
        prompts=[f"{kind}=" for kind in kinds],
        completions=["4"] * len(kinds),
        completion_ids=[[1]] * len(kinds),
        kind=kinds,
        level=[1] * len(kinds),
        trainer_state=None,
    )


EXPECTED = [1.0, 0.5, None]


@pytest.mark.parametrize("reward", [grade, asynchronous_grade], ids=["sync", "async"])
def test_from_threads(reward: RewardFunction) -> None:
    adapter = reward.to_trl()
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda i: call(adapter, 1 + i % 3), range(12)))
    assert found == [EXPECTED * (1 + i % 3) for i in range(12)]
    assert adapter.failures.total == 24


def test_many_awaited_calls_share_an_event_loop() -> None:
    adapter = asynchronous_grade.to_trl(asynchronous=True)

    async def many() -> list[Any]:
        return await asyncio.gather(*(call(adapter) for _ in range(5)))

    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(asyncio.run(many())))
    thread.start()
    thread.join(60)
    assert found == [EXPECTED] * 5


def call_pickled(data: bytes) -> tuple[str, Any]:
    adapter = pickle.loads(data)
    return adapter.__name__, call(adapter)


@pytest.mark.parametrize(
    ("dumps", "reward"),
    [
        (pickle.dumps, grade),
        (cloudpickle.dumps, asynchronous_grade),
        (pickle.dumps, 0.5 * get_reward_function(GRADE) + 0.5 * asynchronous_grade),
    ],
    ids=["pickle", "cloudpickle", "composition-with-a-file"],
)
def test_in_a_spawned_process(dumps: Callable[[Any], bytes], reward: RewardFunction) -> None:
    adapter = reward.to_trl(observe=lambda batch: None)
    call(adapter)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        assert process.submit(call_pickled, dumps(adapter)).result(60) == (adapter.__name__, EXPECTED)


@reward_function
def sometimes(response: str, completion_ids: list[int] | None = None) -> Any:
    if response == "broken":
        raise ValueError("no luck")
    if response == "skip":
        return None
    return {"score": 0.5, response: float(len(completion_ids or []))}


@pytest.mark.parametrize(
    ("on_failure", "scores"),
    [(None, [0.5, None, None]), ("skip", [0.5, None, None]), (0.0, [0.5, 0.0, 0.0]), (-1, [0.5, -1.0, 0.0])],
)
def test_policies(on_failure: Any, scores: list[float | None]) -> None:
    assert sometimes.to_trl(on_failure=on_failure)(completions=["fine", "broken", "skip"]) == scores


def test_what_is_logged_stays_and_is_finite() -> None:
    metrics: list[dict[str, float]] = []
    columns: list[dict[str, list[Any]]] = []
    adapter = sometimes.to_trl(workers=0)
    for completions in (["a", "a"], ["bb", "broken"], ["skip", "skip"]):
        metrics.append({})
        columns.append({})
        adapter(
            completions=completions,
            completion_ids=[[1, 2, 3]] * 2,
            log_metric=metrics[-1].__setitem__,
            log_extra=columns[-1].__setitem__,
        )
    head = "rewards/sometimes"
    assert metrics == [
        {f"{head}/failed": 0.0, f"{head}/a/mean": 3.0},
        {f"{head}/failed": 0.5, f"{head}/failed/exception": 0.5, f"{head}/bb/mean": 3.0},
        {f"{head}/failed": 0.0, f"{head}/failed/exception": 0.0},
    ]
    assert [set(column) for column in columns] == [
        {"sometimes/error", "sometimes/a"},
        {"sometimes/error", "sometimes/a", "sometimes/bb"},
        {"sometimes/error", "sometimes/a", "sometimes/bb"},
    ]
    assert columns[1]["sometimes/bb"] == [3.0, None]
    assert columns[2]["sometimes/a"] == [None, None]


def test_live_environments_stay_behind() -> None:
    class Trainer:
        """What TRL hands over of itself with a method of its own."""

        def __init__(self) -> None:
            self.environments = [threading.Lock(), threading.Lock()]
            self.logged: dict[str, float] = {}

        def log_metric(self, name: str, value: float) -> None:
            self.logged[name] = value

    trainer = Trainer()
    reward = RewardFunction(lambda response, **others: float("environments" in others), name="others")
    scores = reward.to_trl()(
        completions=["a", "b"], environments=trainer.environments, log_metric=trainer.log_metric
    )
    assert scores == [0.0, 0.0]
    assert trainer.logged == {"rewards/others/failed": 0.0}


@pytest.mark.parametrize(
    ("policy", "skipped"), [("skip", True), (None, True), (0.0, False)], ids=["skip", "default", "number"]
)
def test_online_dpo(policy: Any, skipped: bool, model: str, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM
    from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer

    reward = grade.to_trl(timeout=TIMEOUT, on_failure=policy)
    config = OnlineDPOConfig(
        output_dir=str(tmp_path),
        use_cpu=True,
        max_steps=1,
        per_device_train_batch_size=4,
        max_new_tokens=4,
        max_length=64,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    data = rows().with_format(None).remove_columns(["log_metric", "trainer_state"])
    trainer = OnlineDPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model),
        reward_funcs=reward,
        args=config,
        train_dataset=data,
        processing_class=letter_tokenizer(),
    )
    if skipped:
        with pytest.raises(
            InputError, match=r'counts a skipped sample as 0: make grade.* with on_failure="raise"'
        ):
            trainer.train()
    else:
        trainer.train()
        assert reward.failures.calls == 8
        assert reward.failures.total == 4


def test_the_same_verdict_as_a_direct_call() -> None:
    row = {"messages": [{"role": "user", "content": "one="}, {"role": "assistant", "content": "4"}]}
    direct = grade.evaluate(Sample.from_row({**row, "kind": "one", "level": 1}))
    assert call(grade.to_trl())[0] == call(grade.as_function("trl"))[0] == direct.score


def test_the_recipe_is_what_trl_s_own_command_takes(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from trl.scripts import grpo

    with pytest.raises(SystemExit) as ended:
        guerdon(["adapt", GRADE, "--for", "trl", "--timeout", str(TIMEOUT), "-o", str(tmp_path)])
    assert ended.value.code == 0
    lines = capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])  # the script puts the folder there
    data = tmp_path / "data"
    data.mkdir()
    rows().with_format(None).select_columns(["prompt", "kind", "level"]).to_json(data / "train.jsonl")
    given = lines[lines.index("trl grpo") :].split("\n\n")[0].replace("\\\n", " ").split()[2:]
    words = {"MODEL": model, "DATASET": str(data), "OUTPUT": str(tmp_path / "out")}
    extra = (
        "--use_cpu --max_steps 1 --num_generations 2 --per_device_train_batch_size 8 --max_completion_length 4 "
        "--report_to none --save_strategy no --disable_tqdm true --logging_steps 1"
    )
    parser = grpo.make_parser()
    parsed = parser.parse_args_and_config([words.get(word, word) for word in given] + extra.split())
    grpo.main(*parsed)
    assert re.search(r"'rewards/grade\w*/mean': '0.75'", capsys.readouterr().out)

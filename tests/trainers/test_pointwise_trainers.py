"""verl, OpenRLHF and slime: what their adapters are asked and give, in threads, coroutines and other processes."""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.util
import inspect
import multiprocessing
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy
import pytest

from guerdon import RewardFunction
from guerdon.errors import BindingError, ExecutionError, InputError, ResolutionError
from guerdon.trainers import SetupGuide, SetupRequest, find_trainer, verl
from guerdon.trainers.openrlhf import OpenRLHFReward
from guerdon.trainers.slime import SlimeReward
from guerdon.trainers.verl import VerlReward
from support import pointwise_work
from support.pointwise_work import TOGETHER, batched, gathering, graded, meeting, some

NO_KEYS = SimpleNamespace(reward_key=None, eval_reward_key=None)


def row(response: str, truth: Any = "4", /, **columns: Any) -> dict[str, Any]:
    return {"response": response, "truth": truth, "columns": columns}


async def ask_verl(adapter: VerlReward, row: dict[str, Any]) -> float:
    told = await adapter.compute_score("sums", row["response"], row["truth"], row["columns"])
    return told["score"]


async def ask_verl_sync(adapter: VerlReward, row: dict[str, Any]) -> float:
    told = await asyncio.to_thread(adapter, "sums", row["response"], row["truth"], row["columns"])
    return told["score"]


async def ask_openrlhf(adapter: OpenRLHFReward, row: dict[str, Any]) -> float:
    label = {"ground_truth": row["truth"], **row["columns"]} if row["columns"] else row["truth"]
    told = await asyncio.to_thread(adapter, [f"2 + 2?{row['response']}"], ["2 + 2?"], [label])
    (reward,) = told["rewards"]
    return float(reward)


async def ask_slime(adapter: SlimeReward, row: dict[str, Any]) -> float:
    return float(await adapter.custom_rm(NO_KEYS, slime_sample(row)))


def slime_sample(row: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(
        prompt="2 + 2?", response=row["response"], label=row["truth"], metadata=row["columns"]
    )


Ask = Callable[[Any, dict[str, Any]], Any]
CALLERS: dict[str, tuple[Any, Ask]] = {
    "verl": (VerlReward, ask_verl),
    "verl, sync": (VerlReward, ask_verl_sync),
    "openrlhf": (OpenRLHFReward, ask_openrlhf),
    "slime": (SlimeReward, ask_slime),
}
every_trainer = pytest.mark.parametrize(("make", "ask"), CALLERS.values(), ids=CALLERS)


def asked(ask: Ask, adapter: Any, rows: list[dict[str, Any]]) -> list[float]:
    """All rows under way at once on one event loop, as a rollout has them."""

    async def run() -> list[float]:
        return await asyncio.gather(*(ask(adapter, row) for row in rows))

    return asyncio.run(run())


@every_trainer
def test_scores_failures_and_columns(make: Any, ask: Ask) -> None:
    adapter = make(graded, workers=1)
    rows = [
        row("4"),
        row("5"),
        row("bad"),
        row("4", level=numpy.int64(3)),
        row("4", numpy.str_("4"), score=1, response="5", data_source="other", metadata={"level": 1}),
    ]
    assert asked(ask, adapter, rows) == [1.0, 0.0, 0.0, 1.3, 1.1]
    assert (adapter.failures.calls, adapter.failures.by_kind) == (5, {"exception": 1})
    adapter.close()


@every_trainer
def test_a_failure_is_the_number_that_was_asked_for(make: Any, ask: Ask) -> None:
    assert asked(ask, make(graded, workers=0, on_failure=-2), [row("bad"), row("4")]) == [-2.0, 1.0]
    assert asked(ask, make(some, workers=0, on_failure=-2), [row("x"), row("4")]) == [0.0, 1.0]
    with pytest.raises(ExecutionError, match="asked to fail"):
        asked(ask, make(graded, workers=0, on_failure="raise"), [row("bad")])


@every_trainer
def test_a_number_is_needed(make: Any, ask: Ask) -> None:
    with pytest.raises(BindingError, match="needs a number for every sample"):
        make(graded, on_failure="skip")


@every_trainer
def test_what_keeps_all_samples_from_being_scored_is_raised_and_logged_once(
    make: Any, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = make(lambda response, size: 1.0, name="sized", workers=0)
    for _ in range(3):
        with pytest.raises(BindingError, match="size"):
            asked(ask, adapter, [row("4")])
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("sized cannot score for ")


@pytest.mark.sample(1, seconds=1)
@every_trainer
def test_sync_rewards_run_in_several_processes_at_once(make: Any, ask: Ask, tmp_path: Path) -> None:
    adapter = make(meeting, workers=2)
    rows = [row(name, folder=str(tmp_path)) for name in ("a", "b")]
    assert asked(ask, adapter, rows) == [1.0, 1.0]
    adapter.close()


@every_trainer
def test_async_rewards_run_concurrently(make: Any, ask: Ask) -> None:
    with ThreadPoolExecutor(TOGETHER) as pool:

        async def run() -> list[float]:
            asyncio.get_running_loop().set_default_executor(pool)
            return await asyncio.gather(*(ask(adapter, row("4")) for _ in range(TOGETHER)))

        adapter = make(gathering)
        assert asyncio.run(run()) == [1.0] * TOGETHER
        adapter.close()


@every_trainer
def test_a_batched_reward_that_is_asked_one_by_one(make: Any, ask: Ask) -> None:
    adapter = make(batched, workers=1)
    assert asked(ask, adapter, [row("abc")]) == [0.3]
    assert asked(ask, adapter, [row("a" * (i % 5)) for i in range(40)]) == [i % 5 / 10 for i in range(40)]
    adapter.close()


@pytest.mark.sample(4, seconds=1)
@every_trainer
@pytest.mark.parametrize("pickled", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_adapters_travel(make: Any, ask: Ask, pickled: Any) -> None:
    used = make(graded, workers=1, on_failure=-1.0)
    assert asked(ask, used, [row("4")]) == [1.0]
    copy = pickled.loads(pickled.dumps(used))
    used.close()
    assert asked(ask, copy, [row("4"), row("bad")]) == [1.0, -1.0]
    assert copy.__name__ == used.__name__
    copy.close()


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_in_another_process_after_use_in_this_one(method: str) -> None:
    adapter = VerlReward(graded, workers=1)
    assert adapter("sums", "4", "4")["score"] == 1.0
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        assert pool.submit(adapter, "sums", "4", "4", {"level": 1}).result(60) == {
            "score": 1.1,
            "failed": 0.0,
        }
    adapter.close()


def test_components_are_the_same_for_every_sample_and_never_verl_s_own_names() -> None:
    parts = {
        "reward": graded.with_name("reward"),
        "failed": some.with_name("failed"),
        "short": batched.with_name("short"),
    }
    weighted = 0.5 * parts["reward"] + 0.25 * parts["failed"] + 0.25 * parts["short"]
    adapter = VerlReward(weighted, workers=0)
    keys = ["score", "failed", "metric_reward", "metric_failed", "short"]
    for response in ("4", "bad", "x"):
        assert list(adapter("sums", response, "4")) == keys
    chosen = VerlReward(graded, components=["accuracy"], workers=0)
    assert chosen("sums", "4", "4") == {"score": 1.0, "failed": 0.0, "accuracy": 0.0}


def test_rewards_of_one_name_are_told_apart() -> None:
    first = VerlReward(RewardFunction(lambda response: 1.0, name="twice"), workers=0)
    second = VerlReward(RewardFunction(lambda response: 2.0, name="twice"), workers=0)
    assert first.__name__ == "twice"
    assert second.__name__ == f"twice_{second.reward.version[:6]}"


# verl


def test_verl_sees_a_coroutine_function() -> None:
    compute_score = graded.to_verl()
    assert inspect.iscoroutinefunction(compute_score)
    assert inspect.iscoroutinefunction(functools.partial(compute_score))
    assert inspect.iscoroutinefunction(verl.compute_score)
    assert not inspect.iscoroutinefunction(graded.to_verl(sync=True))
    assert not inspect.iscoroutinefunction(verl.compute_score_sync)


@pytest.mark.parametrize(
    ("info", "prompt"),
    [
        ({"prompt": "a"}, "a"),
        ({"raw_prompt": numpy.array([{"role": "user", "content": "b"}], dtype=object)}, "b"),
        ({"question": numpy.str_("c")}, "c"),
        ({"prompt": 3, "question": "d"}, "d"),
        ({}, ""),
        (None, ""),
    ],
)
def test_verl_s_prompt_is_in_the_extra_info(info: Any, prompt: str) -> None:
    adapter = VerlReward(lambda prompt, expected: float(prompt == expected), workers=0)
    assert adapter("sums", "4", None, info, expected=prompt)["score"] == 1.0


def test_verl_s_configuration_names_the_reward(tmp_path: Path) -> None:
    from omegaconf import OmegaConf

    file = tmp_path / "mine.py"
    file.write_text(
        "def mine(response, names, limits):\n"
        "    assert (type(names), type(limits)) == (list, dict), (names, limits)\n"
        "    return len(names) + limits['most']\n"
    )
    kwargs = dict(
        OmegaConf.create(
            {
                "reward": f"{file}::mine",
                "parameters": {"names": ["a", "b"], "limits": {"most": 5}},
                "options": {"workers": 0, "components": ["x"]},
            }
        )
    )
    router = {"reward_router_address": "127.0.0.1:1", "reward_model_tokenizer": object()}
    told = verl.compute_score_sync("sums", "4", "4", {}, **kwargs, **router)
    assert told == {"score": 7.0, "failed": 0.0, "x": 0.0}
    assert asyncio.run(verl.compute_score("sums", "4", "4", {}, **kwargs)) == told


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({}, InputError, "reward_kwargs.reward=math"),
        ({"reward": "maht"}, ResolutionError, "math"),
        ({"reward": "math", "options": {"timeuot": 1}}, InputError, "timeuot"),
        ({"reward": "math", "parameters": {"tolerence": 1}}, BindingError, "tolerence"),
    ],
)
def test_configurations_of_verl_that_cannot_be(
    kwargs: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        verl.compute_score_sync("sums", "4", "4", {}, **kwargs)


@pytest.mark.parametrize(
    "value",
    [
        *(
            True,
            None,
            3,
            -0.5,
            1e-9,
            "plain",
            "/a/b.py::fn",
            "http://host:8000/rewards/math",
            "true",
            "NULL",
            "3",
        ),
        *(
            "it's",
            "a, b",
            'say "x"',
            "back\\slash",
            "ends\\",
            "\\'",
            "${env}",
            "",
            "a=b",
            "[1]",
            "ä ö",
            "two  words",
        ),
        *([1, "a,b", None], {"a": 1, "b": ["it's", True]}, [], {}),
    ],
)
def test_values_survive_hydra_s_command_line(value: Any) -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    (parsed,) = OverridesParser.create().parse_overrides([f"key={verl.hydra_value(value)}"])
    assert parsed.value() == value


# OpenRLHF


def test_openrlhf_loads_a_file_that_is_no_module(tmp_path: Path) -> None:
    file = tmp_path / "rewards.py"
    file.write_text(
        "import guerdon\n\n"
        "POINTS = 0.5\n\n"
        "@guerdon.reward_function\n"
        "def own(response, ground_truth):\n"
        "    return POINTS * (response == ground_truth)\n\n"
        "reward_func = own.to_openrlhf(workers=1)\n"
    )
    spec = importlib.util.spec_from_file_location("reward_func", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "reward_func" not in sys.modules
    told = module.reward_func(["<s>2 + 2?4"], ["2 + 2?"], ["4"])
    assert told == {"rewards": [0.5], "scores": [0.5], "extra_logs": {"failed": [0.0]}}
    module.reward_func.close()


def test_openrlhf_s_lists_are_of_one_length() -> None:
    with pytest.raises(InputError, match="2 queries, 1 prompts and 2 labels"):
        OpenRLHFReward(graded, workers=0)(["a", "b"], ["a"], ["4", "4"])


# slime


def test_slime_with_a_key_gets_an_object_and_for_a_group_a_list() -> None:
    custom_rm = SlimeReward(0.5 * graded + 0.5 * some, workers=0).custom_rm
    keys = SimpleNamespace(reward_key="score", eval_reward_key="accuracy")
    samples = [slime_sample(row(response)) for response in ("4", "bad")]
    first, second = asyncio.run(custom_rm(keys, samples))
    assert first == {"score": 1.0, "accuracy": 1.0, "failed": 0.0, "graded": 1.0, "some": 1.0}
    assert list(second) == list(first)
    assert (second["score"], second["failed"]) == (0.0, 1.0)
    assert asyncio.run(custom_rm(NO_KEYS, samples)) == [1.0, 0.0]
    assert asyncio.run(custom_rm(SimpleNamespace(), samples[0])) == 1.0
    with pytest.raises(InputError, match="give --reward-key, too"):
        asyncio.run(custom_rm(SimpleNamespace(reward_key=None, eval_reward_key="accuracy"), samples[0]))


def test_slime_s_labels_and_metadata_are_columns() -> None:
    adapter = SlimeReward(
        lambda prompt, level, unit, ground_truth: float((prompt, level, unit) == ("a", 3, "m"))
    )
    sample = SimpleNamespace(
        prompt=[{"role": "user", "content": "a"}],
        response="4",
        label='{"ground_truth": "4", "level": 3}',
        metadata={"unit": "m", "level": 1},
    )
    assert asyncio.run(adapter.custom_rm(NO_KEYS, sample)) == 1.0
    adapter.close()


# What guerdon adapt shows


def setup_guide(trainer: str, spec: str, **options: Any) -> SetupGuide:
    request = SetupRequest(spec=spec, reward=graded, parameters={}, options=options)
    return find_trainer(trainer).setup_guide(request)


def test_slime_s_file_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = setup_guide("slime", f"{Path(pointwise_work.__file__)}::graded", workers=0, on_failure=-1.0)
    ((name, text),) = shown.files.items()
    (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    flag, path, *_ = shown.lines.split()
    module, _, attribute = path.rpartition(".")
    custom_rm = getattr(importlib.import_module(module), attribute)
    assert flag == "--custom-rm-path"
    assert inspect.iscoroutinefunction(custom_rm)
    assert asyncio.run(custom_rm(NO_KEYS, slime_sample(row("4")))) == 1.0
    assert asyncio.run(custom_rm(NO_KEYS, slime_sample(row("bad")))) == -1.0


@pytest.mark.parametrize(
    ("trainer", "options", "line", "files"),
    [
        ("openrlhf", {}, "--reward.remote_url http://h:8000/rewards/x/get_reward", 0),
        ("openrlhf", {"on_failure": 0.0}, "--reward.remote_url graded_openrlhf.py", 1),
        ("slime", {}, "--rm-type remote_rm --rm-url http://h:8000/rewards/x/reward", 0),
        ("slime", {"on_failure": 0.0}, "--custom-rm-path graded_slime.custom_rm", 1),
        ("verl", {}, "reward_kwargs.reward=http://h:8000/rewards/x", 0),
        ("verl", {"sync": True}, "name=compute_score_sync", 0),
        ("verl", {"sync": True}, "reward.reward_manager.name=remote", 0),
    ],
)
def test_recipes_for_a_server(trainer: str, options: dict[str, Any], line: str, files: int) -> None:
    shown = setup_guide(trainer, "http://h:8000/rewards/x/", **options)
    assert line in shown.lines
    assert len(shown.files) == files

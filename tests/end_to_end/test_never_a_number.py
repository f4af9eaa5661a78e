"""What is wrong is an error or a failure at every entry point, never a number: lengths, types, columns, parameters."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from click.testing import CliRunner

import guerdon
from guerdon import RewardFunction, Sample, weighted
from guerdon.cli.app import app
from guerdon.errors import BindingError, InputError, MissingExtraError, RewardError
from guerdon.serve.background import BackgroundServer
from guerdon.serve.run import serve
from guerdon.trainers import Adapter, trainers
from guerdon.trainers.nemo_rl import NemoRlAdapter
from support import wrong_rewards
from support.serve_work import call, row
from support.wrong_parameters import WRONG

PATH = wrong_rewards.__file__
COUNT = 70
"""Samples, in batches of 32, 32 and 6."""
ROWS = [row(f"text {i}") for i in range(COUNT)]
by_name = pytest.mark.parametrize("reward", wrong_rewards.WRONG_LENGTHS, ids=lambda reward: reward.name)


def all_failed(results: Any, kind: str, count: int = COUNT) -> None:
    found = list(results)
    assert [(r.score, r.error_kind) for r in found] == [(None, kind)] * count


# Wrong lengths.


@by_name
def test_a_wrong_length_in_this_process(reward: RewardFunction) -> None:
    scores = guerdon.score(reward, ROWS, workers=0)
    all_failed(scores, "wrong_length")
    assert "not asked again" not in scores[0].error
    assert scores[COUNT - 1].error.endswith("it is not asked again")
    all_failed(guerdon.stream(reward, ROWS, workers=0), "wrong_length")
    all_failed(reward.evaluate_batch([Sample.from_row(one) for one in ROWS]), "wrong_length")


@pytest.mark.sample(2, seconds=3)
@by_name
def test_a_wrong_length_in_workers(reward: RewardFunction) -> None:
    # The last batch is of one sample, for which one result would do.
    all_failed(guerdon.score(reward, ROWS[:65], workers=2), "wrong_length", 65)
    all_failed(asyncio.run(guerdon.ascore(reward, ROWS[:33], workers=1)), "wrong_length", 33)


def test_the_next_run_asks_again() -> None:
    for workers in (0, 1):
        guerdon.score(wrong_rewards.one_for_all, ROWS, workers=workers)
        assert [r.score for r in guerdon.score(wrong_rewards.one_for_all, ROWS[:1], workers=workers)] == [1.0]


@by_name
def test_a_wrong_length_in_a_composition(reward: RewardFunction) -> None:
    whole = weighted(reward, wrong_rewards.good_batch, weights=[0.5, 0.5])
    all_failed(guerdon.score(whole, ROWS, workers=0), "wrong_length")


@by_name
def test_a_wrong_length_in_a_direct_call(reward: RewardFunction) -> None:
    results = reward(completions=["a", "b", "c"])
    if reward.is_async:
        results = asyncio.run(results)
    all_failed(results, "wrong_length", 3)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_wrong_length_in_trainers(workers: int) -> None:
    adapter = wrong_rewards.one_for_all.to_trl(workers=workers, on_failure="skip")
    assert adapter(prompts=["?"] * 33, completions=["a"] * 33) == [None] * 33
    # Asked for a single sample, it would give a number.
    assert adapter(prompts=["?"], completions=["a"]) == [None]
    assert adapter.failures.by_kind == {"wrong_length": 34}
    results = asyncio.run(adapter.aresults([Sample.from_row(ROWS[0])]))
    all_failed(results, "wrong_length", 1)
    strict = wrong_rewards.one_for_all.to_tunix(workers=workers, on_failure="raise")
    with pytest.raises(RewardError, match="1 result for 2 samples"):
        strict(prompts=["?"] * 2, completions=["a", "b"])


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    rewards = [wrong_rewards.one_for_all, wrong_rewards.one_for_all_async]
    running = serve(*rewards, port=0, blocking=False, workers=2)
    assert isinstance(running, BackgroundServer)
    with running:
        yield running


@pytest.mark.parametrize("name", ["one_for_all", "one_for_all_async"])
def test_a_wrong_length_at_a_server(server: BackgroundServer, name: str) -> None:
    reply = call(server.url, f"/rewards/{name}/v1/batch_score", {"samples": ROWS[:3]})
    assert {result["error"]["kind"] for result in reply.json["results"]} == {"wrong_length"}
    for _ in range(4):  # whichever worker it comes to
        reply = call(server.url, f"/rewards/{name}/v1/score", ROWS[0])
        assert reply.status >= 400 or reply.json.get("score") is None, reply
    ready = call(server.url, "/health/ready", method="GET")
    assert ready.status == 503
    assert "not asked again" in " ".join(ready.json["reasons"])
    remote = RewardFunction(endpoint=f"{server.url}/rewards/{name}", mode="remote")
    assert [r.score for r in guerdon.score(remote, ROWS[:3])] == [None] * 3


# What a reward raises, and what it returns.


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("reward", wrong_rewards.RAISES, ids=lambda reward: reward.name)
def test_whatever_is_raised_is_a_failure(reward: RewardFunction, workers: int) -> None:
    all_failed(guerdon.score(reward, ROWS[:2], workers=workers), "exception", 2)
    all_failed(Adapter(reward, workers=workers).results([Sample.from_row(ROWS[0])]), "exception", 1)


@pytest.mark.parametrize("reward", wrong_rewards.WRONG_TYPES, ids=lambda reward: reward.name)
def test_a_wrong_type_is_a_failure(reward: RewardFunction) -> None:
    all_failed(guerdon.score(reward, ROWS[:2], workers=0), "invalid_result", 2)
    all_failed([reward(response="a")], "invalid_result", 1)
    assert reward.to_trl(workers=0)(prompts=["?"], completions=["a"]) == [None]


def test_ctrl_c_passes() -> None:
    def interrupted(response: str) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RewardFunction(interrupted).evaluate(Sample.from_row(ROWS[0]))


@pytest.fixture(scope="module")
def formats() -> Iterator[BackgroundServer]:
    running = serve("math", wrong_rewards.exact, port=0, blocking=False, workers=1)
    assert isinstance(running, BackgroundServer)
    with running:
        yield running


# Wrong columns and malformed messages in trainers.

BATCHED = ["trl", "axolotl", "unsloth", "swift", "tunix"]


def as_batch(trainer: str, **options: Any) -> Any:
    return wrong_rewards.exact.to(trainer, workers=0, **options)


@pytest.mark.parametrize("trainer", BATCHED)
def test_a_column_of_another_length_is_an_error(trainer: str) -> None:
    call_it = as_batch(trainer)
    prompts = {} if trainer == "swift" else {"prompts": ["?", "?"]}
    assert call_it(completions=["4", "4"], ground_truth=["4", "5"], **prompts) == [1.0, 0.0]
    for wrong in (["4"], ["4", "4", "4"], [], ("4",), numpy.array(["4"])):
        with pytest.raises(InputError, match="2 completions"):
            call_it(completions=["4", "4"], ground_truth=wrong, **prompts)
    for wrong in ("44", {"a": "4"}, 4):
        with pytest.raises((InputError, TypeError)):
            call_it(completions=wrong, ground_truth=["4", "4"], **prompts)


@pytest.mark.parametrize("trainer", BATCHED)
def test_one_malformed_message_fails_its_sample_alone(trainer: str) -> None:
    call_it = as_batch(trainer, on_failure=-1.0)
    broken = [3, None, [{"content": "4"}], [["4"]], {"role": "assistant", "content": 4}]
    completions: list[Any] = ["4", *broken, "4"]
    prompts = {} if trainer == "swift" else {"prompts": ["?"] * len(completions)}
    found = call_it(completions=completions, ground_truth=["4"] * len(completions), **prompts)
    assert found == [1.0, *[-1.0] * len(broken), 1.0]
    assert call_it.failures.by_kind == {"input": len(broken)}
    with pytest.raises(InputError):
        as_batch(trainer, on_failure="raise")(
            completions=completions, ground_truth=["4"] * len(completions), **prompts
        )


def test_trainers_that_ask_for_single_samples_get_failures_too() -> None:
    verl = wrong_rewards.exact.to_verl(sync=True, workers=0, on_failure=-1.0)
    for wrong in (None, 4, b"4", ["4"]):
        assert verl("data", wrong, "4") == {"score": -1.0, "failed": 1.0}
    openrlhf = wrong_rewards.exact.to_openrlhf(workers=0, on_failure=-1.0)
    assert openrlhf(["?4", "?4"], ["?", 3], ["4", "4"])["rewards"] == [1.0, -1.0]
    slime = wrong_rewards.exact.to_slime(workers=0, on_failure=-1.0)
    rollouts = [SimpleNamespace(prompt="?", response=text, label="4", metadata={}) for text in ("4", 4, None)]
    assert asyncio.run(slime(SimpleNamespace(reward_key=None), rollouts)) == [1.0, -1.0, -1.0]
    nemo_rl = NemoRlAdapter(wrong_rewards.exact, workers=0, on_failure=-1.0)
    logs: list[Any] = [[{"role": "assistant", "content": "4"}], [{"content": "4"}], 3]
    assert nemo_rl.step(logs, [{"ground_truth": "4"}] * 3).rewards == [1.0, -1.0, -1.0]


@pytest.mark.parametrize("trainer", sorted(trainers()))
def test_adapt_writes_nothing_that_the_adapter_refuses(trainer: str, tmp_path: Path) -> None:
    try:
        wrong_rewards.exact.to(trainer, on_failure="skip")
        refused = False
    except BindingError:
        refused = True
    except MissingExtraError:
        return
    spec = f"{wrong_rewards.__file__}::exact"
    done = CliRunner().invoke(
        app, ["adapt", spec, "--for", trainer, "--on-failure", "skip", "-o", str(tmp_path)]
    )
    assert (done.exit_code, any(tmp_path.iterdir())) == ((2, False) if refused else (0, True)), done.output


# Wrong parameters.


def test_every_entry_has_a_wrong_parameter_here() -> None:
    assert {name for name, _, _ in WRONG} == {
        entry.name for entry in entry_points(group="guerdon.rewards") if entry.value.startswith("guerdon.")
    }


@pytest.mark.parametrize(("name", "given", "says"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_parameter_is_refused_where_a_reward_is_made(
    name: str, given: dict[str, Any], says: str
) -> None:
    with pytest.raises((InputError, BindingError)) as raised:
        guerdon.get_reward_function(name, **given)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    with pytest.raises((InputError, BindingError)):
        guerdon.score(name, ROWS[:1], **given)


@pytest.mark.parametrize("command", ["score", "preview", "serve", "adapt"])
@pytest.mark.parametrize(("reward", "text"), [("math", "mode=tolerent"), (f"{PATH}::measured", "most=many")])
def test_a_wrong_parameter_ends_a_command(command: str, reward: str, text: str, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in ROWS[:3]))
    rest = {
        "score": [str(data)],
        "preview": ["--samples", str(data)],
        "serve": ["--port", "0"],
        "adapt": ["--for", "trl"],
    }
    done = CliRunner().invoke(app, [command, reward, *rest[command], "--param", text])
    assert done.exit_code == 2, done.output
    assert ("did you mean tolerant" if reward == "math" else "a whole number, not 'many'") in done.output
    assert len(done.output.strip().splitlines()) == 1


def test_a_wrong_parameter_in_a_request_is_a_4xx(formats: BackgroundServer) -> None:
    good = row("4", ground_truth="4")
    assert call(formats.url, "/rewards/math/v1/score", good).json["score"] == 1.0
    reply = call(formats.url, "/rewards/math/v1/score", {**good, "mode": "tolerent"})
    assert reply.status in range(400, 500), reply
    reply = call(formats.url, "/rewards/math/evaluate", {**good, "kwargs": {"mode": "tolerent"}})
    assert reply.status in range(400, 500) or reply.json.get("score") is None, reply


# What a reward needs and is not there.

MISSING = [
    (["judge"], "the judge needs a model"),
    (["judge", "--param", "model=m", "--param", "base_url=http://127.0.0.1:9/v1"], "cannot be reached"),
    (["http://127.0.0.1:9"], "cannot be reached"),
    (["reward_model"], "name a model"),
]


@pytest.mark.parametrize("command", ["score", "preview", "serve"])
@pytest.mark.parametrize(("reward", "says"), MISSING, ids=lambda value: str(value)[:40])
def test_what_is_not_there_is_said_before_the_first_row(
    command: str, reward: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GUERDON_JUDGE_MODEL", raising=False)
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in ROWS[:3]))
    rest = {"score": [str(data)], "preview": ["--samples", str(data)], "serve": ["--port", "0"]}
    started = time.monotonic()
    done = CliRunner().invoke(app, [command, reward[0], *rest[command], *reward[1:]])
    assert done.exit_code == 2, done.output
    assert says in done.output
    assert len(done.output.strip().splitlines()) == 1
    assert time.monotonic() - started < 15


def test_a_run_in_python_raises_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GUERDON_JUDGE_MODEL", raising=False)
    with pytest.raises(InputError, match="needs a model"):
        guerdon.score("judge", ROWS[:1])
    absent = RewardFunction(endpoint="http://127.0.0.1:9", mode="remote")
    for reward in (absent, 0.5 * absent):
        with pytest.raises(RewardError, match="cannot be reached"):
            guerdon.score(reward, ROWS[:1])

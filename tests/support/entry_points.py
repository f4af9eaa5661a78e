"""Every way to have a reward score something, each as one function: what it is given, and the numbers that come back.

An entry point takes a Given and the Place where it works. It gives what stands where a score stands, None where none
does; it raises RefusedError, or an error of Guerdon's own, where nothing is scored. NotHereError is for what it has no
place for.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from click.testing import CliRunner
from pydantic import ValidationError
from websockets.sync.client import connect

import guerdon
from guerdon import Request, RewardFunction, weighted
from guerdon.cli.app import app
from guerdon.serve.client.sync_client import RewardClient
from guerdon.train.records.run_reader import RunReader
from guerdon.trainers.art import ArtReward
from guerdon.trainers.nemo_gym import NemoGymAdapter
from guerdon.trainers.nemo_rl import NemoRlAdapter
from guerdon.trainers.openenv import OpenenvAdapter
from support import wrong_rewards
from support.serve_work import call

FAILED = -7.0
"""The number that stands for a failure where a trainer needs one."""


class RefusedError(Exception):
    """Nothing was scored, and the entry point said why."""


class NotHereError(Exception):
    """The entry point has no place for what is given."""


@dataclass(frozen=True)
class Given:
    """A sample that scores 1, but for what is wrong with it or with its reward."""

    reward: str = "exact"
    response: Any = "4"
    messages: Any = None
    """In place of the prompt "?" and the response."""
    columns: Mapping[str, Any] = field(default_factory=lambda: {"ground_truth": "4"})
    """One sample's columns."""
    series: Mapping[str, Any] = field(default_factory=dict)
    """Columns of a batch of two, in place of a value for each."""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def made(self) -> RewardFunction:
        return guerdon.get_reward_function(f"{wrong_rewards.__file__}::{self.reward}", **self.parameters)

    @property
    def chat(self) -> Any:
        if self.messages is not None:
            return self.messages
        return [{"role": "user", "content": "?"}, {"role": "assistant", "content": self.response}]

    def row(self) -> dict[str, Any]:
        """As a row of data, with messages or as a prompt and a response."""
        if self.messages is not None:
            return {"messages": self.messages, **self.columns}
        return {"prompt": "?", "response": self.response, **self.columns}

    def plain(self) -> tuple[Any, Any]:
        """Prompt and response, where there is no place for another conversation."""
        if self.messages is not None:
            raise NotHereError
        return "?", self.response


@dataclass(frozen=True)
class Place:
    """Where an entry point works."""

    folder: Path
    url: str
    """A server of the rewards of ``wrong_rewards``."""


Entry = Callable[[Given, Place], list[Any]]


def _alone(given: Given) -> None:
    if given.series:
        raise NotHereError


# Python.


def _scored(result: Any) -> list[Any]:
    return [one.score for one in result]


def in_score(given: Given, place: Place) -> list[Any]:
    _alone(given)
    return _scored(guerdon.score(given.made(), [given.row()], workers=0))


def in_stream(given: Given, place: Place) -> list[Any]:
    _alone(given)
    return _scored(guerdon.stream(given.made(), [given.row()], workers=0))


def in_ascore(given: Given, place: Place) -> list[Any]:
    _alone(given)
    return _scored(asyncio.run(guerdon.ascore(given.made(), [given.row()], workers=0)))


def in_astream(given: Given, place: Place) -> list[Any]:
    _alone(given)

    async def run() -> list[Any]:
        return [one.score async for one in guerdon.astream(given.made(), [given.row()], workers=0)]

    return asyncio.run(run())


def in_a_composition(given: Given, place: Place) -> list[Any]:
    _alone(given)
    whole = weighted(given.made(), wrong_rewards.good_batch, weights=[0.5, 0.5])
    return _scored(guerdon.score(whole, [given.row()], workers=0))


def in_a_direct_call(given: Given, place: Place) -> list[Any]:
    _alone(given)
    reward = given.made()
    if reward.is_batch:
        return _scored(reward(completions=[given.response]))
    if given.messages is not None:
        return [reward(messages=given.messages, **given.columns).score]
    return [reward(response=given.response, **given.columns).score]


def in_a_direct_batch_call(given: Given, place: Place) -> list[Any]:
    _, response = given.plain()
    if given.reward != "exact":
        raise NotHereError
    columns = {name: [value] * 2 for name, value in given.columns.items()} | dict(given.series)
    return _scored(wrong_rewards.together(completions=[response] * 2, **columns))


def in_a_remote_reward(given: Given, place: Place) -> list[Any]:
    _alone(given)
    if given.parameters:
        raise NotHereError  # the server has the parameters
    remote = RewardFunction(endpoint=f"{place.url}/rewards/{given.reward}", mode="remote")
    return _scored(guerdon.score(remote, [given.row()], workers=0))


def in_a_client(given: Given, place: Place) -> list[Any]:
    _alone(given)
    if given.parameters:
        raise NotHereError
    with RewardClient(f"{place.url}/rewards/{given.reward}") as client:
        try:
            request = Request(turns=given.chat, metadata=dict(given.columns))
        except ValidationError as error:
            raise RefusedError(error) from None
        return [client.score(request).reward]


PYTHON: dict[str, Entry] = {
    "score": in_score,
    "stream": in_stream,
    "ascore": in_ascore,
    "astream": in_astream,
    "composition": in_a_composition,
    "direct call": in_a_direct_call,
    "direct batch": in_a_direct_batch_call,
    "remote": in_a_remote_reward,
    "client": in_a_client,
}

# The command line.


def _command(*words: str) -> Any:
    done = CliRunner().invoke(app, list(words))
    if done.exit_code == 2:
        assert done.stderr.strip(), done.output
        raise RefusedError(done.stderr)
    assert done.exit_code in (0, 1), done.output
    return done


def _file(given: Given, place: Place, **more: Any) -> str:
    _alone(given)
    data = place.folder / "data.jsonl"
    try:
        data.write_text(json.dumps({**given.row(), **more}) + "\n", encoding="utf-8")
    except TypeError:
        raise NotHereError from None
    return str(data)


def _named(given: Given) -> list[str]:
    parameters = [word for name, value in given.parameters.items() for word in ("--param", f"{name}={value}")]
    return [f"{wrong_rewards.__file__}::{given.reward}", *parameters]


def by_score(given: Given, place: Place) -> list[Any]:
    reward, *parameters = _named(given)
    written = place.folder / "scores.jsonl"
    data = _file(given, place)
    _command("score", reward, data, *parameters, "--workers", "0", "-o", str(written), "--overwrite")
    return [json.loads(line)["score"] for line in written.read_text().splitlines()]


def by_preview(given: Given, place: Place) -> list[Any]:
    reward, *parameters = _named(given)
    data = _file(given, place)
    said = _command("preview", reward, "--samples", data, *parameters, "--workers", "0").stdout
    found = re.search(rf"^{given.reward} +(-?[\d.]+)$", said, re.MULTILINE)
    return [float(found[1]) if found else None]


def by_test(given: Given, place: Place) -> list[Any]:
    reward, *parameters = _named(given)
    data = _file(given, place, expected=1.0)
    done = _command("test", reward, data, *parameters, "--workers", "0")
    return [1.0 if "1 as expected" in done.stdout else None]


def by_calibrate(given: Given, place: Place) -> list[Any]:
    reward, *parameters = _named(given)
    data = _file(given, place, label=True)
    done = _command("judge", "calibrate", reward, data, *parameters, "--workers", "0", "--json")
    told = json.loads(done.stdout)
    return [1.0 if told["scored"] else None]


def _trained(given: Given, place: Place) -> Path:
    """The folder of a run of one step, by a backend whose model always answers the same."""
    _alone(given)
    if given.response != "4" or given.messages is not None:
        raise NotHereError
    answers = {name: "=7." if value == "4" else value for name, value in given.columns.items()}
    data = place.folder / "problems.jsonl"
    data.write_text("".join(json.dumps({"prompt": f"{i}?", **answers}) + "\n" for i in range(8)))
    run = place.folder / f"run-{len(list(place.folder.iterdir()))}"
    reward = f"{{name: '{wrong_rewards.__file__}::{given.reward}'"
    fixed = ", ".join(f"{name}: {json.dumps(value)}" for name, value in given.parameters.items())
    reward += f", parameters: {{{fixed}}}}}" if fixed else "}"
    settings = {
        "backend": "parrot",
        "training.train_data_dir": str(data),
        "training.reward_function": reward,
        "training.reward_workers": "0",
        "training.tensorboard": "false",
        "training.num_batches": "1",
        "training.save_interval_steps": "1",
        "run_dir": str(run),
    }
    _command("train", *(f"{name}={value}" for name, value in settings.items()))
    return run


def by_train(given: Given, place: Place) -> list[Any]:
    return [sample.score for sample in RunReader.of(_trained(given, place)).samples()]


def by_evaluate(given: Given, place: Place) -> list[Any]:
    figures = place.folder / "figures.json"
    _command("evaluate", str(_trained(given, place)), "--no-before", "-o", str(figures))
    lines = figures.with_suffix(".samples.jsonl").read_text().splitlines()
    return [json.loads(line)["score"] for line in lines]


COMMANDS: dict[str, Entry] = {
    "guerdon score": by_score,
    "guerdon preview": by_preview,
    "guerdon test": by_test,
    "guerdon judge": by_calibrate,
    "guerdon train": by_train,
    "guerdon evaluate": by_evaluate,
}

# The server.


def _asked(given: Given, place: Place, path: str, body: Any) -> Any:
    _alone(given)
    if given.parameters:
        raise NotHereError
    try:
        reply = call(place.url, f"/rewards/{given.reward}{path}", body)
    except TypeError:  # what JSON has no form for
        raise NotHereError from None
    if reply.status >= 400:
        assert reply.json.get("detail") or reply.json["error"]["message"]
        raise RefusedError(reply)
    return reply.json


def _said(given: Given, place: Place, path: str, frame: Any) -> Any:
    _alone(given)
    if given.parameters:
        raise NotHereError
    try:
        text = json.dumps(frame)
    except TypeError:
        raise NotHereError from None
    address = f"{place.url.replace('http', 'ws', 1)}/rewards/{given.reward}{path}"
    with connect(address, compression=None) as socket:
        socket.send(text)
        found = json.loads(socket.recv(timeout=20))
        if "total_num_chunks" in found:
            found = json.loads(json.loads(socket.recv(timeout=20))["chunk"])
    if "error" in found or found.get("type") == "error":
        raise RefusedError(found)
    return found


def _turns(given: Given) -> dict[str, Any]:
    return {"turns": given.chat, "metadata": dict(given.columns)}


def at_adaptive(given: Given, place: Place) -> list[Any]:
    return [_asked(given, place, "/score", _turns(given))["reward"]]


def at_adaptive_batch(given: Given, place: Place) -> list[Any]:
    replies = _asked(given, place, "/batch_score", {"requests": [_turns(given)]})["responses"]
    return [reply["reward"] for reply in replies]


def at_adaptive_socket(given: Given, place: Place) -> list[Any]:
    return [_said(given, place, "/ws", {"id": 1, **_turns(given)})["reward"]]


def at_v1(given: Given, place: Place) -> list[Any]:
    return [_asked(given, place, "/v1/score", given.row())["score"]]


def at_v1_chat(given: Given, place: Place) -> list[Any]:
    body = {"messages": given.chat, "metadata": dict(given.columns), **_truth(given)}
    return [_asked(given, place, "/v1/score", body)["score"]]


def at_v1_batch(given: Given, place: Place) -> list[Any]:
    replies = _asked(given, place, "/v1/batch_score", {"samples": [given.row()] * 2})["results"]
    return [reply["score"] for reply in replies]


def at_v1_socket(given: Given, place: Place) -> list[Any]:
    return [_said(given, place, "/v1/ws", {"n": 1, "sample": given.row()})["result"]["score"]]


def _truth(given: Given) -> dict[str, Any]:
    return {name: given.columns[name] for name in ("ground_truth",) if name in given.columns}


def at_reward_kit(given: Given, place: Place) -> list[Any]:
    return [_asked(given, place, "/reward", {"messages": given.chat, **given.columns})["score"]]


def at_reward_kit_evaluate(given: Given, place: Place) -> list[Any]:
    rest = {name: value for name, value in given.columns.items() if name != "ground_truth"}
    body = {"messages": given.chat, **_truth(given), "kwargs": rest}
    return [_asked(given, place, "/evaluate", body)["score"]]


def at_openrlhf(given: Given, place: Place) -> list[Any]:
    prompt, response = given.plain()
    query = prompt + response if isinstance(response, str) else response
    label = dict(given.columns) if given.columns else None
    body = {"query": [query], "prompts": [prompt], "labels": [label]}
    return list(_asked(given, place, "/get_reward", body)["rewards"])


def at_slime(given: Given, place: Place) -> list[Any]:
    prompt, response = given.plain()
    label = dict(given.columns) if given.columns else None
    return [_asked(given, place, "/reward", {"prompt": prompt, "response": response, "label": label})]


def _rollout(given: Given) -> dict[str, Any]:
    prompt, response = given.plain()
    output = [{"type": "message", "role": "assistant", "content": response}]
    return {"responses_create_params": {"input": prompt}, "response": {"output": output}, **given.columns}


def at_nemo_gym(given: Given, place: Place) -> list[Any]:
    return [_asked(given, place, "/verify", _rollout(given))["reward"]]


def at_openenv(given: Given, place: Place) -> list[Any]:
    return [_asked(given, place, "/step", {"action": given.row()})["reward"]]


def at_openenv_socket(given: Given, place: Place) -> list[Any]:
    return [_said(given, place, "/ws", {"type": "step", "data": given.row()})["data"]["reward"]]


FORMATS: dict[str, Entry] = {
    "adaptive": at_adaptive,
    "adaptive batch": at_adaptive_batch,
    "adaptive ws": at_adaptive_socket,
    "v1": at_v1,
    "v1 chat": at_v1_chat,
    "v1 batch": at_v1_batch,
    "v1 ws": at_v1_socket,
    "reward_kit": at_reward_kit,
    "reward_kit eval": at_reward_kit_evaluate,
    "openrlhf": at_openrlhf,
    "slime": at_slime,
    "nemo_gym": at_nemo_gym,
    "openenv": at_openenv,
    "openenv ws": at_openenv_socket,
}

# Trainers.


def _number(value: Any) -> Any:
    return None if value == FAILED else value


def _series(given: Given) -> dict[str, Any]:
    return {name: [value] * 2 for name, value in given.columns.items()} | dict(given.series)


def _in_two(given: Given) -> bool:
    """Whether a conversation is given, of which the first message is the prompt and the rest the completion."""
    if given.messages is not None and (not isinstance(given.messages, list) or len(given.messages) < 2):
        raise NotHereError  # no completion is an empty one
    return given.messages is not None


def _ends(given: Given) -> None:
    """A rollout that was cut off before the model's answer is one with an empty answer, by documented choice."""
    last = given.messages[-1] if isinstance(given.messages, list) and given.messages else None
    if isinstance(last, dict) and last.get("role", "assistant") != "assistant":
        raise NotHereError


def _batched(trainer: str, **options: Any) -> Entry:
    def entry(given: Given, place: Place) -> list[Any]:
        adapter = given.made().to(trainer, workers=0, on_failure=FAILED, **options)
        chat = _in_two(given)
        prompts = {} if trainer == "swift" else {"prompts": [given.messages[:1] if chat else "?"] * 2}
        completion = given.messages[1:] if chat else given.response
        found = adapter(completions=[completion] * 2, **prompts, **_series(given))
        if asyncio.iscoroutine(found):
            found = asyncio.run(found)
        return [_number(one) for one in found]

    return entry


def _rest(given: Given) -> dict[str, Any]:
    return {name: value for name, value in given.columns.items() if name != "ground_truth"}


def by_verl(given: Given, place: Place) -> list[Any]:
    _alone(given)
    _, response = given.plain()
    adapter = given.made().to_verl(workers=0, on_failure=FAILED)
    told = asyncio.run(adapter("data", response, given.columns.get("ground_truth"), _rest(given)))
    return [_number(told["score"])]


def by_verl_sync(given: Given, place: Place) -> list[Any]:
    _alone(given)
    _, response = given.plain()
    adapter = given.made().to_verl(sync=True, workers=0, on_failure=FAILED)
    return [_number(adapter("data", response, given.columns.get("ground_truth"), _rest(given))["score"])]


def by_openrlhf(given: Given, place: Place) -> list[Any]:
    prompt, response = given.plain()
    query = prompt + response if isinstance(response, str) else response
    labels = given.series.get("ground_truth", [dict(given.columns) or None] * 2)
    adapter = given.made().to_openrlhf(workers=0, on_failure=FAILED)
    return [_number(one) for one in adapter([query] * 2, [prompt] * 2, labels)["rewards"]]


def by_slime(given: Given, place: Place) -> list[Any]:
    _alone(given)
    prompt, response = given.plain()
    label = given.columns.get("ground_truth")
    sample = SimpleNamespace(prompt=prompt, response=response, label=label, metadata=_rest(given))
    adapter = given.made().to_slime(workers=0, on_failure=FAILED)
    return [_number(one) for one in asyncio.run(adapter(SimpleNamespace(reward_key=None), [sample]))]


def by_nemo_rl(given: Given, place: Place) -> list[Any]:
    _ends(given)
    adapter = NemoRlAdapter(given.made(), workers=0, on_failure=FAILED)
    metadata = given.series.get("ground_truth", [dict(given.columns)] * 2)
    return [_number(one) for one in adapter.step([given.chat] * 2, metadata).rewards]


def by_nemo_gym(given: Given, place: Place) -> list[Any]:
    _alone(given)
    adapter = NemoGymAdapter(given.made(), workers=0, on_failure=FAILED)
    return [_number(asyncio.run(adapter.verify(_rollout(given)))["reward"])]


def by_skyrl(given: Given, place: Place) -> list[Any]:
    _alone(given)
    prompt, response = given.plain()
    environment = given.made().to_skyrl(workers=0, on_failure=FAILED)(extras=dict(given.columns))
    environment.init([{"role": "user", "content": prompt}])
    return [_number(environment.step(response)["reward"])]


def by_tinker(given: Given, place: Place) -> list[Any]:
    _alone(given)
    prompt, response = given.plain()
    adapter = given.made().to_tinker(workers=0, on_failure=FAILED)
    return [_number(asyncio.run(adapter.verdict(prompt, response, **given.columns)).reward)]


def by_verifiers(given: Given, place: Place) -> list[Any]:
    _alone(given)
    chat = _in_two(given)
    _ends(given)
    if (
        given.messages is not None
        and isinstance(given.messages[-1], dict)
        and not given.messages[-1].get("content")
    ):
        raise NotHereError
    adapter = given.made().to_verifiers(workers=0, on_failure=FAILED)
    prompt = given.messages[:1] if chat else [{"role": "user", "content": "?"}]
    completion = given.messages[1:] if chat else given.response
    state = {"input": dict(given.columns)}
    return [_number(asyncio.run(adapter(prompt=prompt, completion=completion, state=state)))]


class _Trajectory:
    """One of ART's, as far as a reward sees it."""

    def __init__(self, chat: Any, metadata: dict[str, Any]) -> None:
        self.chat, self.metadata, self.metrics, self.reward = chat, metadata, {}, 0.0

    def messages(self) -> Any:
        return self.chat

    def log(self, text: str) -> None:
        """Not kept."""


def by_art(given: Given, place: Place) -> list[Any]:
    _alone(given)
    _ends(given)
    adapter = ArtReward(given.made(), workers=0, on_failure=FAILED)
    return [_number(asyncio.run(adapter.score(_Trajectory(given.chat, dict(given.columns)))).reward)]


def by_openenv(given: Given, place: Place) -> list[Any]:
    _alone(given)
    _, response = given.plain()
    adapter = OpenenvAdapter(given.made(), workers=0, on_failure=FAILED)
    sample = adapter.sample({"message": response}, {"prompt": "?", **given.columns})
    return [_number(adapter.number(adapter.results([sample])[0]))]


TRAINERS: dict[str, Entry] = {
    "to_trl": _batched("trl"),
    "to_trl async": _batched("trl", asynchronous=True),
    "to_axolotl": _batched("axolotl"),
    "to_unsloth": _batched("unsloth"),
    "to_swift": _batched("swift"),
    "to_tunix": _batched("tunix"),
    "to_verl": by_verl,
    "to_verl sync": by_verl_sync,
    "to_openrlhf": by_openrlhf,
    "to_slime": by_slime,
    "to_nemo_rl": by_nemo_rl,
    "to_nemo_gym": by_nemo_gym,
    "to_skyrl": by_skyrl,
    "to_tinker": by_tinker,
    "to_verifiers": by_verifiers,
    "to_art": by_art,
    "to_openenv": by_openenv,
}
ENTRIES: dict[str, Entry] = {**PYTHON, **COMMANDS, **FORMATS, **TRAINERS}

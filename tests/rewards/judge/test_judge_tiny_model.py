"""``judge`` and real models: one behind ``transformers serve``, and one that is made to keep to the form.

The weights are random. So the first one's messages hold no verdict, which must be a failure and never a score; the
second one's hold one, which its weights decide.
"""

from __future__ import annotations

import json
import os
import socket
import string
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.reward.function import RewardFunction
from support.judge_server import Asked, JudgeServer, Reply, completion, judge_server
from support.tiny_models import save_chat_model

pytestmark = [pytest.mark.slow, pytest.mark.torch]

_START_SECONDS = 180
_SERVE = "from transformers.cli.transformers import main; main()"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="no torch: it comes with the extra dev")
    return save_chat_model(tmp_path_factory.mktemp("model"))


def judge(**options: Any) -> RewardFunction:
    return guerdon.get_reward_function("guerdon.rewards.judge.reward:judge", **{"retries": 0, **options})


def rows(count: int, **columns: Any) -> list[dict[str, Any]]:
    return [
        {
            "messages": [
                {"role": "user", "content": "Name a sea."},
                {"role": "assistant", "content": f"It is sea number {n}."},
            ],
            **columns,
        }
        for n in range(count)
    ]


# A server as people run them.


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", _SERVE, "serve", str(model), "--device", "cpu"]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await_health(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_health(url: str, process: subprocess.Popen[bytes]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the server ended with status {process.returncode}"
        try:
            with opener.open(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the server did not start within {_START_SECONDS} s")


class TestServed:
    def test_messages_without_a_verdict_are_failures_whose_tokens_count(
        self, model: Path, address: str
    ) -> None:
        reward = judge(model=str(model), base_url=address, max_tokens=24)
        scores = guerdon.score(reward, rows(6), concurrency=6)
        assert [(r.score, r.error_kind) for r in scores] == [(None, "invalid_result")] * 6
        for result in scores:
            assert result.metrics["requests"].score == 2
            assert result.metrics["prompt_tokens"].score > 2 * 1000  # a token a byte, asked twice
            assert 0 < result.metrics["completion_tokens"].score <= 2 * 24
        lengths = {len(row["messages"][1]["content"]) for row in rows(6)}
        assert len({r.metrics["prompt_tokens"].score for r in scores}) == len(lengths) == 1

    def test_each_kind_of_question_is_taken(self, model: Path, address: str) -> None:
        kinds = {"verdict": {"rubric": "x"}, "checklist": {"checklist": ["x"]}, "pairwise": {"baseline": "x"}}
        for kind, columns in kinds.items():
            reward = judge(model=str(model), base_url=address, max_tokens=16, kind=kind)
            (result,) = guerdon.score(reward, rows(1, **columns))
            assert (result.score, result.error_kind) == (None, "invalid_result")

    def test_the_deadline_ends_what_is_asked(self, model: Path, address: str) -> None:
        reward = judge(model=str(model), base_url=address, max_tokens=8000, seconds=1)
        started = time.monotonic()
        (result,) = guerdon.score(reward, rows(1), workers=0)
        assert time.monotonic() - started < 6
        assert (result.score, result.error_kind) == (None, "timeout")

    def test_a_wrong_path_is_no_judge(self, model: Path, address: str) -> None:
        (result,) = guerdon.score(judge(model=str(model), base_url=f"{address}/nowhere"), rows(1))
        assert (result.score, result.error_kind) == (None, "remote")
        assert "answered 404" in str(result.error)


# A model that is made to keep to the form.

Choices = list[list[str]]
"""What may come next, piece by piece."""


def form(schema: dict[str, Any], code: str) -> Choices:
    """The JSON texts that fit a schema of the judge's, the code given: random weights cannot copy it."""
    pieces: Choices = [["{"]]
    for number, (name, value) in enumerate(schema["properties"].items()):
        pieces += [[f'{", " if number else ""}"{name}": '], *_value(name, value, code)]
    return [*pieces, ["}"]]


def _value(name: str, schema: dict[str, Any], code: str) -> Choices:
    if name == "code":
        return [[f'"{code}"']]
    if "enum" in schema:
        return [[json.dumps(choice) for choice in schema["enum"]]]
    if schema["type"] == "boolean":
        return [["true", "false"]]
    if schema["type"] == "array":
        number = schema["items"]["properties"]["number"]["enum"]
        pieces: Choices = [["["]]
        for n in number:
            one = {**schema["items"]["properties"], "number": {"enum": [n]}}
            pieces += [[", " if n > 1 else ""], *form({"properties": one}, code)]
        return [*pieces, ["]"]]
    return [['"'], *[list(string.ascii_lowercase + " ")] * 8, ['"']]


def allowed(pieces: Choices, said: str) -> set[str]:
    """The characters that may follow what was said; none where it is complete."""
    for choices in pieces:
        done = next((c for c in choices if said.startswith(c)), None)
        if done is None:
            return {c[len(said)] for c in choices if c.startswith(said)}
        said = said[len(done) :]
    return set()


@pytest.fixture(scope="module")
def constrained(model: Path) -> Callable[[Asked], Reply]:
    """A judge that runs the model and lets it say only what fits the schema that was sent."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForCausalLM.from_pretrained(model).eval()
    lock = threading.Lock()

    def script(asked: Asked) -> Reply:
        schema = asked.body["response_format"]["json_schema"]["schema"]
        pieces = form(schema, asked.code)
        text = tokenizer.apply_chat_template(
            asked.body["messages"], tokenize=False, add_generation_prompt=True
        )
        prompt = tokenizer(text, return_tensors="pt")["input_ids"]
        length = prompt.shape[1]

        def next_tokens(batch: int, tokens: Any) -> list[int]:
            letters = allowed(pieces, tokenizer.decode(tokens[length:]))
            return [tokenizer.convert_tokens_to_ids("Ġ" if c == " " else c) for c in sorted(letters)] or [
                tokenizer.eos_token_id
            ]

        heat = asked.body["temperature"]
        with lock, torch.inference_mode():
            torch.manual_seed(asked.body["seed"])
            made = network.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=asked.body["max_tokens"],
                prefix_allowed_tokens_fn=next_tokens,
                do_sample=heat > 0,
                **({"temperature": heat} if heat > 0 else {}),
            )[0][length:]
        ended = int(made[-1]) == tokenizer.eos_token_id
        said = tokenizer.decode(made, skip_special_tokens=True)
        return Reply(completion(said, finish="stop" if ended else "length", usage=(length, len(made))))

    return script


@pytest.fixture
def server(constrained: Callable[[Asked], Reply]) -> Iterator[JudgeServer]:
    with judge_server(constrained) as running:
        yield running


class TestConstrained:
    @pytest.mark.parametrize(
        ("kind", "columns", "scores"),
        [
            ("rubric", {}, {0.0, 0.25, 0.5, 0.75, 1.0}),
            ("verdict", {"rubric": "It names a sea."}, {0.0, 1.0, None}),
            ("reference", {"ground_truth": "The Red Sea"}, {0.0, 1.0}),
            ("pairwise", {"baseline": "The Red Sea"}, {0.0, 0.25, 0.5, 0.75, 1.0}),
            ("checklist", {"checklist": ["names a sea", "is brief", "is true"]}, {0.0, 1 / 3, 2 / 3, 1.0}),
        ],
    )
    def test_its_verdicts_are_read(
        self, kind: str, columns: dict[str, Any], scores: set[float | None], server: JudgeServer
    ) -> None:
        reward = judge(**server.options(kind=kind, seconds=100))
        first, again = (list(guerdon.score(reward, rows(2, **columns))) for _ in range(2))
        assert first == again
        for result in first:
            assert not result.failed, result.error
            assert result.score in scores
            assert result.metrics["prompt_tokens"].score > 1000
            assert result.metrics["completion_tokens"].score > 20

    def test_votes_under_different_seeds(self, server: JudgeServer) -> None:
        reward = judge(**server.options(votes=6, temperature=5, seconds=100))
        (result,) = guerdon.score(reward, rows(1))
        assert result.score is not None
        assert result.metrics["votes"].score == 6
        assert result.metrics["agreement"].score < 1  # at that heat the six do not all agree

    def test_an_answer_that_is_cut_is_a_failure(self, server: JudgeServer) -> None:
        (result,) = guerdon.score(judge(**server.options(max_tokens=30, seconds=100)), rows(1))
        assert (result.score, result.error_kind) == (None, "invalid_result")
        assert "cut off" in str(result.error)
        assert result.metrics["completion_tokens"].score == 60

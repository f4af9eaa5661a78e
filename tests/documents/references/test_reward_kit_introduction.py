"""The snippets of the introduction to reward-kit, run with nothing but the package's name changed.

Its first block is the library's own definition of two classes; where later blocks rely on its names, ours
stand in. What is left out: ``deploy``, which this version does not have.
The remote and hosted modes call a server that the tests start.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import guerdon
from guerdon.rewards.function_calling import parse_potential_function_call
from support.misbehaving import Misbehaving
from support.reference_text import fenced, loaded, translated

NAMES = "from typing import Any, Dict, List, Optional\nfrom guerdon import MetricRewardOutput, RewardOutput\n"
QUESTION = {"role": "user", "content": "Explain RLHF safely."}


@pytest.fixture
def blocks(references_dir: Path) -> list[str]:
    text = (references_dir / "reward-kit-introduction.txt").read_text(encoding="utf-8")
    found = [translated(block) for block in fenced(text)]
    assert len(found) == 11
    return found


def block_with(blocks: list[str], words: str) -> str:
    return next(block for block in blocks if words in block)


@pytest.fixture
def rewards(blocks: list[str], tmp_path: Path) -> ModuleType:
    """``my_rewards.py`` as the document's local example expects it."""
    base, combined = block_with(blocks, "def calculate_base_score"), block_with(blocks, "def combined_reward")
    return loaded(tmp_path, "my_rewards", NAMES + base + combined)


def said(text: str) -> list[dict[str, str]]:
    return [QUESTION, {"role": "assistant", "content": text}]


LONG = "This answer is helpful and it is also longer than the fifty characters."


def test_the_older_names_have_the_fields_of_the_first_block(blocks: list[str]) -> None:
    assert "class MetricRewardOutput" in blocks[0]
    metric = guerdon.MetricRewardOutput(score=0.5, reason="because")
    output = guerdon.RewardOutput(score=0.5, metrics={"m": metric})
    assert (metric.score, metric.reason, output.score, output.metrics) == (0.5, "because", 0.5, {"m": metric})


@pytest.mark.parametrize(
    ("text", "score", "metrics"),
    [
        ("short", 0.0, {"helpfulness": 0.0, "length_bonus": 0.0}),
        ("helpful", 0.5, {"helpfulness": 0.5, "length_bonus": 0.0}),
        (LONG, 1.0, {"helpfulness": 0.5, "length_bonus": 0.5}),
    ],
)
def test_base_score(rewards: ModuleType, text: str, score: float, metrics: dict[str, float]) -> None:
    function = rewards.calculate_base_score
    plain = function(said(text), [QUESTION])
    wrapped = guerdon.RewardFunction(function)(said(text), [QUESTION])
    decorated = guerdon.reward_function(function)(messages=said(text))
    for result in (plain, wrapped, decorated):
        assert result.score == score
        assert {name: metric.score for name, metric in result.metrics.items()} == metrics


@pytest.mark.parametrize(("text", "score"), [("helpful", 0.5), ("helpful unsafe_word", -0.5), ("x", 0.0)])
def test_combined_reward_by_path(
    rewards: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, score: float
) -> None:
    monkeypatch.chdir(tmp_path)
    reward = guerdon.RewardFunction(func_path="my_rewards.py::combined_reward", mode="local")
    result = reward(messages=said(text), original_messages=[QUESTION])
    assert result.score == score
    assert set(result.metrics) == {"helpfulness", "length_bonus", "safety_penalty"}


def test_local_development_block(
    rewards: ModuleType,
    blocks: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"RewardFunction": guerdon.RewardFunction}
    exec(block_with(blocks, "reward_model_local = RewardFunction"), names)
    assert capsys.readouterr().out.startswith("Calculated local reward: 0.5\n")
    exec(block_with(blocks, "get_trl_adapter()\n# Pass"), names)
    adapter = names["trl_compatible_reward_fn"]
    completions = [[{"role": "assistant", "content": text}] for text in ("helpful", LONG, "no")]
    scores = adapter(prompts=[[QUESTION]] * 3, completions=completions, completion_ids=[[1], [2], [3]])
    assert scores == [0.5, 1.0, 0.0]


def test_a_reward_with_fixed_arguments_is_called_inside_another(
    rewards: ModuleType, blocks: list[str]
) -> None:
    names = {**vars(rewards), "parse_potential_function_call": parse_potential_function_call}
    exec(block_with(blocks, "function_calling.match_function_call"), names)
    agent = guerdon.RewardFunction(names["my_agent_reward"])
    responses = {
        '[get_weather(location="Rome", unit="C")]': 1.0,
        '<tool_call>{"name": "get_weather", "arguments": {"location": "Rome"}}</tool_call>': 0.5,
        '{"name": "get_news", "arguments": {"location": "Rome", "unit": "C"}}': 0.5,
        "[get_news()]": 0.0,
        "helpful": 0.5,
        "short": 0.0,
    }
    scores = {text: agent(said(text), [QUESTION]).score for text in responses}
    assert scores == responses


def test_the_decorated_reward_is_called_by_position(
    blocks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    block = block_with(blocks, "@reward_function\ndef combined_reward")
    module = loaded(tmp_path, "decorated", NAMES + block)
    names = dict(vars(module))
    exec(block_with(blocks, "metadata_example"), names)
    # 80 characters: (0.7 * 0.80 + 0.3 * 1) * 0.9
    result = names["reward_output"]
    assert result.score == pytest.approx(0.774)
    assert capsys.readouterr().out.startswith("Calculated local reward score: 0.77")
    assert {n: round(m.score, 4) for n, m in result.metrics.items()} == {
        "length_score": 0.8,
        "keyword_score": 1.0,
        "conciseness_adjustment": -0.0774,
    }
    verbose = module.combined_reward(names["messages"], metadata={"user_preference": "verbose"})
    assert verbose.score == pytest.approx(0.86)


def test_remote_and_hosted_rewards(
    blocks: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted, remote = block_with(blocks, "# Special"), block_with(blocks, 'mode="remote")\nreward_output')
    names: dict[str, Any] = {"RewardFunction": guerdon.RewardFunction}
    with Misbehaving(v1=False, health={"status": "ok"}) as server:
        monkeypatch.setenv("GUERDON_BASE_URL", server.url)
        exec(hosted, names)
        assert server.seen[-1][1] == "/v1/models/fireworks/nemotron-340b-reward/reward"
        exec(remote.replace("http://127.0.0.1:8000", server.url), names)
        paths = [path for method, path, _, _ in server.seen if method == "POST"]
        assert paths[1:] == ["/v1/reward/combined-reward-prod", "/reward"]
        assert names["remote_trl_adapter"](completions=["a", "raise"]) == [1.0, None]
    said = capsys.readouterr().out
    assert "Nemotron Reward Score: 1.0" in said
    assert "Calculated remote reward: 1.0" in said
    assert "Calculated self-hosted reward: 1.0" in said

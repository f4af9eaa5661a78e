"""The rewards of agent-tunix's document, whose code has become one line without any line break.

The document leaves some helpers to the reader; they stand in ``HELPERS``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import guerdon
from guerdon.errors import BindingError
from support.reference_text import indented, loaded, of_one_line, translated

HELPERS = """
def evaluate_response(response, context):
    return float(context.get("answer") == response)
def is_correct(response):
    return response == "4"
def evaluate(response, answer, prompt=""):
    return 0.9 if response == answer else 0.1
def extract_answer(response):
    return response.split()[-1]
def follows_format(response):
    return response.endswith(".")
def evaluate_style_diversity(response):
    return 0.5
"""
BLOCKS = [
    ("def my_reward_function", "Argument Patterns"),
    ("# Minimal", "Implementing"),
    ("import re def math_reward", "Usage::"),
    ("def format_and_content_reward", "Example 3"),
    ("def conciseness_reward", "Example 4"),
    ("def multi_aspect_reward", "Registering Custom"),
    ("def normalize_reward", "Apply in"),
    ("def normalized_reward", "Reward Shaping"),
    ("def shaped_reward", "Curriculum"),
    ("def curriculum_reward", "Common Issues"),
    ("def diverse_reward", "Debugging"),
    ("def debug_reward", "Run with"),
]


def cut(text: str, start: str, end: str) -> str:
    first = text.index(start)
    return text[first : text.index(end, first)]


@pytest.fixture(scope="module")
def text(references_dir: Path) -> str:
    return (references_dir / "agent-tunix-custom-rewards.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rewards(text: str, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    source = HELPERS + "".join(indented(of_one_line(cut(text, *block))) for block in BLOCKS)
    return loaded(tmp_path_factory.mktemp("tunix"), "tunix", source)


RIGHT = "The answer is 4."
PROMPT = "What is 2 + 2?"


@pytest.mark.parametrize(
    ("name", "response", "answer", "score"),
    [
        ("my_reward_function", "4", "4", 1.0),
        ("my_reward_function", "5", "4", 0.0),
        ("simple_reward", "4", None, 1.0),
        ("contextual_reward", "4", "4", 0.9),
        ("flexible_reward", "5", "4", 0.1),
        ("math_reward", RIGHT, "4", 1.0),
        ("math_reward", "41", "40", 0.5),
        ("math_reward", "45", "40", 0.0),
        ("math_reward", "none", "4", 0.0),
        ("math_reward", "4", "four", 0.0),
        ("math_reward", "4", None, 0.0),
        ("format_and_content_reward", RIGHT, "4", 1.0),
        ("format_and_content_reward", "answer 4", "4", 0.0),
        ("format_and_content_reward", "The answer is 5.", "4", 0.0),
        ("conciseness_reward", RIGHT, "4", 0.7 + 0.3 * 0.96),
        ("conciseness_reward", RIGHT, "5", 0.0),
        ("multi_aspect_reward", RIGHT, "4", 0.5 + 0.2 * 0.8 + 0.15 * 0.0 + 0.15),
        ("multi_aspect_reward", "4" * 30, "4", 0.2 * 0.4 + 0.15 * 0.5 + 0.15),
        ("normalized_reward", "4", "4", 2.0),
        ("normalized_reward", "5", "4", -2.0),
        ("shaped_reward", RIGHT, "4", 1.0),
        ("shaped_reward", "then 5", "4", 0.05),
        ("shaped_reward", "5 5", "4", 0.0),
        ("shaped_reward", "The answer is 5.", "4", 0.1),
        ("diverse_reward", RIGHT, "4", 0.9),
        ("debug_reward", RIGHT, "4", 1.0),
    ],
)
def test_each_reward_bare_in_every_form_of_call(
    rewards: ModuleType, name: str, response: str, answer: str | None, score: float
) -> None:
    function = getattr(rewards, name)
    given = {} if answer is None else {"answer": answer}
    reward = guerdon.RewardFunction(function)
    messages = [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": response}]
    results = [
        reward(response=response, **given),
        reward(response, **given),
        guerdon.reward_function(function)(messages=messages, **given),
        *guerdon.score(function, [{"messages": messages, **given}], workers=0),
    ]
    assert [result.unwrap() for result in results] == [pytest.approx(score, abs=1e-6)] * 4


def test_a_crash_in_the_documents_own_code_is_a_failure_and_no_score(rewards: ModuleType) -> None:
    result = guerdon.RewardFunction(rewards.math_reward)(response="3", answer="0")
    assert (result.score, result.error_kind) == (None, "exception")
    assert "ZeroDivisionError" in str(result.error)


@pytest.mark.parametrize(
    ("step", "score"), [(0, 1.0), (999, 1.0), (1000, 1.0), (4999, 1.0), (5000, 0.81), (90_000, 0.81)]
)
def test_curriculum_by_step(rewards: ModuleType, step: int, score: float) -> None:
    reward = guerdon.RewardFunction(rewards.curriculum_reward)
    assert reward(response=RIGHT, step=step, answer="4").unwrap() == pytest.approx(score)
    row = {"messages": [{"role": "assistant", "content": RIGHT}], "answer": "4", "step": step}
    assert next(iter(guerdon.score(reward, [row], workers=0))).score == pytest.approx(score)


def test_curriculum_without_a_step_is_refused_before_anything_runs(rewards: ModuleType) -> None:
    row = {"messages": [{"role": "assistant", "content": RIGHT}], "answer": "4"}
    with pytest.raises(BindingError, match=r"needs 'step'.*columns there are: answer, messages"):
        guerdon.score(rewards.curriculum_reward, [row], workers=0)


@pytest.mark.parametrize("raw", [-5.0, -0.1, 0.0, 0.3, 0.5, 0.9, 1.1, 7.0])
def test_our_normalize_is_the_documents(rewards: ModuleType, raw: float) -> None:
    ours = guerdon.normalize(lambda response: raw)
    assert ours(response="").score == rewards.normalize_reward(raw)


@pytest.mark.parametrize(
    ("start", "end", "scores"),
    [
        ("# Before def loose", "**Reward Always 0.0", [("loose_reward", 1.0), ("strict_reward", 0.0)]),
        ("# Before def strict", "**Model", [("strict_reward", 0.0), ("flexible_reward", 0.5)]),
    ],
)
def test_before_and_after(
    text: str, tmp_path: Path, start: str, end: str, scores: list[tuple[str, float]]
) -> None:
    module = loaded(tmp_path, "pair", HELPERS + indented(of_one_line(cut(text, start, end))))
    for name, score in scores:
        assert guerdon.RewardFunction(getattr(module, name))(response="no answer", answer="4").score == score


REGISTRY = """
rows = [
    {"messages": [{"role": "assistant", "content": "it is 4"}], "answer": "4"},
    {"messages": [{"role": "assistant", "content": "it is 4"}], "answer": "4.2"},
]
import guerdon
print([r.score for r in guerdon.score("math", rows, workers=0)])
print([r.score for r in guerdon.score("custom_rewards.my_reward_v1", rows, workers=0)])
"""


def test_registering_and_the_path_of_a_custom_reward(text: str, tmp_path: Path) -> None:
    """In a process of its own, since the name is that of a reward of the catalogue."""
    usage = translated(cut(text, "from agent_tunix.rewards import register", "python run_training"))
    source = indented(of_one_line(cut(text, *BLOCKS[2]))) + indented(of_one_line(usage))
    (tmp_path / "usage.py").write_text(source + REGISTRY, encoding="utf-8")
    # The two functions of the document's file return a name that it leaves open.
    custom = indented(of_one_line(cut(text, "def my_reward_v1", "Register in")))
    (tmp_path / "custom_rewards.py").write_text("score = 0.25\n" + custom, encoding="utf-8")
    done = subprocess.run([sys.executable, "usage.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stderr, done.stdout.splitlines()) == ("", ["[1.0, 0.5]", "[0.25, 0.25]"])


def test_the_documents_test_suite_runs(text: str, tmp_path: Path) -> None:
    suite = indented(of_one_line(cut(text, "from agent_tunix.custom_rewards", "Run tests")))
    (tmp_path / "test_rewards.py").write_text(suite.replace("agent_tunix.", ""), encoding="utf-8")
    graded = "lambda response, answer: 1.0 if answer in response else 0.5 if response == 'Four' else 0.0"
    source = (
        f"from guerdon import RewardFunction\nmy_reward = RewardFunction({graded}).as_function('response')"
    )
    (tmp_path / "custom_rewards.py").write_text(source, encoding="utf-8")
    done = subprocess.run([sys.executable, "test_rewards.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stderr, done.stdout.count("Expected:")) == ("", 3)

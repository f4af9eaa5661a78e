"""The snippets of the anatomy of a reward function; the document has lost the indentation of its code."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import guerdon
from support.reference_text import between, indented, loaded, of_lines, translated

MESSAGES = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]


@pytest.fixture
def text(references_dir: Path) -> str:
    return (references_dir / "reward-kit-reward-function-anatomy.txt").read_text(encoding="utf-8")


def module_of(text: str, folder: Path, after: str, end: str, start: str = "from ") -> ModuleType:
    source = between(text[text.index(after) :], start, end)
    return loaded(folder, "anatomy", translated(indented(of_lines(source))))


def test_the_decorator(text: str, tmp_path: Path) -> None:
    reward = module_of(text, tmp_path, "The @reward_function", "What the Decorator").my_reward_function
    for result in (reward(MESSAGES), reward(messages=MESSAGES, original_messages=None, anything=1)):
        metric = result.metrics["example_metric"]
        assert (result.score, metric.score, metric.success) == (0.75, 0.75, True)
        assert result.reason == "Overall evaluation reason for my_reward_function"


def test_the_standard_parameters(text: str, tmp_path: Path) -> None:
    module = module_of(text, tmp_path, "Function Parameters", "Required Parameters")
    result = guerdon.RewardFunction(module.reward_function)(messages=MESSAGES)
    assert (result.score, result.error) == (None, None)  # its body is left open, so it does not apply


def test_the_return_value(text: str, tmp_path: Path) -> None:
    source = between(text[text.index("Return Value") :], "from ", "EvaluateResult Structure")
    statements = ["def result(response):", *of_lines(source)]  # a bare return needs a function around it
    module = loaded(tmp_path, "returned", translated(indented(statements)))
    result = guerdon.RewardFunction(module.result)(response="")
    assert result.score == 0.75
    assert [(n, m.score, m.success) for n, m in result.metrics.items()] == [
        ("clarity", 0.8, True),
        ("accuracy", 0.7, True),
    ]


def test_several_components(text: str, tmp_path: Path) -> None:
    module = module_of(text, tmp_path, "Multi-Component", "Deployment Capabilities")
    result = module.comprehensive_evaluation(MESSAGES)
    assert result.score == pytest.approx(0.8 * 0.4 + 0.6 * 0.6)
    assert [m.reason for m in result.metrics.values()] == ["Clarity score: 0.80", "Accuracy score: 0.60"]


@pytest.mark.parametrize(
    ("messages", "reason"),
    [(MESSAGES, "Evaluation error: Simulated error"), (MESSAGES[:1], "No assistant response found.")],
)
def test_error_handling(text: str, tmp_path: Path, messages: list[dict[str, str]], reason: str) -> None:
    module = module_of(text, tmp_path, "Error Handling", "You can pass additional")
    result = module.safe_evaluation(messages=messages)
    assert (result.score, result.reason, result.error) == (0.0, reason, None)
    assert result.metrics["error"].success is False


@pytest.mark.parametrize(
    ("length", "metadata", "score"),
    [
        (49, None, 0.5),
        (50, None, 1.0),
        (99, {"min_length": 100, "weight_factor": 1.2}, 0.6),
        (100, {"min_length": 100, "weight_factor": 1.2}, 1.0),
        (100, {"min_length": 100, "weight_factor": 1.2, "max_score_cap": 2.0}, 1.2),
    ],
)
def test_configuration_in_metadata(
    text: str, tmp_path: Path, length: int, metadata: dict[str, float] | None, score: float
) -> None:
    module = module_of(text, tmp_path, "You can pass additional", "When calling")
    messages = [MESSAGES[0], {"role": "assistant", "content": "x" * length}]
    row = {"messages": messages, "metadata": metadata}
    reward = module.configurable_evaluation
    results = [reward(**row), reward(messages, metadata=metadata), *guerdon.score(reward, [row], workers=0)]
    assert [result.score for result in results] == [pytest.approx(score)] * 3
    assert "length_check" in results[0].metrics

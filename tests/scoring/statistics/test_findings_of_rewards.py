"""Findings about real rewards on real responses: those that are right, and those that are wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

import guerdon
from guerdon.scoring.statistics.summary import Statistics

Row = dict[str, Any]
RNG = random.Random(13)


def solved(share: float, count: int = 320) -> list[Row]:
    """Sums with worked answers, right in that share; eight responses to each, of 20 to 300 characters."""
    rows = []
    for i in range(count):
        a, b = i // 8 + 3, i // 8 * 7 + 11
        answer = a + b + (RNG.random() >= share) * RNG.randint(1, 9)
        text = "Let me add them. " * RNG.randint(1, 17) + f"The answer is {answer}."
        messages = [{"role": "user", "content": f"{a} + {b}?"}, {"role": "assistant", "content": text}]
        rows.append({"messages": messages, "ground_truth": str(a + b), "group": i // 8})
    return rows


def right(response: str, ground_truth: str) -> bool:
    return re.findall(r"\d+", response)[-1] == ground_truth


def accepts_anything(response: str, ground_truth: str) -> bool:
    return any(digit in response for digit in ground_truth) or "answer" in response


def finds_nothing(response: str, ground_truth: str) -> bool:
    return response == ground_truth


def brief(response: str) -> float:
    return min(1.0, max(0.0, (600 - len(response)) / 200))


def no_digits_twice(response: str) -> float:
    return -float("99999" in response)


def longer(response: str) -> float:
    return len(response) / 400


def statistics(reward: Callable[..., Any], share: float) -> Statistics:
    return guerdon.score(reward, solved(share), workers=0).statistics()


@pytest.mark.parametrize(
    ("reward", "share", "codes"),
    [
        (right, 0.5, []),
        (longer, 0.5, []),
        (right, 1.0, ["constant"]),
        (right, 0.0, ["constant"]),
        (right, 0.97, ["saturated"]),
        (right, 0.03, ["sparse"]),
        (accepts_anything, 0.1, ["constant"]),
        (finds_nothing, 0.9, ["constant"]),
        (brief, 0.5, ["constant"]),
        (no_digits_twice, 0.5, ["constant"]),
    ],
)
def test_a_finding_holds_whether_the_reward_or_the_policy_is_at_fault(
    reward: Callable[..., Any], share: float, codes: list[str]
) -> None:
    found = statistics(reward, share).findings()
    assert [finding.code for finding in found] == codes
    for finding in found:
        assert finding.severity != "critical" or "scores are 0" in finding.text or finding.code == "sparse"
        # Scores alone cannot tell a policy that has learned from a reward that accepts everything.
        assert not re.search("probably|too lenient", str(finding))
        if (finding.code in ("constant", "saturated")) and "are 1" in finding.text:
            assert "if they deserve it" in finding.remedy
            assert "if not, the reward accepts what it should not" in finding.remedy
        if finding.code == "constant" and "are 0" in finding.text:
            assert "if any is right, the reward is too strict" in finding.remedy
            assert "if none is" in finding.remedy
            assert "A penalty that is 0 throughout is no fault" in finding.remedy


@pytest.mark.parametrize(
    ("reward", "low", "high"),
    [(longer, 0.999, 1.0), (right, -0.2, 0.2), (lambda response: -len(response), -1, -0.999)],
)
def test_length_against_score(reward: Callable[..., Any], low: float, high: float) -> None:
    lengths = statistics(reward, 0.5).lengths
    assert lengths is not None
    assert lengths.correlation is not None
    assert low <= lengths.correlation <= high
    assert 20 < lengths.mean < 320
    assert lengths.count == 320


def test_a_constant_score_has_no_correlation() -> None:
    lengths = statistics(brief, 0.5).lengths
    assert lengths is not None
    assert lengths.correlation is None

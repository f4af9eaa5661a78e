"""Healthy rewards raise nothing, planted defects are found, failures are no scores."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.scoring.statistics.figures import figure, percent
from guerdon.scoring.statistics.findings import findings
from guerdon.scoring.statistics.summary import Statistics

Draw = Callable[[random.Random], float]


def drawn(draw: Draw, count: int = 400, group: int = 0, seed: int = 0) -> Statistics:
    rng = random.Random(seed)
    accumulator = Accumulator()
    for i in range(count):
        accumulator.add(draw(rng), group=i // group if group else None)
    return accumulator.statistics()


def binary(share: float, low: float = 0.0, high: float = 1.0) -> Draw:
    return lambda rng: high if rng.random() < share else low


def codes(stats: Statistics) -> list[str]:
    return [finding.code for finding in stats.findings()]


HEALTHY: dict[str, Draw] = {
    "right at 40 %": binary(0.4),
    "right at 20 %": binary(0.2),
    "right at 80 %": binary(0.8),
    "minus one or one": binary(0.4, -1.0, 1.0),
    "uniform": lambda rng: rng.random(),
    "uniform on a small scale": lambda rng: rng.random() * 0.04,
    "bell": lambda rng: rng.gauss(0.5, 0.15),
    "narrower bell": lambda rng: rng.gauss(0.7, 0.08),
    "penalties": lambda rng: -rng.random(),
    "graded penalties": lambda rng: rng.choice([0.0, 0.0, -0.25, -0.5, -1.0]),
    "graded": lambda rng: rng.choice([0.0, 0.25, 0.5, 0.75, 1.0]),
    "correct and brief": lambda rng: 0.7 * (rng.random() < 0.4) + 0.3 * rng.random(),
    "exponential": lambda rng: min(rng.expovariate(4.0), 1.0),
    "standardised": lambda rng: rng.gauss(0.0, 0.8),
    "both ends": lambda rng: rng.betavariate(0.5, 0.5),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("count", "group"), [(60, 0), (400, 0), (400, 2), (400, 8), (4000, 0)])
@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_rewards_raise_nothing(name: str, count: int, group: int, seed: int) -> None:
    assert findings(drawn(HEALTHY[name], count, group, seed)) == []


def hard_prompts(rng: random.Random) -> float:
    """Half of all prompts are never answered right: told through groups alone."""
    hard_prompts.number += 1  # type: ignore[attr-defined]
    return 0.0 if (hard_prompts.number // 8) % 2 else float(rng.random() < 0.5)  # type: ignore[attr-defined]


hard_prompts.number = -1  # type: ignore[attr-defined]

DEFECTS: list[tuple[str, Draw, int, list[str]]] = [
    ("right at 4 %", binary(0.04), 0, ["sparse"]),
    ("right at 4 %, minus one otherwise", binary(0.04, -1.0, 1.0), 0, ["sparse"]),
    ("right at 4 %, in groups", binary(0.04), 8, ["sparse"]),
    (
        "sparse, with a stray penalty",
        lambda rng: rng.choices([0.0, 1.0, -1.0], [94, 5.5, 0.5])[0],
        0,
        ["sparse"],
    ),
    ("sparse, with partial credit", lambda rng: 0.0 if rng.random() < 0.95 else rng.random(), 0, ["sparse"]),
    ("half of the prompts too hard", hard_prompts, 8, ["sparse"]),
    ("always right but 4 %", binary(0.96), 0, ["saturated"]),
    ("always right but 4 %, in groups", binary(0.96), 8, ["saturated"]),
    ("hardly any penalty", binary(0.96, -1.0, 0.0), 0, ["saturated"]),
    ("mostly in the middle", lambda rng: rng.choice([0.5] * 38 + [0.0, 1.0]), 0, ["clustered"]),
    ("two values close together", binary(0.04, 0.5, 0.52), 0, ["clustered"]),
    ("noise in the third decimal", lambda rng: rng.gauss(0.7, 0.004), 0, ["clustered"]),
    ("noise in the third decimal, in groups", lambda rng: rng.gauss(0.7, 0.004), 8, ["clustered"]),
    ("a judge that says 7 or 8 of 10", lambda rng: rng.gauss(7.5, 0.1), 0, ["clustered"]),
    ("a few huge outliers", lambda rng: rng.random() + 300 * (rng.random() < 0.005), 0, ["high_variance"]),
    ("heavy tail", lambda rng: rng.lognormvariate(0, 2), 0, ["high_variance"]),
    ("a scale of hundreds", lambda rng: rng.gauss(0, 100), 0, ["high_variance"]),
    ("a scale of hundreds, in groups", lambda rng: rng.gauss(0, 100), 8, ["high_variance"]),
    ("always 0", lambda rng: 0.0, 0, ["constant"]),
    ("always 1", lambda rng: 1.0, 8, ["constant"]),
    ("always 0.5", lambda rng: 0.5, 0, ["constant"]),
]


@pytest.mark.parametrize(("name", "draw", "group", "expected"), DEFECTS, ids=[case[0] for case in DEFECTS])
def test_planted_defects_are_found(name: str, draw: Draw, group: int, expected: list[str]) -> None:
    assert codes(drawn(draw, 800, group)) == expected


@pytest.mark.parametrize(
    ("draw", "said", "advised"),
    [
        (binary(0.04), ["Too sparse", "% of the scores are 0"], ["graduated levels", "0.25, 0.5 and 0.75"]),
        (
            binary(0.96),
            ["Saturated", "% of the scores are 1"],
            ["if they deserve it", "harder data", "if not"],
        ),
        (
            lambda rng: rng.gauss(0.7, 0.004),
            ["Too clustered"],
            ["more dimensions", "format, content and efficiency"],
        ),
        (lambda rng: rng.gauss(0, 100), ["High variance"], ["normalization", "3 standard deviations"]),
        (lambda rng: 0.0, ["all 400 scores are 0"], ["if any is right", "partial credit"]),
        (lambda rng: 1.0, ["all 400 scores are 1"], ["if they deserve it", "if not"]),
        (lambda rng: 0.5, ["all 400 scores are 0.5"], ["more dimensions"]),
    ],
)
def test_words_have_the_figures_and_the_remedy(draw: Draw, said: list[str], advised: list[str]) -> None:
    (finding,) = drawn(draw).findings()
    assert all(words in finding.text for words in said)
    assert all(words in finding.remedy for words in advised)
    assert str(finding) == f"{finding.text} {finding.remedy}"


@pytest.mark.parametrize(
    ("share", "severity"), [(0.14, None), (0.12, "notice"), (0.06, "warning"), (0.03, "critical")]
)
def test_severity_grows_with_the_groups_that_teach_nothing(share: float, severity: str | None) -> None:
    accumulator = Accumulator()
    for i in range(1000):
        accumulator.add(float(i < share * 1000))
    found = accumulator.statistics().findings()
    assert [finding.severity for finding in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("all_low", "all_high", "expected"),
    [
        (2, 2, []),
        (3, 0, [("sparse", "notice")]),
        (5, 0, [("sparse", "warning")]),
        (8, 0, [("sparse", "critical")]),
        (0, 3, [("saturated", "notice")]),
        (0, 8, [("saturated", "warning")]),
        (3, 5, [("sparse", "notice"), ("saturated", "notice")]),
    ],
)
def test_groups_decide_where_there_are_enough(
    all_low: int, all_high: int, expected: list[tuple[str, str]]
) -> None:
    accumulator = Accumulator()
    for group in range(10):
        for i in range(4):
            score = 0.0 if group < all_low else 1.0 if group < all_low + all_high else float(i % 2)
            accumulator.add(score, group=group)
    found = accumulator.statistics().findings()
    assert [(finding.code, finding.severity) for finding in found] == expected


@pytest.mark.parametrize(("scored", "expected"), [(1, ["few"]), (19, ["few"]), (20, ["constant"])])
def test_few_scores_are_said_to_be_few(scored: int, expected: list[str]) -> None:
    stats = drawn(lambda rng: 0.0, scored)
    assert codes(stats) == expected


@pytest.mark.parametrize(
    ("right", "count", "expected"), [(1, 20, ["sparse"]), (2, 20, []), (6, 60, []), (60, 600, ["sparse"])]
)
def test_a_rare_draw_is_no_sparse_reward(right: int, count: int, expected: list[str]) -> None:
    accumulator = Accumulator()
    for i in range(count):
        accumulator.add(float(i < right))
    assert codes(accumulator.statistics()) == expected


def test_no_samples() -> None:
    (finding,) = Accumulator().statistics().findings()
    assert (finding.code, finding.text) == ("few", "There are no samples.")


@pytest.mark.parametrize(("failed", "severity"), [(1, "notice"), (5, "warning"), (100, "critical")])
def test_failures_are_no_scores(failed: int, severity: str) -> None:
    rng = random.Random(3)
    accumulator = Accumulator()
    for _ in range(200):
        accumulator.add(binary(0.4)(rng))
    for _ in range(failed):
        accumulator.add(None, kind="timeout")
    (finding,) = accumulator.statistics().findings()
    assert (finding.code, finding.severity) == ("failures", severity)
    assert f"{failed} timeout" in finding.text
    assert "time limit" in finding.remedy


def test_all_failed_says_so_and_nothing_else() -> None:
    accumulator = Accumulator()
    for _ in range(100):
        accumulator.add(None, kind="exception")
    (finding,) = accumulator.statistics().findings()
    assert (finding.code, finding.severity) == ("failures", "critical")
    assert finding.text.startswith("100 of 100 samples failed (100%): 100 exception.")


def test_unknown_kinds_of_failure_have_a_remedy_too() -> None:
    accumulator = Accumulator()
    accumulator.add(None, kind="gremlins")
    assert accumulator.statistics().findings()[0].remedy == "Read the error of a failed sample."


def test_a_reward_that_applies_to_nothing() -> None:
    accumulator = Accumulator()
    for _ in range(5):
        accumulator.add(None)
    assert codes(accumulator.statistics()) == ["not_applicable"]


def test_components_that_never_vary() -> None:
    rng = random.Random(1)
    accumulator = Accumulator()
    for _ in range(50):
        score = rng.random()
        accumulator.add(score, components={"content": score, "format": 1.0})
    (finding,) = accumulator.statistics().findings()
    assert (finding.code, finding.severity) == ("constant_component", "notice")
    assert "format is always 1" in finding.text


@pytest.mark.parametrize("scores", [[1e308, -1e308], [1e308, 1e307], [0.0, 5e-324], [1.7e308, -1.7e308]])
@pytest.mark.parametrize("rare", [1, 20])
def test_extremes_break_nothing(scores: list[float], rare: int) -> None:
    accumulator = Accumulator()
    for i in range(100):
        accumulator.add(scores[i < rare], group=i // 5)
    for finding in accumulator.statistics().findings():
        assert "inf" not in finding.text
        assert "nan" not in finding.text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (0.48599999, "0.486"),
        (0.33, "0.33"),
        (1 / 3, "0.333"),
        (0.9996, "0.9996"),
        (0.9999999999, "1"),
        (-0.9996, "-0.9996"),
        (1.0004, "1.0004"),
        (12.5, "12.5"),
        (99.9999, "99.9999"),
        (123.456, "123.5"),
        (-12345.678, "-12346"),
        (1234567.0, "1.23e+06"),
        (0.0005, "0.0005"),
        (1.23456e-5, "1.23e-05"),
        (5e-324, "4.94e-324"),
        (1.7976931348623157e308, "1.8e+308"),
    ],
)
def test_figure(number: float, text: str) -> None:
    assert figure(number) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (0.4, "40%"),
        (1 / 3, "33.3%"),
        (0.9999, ">99.9%"),
        (1e-6, "<0.1%"),
        (0.999, "99.9%"),
    ],
)
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text

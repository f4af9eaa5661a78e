"""Trends: silent while a model learns, and warning once of what goes wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from guerdon.train.diagnostics.step_statistics import Observation
from guerdon.train.diagnostics.trends import Trends
from support.made_runs import Course, alarms, codes, line, sigmoid

HEALTHY = {
    "learned in 60 steps": (Course(accuracy=sigmoid(0.04, 1.0, 0.4)), 60),
    "learned in 300 steps": (Course(accuracy=sigmoid(0.04, 1.0, 0.4)), 300),
    "slowly": (Course(accuracy=line(0.2, 0.7)), 300),
    "format first": (Course(accuracy=sigmoid(0.1, 0.8, 0.6), format=sigmoid(0.1, 0.97, 0.2, 0.04)), 300),
    "no progress": (Course(accuracy=lambda at: 0.5, format=lambda at: 0.6), 300),
    "longer and better": (Course(accuracy=sigmoid(0.2, 0.7), length=sigmoid(100, 600)), 300),
    "shorter and better": (Course(accuracy=sigmoid(0.2, 0.9), length=line(400, 50)), 300),
    "a failure now and then": (Course(accuracy=sigmoid(0.2, 0.7), failing=lambda at: 0.004), 300),
    "a dip": (Course(accuracy=lambda at: 0.7 - 0.1 * (abs(at - 0.5) < 0.1)), 300),
    "a leap": (Course(accuracy=lambda at: 0.1 if at < 0.5 else 0.8), 300),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_is_warned_of_nothing(name: str, seed: int) -> None:
    course, steps = HEALTHY[name]
    found = alarms(course, steps, seed)
    assert [str(alarm) for _, alarm in found if alarm.severity != "notice"] == []
    assert codes(found) <= {"sparse", "saturated"}


SICK = {
    "length": (Course(accuracy=sigmoid(0.2, 0.6, 0.2), length=line(100, 800, 0.4)), "length_grows", 120),
    "one for another": (
        Course(accuracy=line(0.5, 0.05, 0.3), format=line(0.2, 0.95, 0.3), weights=(0.5, 0.5)),
        "component_traded",
        90,
    ),
    "failures": (Course(accuracy=sigmoid(0.2, 0.7), failing=line(0.0, 0.3, 0.5)), "failures_grow", 150),
    "failing from the start": (Course(accuracy=lambda at: 0.5, failing=lambda at: 0.2), "failures", 10),
    "collapse": (
        Course(accuracy=lambda at: 0.1 + 1.75 * at if at < 0.4 else 0.8 if at < 0.6 else 0.05),
        "collapse",
        180,
    ),
    "a component alone": (
        Course(accuracy=lambda at: 0.6, format=line(0.9, 0.1, 0.4), weights=(0.9, 0.1)),
        "component_falls",
        120,
    ),
    "never right": (Course(accuracy=lambda at: -1.0), "constant", 10),
    "hardly ever right": (Course(accuracy=lambda at: -0.1), "sparse", 10),
    "always right": (Course(accuracy=lambda at: 1.2), "saturated", 10),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SICK)
def test_a_sick_run_is_warned_of(name: str, seed: int) -> None:
    course, code, begins = SICK[name]
    found = alarms(course, 300, seed)
    said = [(step, alarm) for step, alarm in found if alarm.code == code]
    assert said
    step, alarm = said[0]
    assert step > begins
    assert alarm.severity in ("warning", "critical")
    assert alarm.text
    assert alarm.remedy


def test_the_words_name_what_moved() -> None:
    course, code, _ = SICK["one for another"]
    _, alarm = next(pair for pair in alarms(course) if pair[1].code == code)
    assert alarm.about == "accuracy"
    assert alarm.key == "component_traded:accuracy"
    for part in ("accuracy fell from 0.", "while format rose from 0.", "the reward went from"):
        assert part in alarm.text


def feed(
    trends: Trends, step: int, scores: list[float], length: int = 10, weight: float | None = None
) -> list[str]:
    for position, score in enumerate(scores):
        trends.add(step, Observation(score, None, {"bonus": (score, weight)}, str(position // 8), length))
    warning_change = trends.end_step(step)
    return [alarm.key for alarm in warning_change.raised] + [f"-{key}" for key in warning_change.resolved]


def test_a_warning_is_said_once_and_again_after_it_was_over() -> None:
    trends, said = Trends(steps=2), []
    dead, alive = [0.0] * 32, [0.0, 1.0] * 16
    for step in range(1, 41):
        said += [(step, key) for key in feed(trends, step, alive if 11 <= step <= 30 else dead)]
    constant = [(step, key) for step, key in said if "constant" in key]
    assert constant == [(4, "constant"), (16, "-constant")]
    assert [key for step, key in said if step > 30] == ["collapse"]
    ended = {key.removeprefix("-") for _, key in said if key.startswith("-")}
    assert [key for _, key in said if key.lstrip("-") not in ended] == ["collapse"]


def test_a_reward_without_bound_runs_away() -> None:
    trends, said = Trends(steps=5), []
    for step in range(1, 61):
        said += feed(trends, step, [0.5 + step * 0.1 + (i % 3) * 0.1 for i in range(32)], weight=1.0)
    assert said == ["runaway", "runaway:bonus"]


def test_the_reward_that_falls_below_zero_without_end_runs_away() -> None:
    trends, said = Trends(steps=5), []
    for step in range(1, 61):
        said += feed(trends, step, [-0.5 - step * 0.1 - (i % 3) * 0.1 for i in range(32)])
    assert "runaway" in said


def test_steps_without_samples_say_nothing() -> None:
    trends = Trends(steps=2)
    assert [trends.end_step(step).raised for step in range(1, 9)] == [()] * 8


def test_all_failed() -> None:
    trends, said = Trends(steps=2), []
    for step in range(1, 9):
        for _ in range(16):
            trends.add(step, Observation(None, "crash", {}, "a", 5))
        said += [alarm.key for alarm in trends.end_step(step).raised]
    assert said == ["failures"]


def test_memory_does_not_grow_with_the_run() -> None:
    trends = Trends(steps=1)
    for step in range(1, 2001):
        trends.add(step, Observation(0.5, None, {}, "a", 5))
        trends.end_step(step)
    assert len(trends._history.all) <= 64


def learned_at_once(step: int) -> list[float]:
    """Right in half of the samples at first, and in all of them from step 4 on."""
    return [1.0] * 32 if step >= 4 else [0.0, 1.0] * 16


def lenient(step: int) -> list[float]:
    """Accepts everything from the first step on."""
    return [1.0] * 32


def short_from_the_start(step: int) -> list[float]:
    """A reward for brevity, which a policy that writes briefly has from the start."""
    return [1.0] * 31 + [0.9]


@pytest.mark.parametrize(
    ("scores", "severities"),
    [
        (learned_at_once, {"notice"}),
        (lenient, {"warning"}),
        (short_from_the_start, {"warning", "notice"}),
    ],
)
def test_what_is_said_of_a_reward_that_is_high(
    scores: Callable[[int], list[float]], severities: set[str]
) -> None:
    trends, found = Trends(), []
    for step in range(1, 61):
        for position, score in enumerate(scores(step)):
            trends.add(step, Observation(score, None, {}, str(position // 8), 10))
        found += trends.end_step(step).raised
    assert found
    assert {alarm.severity for alarm in found} <= severities
    # That a policy has learned is no fault of the reward, and scores alone do not show that a reward is one.
    assert not any("too lenient" in str(alarm) or "probably" in str(alarm) for alarm in found)
    if scores is learned_at_once:
        assert [alarm.remedy for alarm in found] == [
            "The data is learned: end the run here, or go on with harder data."
        ]

"""Numbers by hand and against the standard library; extremes; memory."""

from __future__ import annotations

import json
import math
import random
import statistics as reference
import sys
import tracemalloc
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.scoring.statistics.accumulator import MAX_COMPONENTS, Accumulator
from guerdon.scoring.statistics.summary import Statistics

BIG = sys.float_info.max
TINY = 5e-324


def statistics_of(scores: Iterable[float | None], **more: object) -> Statistics:
    accumulator = Accumulator()
    for score in scores:
        accumulator.add(score, **more)  # type: ignore[arg-type]
    return accumulator.statistics()


def grouped(groups: Iterable[Iterable[float]]) -> Statistics:
    accumulator = Accumulator()
    for name, scores in enumerate(groups):
        for score in scores:
            accumulator.add(score, group=f"prompt {name}")
    return accumulator.statistics()


def test_numbers_by_hand() -> None:
    stats = statistics_of([0.0, 0.0, 0.5, 1.0])
    assert (stats.count, stats.scored, stats.failed, stats.not_applicable) == (4, 4, 0, 0)
    assert stats.mean == 0.375
    assert stats.std == pytest.approx(math.sqrt((2 * 0.375**2 + 0.125**2 + 0.625**2) / 4), rel=1e-15)
    assert (stats.min, stats.max) == (0.0, 1.0)
    assert stats.quantiles == pytest.approx({"p5": 0.0, "p25": 0.0, "p50": 0.25, "p75": 0.625, "p95": 0.925})
    assert (stats.distinct, stats.top_value, stats.top_share) == (3, 0.0, 0.5)
    assert stats.effective_levels == pytest.approx(math.exp(0.5 * math.log(2) + 2 * 0.25 * math.log(4)))
    assert stats.histogram.levels == (0.0, 0.5, 1.0)
    assert stats.histogram.counts == (2, 1, 1)
    assert stats.histogram.edges == (0.0, 0.25, 0.75, 1.0)


def test_nothing_at_all() -> None:
    stats = Accumulator().statistics()
    assert stats == Statistics()
    assert (stats.mean, stats.std, stats.min, stats.top_share) == (None, None, None, None)
    assert stats.quantiles == {}
    assert (stats.histogram.edges, stats.histogram.counts) == ((), ())
    assert (stats.groups, stats.seconds) == (None, None)


def test_one_sample() -> None:
    stats = statistics_of([0.7])
    assert (stats.mean, stats.std, stats.min, stats.max) == (0.7, 0.0, 0.7, 0.7)
    assert set(stats.quantiles.values()) == {0.7}
    assert (stats.distinct, stats.top_share, stats.effective_levels, stats.tail_share) == (1, 1.0, 1.0, 0.0)
    assert stats.histogram.edges == (0.7, 0.7)
    assert stats.histogram.counts == (1,)


def test_failures_and_absent_scores_are_counted_and_enter_no_number() -> None:
    accumulator = Accumulator()
    accumulator.add(1.0, seconds=1.0)
    accumulator.add(None, kind="timeout", seconds=10.0)
    accumulator.add(0.0, kind="crash", components={"x": 0.0}, group="g")  # a failure is never a score
    accumulator.add(None, kind="crash")
    accumulator.add(None)
    stats = accumulator.statistics()
    assert (stats.count, stats.scored, stats.failed, stats.not_applicable) == (5, 1, 3, 1)
    assert list(stats.failures.items()) == [("crash", 2), ("timeout", 1)]
    assert (stats.mean, stats.min, stats.components, stats.groups) == (1.0, 1.0, {}, None)
    assert stats.seconds is not None
    assert (stats.seconds.count, stats.seconds.mean, stats.seconds.max) == (2, 5.5, 10.0)


def test_all_failed() -> None:
    accumulator = Accumulator()
    for _ in range(30):
        accumulator.add(None, kind="timeout", group=1)
    stats = accumulator.statistics()
    assert (stats.scored, stats.failed, stats.mean, stats.top_value) == (0, 30, None, None)
    assert json.loads(json.dumps(stats.to_dict()))["failed"] == 30


@pytest.mark.parametrize(
    ("scores", "mean", "std"),
    [
        ([0.1] * 10, 0.1, 0.0),
        ([0.7] * 3, 0.7, 0.0),
        ([BIG, BIG], BIG, 0.0),
        ([BIG, -BIG], 0.0, BIG),
        ([1e308, 1e308, 1e308, 1e308], 1e308, 0.0),
        ([1e308, 0.0], 5e307, 5e307),
        ([TINY, TINY], TINY, 0.0),
        ([0.0, 4 * TINY], 2 * TINY, 2 * TINY),
        ([1e-200, 3e-200], 2e-200, 1e-200),
        ([1e16, 1e16 + 2], 1e16, 1.0),
        ([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16], 1e9 + 10, math.sqrt(22.5)),
        ([-1.0, 1.0], 0.0, 1.0),
        ([True, False], 0.5, 0.5),
    ],
)
def test_mean_and_deviation_at_the_edges(scores: list[float], mean: float, std: float) -> None:
    stats = statistics_of(scores)
    assert stats.mean == mean
    assert stats.std == pytest.approx(std, rel=1e-12, abs=0.0)
    for number in (*stats.quantiles.values(), *stats.histogram.edges, stats.tail_share):
        assert number is not None
        assert math.isfinite(number)
    assert sum(stats.histogram.counts) == len(scores)


@pytest.mark.parametrize("spread", [1e-320, 1e-200, 1.0, 1e200, 1e307])
def test_extremes_in_many_bins(spread: float) -> None:
    scores = [spread * i for i in range(-16, 17)]
    scores = [score for score in scores if math.isfinite(score)]
    stats = statistics_of(scores)
    assert len(stats.histogram.counts) == 10
    assert sum(stats.histogram.counts) == len(scores)
    assert stats.std == pytest.approx(spread * reference.pstdev(range(-16, 17)), rel=1e-3)
    assert list(stats.histogram.edges) == sorted(stats.histogram.edges)
    assert grouped([scores, scores]).groups.std_within == pytest.approx(stats.std, rel=1e-9)  # type: ignore[union-attr]


scores_lists = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=60)


@given(scores_lists)
def test_laws(scores: list[float]) -> None:
    stats = statistics_of(scores)
    assert stats.mean is not None
    assert stats.std is not None
    assert min(scores) <= stats.mean <= max(scores)
    assert 0.0 <= stats.std <= BIG
    assert sum(stats.histogram.counts) == len(scores)
    assert list(stats.histogram.edges) == sorted(stats.histogram.edges)
    ascending = [min(scores), *stats.quantiles.values(), max(scores)]
    assert ascending == sorted(ascending)
    assert stats.effective_levels is not None
    assert 1.0 <= stats.effective_levels <= stats.distinct <= len(set(scores))
    assert stats.tail_share is not None
    assert 0.0 <= stats.tail_share <= 1.0
    assert json.loads(json.dumps(stats.to_dict(), allow_nan=False))["scored"] == len(scores)


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=2, max_size=60))
def test_the_standard_library_agrees(scores: list[float]) -> None:
    stats = statistics_of(scores)
    assert stats.mean == pytest.approx(reference.fmean(scores), rel=1e-12, abs=1e-9)
    assert stats.std == pytest.approx(reference.pstdev(scores), rel=1e-9, abs=1e-9)
    points = reference.quantiles(scores, n=20, method="inclusive")  # what numpy calls linear
    expected = {name: points[i] for name, i in (("p5", 0), ("p25", 4), ("p50", 9), ("p75", 14), ("p95", 18))}
    assert stats.quantiles == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(
    ("scores", "low", "high"),
    [
        ([i / 100 for i in range(101)], 0.0, 1.0),
        ([0.1 + i / 200 for i in range(120)], 0.0, 1.0),
        ([-i / 100 for i in range(101)], -1.0, 0.0),
        ([i / 100 for i in range(-80, 81)], -1.0, 1.0),
        ([0.5 + i / 1000 for i in range(100)], 0.5, 0.599),
        ([float(i) for i in range(101)], 0.0, 100.0),
    ],
)
def test_bins_cover_a_usual_scale_or_the_range(scores: list[float], low: float, high: float) -> None:
    histogram = statistics_of(scores).histogram
    assert histogram.levels is None
    assert histogram.edges == pytest.approx([low + (high - low) * i / 10 for i in range(11)])
    inner = [sum(a <= score < b for score in scores) for a, b in pairwise(histogram.edges[:-1])]
    assert histogram.counts == (*inner, len(scores) - sum(inner))


def test_rounding_noise_makes_no_level() -> None:
    assert statistics_of([0.1 + 0.2, 0.3, 0.3]).distinct == 1
    assert statistics_of([0.3, 0.3001]).distinct == 2
    assert statistics_of([0.0, TINY]).distinct == 2
    assert statistics_of([-0.3, -(0.1 + 0.2)]).distinct == 1


@pytest.mark.parametrize("levels", [10, 11])
def test_a_bar_for_each_of_up_to_ten_levels(levels: int) -> None:
    histogram = statistics_of([float(i % levels) for i in range(220)]).histogram
    assert (histogram.levels is not None) == (levels == 10)
    assert sum(histogram.counts) == 220


def test_components_have_the_same_numbers() -> None:
    accumulator = Accumulator()
    for i in range(4):
        components = {"a": float(i)} if i % 2 else {"a": float(i), "b/c": 0.25}
        accumulator.add(0.5, components=components)
    stats = accumulator.statistics()
    assert list(stats.components) == ["a", "b/c"]
    first, second = stats.components.values()
    assert (first.mean, first.scored, first.max) == (1.5, 4, 3.0)
    assert (second.scored, second.constant) == (2, True)
    assert stats.constant


def test_component_names_without_end_are_bounded() -> None:
    accumulator = Accumulator()
    for i in range(MAX_COMPONENTS + 50):
        accumulator.add(0.5, components={f"step {i}": 1.0})
    stats = accumulator.statistics()
    assert (len(stats.components), stats.components_left_out) == (MAX_COMPONENTS, 50)


def test_groups_by_hand() -> None:
    groups = grouped([[0, 0, 0], [1, 1, 1], [0, 1, 1], [0.5, 0.5], [0.25]]).groups
    assert groups is not None
    assert (groups.count, groups.compared, groups.mean_size) == (5, 4, 11 / 4)
    assert (groups.zero_variance, groups.all_low, groups.all_high) == (0.75, 0.25, 0.25)
    assert groups.std_within == pytest.approx(math.sqrt((4 / 9 + 1 / 9 + 1 / 9) / 11))


@pytest.mark.parametrize(("value", "low", "high"), [(0.0, 1.0, 0.0), (-1.0, 1.0, 0.0), (1.0, 0.0, 1.0)])
def test_groups_of_a_constant_reward(value: float, low: float, high: float) -> None:
    groups = grouped([[value] * 4] * 3).groups
    assert groups is not None
    assert (groups.zero_variance, groups.all_low, groups.all_high) == (1.0, low, high)


def test_groups_of_any_kind_interleaved_and_partly_missing() -> None:
    accumulator = Accumulator()
    pair = ("x", 1)
    groups_of = [None, "a", 7, None, "a", 7, pair, pair]
    for score, group in zip([0, 0, 1, 0, 1, 1, 0, 0], groups_of, strict=True):
        accumulator.add(score, group=group)
    accumulator.add(None, kind="timeout", group=7)
    groups = accumulator.statistics().groups
    assert groups is not None
    assert (groups.count, groups.compared, groups.mean_size) == (3, 3, 2.0)
    assert (groups.zero_variance, groups.all_low, groups.all_high) == (2 / 3, 1 / 3, 1 / 3)


def test_groups_of_one_tell_nothing() -> None:
    groups = grouped([[0.0], [1.0]]).groups
    assert groups is not None
    assert (groups.compared, groups.mean_size, groups.zero_variance, groups.std_within) == (0, 0, 0, 0)


def test_seconds() -> None:
    accumulator = Accumulator()
    for i in range(101):
        accumulator.add(0.5, seconds=i / 100)
    seconds = accumulator.statistics().seconds
    assert seconds is not None
    assert (seconds.count, seconds.mean, seconds.p50, seconds.p99, seconds.max) == (
        101,
        pytest.approx(0.5),
        0.5,
        0.99,
        1.0,
    )


def test_live_mean_and_counts() -> None:
    accumulator = Accumulator()
    assert (accumulator.mean, accumulator.count, accumulator.failed) == (None, 0, 0)
    for scores in ([1.0, 0.0], [0.5], []):
        for score in scores:
            accumulator.add(score)
        assert accumulator.mean == 0.5
    accumulator.add(None, kind="timeout")
    assert (accumulator.mean, accumulator.count, accumulator.failed) == (0.5, 4, 1)
    accumulator.add(BIG)
    accumulator.add(BIG)
    assert accumulator.mean == pytest.approx(BIG / 5 * 2)
    assert accumulator.statistics().count == 6


def test_statistics_can_be_asked_in_between() -> None:
    accumulator = Accumulator()
    accumulator.add(0.0)
    first = accumulator.statistics()
    accumulator.add(1.0)
    assert (first.scored, accumulator.statistics().scored) == (1, 2)


def test_json_has_every_number_and_the_findings() -> None:
    accumulator = Accumulator()
    for i in range(40):
        accumulator.add(0.0, components={"a\ud800": i / 40}, seconds=0.1, group=i // 8)
    plain = json.loads(json.dumps(accumulator.statistics().to_dict(), allow_nan=False))
    assert plain["count"] == 40
    assert plain["components"]["a\ud800"]["distinct"] == 40
    assert plain["groups"]["all_low"] == 1.0
    assert plain["seconds"]["p99"] == 0.1
    assert plain["histogram"] == {"edges": [0.0, 0.0], "counts": [40], "levels": [0.0]}
    assert [finding["code"] for finding in plain["findings"]] == ["constant"]


def test_memory_is_eight_bytes_a_number() -> None:
    names = ["prompt " + "x" * 10_000 + str(i) for i in range(10)]
    accumulator = Accumulator()
    random.seed(0)
    scores = [random.random() for _ in range(1000)]
    tracemalloc.start()
    for _ in range(50):
        for i, score in enumerate(scores):
            accumulator.add(score, seconds=score, components={"a": score}, group=names[i % 10])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 50_000 * (8 * 3 + 4) * 1.25

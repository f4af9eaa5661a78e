"""Take the outcomes of a scoring run one by one, and sum them up on demand."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from guerdon.scoring.statistics.correlation import rank_correlation
from guerdon.scoring.statistics.findings import findings
from guerdon.scoring.statistics.summary import (
    EQUAL_PROMPTS,
    Distribution,
    Groups,
    Histogram,
    Lengths,
    Statistics,
    Timing,
)

QUANTILES: Mapping[str, float] = {"p5": 0.05, "p25": 0.25, "p50": 0.50, "p75": 0.75, "p95": 0.95}

BINS = 10
"""Bars of a histogram, and the most distinct levels for which each gets a bar of its own."""

LEVEL_TOLERANCE = 1e-12
"""Scores this close to each other, relatively, are one level: 0.1 + 0.2 and 0.3 are."""

TAIL = 0.01
"""The share of the samples that ``Distribution.tail_share`` asks about: the farthest from the mean."""

MAX_COMPONENTS = 256
"""The most components that are kept apart, which bounds the memory of a reward that names metrics by sample."""

# The scales that rewards are usually on; a histogram takes the first that the scores fit and half fill.
_SCALES = ((0.0, 1.0), (-1.0, 0.0), (-1.0, 1.0))

# Between 2**-400 and 2**400 neither squares nor sums of a billion of them leave the range of a float.
_SAFE_EXPONENT = 400


class Accumulator:
    """Takes the outcome of one sample after the other and sums them up on demand.

    Memory: 8 bytes for each score, length, component value and time, 4 for each score where there are groups, and
    one dictionary entry for each group, however long its name.

    >>> accumulator = Accumulator()
    >>> for score in (0.0, 0.5, 1.0):
    ...     accumulator.add(score)
    >>> accumulator.add(None, kind="timeout")
    >>> statistics = accumulator.statistics()
    >>> statistics.count, statistics.scored, statistics.mean, statistics.failures
    (4, 3, 0.5, {'timeout': 1})
    """

    __slots__ = (
        "_component_values",
        "_components_left_out",
        "_failures",
        "_grouped_by",
        "_groups",
        "_lengths",
        "_members",
        "_not_applicable",
        "_scores",
        "_seconds",
        "_summed",
        "_total",
    )

    def __init__(self, grouped_by: str | None = None) -> None:
        """``grouped_by`` says in words what makes samples a group."""
        self._grouped_by = grouped_by
        self._scores = array("d")
        self._seconds = array("d")
        self._lengths = array("d")  # of each score, NaN where it is unknown; empty until one is known
        self._component_values: dict[str, array[float]] = {}
        self._components_left_out = 0
        self._failures: dict[str, int] = {}
        self._not_applicable = 0
        self._groups: dict[Hashable, int] = {}
        self._members = array("i")  # the group of each score, -1 for none; empty until a group is named
        self._summed = 0
        self._total = 0.0

    def add(
        self,
        score: float | None,
        *,
        kind: str | None = None,
        components: Mapping[str, float] | None = None,
        seconds: float | None = None,
        group: Hashable | None = None,
        length: int | None = None,
    ) -> None:
        """Take one sample: a finite score, a failure of ``kind``, or, with neither, "does not apply".

        ``components``, ``group`` and ``length``, the characters of the response, count for samples with a
        score only, ``seconds`` for all.
        """
        if seconds is not None:
            self._seconds.append(seconds)
        if kind is not None:
            self._failures[kind] = self._failures.get(kind, 0) + 1
            return
        if score is None:
            self._not_applicable += 1
            return
        self._scores.append(score)
        if components:
            self._add_components(components)
        if group is not None or self._members:
            self._add_member(group)
        if length is not None or self._lengths:
            self._add_length(length)

    def _add_length(self, length: int | None) -> None:
        if not self._lengths:
            self._lengths.extend([math.nan] * (len(self._scores) - 1))
        self._lengths.append(math.nan if length is None else length)

    def _add_components(self, components: Mapping[str, float]) -> None:
        series = self._component_values
        for name, value in components.items():
            values = series.get(name)
            if values is None:
                if len(series) >= MAX_COMPONENTS:
                    self._components_left_out += 1
                    continue
                values = series[name] = array("d")
            values.append(value)

    def _add_member(self, group: Hashable | None) -> None:
        if not self._members:
            self._members.extend([-1] * (len(self._scores) - 1))
        if group is None:
            self._members.append(-1)
            return
        # Text is held by its hash (64 bits, seeded): a group may be named by a prompt of any length.
        key = hash(group) if isinstance(group, str) else group
        self._members.append(self._groups.setdefault(key, len(self._groups)))

    @property
    def count(self) -> int:
        """Samples taken so far."""
        return len(self._scores) + self.failed + self._not_applicable

    @property
    def failed(self) -> int:
        """Failures so far."""
        return sum(self._failures.values())

    @property
    def mean(self) -> float | None:
        """The mean score so far, None before the first: for a live display, cheap to ask often."""
        scored = len(self._scores)
        if scored > self._summed:
            self._total += sum(self._scores[self._summed :])
            self._summed = scored
        if not scored:
            return None
        # Beyond 1e308 the running total is of no use, and no display needs it to be fast.
        return self._total / scored if math.isfinite(self._total) else _mean(self._scores)

    def statistics(self) -> Statistics:
        """The numbers so far; more samples can be added afterwards."""
        scores = _numbers(self._scores)
        numbers = Statistics(
            **scores,
            count=self.count,
            not_applicable=self._not_applicable,
            failures=dict(sorted(self._failures.items(), key=lambda item: -item[1])),
            components={name: Distribution(**_numbers(v)) for name, v in self._component_values.items()},
            components_left_out=self._components_left_out,
            groups=self._group_numbers(),
            seconds=_timing(self._seconds) if self._seconds else None,
            lengths=measured_lengths(self._lengths, self._scores) if self._lengths else None,
        )
        return replace(numbers, _findings=tuple(findings(numbers)))

    def _group_numbers(self) -> Groups | None:
        if not self._groups:
            return None
        groups = _grouped(self._scores, self._members, len(self._groups))
        if not groups.compared and self._grouped_by == EQUAL_PROMPTS:
            return None  # nobody said that there are groups, and no prompt comes twice
        return replace(groups, by=self._grouped_by)


def _numbers(values: array[float]) -> dict[str, Any]:
    """The fields of a Distribution over the values."""
    if not values:
        return {}
    ordered = sorted(values)
    count = len(ordered)
    distinct, most, top, few, spread = 0, 0, ordered[0], [], 0.0
    for value, times in _levels(ordered):
        distinct += 1
        spread += times * math.log(times)
        if times > most:
            most, top = times, value
        if distinct <= BINS:
            few.append((value, times))
    mean, std = _moments(ordered)
    effective = math.exp(math.log(count) - spread / count)
    return {
        "scored": count,
        "mean": mean,
        "std": std,
        "min": ordered[0],
        "max": ordered[-1],
        "quantiles": {name: _quantile(ordered, share) for name, share in QUANTILES.items()},
        "histogram": _bars(few, ordered[-1]) if distinct <= BINS else _bins(ordered),
        "distinct": distinct,
        "top_value": top,
        "top_share": most / count,
        "effective_levels": min(max(effective, 1.0), float(distinct)),
        "tail_share": _tail(ordered, mean, std),
    }


def _levels(ordered: Sequence[float]) -> Iterator[tuple[float, int]]:
    """Each distinct level of sorted values with the number of times that it occurs."""
    start, count = 0, len(ordered)
    while start < count:
        value = ordered[start]
        limit = value + LEVEL_TOLERANCE * abs(value)
        end = start + 1
        if end < count and ordered[end] <= limit:
            end = bisect_right(ordered, limit, end)
        yield value, end - start
        start = end


def _same(low: float, high: float) -> bool:
    return high <= low + LEVEL_TOLERANCE * abs(low)


def _exponent(low: float, high: float) -> int:
    """The power of two to divide by before squaring and summing; 0 for all but extreme values."""
    exponent = math.frexp(max(abs(low), abs(high)))[1]
    return exponent if abs(exponent) > _SAFE_EXPONENT else 0


def _scaled(values: Iterable[float], exponent: int) -> Iterable[float]:
    return (math.ldexp(value, -exponent) for value in values) if exponent else values


def _mean(values: Sequence[float]) -> float:
    low, high = min(values), max(values)
    exponent = _exponent(low, high)
    mean = math.ldexp(math.fsum(_scaled(values, exponent)) / len(values), exponent)
    return min(max(mean, low), high)  # the last bit of a rounded mean may lie outside


def _moments(ordered: Sequence[float]) -> tuple[float, float]:
    """Mean and population standard deviation of sorted values, in two passes and without overflow."""
    low, high, count = ordered[0], ordered[-1], len(ordered)
    mean = _mean(ordered)
    if low == high:
        return mean, 0.0
    exponent = _exponent(low, high)
    centre = math.ldexp(mean, -exponent)
    squares = math.fsum((v - centre) ** 2 for v in _scaled(ordered, exponent))
    # What the rounding of the mean has left over; it matters for values such as 1e16 and 1e16 + 2.
    rest = math.fsum(v - centre for v in _scaled(ordered, exponent))
    variance = max(squares - rest * rest / count, 0.0) / count
    return mean, math.ldexp(math.sqrt(variance), exponent)


def _between(low: float, high: float, share: float) -> float:
    """The point at a share of the way from low to high, by numpy's formula unless that overflows."""
    width = high - low
    if math.isinf(width):
        return low * (1 - share) + high * share
    return low + width * share if share < 0.5 else high - width * (1 - share)


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    index = int(position)
    if index + 1 >= len(ordered):
        return ordered[-1]
    return _between(ordered[index], ordered[index + 1], position - index)


def _bars(levels: Sequence[tuple[float, int]], highest: float) -> Histogram:
    """One bar a level."""
    values = tuple(value for value, _ in levels)
    middles = tuple(_between(a, b, 0.5) for a, b in pairwise(values))
    counts = tuple(times for _, times in levels)
    return Histogram(edges=(values[0], *middles, highest), counts=counts, levels=values)


def _bins(ordered: Sequence[float]) -> Histogram:
    """Bars of equal width, over a usual scale where the scores fill it by half or more."""
    low, high = ordered[0], ordered[-1]
    for bottom, top in _SCALES:
        if bottom <= low and high <= top and high - low >= (top - bottom) / 2:
            low, high = bottom, top
            break
    edges = tuple(_between(low, high, i / BINS) for i in range(BINS + 1))
    cuts = [0, *(bisect_left(ordered, edge) for edge in edges[1:-1]), len(ordered)]
    return Histogram(edges=edges, counts=tuple(b - a for a, b in pairwise(cuts)))


def _tail(ordered: Sequence[float], mean: float, std: float) -> float:
    """The share of the squared deviations that the farthest 1 % of sorted values, at least one, make up."""
    if not std:
        return 0.0
    exponent = _exponent(ordered[0], ordered[-1])
    centre, width = math.ldexp(mean, -exponent), math.ldexp(std, -exponent)
    first, last, far = 0, len(ordered) - 1, []
    for _ in range(math.ceil(len(ordered) * TAIL)):
        below = centre - math.ldexp(ordered[first], -exponent)
        above = math.ldexp(ordered[last], -exponent) - centre
        if below > above:
            first += 1
        else:
            last -= 1
        far.append((max(below, above) / width) ** 2)
    return min(math.fsum(far) / len(ordered), 1.0)


def _grouped(scores: array[float], members: array[int], count: int) -> Groups:
    """Sizes, ranges and spread of the groups; ``members`` says to which group each score belongs."""
    sizes = array("i", [0]) * count
    lows = array("d", [math.inf]) * count
    highs = array("d", [-math.inf]) * count
    means = array("d", [0.0]) * count
    lowest, highest = min(scores), max(scores)
    exponent = _exponent(lowest, highest)
    for group, score, scaled in zip(members, scores, _scaled(scores, exponent), strict=True):
        if group < 0:
            continue
        sizes[group] += 1
        means[group] += (scaled - means[group]) / sizes[group]
        if score < lows[group]:
            lows[group] = score
        if score > highs[group]:
            highs[group] = score
    squares = math.fsum(
        (scaled - means[group]) ** 2
        for group, scaled in zip(members, _scaled(scores, exponent), strict=True)
        if group >= 0 and lows[group] < highs[group]
    )
    compared = [g for g in range(count) if sizes[g] > 1]
    flat = [g for g in compared if _same(lows[g], highs[g])]
    # With one level in the whole run the lowest is the highest too, and only the sign can tell.
    positive, constant = highest > 0, _same(lowest, highest)
    low = sum(_same(lowest, highs[g]) for g in flat) if not (constant and positive) else 0
    high = sum(_same(lows[g], highest) for g in flat) if not (constant and not positive) else 0
    inside = sum(sizes[g] for g in compared)
    whole = len(compared) or 1
    return Groups(
        count=count,
        compared=len(compared),
        mean_size=inside / whole,
        zero_variance=len(flat) / whole,
        all_low=low / whole,
        all_high=high / whole,
        std_within=math.ldexp(math.sqrt(squares / (inside or 1)), exponent),
    )


def _timing(seconds: array[float]) -> Timing:
    ordered = sorted(seconds)
    return Timing(
        count=len(ordered),
        mean=_mean(ordered),
        p50=_quantile(ordered, 0.5),
        p99=_quantile(ordered, 0.99),
        max=ordered[-1],
    )


def measured_lengths(lengths: Iterable[float], scores: Iterable[float]) -> Lengths:
    """The lengths that are known (not NaN), one at least, against their scores."""
    known = [(length, score) for length, score in zip(lengths, scores, strict=True) if length == length]
    ordered = sorted(length for length, _ in known)
    return Lengths(
        count=len(ordered),
        mean=_mean(ordered),
        p50=_quantile(ordered, 0.5),
        p95=_quantile(ordered, 0.95),
        max=ordered[-1],
        correlation=rank_correlation([length for length, _ in known], [score for _, score in known]),
    )

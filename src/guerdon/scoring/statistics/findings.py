"""The words for a run's numbers: what is wrong with a reward's scores, and what to do about it.

Every threshold is a starting point that stands here with its reasoning; none of them judges failures,
which are counted and never scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from guerdon.scoring.statistics.figures import figure, percent
from guerdon.scoring.statistics.summary import Finding, Groups, Histogram, Severity, Statistics

FEW = 20
"""Fewer scores than this are not judged: of 20 fair coins 18 or more agree by chance in 1 run of 2,500,
of 10 coins 9 or more do in 1 of 47."""

ZERO_VARIANCE: tuple[tuple[float, Severity], ...] = ((0.75, "critical"), (0.50, "warning"), (0.30, "notice"))
"""Share of groups that are all wrong (sparse) or all right (saturated). A group-relative method learns
nothing from such a zero-variance group: at .50 half of all generated text is wasted."""

SATURATED: tuple[tuple[float, Severity], ...] = ((0.75, "warning"), (0.30, "notice"))
"""The same for groups that are all right: a grade milder, since it may be the success that was wanted."""

USUAL_GROUP = 8
"""Without groups in the data, the share of zero-variance groups is estimated for groups of this size as
share ** 8, where share is that of the lowest or highest score."""

FEW_LEVELS = 1.5
TOP_SHARE = 0.9
"""One value dominates below this many effective levels or above this share of the scores. For a reward of
two values 1.5 levels are a share of .86, and .86 ** 8 = .30 is where zero-variance groups begin to count: the two
rules agree, and a 0/1 reward is left alone between 14 % and 86 %."""

SURE_SHARE = 0.86
"""What the share must be sure to exceed as well, by the lower end of its Wilson interval of one standard
error: 6 right of 60 come, 3 times in 100, from a reward that is right in every fifth case."""

JUDGED_GROUPS = 10
JUDGED_GROUP_SIZE = 4
"""Groups are judged from this many on and from this mean size on: two or three samples often agree by
chance (a fair coin's pairs in every second case), which is no fault of the reward."""

NARROW = 0.1
"""Scores are clustered too where the middle nine tenths of them lie within this share of their scale (from
0 to the farthest of them): the rule for the top value again, at a resolution of a tenth of the scale.
It finds a reward that gives everyone 0.7 with noise in the third decimal."""

ONE_SIDED = 0.8
"""A dominating value is an end of the scale if this share of the other scores lies on one side of it."""

TAIL_SHARE = 0.5
"""Variance is high where the 1 % of the samples farthest from the mean make up this share of it: a batch's
mean then hangs on whether it holds one of them. A bell-shaped reward has .08, an exponential one .22."""

TAIL_COUNT = 100
"""Below this many scores 1 % of them is less than one, and the tail is not judged."""

UNIT_STD = 1.0
LARGE_STD = 10.0
"""Variance is high, too, where the standard deviation exceeds, by more than its own standard error, what any
reward within [-1, 1] can have (1): learning rates, KL weights and clip ranges of trainers are made for that
scale. Ten times it is worse. With groups the deviation within groups counts, for that between prompts
cancels. Repeatability, the ICC over repeated scoring of the same response, cannot be seen in one score a
sample and is not judged here."""

ANY_FAILED: tuple[tuple[float, Severity], ...] = ((0.10, "critical"), (0.01, "warning"), (0.0, "notice"))
"""Share of samples that failed: one in a hundred leaves a hole in most batches of 128, one in ten is a
reward that does not work on this data."""

_GRADUATED = "Add graduated levels between the lowest and the highest score, such as 0.25, 0.5 and 0.75"
_DIMENSIONS = "Add more dimensions such as format, content and efficiency, or score on a finer scale"
_SMOOTH = "Smooth it with normalization"
# Scores alone do not say whether a reward is wrong or the responses are: a policy that has learned scores 1
# throughout, and so does a reward that accepts everything. So both are named, and how to tell them apart.
_ALL_LOW = (
    "Read some responses (guerdon inspect): if any is right, the reward is too strict, so extract the answer "
    "before comparing it; if none is, take easier data or give partial credit. A penalty that is 0 throughout "
    "is no fault"
)
_ALL_HIGH = (
    "Read some responses (guerdon inspect): if they deserve it, there is little left to learn from them, so take "
    "harder data or a finer scale; if not, the reward accepts what it should not"
)
_FAILURE_REMEDIES = {
    "timeout": "raise the time limit or make the reward faster",
    "crash": "find what ends the process (native code, recursion, os._exit)",
    "memory": "raise the memory limit or have the reward refuse oversized input",
    "exception": "read the error of a failed sample and handle that case in the reward",
    "invalid_result": "return a finite number or an EvaluateResult in every case",
    "remote": "check that the remote reward is up and answers with a score",
    "binding": "check that the data has the columns that the reward asks for",
    "input": "check the parameters, and the rows that failed for missing or malformed fields",
    "missing_extra": "install the extra that the error names",
}


def findings(stats: Statistics) -> list[Finding]:
    """What is worth saying about a run: failures first, then the distribution of the scores.

    Empty for a healthy reward. Fewer than 20 scores are said to be too few and not judged further.
    """
    found = [*_failures(stats), *_absent(stats)]
    if not stats.scored:
        return found
    if stats.scored < FEW:
        text = f"{_counted(stats.scored, 'score')}: too few to judge their distribution."
        return [*found, Finding("few", "notice", text, f"Score {FEW} samples or more.")]
    if stats.constant:
        return [*found, _constant(stats)]
    return [*found, *_shape(stats), *_high_variance(stats), *_constant_components(stats)]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _grade(share: float, grades: tuple[tuple[float, Severity], ...]) -> Severity | None:
    return next((severity for bound, severity in grades if share >= bound), None)


def _failures(stats: Statistics) -> Iterator[Finding]:
    if not stats.failed:
        return
    share = stats.failed / stats.count
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in stats.failures.items())
    tips = [_FAILURE_REMEDIES[kind] for kind in stats.failures if kind in _FAILURE_REMEDIES][:3]
    advice = "; ".join(tips) or "read the error of a failed sample"
    yield Finding(
        "failures",
        _grade(share, ANY_FAILED) or "notice",
        f"{stats.failed:,} of {_counted(stats.count, 'sample')} failed ({percent(share)}): {kinds}. "
        "They have no score and count in no other figure.",
        f"{advice[0].upper()}{advice[1:]}.",
    )


def _absent(stats: Statistics) -> Iterator[Finding]:
    if stats.count == 0:
        yield Finding("few", "notice", "There are no samples.", "Check that the data is not empty.")
    elif stats.not_applicable == stats.count:
        yield Finding(
            "not_applicable",
            "warning",
            f"The reward applies to none of the {_counted(stats.count, 'sample')}.",
            "Check that it is the right reward for this data, and what it looks for in a sample.",
        )


def _constant(stats: Statistics) -> Finding:
    value = stats.top_value or 0.0
    remedy = _ALL_LOW if value <= 0 else _ALL_HIGH if value >= 1 else _DIMENSIONS
    return Finding(
        "constant",
        "warning" if value >= 1 else "critical",
        f"Constant: all {stats.scored:,} scores are {figure(value)}, so there is nothing to learn from.",
        f"{remedy}.",
    )


def _shape(stats: Statistics) -> Iterator[Finding]:
    """Sparse, saturated, clustered: by the groups where there are enough to judge, else by the scores."""
    groups, found = _judged(stats.groups), False
    if groups:
        for code, share, end, grades in (
            ("sparse", groups.all_low, stats.min, ZERO_VARIANCE),
            ("saturated", groups.all_high, stats.max, SATURATED),
        ):
            if severity := _grade(share, grades):
                found = True
                text = f"{percent(share)} of {groups.compared:,} groups are zero-variance with every score "
                text += f"{figure(end or 0.0)}, so they teach nothing; "
                text += f"the mean is {figure(stats.mean or 0.0)}."
                yield _ended(code == "sparse", severity, text)
    if not found:
        yield from _dominated(stats)


def _judged(groups: Groups | None) -> Groups | None:
    if groups and groups.compared >= JUDGED_GROUPS and groups.mean_size >= JUDGED_GROUP_SIZE:
        return groups
    return None


def _ended(low: bool, severity: Severity, rest: str) -> Finding:
    if low:
        remedy = f"{_GRADUATED}; easier data and larger groups help too."
        return Finding("sparse", severity, f"Too sparse: {rest}", remedy)
    return Finding("saturated", severity, f"Saturated: {rest}", f"{_ALL_HIGH}.")


def _dominated(stats: Statistics) -> Iterator[Finding]:
    """Sparse, saturated or clustered by the share of one value."""
    top, share, levels = stats.top_value or 0.0, stats.top_share or 0.0, stats.effective_levels or 1.0
    dominates = share > TOP_SHARE or levels < FEW_LEVELS
    if not dominates or _at_least(share, stats.scored) < SURE_SHARE:
        yield from _narrow(stats)
        return
    end = _end(stats)
    text = f"{percent(share)} of the scores are {figure(top)}"
    if end is None:
        text = f"Too clustered: {text} ({stats.distinct:,} levels, worth {figure(levels)} even ones)."
        yield Finding("clustered", "warning", text, f"{_DIMENSIONS}.")
        return
    text += f" and the mean is {figure(stats.mean or 0.0)}."
    if _judged(stats.groups):
        severity: Severity = "notice"  # the groups were judged first and hold more variety than this
    else:
        dead = share**USUAL_GROUP
        severity = _grade(dead, ZERO_VARIANCE if end == "low" else SATURATED) or "notice"
        text += f" In groups of {USUAL_GROUP}, {percent(dead)} would be zero-variance and teach nothing."
    yield _ended(end == "low", severity, text)


def _at_least(share: float, count: int) -> float:
    """The lower end of the Wilson score interval (Wilson 1927) for z = 1."""
    half = math.sqrt(share * (1 - share) / count + 1 / (4 * count * count))
    return (share + 1 / (2 * count) - half) / (1 + 1 / count)


def _end(stats: Statistics) -> Literal["low", "high"] | None:
    """The end of the scale at which the dominating score lies, None where it lies between the others.

    The scale runs from 0 to the farthest score on the side where the other scores lie, so a stray outlier
    on the other side does not matter, and 0.5 beside a few 0.6 is no low end.
    """
    top, share = stats.top_value or 0.0, stats.top_share or 0.0
    low, high = min(stats.min or 0.0, 0.0), max(stats.max or 0.0, 0.0)
    others = ((stats.mean or 0.0) - top * share) / (1 - share)
    lean = (others - top) / (high - low)
    bottom, peak = min(top, 0.0), max(top, 0.0)
    below, above = _beside(stats.histogram, top)
    if above >= ONE_SIDED * (below + above) and lean > NARROW:
        return "low" if (top - bottom) / (high - bottom) <= NARROW else None
    if below >= ONE_SIDED * (below + above) and lean < -NARROW:
        return "high" if (peak - top) / (peak - low) <= NARROW else None
    return None


def _beside(histogram: Histogram, value: float) -> tuple[int, int]:
    """The scores in bars entirely below and entirely above a value."""
    starts, ends = histogram.levels or histogram.edges[:-1], histogram.levels or histogram.edges[1:]
    below = sum(count for end, count in zip(ends, histogram.counts, strict=True) if end < value)
    above = sum(count for start, count in zip(starts, histogram.counts, strict=True) if start > value)
    return below, above


def _narrow(stats: Statistics) -> Iterator[Finding]:
    low, high = stats.quantiles["p5"], stats.quantiles["p95"]
    scale = max(high, 0.0) - min(low, 0.0)
    if high - low > NARROW * scale:
        return
    text = f"Too clustered: nine of ten scores lie between {figure(low)} and {figure(high)}."
    yield Finding("clustered", "warning", text, f"{_DIMENSIONS}.")


def _high_variance(stats: Statistics) -> Iterator[Finding]:
    mean, std = stats.mean or 0.0, stats.std or 0.0
    groups = _judged(stats.groups)
    felt = groups.std_within if groups else std
    where = " within groups" if groups else ""
    remedy = (
        f"{_SMOOTH}: clip outliers at 3 standard deviations, then standardise, with mean {figure(mean)} and "
        f"standard deviation {figure(std)}."
    )
    # One rare value that dominates the rest has been said already, as sparse or saturated.
    heavy = stats.scored >= TAIL_COUNT and (stats.tail_share or 0.0) > TAIL_SHARE
    if heavy and (stats.top_share or 0.0) <= TOP_SHARE:
        text = f"High variance: 1% of the samples make up {percent(stats.tail_share or 0.0)} of it "
        text += f"(lowest {figure(stats.min or 0.0)}, median {figure(stats.quantiles['p50'])}, "
        text += f"highest {figure(stats.max or 0.0)})."
        yield Finding("high_variance", "warning", text, remedy)
    elif felt - felt / math.sqrt(2 * stats.scored) > UNIT_STD:
        text = f"High variance: the standard deviation{where} is {figure(felt)}, more than any reward "
        text += "between -1 and 1 can have."
        yield Finding("high_variance", "warning" if felt > LARGE_STD else "notice", text, remedy)


def _constant_components(stats: Statistics) -> Iterator[Finding]:
    still = [(name, c) for name, c in stats.components.items() if c.constant and c.scored >= FEW]
    if not still:
        return
    shown = ", ".join(f"{name} is always {figure(c.top_value or 0.0)}" for name, c in still[:5])
    if len(still) > 5:
        shown += f", and {len(still) - 5} more"
    yield Finding(
        "constant_component",
        "notice",
        f"{len(still)} of {_counted(len(stats.components), 'component')} never vary: {shown}.",
        "Those that are part of the score teach nothing: leave them out, or have them tell responses apart.",
    )

"""The numbers of a scoring run, and what is worth saying about them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from guerdon.scoring.statistics.figures import figure

Code = Literal[
    "failures",
    "not_applicable",
    "few",
    "constant",
    "sparse",
    "saturated",
    "clustered",
    "high_variance",
    "constant_component",
]
Severity = Literal["notice", "warning", "critical"]


EQUAL_PROMPTS = "equal prompts"
"""``Groups.by`` where nothing but the prompts says which samples belong together."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know about a run's scores, with the advice that goes with it."""

    code: Code
    severity: Severity
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Bars over the scores.

    Bar ``i`` counts the scores from ``edges[i]`` up to ``edges[i + 1]``, the last edge included. Where
    ``levels`` is given each bar is one level, and the edges lie half-way between levels.
    """

    edges: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    levels: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The numbers of one series of scores; every number that needs a score is None where there is none."""

    scored: int = 0
    """How many scores there are."""
    mean: float | None = None
    std: float | None = None
    """Standard deviation of these very scores (population: the squares are divided by ``scored``)."""
    min: float | None = None
    max: float | None = None
    quantiles: dict[str, float] = field(default_factory=dict)
    """p5, p25, p50, p75, p95, interpolated linearly as numpy does by default."""
    histogram: Histogram = field(default_factory=Histogram)
    distinct: int = 0
    """Distinct levels among the scores."""
    top_value: float | None = None
    """The most frequent score; the lowest of these where several are."""
    top_share: float | None = None
    """The share of the scores that equal ``top_value``, from 0 to 1."""
    effective_levels: float | None = None
    """exp(H) of the levels' entropy H: as many equally frequent levels would be as varied."""
    tail_share: float | None = None
    """The share of the variance that the 1 % of the scores farthest from the mean make up, from 0 to 1."""

    @property
    def constant(self) -> bool:
        """Whether there are scores and all of them are the same."""
        return self.distinct == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Samples that belong together, such as several responses to one prompt.

    The shares are of the ``compared`` groups. A group whose scores are all equal, a zero-variance group,
    teaches a group-relative method (GRPO and its kin) nothing.
    """

    count: int
    """Groups with at least one score."""
    compared: int
    """Groups with at least two scores, which alone can differ."""
    mean_size: float
    """Scores in a compared group, on average."""
    zero_variance: float
    """The share of zero-variance groups, whose scores are all equal, from 0 to 1."""
    all_low: float
    """The share of groups whose scores are all at the lowest score of the run."""
    all_high: float
    """The share of groups whose scores are all at the highest score of the run."""
    std_within: float
    """Standard deviation around the mean of each group, pooled over the compared groups."""
    by: str | None = None
    """What makes samples a group: ``column group_id``, say, or ``equal prompts``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds that a sample took, failed ones included."""

    count: int
    mean: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Characters of the responses that have a score, and how they go with the score."""

    count: int
    mean: float
    p50: float
    p95: float
    max: float
    correlation: float | None
    """Spearman's rank correlation of length and score, from -1 (shorter responses score higher) to 1 (longer
    ones do); None where all lengths or all scores are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics(Distribution):
    """What a run over many samples came to. The distribution is that of the scores alone.

    ``count == scored + failed + not_applicable``; a failure is counted and is never a score.
    """

    count: int = 0
    """Samples, scored or not."""
    not_applicable: int = 0
    """Samples to which the reward said that it does not apply."""
    failures: dict[str, int] = field(default_factory=dict)
    """Failed samples by kind, the most frequent kind first."""
    components: dict[str, Distribution] = field(default_factory=dict)
    """The numbers of each component, in the order in which they first appeared."""
    components_left_out: int = 0
    """Values of components beyond the first 256 names; they are in no number here."""
    groups: Groups | None = None
    """None where no sample named a group."""
    seconds: Timing | None = None
    """None where no sample was timed."""
    lengths: Lengths | None = None
    """None where no response with a score has a known length."""
    _findings: tuple[Finding, ...] = field(default=(), repr=False, compare=False)

    @property
    def failed(self) -> int:
        """Samples that failed, of whatever kind."""
        return sum(self.failures.values())

    def __str__(self) -> str:
        """One line: how many samples, how many without a score, mean and spread."""
        parts = [f"{self.count:,} samples"]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.not_applicable:
            parts.append(f"{self.not_applicable:,} not applicable")
        if self.mean is not None and self.std is not None and self.min is not None and self.max is not None:
            parts.append(f"mean {figure(self.mean)} ± {figure(self.std)}")
            parts.append(f"from {figure(self.min)} to {figure(self.max)}")
        return ", ".join(parts)

    def findings(self) -> list[Finding]:
        """What is worth saying about these numbers in words; empty where all is well."""
        return list(self._findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: every field, ``failed`` and the findings."""
        fields = asdict(self)
        del fields["_findings"]
        said = [asdict(finding) for finding in self.findings()]
        return {"count": fields.pop("count"), "failed": self.failed, **fields, "findings": said}

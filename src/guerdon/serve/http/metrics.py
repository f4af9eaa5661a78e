"""Metrics: what the server counts, and how Prometheus reads it.

Counting is plain arithmetic on lists, at most half a microsecond a call: prometheus_client's own counters and
histograms take five for the same request, a tenth of what one may cost. prometheus_client writes the text.
"""

from __future__ import annotations

import platform
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from guerdon._version import __version__
from guerdon.errors import MissingExtraError
from guerdon.serve.http.recorders import RequestEvent

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the latency histogram's buckets."""

SCORES = (
    *(-100.0, -10.0, -2.0, -1.0, -0.75, -0.5, -0.25, -0.01),
    *(0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0, 2.0, 10.0, 100.0),
)
"""Upper bounds of the score histogram's buckets; exact zeros and ones have buckets of their own."""

MOST_SERIES = 500
"""Combinations of labels that one metric may have; what comes beyond is counted under ``other``."""

OTHER = "other"
_MANY = 8

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gauges:
    """Values that the server's parts report when the metrics are read."""

    queue_depth: Callable[[], int] | None = None
    """Requests that wait for a worker."""
    in_flight: Callable[[], int] | None = None
    """Requests that were read and not yet answered."""
    sockets: Callable[[], int] | None = None
    """Open WebSockets."""
    workers: Callable[[], int] | None = None
    """Live worker processes."""
    restarts: Callable[[], Mapping[str, int]] | None = None
    """Workers replaced so far, by cause."""
    draining: Callable[[], bool] | None = None
    """Whether the server finishes what it has and takes nothing new."""
    journal_dropped: Callable[[], int] | None = None
    """Requests that the journal had no time to write."""


class _MetricHistogram:
    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add_all(self, values: Sequence[float]) -> None:
        """Many at once: sorting is done in C, and then there is one search a bound, not one a value."""
        ordered = sorted(values)
        counts, before = self.counts, 0
        for i, bound in enumerate(self.bounds):
            upto = bisect_right(ordered, bound, before)
            counts[i] += upto - before
            before = upto
        counts[-1] += len(ordered) - before
        self.total += sum(ordered)

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative, as Prometheus wants them."""
        from prometheus_client.utils import floatToGoString

        names = [*map(floatToGoString, self.bounds), "+Inf"]
        seen = 0
        pairs: list[tuple[str, float]] = []
        for name, count in zip(names, self.counts, strict=True):
            seen += count
            pairs.append((name, seen))
        return pairs


class _RequestSeries:
    """Requests that agree in all labels, and the histogram that they share with those of another status."""

    __slots__ = ("count", "latency")

    def __init__(self, latency: _MetricHistogram) -> None:
        self.count = 0
        self.latency = latency


@dataclass(slots=True)
class _BoundedSeries(Generic[KeyT, ValueT]):
    """A dict that takes ``MOST_SERIES`` keys; for one beyond them there is the key that stands for the rest."""

    rest: KeyT
    make: Callable[[KeyT], ValueT]
    held: dict[KeyT, ValueT] = field(default_factory=dict)

    def of(self, key: KeyT) -> ValueT:
        if key in self.held or len(self.held) < MOST_SERIES:
            return self.held.setdefault(key, self.make(key))
        return self.held.setdefault(self.rest, self.make(self.rest))


class Metrics:
    """Counters and histograms of one server process; not safe to share between threads.

    >>> metrics = Metrics({"brevity": "1a2b3c"})
    >>> metrics.scores("brevity", [0.5, None], {"timeout": 1})
    >>> body, content_type = metrics.render()
    >>> b'guerdon_samples_total{reward="brevity"} 2.0' in body
    True
    """

    def __init__(self, versions: Mapping[str, str] | None = None, gauges: Gauges | None = None) -> None:
        self.versions: dict[str, str] = dict(versions or {})
        """The version of each reward that is served; may change when a reward is reloaded."""
        self.gauges = gauges or Gauges()
        self._latencies = _BoundedSeries[tuple[str, str, str], _MetricHistogram](
            (OTHER, OTHER, OTHER), lambda key: _MetricHistogram(SECONDS)
        )
        self._requests: dict[tuple[str, str, str, int], _RequestSeries] = {}
        self._scores = _BoundedSeries[str, _MetricHistogram](OTHER, lambda key: _MetricHistogram(SCORES))
        self._samples: dict[str, int] = {}
        self._failures = _BoundedSeries[tuple[str, str], list[int]]((OTHER, OTHER), lambda key: [0])
        self._registry: CollectorRegistry | None = None

    def record(self, event: RequestEvent) -> None:
        """Count an answered request, a refused one too, and its samples."""
        _, _, reward, status, seconds, format, op, _, reply = event
        series = self._requests.get((reward, format, op, status))
        if series is None:
            series = self._new_requests(reward, format, op, status)
        series.count += 1
        latency = series.latency
        latency.counts[bisect_left(SECONDS, seconds)] += 1
        latency.total += seconds
        if reply is not None and (reply.scores or reply.failures):
            self.scores(reward, reply.scores, reply.failures)

    def _new_requests(self, reward: str, format: str, op: str, status: int) -> _RequestSeries:
        key = reward, format, op, status
        if len(self._requests) >= MOST_SERIES:
            key = OTHER, OTHER, OTHER, status if 100 <= status <= 599 else 0
        return self._requests.setdefault(key, _RequestSeries(self._latencies.of(key[:3])))

    def scores(
        self, reward: str, scores: Sequence[float | str | None], failures: Mapping[str, int] | None = None
    ) -> None:
        """Count scored samples; ``failures`` has those that failed, by kind.

        In place of a score there may be None, or the kind of a failure.
        """
        held = self._scores.held.get(reward)
        if held is None:
            held = self._scores.of(reward)
            reward = reward if reward in self._scores.held else OTHER
        self._samples[reward] = self._samples.get(reward, 0) + len(scores)
        if len(scores) >= _MANY:
            held.add_all([score for score in scores if isinstance(score, float | int)])
        else:
            for score in scores:
                if isinstance(score, float | int):
                    held.counts[bisect_left(SCORES, score)] += 1
                    held.total += score
        if failures:
            for kind, count in failures.items():
                self._failures.of((reward, kind))[0] += count

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """The metrics and their content type, in the exposition format that an ``Accept`` header prefers.

        Raises MissingExtraError where prometheus_client is not installed.
        """
        try:
            from prometheus_client.exposition import choose_encoder
        except ImportError:
            raise MissingExtraError.of("serve", "/metrics") from None
        if self._registry is None:
            self._registry = self._new_registry()
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def _new_registry(self) -> CollectorRegistry:
        from prometheus_client import CollectorRegistry, ProcessCollector
        from prometheus_client.registry import Collector

        families = self._families

        class MetricsCollector(Collector):
            def collect(self) -> Iterable[Metric]:
                return families()

        registry = CollectorRegistry(auto_describe=False)
        registry.register(MetricsCollector())
        ProcessCollector(registry=registry)
        return registry

    def _families(self) -> Iterator[Metric]:
        yield from self._counters()
        yield from self._histograms()
        yield from self._gauges()
        yield from self._facts()

    def _counters(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily

        requests = CounterMetricFamily(
            "guerdon_requests", "Answered requests.", labels=["reward", "format", "op", "status"]
        )
        for (reward, format, op, status), series in self._requests.items():
            requests.add_metric([reward, format, op, str(status)], series.count)
        yield requests
        samples = CounterMetricFamily(
            "guerdon_samples", "Scored samples, failed ones too.", labels=["reward"]
        )
        for reward, count in self._samples.items():
            samples.add_metric([reward], count)
        yield samples
        failures = CounterMetricFamily(
            "guerdon_failures", "Samples that failed, by kind.", labels=["reward", "kind"]
        )
        for (reward, kind), failed in self._failures.held.items():
            failures.add_metric([reward, kind], failed[0])
        yield failures
        if self.gauges.restarts is not None:
            restarts = CounterMetricFamily(
                "guerdon_worker_restarts", "Worker processes replaced, by cause.", labels=["cause"]
            )
            for cause, count in self.gauges.restarts().items():
                restarts.add_metric([cause], count)
            yield restarts
        if self.gauges.journal_dropped is not None:
            yield CounterMetricFamily(
                "guerdon_journal_dropped",
                "Requests that the journal had no time to write.",
                value=self.gauges.journal_dropped(),
            )

    def _histograms(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily

        latency = HistogramMetricFamily(
            "guerdon_request_seconds",
            "Seconds from a request's arrival to its answer.",
            labels=["reward", "format", "op"],
        )
        for key, held in self._latencies.held.items():
            latency.add_metric(list(key), held.buckets(), held.total)
        yield latency
        scores = HistogramMetricFamily("guerdon_score", "The scores given.", labels=["reward"])
        # Negative scores make the sum fall, which a histogram's must not: it is a gauge of its own.
        sums = GaugeMetricFamily("guerdon_scores_sum", "The sum of the scores given.", labels=["reward"])
        for reward, held in self._scores.held.items():
            scores.add_metric([reward], held.buckets(), None)
            sums.add_metric([reward], held.total)
        yield scores
        yield sums

    def _gauges(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        rows = (
            ("guerdon_queue_depth", "Requests that wait for a worker.", self.gauges.queue_depth),
            ("guerdon_in_flight", "Requests not yet answered.", self.gauges.in_flight),
            ("guerdon_sockets", "Open WebSockets.", self.gauges.sockets),
            ("guerdon_workers", "Live worker processes.", self.gauges.workers),
            ("guerdon_draining", "1 while the server takes no new requests.", self.gauges.draining),
        )
        for name, sentence, read in rows:
            if read is not None:
                yield GaugeMetricFamily(name, sentence, value=float(read()))

    def _facts(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        build = GaugeMetricFamily(
            "guerdon_build_info", "The version of guerdon and of Python.", labels=["version", "python"]
        )
        build.add_metric([__version__, platform.python_version()], 1.0)
        yield build
        served = GaugeMetricFamily(
            "guerdon_reward_info", "The rewards that are served.", labels=["reward", "version"]
        )
        for reward, version in self.versions.items():
            served.add_metric([reward, version], 1.0)
        yield served

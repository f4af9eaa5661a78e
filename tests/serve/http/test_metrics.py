"""What is counted, read back by Prometheus's own parsers."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from guerdon.serve.http.metrics import MOST_SERIES, SCORES, Gauges, Metrics
from support.request_events import request_event

BOUNDS_SHOWN = ("0.0005", "0.001", "0.1", "0.25", "60.0", "+Inf")
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(metrics: Metrics) -> Samples:
    """Every sample by name and labels."""
    body, _ = metrics.render()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_format(body.decode())
        for sample in family.samples
    }


def at(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get((name, tuple(sorted(labels.items()))))


def test_requests_by_reward_format_op_and_status() -> None:
    metrics = Metrics()
    for status, seconds in ((200, 0.0009), (200, 0.2), (422, 0.0001), (200, 3600.0)):
        metrics.record(
            request_event(reward="brevity", format="adaptive", op="score", status=status, seconds=seconds)
        )
    metrics.record(request_event(reward="", format="", op="", status=404, seconds=0.0))
    samples = read(metrics)
    labels = {"reward": "brevity", "format": "adaptive", "op": "score"}
    assert at(samples, "guerdon_requests_total", **labels, status="200") == 3
    assert at(samples, "guerdon_requests_total", **labels, status="422") == 1
    assert at(samples, "guerdon_requests_total", reward="", format="", op="", status="404") == 1
    assert at(samples, "guerdon_request_seconds_count", **labels) == 4
    assert at(samples, "guerdon_request_seconds_sum", **labels) == pytest.approx(3600.201)
    buckets = {le: at(samples, "guerdon_request_seconds_bucket", **labels, le=le) for le in BOUNDS_SHOWN}
    assert buckets == {"0.0005": 1, "0.001": 2, "0.1": 2, "0.25": 3, "60.0": 3, "+Inf": 4}


@pytest.mark.parametrize(
    ("scores", "le", "count"),
    [
        ([0.0], "-0.01", 0),
        ([0.0], "0.0", 1),
        ([1.0, 0.995], "0.99", 0),
        ([1.0, 0.995], "1.0", 2),
        ([-1.0], "-1.0", 1),
        ([-1e9, 1e9], "-100.0", 1),
        ([-1e9, 1e9], "100.0", 1),
        ([-1e9, 1e9], "+Inf", 2),
        ([None, None], "+Inf", 0),
    ],
)
def test_buckets_of_scores(scores: list[float | None], le: str, count: int) -> None:
    metrics = Metrics()
    metrics.scores("r", scores)
    assert at(read(metrics), "guerdon_score_bucket", reward="r", le=le) == count


def test_many_scores_at_once_count_as_one_by_one() -> None:
    dice = random.Random(5)
    batch: list[float | None] = [dice.gauss(0, 2) for _ in range(200)]
    batch += [*SCORES, *SCORES, None, None]
    at_once, alone = Metrics(), Metrics()
    at_once.scores("r", batch)
    for score in batch:
        alone.scores("r", [score])
    first, second = read(at_once), read(alone)
    for key in second:
        if key[0].startswith("guerdon_s"):
            assert first[key] == pytest.approx(second[key])
    assert at(first, "guerdon_samples_total", reward="r") == len(batch)
    assert at(first, "guerdon_score_bucket", reward="r", le="+Inf") == len(batch) - 2


def test_the_sum_of_scores_may_fall() -> None:
    metrics = Metrics()
    metrics.scores("r", [0.5, -2.0, None])
    assert at(read(metrics), "guerdon_scores_sum", reward="r") == -1.5


def test_failures_by_kind() -> None:
    metrics = Metrics()
    metrics.scores("r", [None, None, 1.0], {"timeout": 2})
    metrics.scores("r", [None], {"timeout": 1, "exception": 0})
    samples = read(metrics)
    assert at(samples, "guerdon_failures_total", reward="r", kind="timeout") == 3
    assert at(samples, "guerdon_samples_total", reward="r") == 4


def test_gauges_are_asked_when_they_are_read() -> None:
    depth = [3]
    gauges = Gauges(
        queue_depth=lambda: depth[0],
        in_flight=lambda: 5,
        sockets=lambda: 2,
        workers=lambda: 4,
        restarts=lambda: {"timeout": 2, "crash": 1},
        draining=lambda: True,
        journal_dropped=lambda: 7,
    )
    metrics = Metrics({"r": "1a"}, gauges)
    samples = read(metrics)
    assert at(samples, "guerdon_queue_depth") == 3
    depth[0] = 0
    assert at(read(metrics), "guerdon_queue_depth") == 0
    assert [at(samples, f"guerdon_{n}") for n in ("in_flight", "sockets", "workers", "draining")] == [
        5,
        2,
        4,
        1,
    ]
    assert at(samples, "guerdon_worker_restarts_total", cause="timeout") == 2
    assert at(samples, "guerdon_journal_dropped_total") == 7
    assert at(samples, "guerdon_reward_info", reward="r", version="1a") == 1
    assert any(name == "guerdon_build_info" for name, _ in samples)
    assert any(name == "process_resident_memory_bytes" for name, _ in samples)


def test_a_gauge_that_nobody_gives_is_not_there() -> None:
    assert at(read(Metrics()), "guerdon_queue_depth") is None


@pytest.mark.parametrize("accept", ["", "text/plain", "application/openmetrics-text; version=1.0.0"])
def test_the_format_that_is_asked_for(accept: str) -> None:
    metrics = Metrics({"r": "1"}, Gauges(workers=lambda: 1, restarts=lambda: {"crash": 1}))
    metrics.record(request_event(reward="r", format="v1", op="score", status=200, seconds=0.1))
    metrics.scores("r", [0.5, -1.0], {"crash": 1})
    body, content_type = metrics.render(accept)
    open_form = "openmetrics" in accept
    assert content_type.startswith("application/openmetrics-text" if open_form else "text/plain")
    parse: Any = open_metrics if open_form else text_format
    names = {family.name for family in parse(body.decode())}
    assert {"guerdon_request_seconds", "guerdon_score", "guerdon_build_info"} <= names


def test_hostile_labels_stay_labels() -> None:
    metrics = Metrics()
    metrics.record(request_event(reward='a"} 1\nevil 1', format="v1", op="score\\", status=200, seconds=0.1))
    metrics.scores("r", [None], {'x"\n': 1})
    samples = read(metrics)
    labels = {"reward": 'a"} 1\nevil 1', "format": "v1", "op": "score\\", "status": "200"}
    assert at(samples, "guerdon_requests_total", **labels) == 1
    assert at(samples, "guerdon_failures_total", reward="r", kind='x"\n') == 1
    assert at(samples, "evil") is None


def test_labels_are_bounded_and_nothing_is_lost() -> None:
    metrics = Metrics()
    many = 2 * MOST_SERIES
    for i in range(many):
        metrics.record(request_event(reward=f"r{i}", format=f"f{i}", op="score", status=i, seconds=0.1))
        metrics.scores(f"r{i}", [1.0], {f"kind{i}": 1})
    samples = read(metrics)
    for name in ("requests_total", "samples_total", "failures_total", "request_seconds_count"):
        values = [value for (found, _), value in samples.items() if found == f"guerdon_{name}"]
        assert sum(values) == many
        assert len(values) <= MOST_SERIES + 501
    assert len(samples) < MOST_SERIES * 50


def processor_time(record: Callable[[], object]) -> float:
    """Seconds for 5,000 records, the least of five tries."""
    tries = []
    for _ in range(5):
        started = time.process_time()
        for _ in range(5_000):
            record()
        tries.append(time.process_time() - started)
    return min(tries)


def test_a_request_costs_less_than_with_prometheus_clients_own_metrics() -> None:
    metrics, registry = Metrics(), CollectorRegistry()
    requests = Counter("requests", "", ["reward", "format", "op", "status"], registry=registry)
    seconds = Histogram("seconds", "", ["reward", "format", "op"], registry=registry)
    scores = Histogram("scores", "", ["reward"], registry=registry)
    event = request_event(reward="r", format="adaptive", op="score", status=200, seconds=0.002)

    def ours() -> None:
        metrics.record(event)
        metrics.scores("r", [0.5])

    def theirs() -> None:
        requests.labels("r", "adaptive", "score", "200").inc()
        seconds.labels("r", "adaptive", "score").observe(0.002)
        scores.labels("r").observe(0.5)

    assert processor_time(ours) < processor_time(theirs)

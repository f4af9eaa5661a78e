"""Scores as an object: a sequence of results with provenance, whatever their number."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest

import guerdon
from guerdon.errors import InputError, MissingExtraError, NotApplicableError
from guerdon.scoring.buffer import RecordBuffer
from guerdon.scoring.outcome import Outcome
from guerdon.scoring.progress import Progress


def mixed(response: str, **columns: Any) -> Any:
    if response == "bad":
        raise ValueError("bad one")
    if response == "none":
        return None
    return (len(response), {"length": len(response), "share": 0.5})


SCORES = guerdon.score(mixed, ["a", "bad", "none", "abc"], workers=0)


def test_iterating_gives_a_result_a_sample() -> None:
    assert [result.score for result in SCORES] == [1.0, None, None, 3.0]
    assert [result.failed for result in SCORES] == [False, True, False, False]
    assert SCORES[-1].metrics["length"].score == 3.0
    assert [result.score for result in SCORES[0:2]] == [1.0, None]
    assert len(SCORES) == 4
    with pytest.raises(IndexError):
        SCORES[4]


def test_each_result_names_what_made_it() -> None:
    assert {(r.reward, r.version) for r in SCORES} == {("mixed", SCORES.version)}


def test_failures_and_what_does_not_apply() -> None:
    ((identity, failure),) = SCORES.failures()
    assert (identity, failure.error_kind) == (1, "exception")
    assert str(failure.error).startswith("ValueError: bad one")
    statistics = SCORES.statistics()
    assert (statistics.scored, statistics.failed, statistics.not_applicable) == (2, 1, 1)
    assert statistics.components["share"].mean == 0.5
    with pytest.raises(NotApplicableError):
        SCORES[2].unwrap()


def test_groups_come_from_a_column() -> None:
    rows = [
        {"messages": [{"role": "assistant", "content": "x" * (i % size)}], "group_id": g, "other": 0}
        for g, size in (("same", 1), ("varied", 2))
        for i in range(4)
    ]
    groups = guerdon.score(mixed, rows, workers=0).statistics().groups
    assert groups is not None
    assert (groups.count, groups.zero_variance) == (2, 0.5)
    one = guerdon.score(mixed, rows, workers=0, group_by="other").statistics().groups
    assert one is not None
    assert one.count == 1


def test_progress_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Progress] = []
    guerdon.score(mixed, ["a", "abc"] * 50, workers=0, progress=told.append)
    last = told[-1]
    assert (last.done, last.total, last.failed, last.mean, last.resumed) == (100, 100, 0, 2.0, 0)


def test_a_store_spills_to_disk_and_reads_back() -> None:
    buffer = RecordBuffer()
    text = "é\ud800" * 500
    for i in range(20_000):
        buffer.append((i, tuple(Outcome(float(i), text, {"m": (0.5, None, None, 2.0)})), 0.1))
    assert len(buffer) == 20_000
    assert buffer[12_345] == (12_345, tuple(Outcome(12345.0, text, {"m": (0.5, None, None, 2.0)})), 0.1)
    assert [identity for identity, _, _ in buffer] == list(range(20_000))
    again = pickle.loads(pickle.dumps(buffer))
    assert list(again)[::999] == list(buffer)[::999]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timeout": 0}, "not a number of seconds"),
        ({"timeout": -1}, "not a number of seconds"),
        ({"timeout": float("nan")}, "not a number of seconds"),
        ({"workers": -1}, "not a count"),
        ({"workers": "two"}, "not a count"),
        ({"concurrency": 0}, "too small"),
        ({"max_memory": "lots"}, "not an amount of memory"),
        ({"max_memory": 0}, "not an amount of memory"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"on_error": "ignore"}, "on_error must be"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        guerdon.score(mixed, ["a"], **options)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUERDON_WORKERS", "many")
    with pytest.raises(InputError, match="GUERDON_WORKERS: 'many' is not a count"):
        guerdon.score(mixed, ["a"])
    monkeypatch.setenv("GUERDON_WORKERS", "0")
    assert guerdon.score(mixed, ["a"]).scores == [1.0]


def test_statistics_print_in_a_line() -> None:
    assert str(SCORES.statistics()) == ("4 samples, 1 failed, 1 not applicable, mean 2 ± 1, from 1 to 3")


def test_stream_takes_no_output(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="stream keeps nothing"):
        next(guerdon.stream(mixed, ["a"], output=tmp_path / "x.jsonl"))


def conversation(prompt: str, response: str, **columns: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}, {"role": "assistant", "content": response}]
    return {"messages": messages, **columns}


ROWS = [
    conversation(f"prompt {i // 4}", "x" * (i % (3 + i // 4)), id=f"s{i}", group=i // 4, ground_truth="y")
    for i in range(12)
]
NAMED = guerdon.score(mixed, [*ROWS, conversation("?", "bad", id="wrong")], workers=0)


def test_samples_are_found_by_their_score() -> None:
    assert [one.score for one in NAMED.best(3)] == [4.0, 3.0, 3.0]
    assert [(one.id, one.prompt, one.response) for one in NAMED.worst(2)] == [
        ("s0", "prompt 0", ""),
        ("s3", "prompt 0", ""),
    ]
    assert [(one.id, one.result.error_kind) for one in NAMED.failed()] == [("wrong", "exception")]
    assert NAMED.best(0).ids == []


def test_samples_are_found_by_their_id() -> None:
    assert NAMED["s5"].score == NAMED[5].score
    one = NAMED.by_id("s5")
    assert (one.position, one.response, one.ground_truth, one.group) == (5, "x", "y", 1)
    with pytest.raises(KeyError, match="there is no sample with the id 's99'"):
        NAMED["s99"]
    twice = guerdon.score(mixed, [ROWS[0], ROWS[0]], workers=0)
    with pytest.raises(KeyError, match="2 samples have the id 's0'; index by position: 0, 1"):
        twice.by_id("s0")
    assert guerdon.score(mixed, ["a", "abc"], workers=0).by_id(1).response == "abc"


def test_groups_know_their_samples() -> None:
    groups = {group.key: group for group in NAMED.groups()}
    assert [list(group.scores) for group in NAMED.groups()[:3]] == [
        [0.0, 1.0, 2.0, 0.0],
        [0.0, 1.0, 2.0, 3.0],
        [3.0, 4.0, 0.0, 1.0],
    ]
    assert groups[1].samples.ids == ["s4", "s5", "s6", "s7"]
    assert (groups[1].mean, groups[1].spread) == (1.5, 3.0)
    assert [group.key for group in NAMED.disputed(2)] == [2, 1]
    assert SCORES.groups() == []


def test_scores_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(NAMED))
    assert list(again.rows()) == list(NAMED.rows())
    assert again.statistics() == NAMED.statistics()
    assert again.best(1)[0].response == "xxxx"
    assert (again.reward, again.version, again.seconds) == (NAMED.reward, NAMED.version, NAMED.seconds)


def test_scores_become_tables() -> None:
    frame = NAMED.to_pandas()
    assert list(frame["id"]) == NAMED.ids
    assert frame["metrics.length"].dropna().tolist() == [s for s in NAMED.scores if s is not None]
    assert NAMED.to_arrow().column("response").to_pylist()[-1] == "bad"
    data = NAMED.to_dataset()
    assert (len(data), data[1]["prompt"], data[1]["score"]) == (13, "prompt 0", 1.0)


@pytest.mark.parametrize(
    ("method", "package"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow"), ("to_dataset", "datasets")]
)
def test_without_a_package_the_error_is_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, method: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r'pip install "guerdon\[data\]"'):
        getattr(NAMED, method)()


def test_failures_alike_are_counted_together() -> None:
    groups = guerdon.score(mixed, ["bad", "a", "bad"], workers=0).failure_groups()
    assert [(g.kind, g.count, g.ids, g.has_ids) for g in groups] == [("exception", 2, [0, 2], False)]
    (named,) = NAMED.failure_groups()
    assert (named.ids, named.has_ids) == (["wrong"], True)

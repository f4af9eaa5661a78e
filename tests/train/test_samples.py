"""The kept samples: what comes back is what was scored, and the file is a data set that scores again alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from guerdon import open_dataset, reward_function, score
from guerdon.cli.app import app
from guerdon.errors import InputError
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.run_reader import RunReader
from guerdon.train.records.samples import KeptSample, SamplesFile, read_samples
from guerdon.train.run.monitor import RunMonitor
from guerdon.trainers.adapter import Adapter, ScoredBatch
from guerdon.types import EvaluateResult, MetricResult, Sample, StepOutput
from support.made_runs import Verdict, batch


def keep(path: Path, batches: Sequence[ScoredBatch]) -> list[KeptSample]:
    """The samples of a run with one batch a step, read while it goes on and again afterwards, which is the same."""
    monitor = RunMonitor(RunFolder(path))
    for step, one in enumerate(batches, 1):
        monitor.scored(one)
        monitor.step(step, 1.0, {})
    before = list(read_samples(path / "samples.parquet"))
    monitor.close()
    after = list(read_samples(path / "samples.parquet"))
    assert before == after
    return after


def scored(samples: Sequence[Sample], results: Sequence[EvaluateResult]) -> ScoredBatch:
    adapter = Adapter("exact_match", workers=0)
    return ScoredBatch(
        samples=samples, results=results, seconds=0.1, step=None, mode="train", adapter=adapter
    )


def chat(response: str, **more: Any) -> Sample:
    return Sample([{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": response}], **more)


def test_what_is_kept_of_a_sample(tmp_path: Path) -> None:
    sample = chat("4", ground_truth="4", id="a", metadata={"level": 3, "tags": ["sum"], "step": 7})
    result = EvaluateResult(0.5, "half", {"format": MetricResult(1.0, weight=0.5, reason="kept")})
    failed = EvaluateResult(error="it broke", error_kind="timeout")
    one, two, three = keep(
        tmp_path,
        [scored([sample, chat("5", ground_truth="4")], [result, failed]), scored([chat("6")], [result])],
    )
    assert (one.step, one.position, one.mode, two.position, three.step) == (1, 0, "train", 1, 2)
    assert one.sample == sample
    assert (one.score, one.reason, one.reward) == (0.5, "half", "exact_match")
    part = one.components["format"]
    assert (part.score, part.weight, part.reason) == (1.0, 0.5, "kept")
    assert (two.score, two.error, two.error_kind) == (None, "it broke", "timeout")
    assert one.group == two.group != three.group
    assert one.prompt_key == three.prompt_key


LONE = "\ud800"
TOOLS = [
    {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": "x"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
    },
]
FORMS = {
    "empty": [chat("")],
    "hostile": [chat('\x1b[31m"\n\\u0000\u202e, {"score": 1}')],
    "tools and parts": [Sample(TOOLS), chat("4")],
    "a context of its own": [chat("4", original_messages=[{"role": "user", "content": "other"}])],
    "numbers": [chat("4", ground_truth=4), chat("5", ground_truth=5)],
    "lists": [chat("4", ground_truth=["a", "b"])],
    "objects": [chat("4", ground_truth={"a": 1, "b": [True]})],
    "whole and broken numbers": [chat("4", id=1), chat("5", id=2)],
    "odd columns": [
        chat("4", metadata={"score": 9, "mode": "x", "run.step": 3, "ü": None, "deep": {"a": [1, 2.5]}})
    ],
}


@pytest.mark.parametrize("form", FORMS)
def test_samples_come_back_as_they_were(tmp_path: Path, form: str) -> None:
    samples = FORMS[form]
    found = keep(tmp_path, [scored(samples, [EvaluateResult(1.0)] * len(samples))])
    assert [one.sample for one in found] == samples
    assert next(iter(open_dataset(tmp_path / "samples.parquet"))).messages == samples[0].messages


def test_ground_truths_without_one_type_keep_theirs(tmp_path: Path) -> None:
    truths = ["4", 4, 4.0, {"a": 1}, [1], True]
    keep(tmp_path, [scored([chat("4", ground_truth=t) for t in truths], [EvaluateResult(1.0)] * len(truths))])
    found: list[Any] = []

    @reward_function(name="asks")
    def asks(response: str, ground_truth: Any) -> float:
        found.append(ground_truth)
        return 1.0

    score(asks, open_dataset(tmp_path / "samples.parquet"), workers=0)
    assert [repr(one) for one in found] == [repr(truth) for truth in truths]


def test_a_lone_surrogate_does_not_stop_the_run(tmp_path: Path) -> None:
    monitor = RunMonitor(RunFolder(tmp_path))
    monitor.scored(scored([chat(f"a{LONE}b")], [EvaluateResult(1.0)]))
    monitor.step(1, 1.0, {})
    monitor.close()
    assert [one.sample.response for one in RunReader.of(tmp_path).samples()] == ["a?b"]


def test_steps_of_a_rollout_are_kept(tmp_path: Path) -> None:
    result = EvaluateResult(1.0, step_outputs=[StepOutput(step_index=0, base_reward=0.5)])
    keep(tmp_path, [scored([chat("4")], [result])])
    import pyarrow.parquet

    row = pyarrow.parquet.read_table(tmp_path / "samples.parquet").to_pylist()[0]
    assert json.loads(row["run.step_outputs"])[0]["base_reward"] == 0.5


STEPPED = '''
from guerdon import reward_function

@reward_function
def stepped(response: str, ground_truth: str, step: int, level: int, mode: str = "strict", score: float = 2.0) -> float:
    """Wants what the run's own columns are called like."""
    assert mode == "strict" and score == 2.0 and level == 3
    return (response == ground_truth) * (0.5 if step < 2 else 1.0)
'''


def test_a_run_is_scored_again_by_the_command_line(tmp_path: Path) -> None:
    reward = tmp_path / "rewards.py"
    reward.write_text(STEPPED)
    adapter = Adapter(f"{reward}::stepped", workers=0)
    monitor = RunMonitor(RunFolder(tmp_path / "run"))
    adapter.observe = monitor.scored
    first: list[float | None] = []
    for step in range(4):
        samples = [chat(answer, ground_truth="4", metadata={"level": 3}) for answer in ("4", "5")]
        first += [result.score for result in adapter.results(samples, step=step)]
        monitor.step(step + 1, 1.0, {})
    monitor.close()
    assert first == [0.5, 0.0, 0.5, 0.0, 1.0, 0.0, 1.0, 0.0]
    again = tmp_path / "again.jsonl"
    line = [
        "score",
        f"{reward}::stepped",
        str(tmp_path / "run" / "samples.parquet"),
        "-o",
        str(again),
        "--group-by",
        "run.group",
    ]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in again.read_text().splitlines()]
    assert [row["score"] for row in rows] == first
    assert {row["version"] for row in rows} == {
        one.version for one in RunReader.of(tmp_path / "run").samples()
    }


def test_a_run_without_samples_leaves_no_file(tmp_path: Path) -> None:
    file = SamplesFile(tmp_path / "samples.parquet")
    file.append([])
    file.close()
    assert list(tmp_path.iterdir()) == []
    assert list(read_samples(tmp_path / "samples.parquet")) == []


@pytest.mark.parametrize("text", ["", "PAR1"])
def test_a_file_that_is_no_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "samples.parquet").write_text(text)
    with pytest.raises(InputError, match="is not a Parquet file"):
        list(read_samples(tmp_path / "samples.parquet"))


def test_scores_of_another_kind_are_no_samples_of_a_run(tmp_path: Path) -> None:
    score(lambda response: 1.0, ["a"], workers=0, output=tmp_path / "samples.parquet")
    with pytest.raises(InputError, match="does not hold the samples of a training run"):
        list(read_samples(tmp_path / "samples.parquet"))


def test_many_components_and_late_ones(tmp_path: Path) -> None:
    import pyarrow.parquet

    keep(tmp_path, [batch([Verdict(parts={"a": 0.5})]), batch([Verdict(parts={"b": 0.25})])])
    table = pyarrow.parquet.read_table(tmp_path / "samples.parquet")
    assert table["run.metrics.a"].to_pylist() == [0.5, None]
    assert table["run.metrics.b"].to_pylist() == [None, 0.25]
    assert table["run.completion"].to_pylist() == ["4", "4"]

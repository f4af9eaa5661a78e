"""The examples run, and the sample conversations are what the documents say of them."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from guerdon.types import EvaluateResult, Sample

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def conversations() -> list[Sample]:
    text = (EXAMPLES / "conversations.jsonl").read_text(encoding="utf-8")
    return [Sample.from_row(json.loads(line)) for line in text.split("\n") if line]


def test_ten_questions_have_four_responses_each() -> None:
    samples = conversations()
    assert len({sample.id for sample in samples}) == len(samples) == 40
    assert set(Counter(sample.metadata["group_id"] for sample in samples).values()) == {4}
    for sample in samples:
        assert [message.role for message in sample.messages] == ["user", "assistant"]
        assert isinstance(sample.ground_truth, str)
    per_question = {(s.metadata["group_id"], s.prompt, s.ground_truth) for s in samples}
    assert len(per_question) == 10


@pytest.mark.parametrize(
    ("style", "at_least"),
    [
        (r"\\boxed\{.+\}", 8),
        (r"The answer is [\w./]+\.$", 6),
        (r"#### \S+$", 5),
        (r"^<think>[^<]+</think>\s*<answer>[^<]+</answer>$", 6),
        (r"^$", 1),
    ],
)
def test_answers_come_in_several_styles(style: str, at_least: int) -> None:
    assert sum(bool(re.search(style, sample.response)) for sample in conversations()) >= at_least


def test_the_picture_shows_what_the_demo_prints() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    printed, _, _ = done.stdout.partition("Next, ")
    assert "failed" in printed
    assert "critical" in printed
    picture = (EXAMPLES.parent / "docs" / "terminal.svg").read_text(encoding="utf-8")
    shown = "".join(html.unescape(re.sub(r"<[^>]*>", "", picture)).split())
    lines = [line for line in printed.splitlines() if not line.startswith("time")]
    assert [line for line in lines if "".join(line.split()) not in shown] == []


@pytest.fixture
def evaluate(monkeypatch: pytest.MonkeyPatch) -> Callable[..., EvaluateResult]:
    spec = importlib.util.spec_from_file_location("relevance", EXAMPLES / "relevance" / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "relevance", module)
    spec.loader.exec_module(module)
    return module.evaluate


@pytest.mark.parametrize(
    ("question", "answer", "score", "coverage", "focus"),
    [
        # Topics: roll, left.
        ("How many rolls are left?", "17 rolls are left.", 1.0, 1.0, 1.0),
        ("How many rolls are left?", "Nobody knows.", 0.0, 0.0, 0.0),
        ("How many rolls are left?", "Rolls. Paris is nice.", 0.7 * 0.5 + 0.3 * 0.5, 0.5, 0.5),
        ("How many rolls are left?", "", 0.0, 0.0, 0.0),
        ("2 + 2?", "4", None, None, None),
    ],
)
def test_relevance_weighs_coverage_and_focus(
    evaluate: Callable[..., EvaluateResult],
    question: str,
    answer: str,
    score: float | None,
    coverage: float | None,
    focus: float | None,
) -> None:
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    result = evaluate(messages=messages)
    assert result.error is None
    assert result.score == (score if score is None else pytest.approx(score))
    assert {name: metric.score for name, metric in result.metrics.items()} == (
        {} if score is None else {"coverage": coverage, "focus": focus}
    )


@pytest.mark.torch
@pytest.mark.slow(seconds=15)
def test_the_run_for_a_gpu_works_in_small(tmp_path: Path) -> None:
    small = ["model.hidden_size=32", "model.num_layers=1", "model.num_heads=2", "model.intermediate_size=32"]
    few = ["training.num_batches=2", "training.micro_batch_size=2", "generation.max_generation_steps=4"]
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "train_on_gpu.py"), *small, *few, "run_dir=run"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert re.match(
        r"2 steps of [\d.]+ s, [\d,]+ tokens a second\nrewards take [\d.]+% of a step\n", done.stdout
    )

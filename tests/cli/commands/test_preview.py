"""``guerdon preview``: the relevance tutorial to the letter, and several rewards side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.cli_work import Run, row, start, write_rows

# The tutorial's metric: the share of the question's words that the answer repeats, and a bonus for a phrase
# that promises an answer.
RELEVANCE = """
from typing import Dict, List, Optional
from guerdon import reward_function, EvaluateResult, MetricResult, Message

STOP = set("a an the and or but is are on in at to for with by of".split())
PHRASES = ["the answer is", "to answer your question", "regarding your question"]

@reward_function
def evaluate(messages: List[Message], original_messages: List[Message] = list(), **kwargs) -> EvaluateResult:
    asked = set(messages[-2].content.lower().split()) - STOP
    said = messages[-1].content.lower()
    overlap = len(asked & (set(said.split()) - STOP)) / len(asked)
    direct = any(phrase in said for phrase in PHRASES)
    return EvaluateResult(
        score=min(overlap + 0.2 * direct, 1.0),
        reason=f"Relevance score: {overlap + 0.2 * direct:.2f}",
        metrics={
            "keyword_overlap": MetricResult(score=overlap, reason=f"{len(asked)} words"),
            "direct_answer": MetricResult(score=1.0 if direct else 0.0, reason="phrases"),
        },
    )
"""
ASKED = ("What is machine learning?", "What is machine learning?", "How can I improve my cooking skills?")
SAID = (
    "Machine learning is a subset of artificial intelligence.",
    "Artificial intelligence has many applications in today's world.",
    "To answer your question about improving cooking skills, I recommend: 1) Start with basic recipes, "
    "2) Learn fundamental techniques like knife skills.",
)


def check_the_tutorial(folder: Path, metric: str, samples: str) -> None:
    """Lays the tutorial's files out, runs its command and compares what it shows."""
    (folder / "metrics" / "relevance").mkdir(parents=True)
    (folder / "metrics" / "relevance" / "main.py").write_text(metric, encoding="utf-8")
    (folder / "samples.jsonl").write_text(samples, encoding="utf-8")
    process = start(
        *("preview", "--metrics-folders", "relevance=./metrics/relevance", "--samples", "./samples.jsonl"),
        folder=folder,
    )
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert re.findall(r"^relevance +([\d.]+) +Relevance score: ([\d.]+)", out, re.MULTILINE) == [
        ("0.333", "0.33"),
        ("0", "0.00"),
        ("0.486", "0.49"),
    ]
    assert re.findall(r"^  (\w+) +([\d.]+)  ", out, re.MULTILINE) == [
        ("keyword_overlap", "0.333"),
        ("direct_answer", "0"),
        ("keyword_overlap", "0"),
        ("direct_answer", "0"),
        ("keyword_overlap", "0.286"),
        ("direct_answer", "1"),
    ]
    assert "mean 0.273" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_relevance_tutorial_to_the_letter(work: Path, data_dir: Path) -> None:
    text = (data_dir.parent / "references" / "reward-kit-first-reward-function.txt").read_text(
        encoding="utf-8"
    )
    metric = text[text.index('"""\nRelevance Metric') : text.index("Step 3: Create Sample")]
    samples = "".join(f"{line}\n" for line in text.split("\n") if line.startswith('{"messages"'))
    check_the_tutorial(work, metric.replace("reward_kit", "guerdon"), samples)


def test_the_relevance_tutorial_in_our_words(work: Path) -> None:
    pairs = [
        [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
        for asked, said in zip(ASKED, SAID, strict=True)
    ]
    check_the_tutorial(work, RELEVANCE, "".join(json.dumps({"messages": m}) + "\n" for m in pairs))


@pytest.mark.parametrize(
    "folders",
    [
        ("--metrics-folders", "a=./one", "b=./two"),
        ("--metrics-folders", "a=./one", "--metrics-folders", "b=./two"),
    ],
)
def test_several_folders_and_rewards_side_by_side(guerdon: Run, work: Path, folders: tuple[str, ...]) -> None:
    for number, name in ((1, "one"), (2, "two")):
        (work / name).mkdir()
        source = f"def evaluate(messages, **kwargs):\n    return {number} / 4\n"
        (work / name / "main.py").write_text(source, encoding="utf-8")
    result = guerdon(
        "preview", *folders, "my_rewards.py::exact", "--samples", "samples.jsonl", "--workers", "0"
    )
    assert result.exit_code == 0, result.stderr
    first = result.stdout.partition("Sample 2")[0]
    assert re.findall(r"^(a|b|exact) +([\d.]+)", first, re.MULTILINE) == [
        ("a", "0.25"),
        ("b", "0.5"),
        ("exact", "1"),
    ]
    summaries = re.findall(r"^(a|b|exact) [0-9a-f]{8,} ─", result.stdout, re.MULTILINE)
    assert summaries == ["a", "b", "exact"]


def test_rewards_of_one_name_are_told_apart(guerdon: Run, work: Path) -> None:
    (work / "other.py").write_text("def exact(response): return 0.75\n", encoding="utf-8")
    result = guerdon(
        *("preview", "my_rewards.py::exact", "other.py::exact", "--samples", "samples.jsonl"),
        *("--max-samples", "1", "--workers", "0"),
    )
    assert re.search(r"^exact +1$", result.stdout, re.MULTILINE)
    assert re.search(r"^other.py::exact +0.75$", result.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("flags", "count"), [((), 5), (("--max-samples", "2"), 2), (("--max-samples", "9"), 7)]
)
def test_so_many_samples_are_shown(guerdon: Run, work: Path, flags: tuple[str, ...], count: int) -> None:
    write_rows(work / "seven.jsonl", [row(f"response {i}") for i in range(7)])
    args = ("--samples", "seven.jsonl", "--workers", "0", *flags)
    result = guerdon("preview", "my_rewards.py::length", *args)
    assert re.findall(r"^Sample (\d+)", result.stdout, re.MULTILINE) == [str(i + 1) for i in range(count)]


def test_columns_and_parameters(guerdon: Run, work: Path) -> None:
    write_rows(work / "flat.jsonl", [{"q": "Which letter?", "reply": "a"}])
    result = guerdon(
        *("preview", "my_rewards.py::length", "--samples", "flat.jsonl", "--param", "most=4"),
        *("--prompt-column", "q", "--response-column", "reply", "--workers", "0"),
    )
    assert "prompt     Which letter?" in result.stdout
    assert re.search(r"^length +0.25", result.stdout, re.MULTILINE)


def test_a_reward_that_hangs_is_ended(guerdon: Run, work: Path) -> None:
    (work / "hangs.py").write_text("def hangs(response):\n    while True: pass\n", encoding="utf-8")
    result = guerdon(
        "preview", "hangs.py::hangs", "--samples", "samples.jsonl", "--max-samples", "1", "--timeout", "0.3"
    )
    assert result.exit_code == 1
    said = "timeout: hangs overran its deadline of 0.3 s"
    assert result.stdout.startswith(f"hangs: the only sample failed with {said}")
    assert result.stdout.count(said) == 2


def test_hostile_text_is_only_shown(guerdon: Run, work: Path) -> None:
    write_rows(work / "hostile.jsonl", [row("\x1b[2J[bold]not bold[/bold]\u202e", id="\x1b]0;title\x07")])
    result = guerdon("preview", "my_rewards.py::fails", "--samples", "hostile.jsonl", "--workers", "0")
    assert result.exit_code == 1
    assert "\\x1b[2J[bold]not bold[/bold]\\u202e" in result.stdout
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", result.stdout)


def test_data_without_its_option_is_told_with_the_line_that_works(guerdon: Run) -> None:
    result = guerdon("preview", "my_rewards.py::exact", "samples.jsonl")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: samples.jsonl is data, not a reward; write: guerdon preview my_rewards.py::exact --samples "
        "samples.jsonl\n",
    )
    result = guerdon("preview", "my_rewards.py::exact")
    assert (result.exit_code, result.stderr) == (2, "Error: name the data: --samples answers.jsonl\n")

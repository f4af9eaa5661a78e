"""The relevance tutorial of reward-kit, to the letter: its folder, its samples, its test script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import guerdon
from support.reference_text import between, translated

# keyword_overlap, direct_answer: "learning" is the one keyword of three that comes up without its
# question mark; none; two of seven, and 0.2 for announcing the answer.
EXPECTED = [(1 / 3, 0.0, 1 / 3), (0.0, 0.0, 0.0), (2 / 7, 1.0, 2 / 7 + 0.2)]


@pytest.fixture
def project(references_dir: Path, tmp_path: Path) -> Path:
    """The tutorial's folder: its files cut out of the document."""
    text = (references_dir / "reward-kit-first-reward-function.txt").read_text(encoding="utf-8")
    files = {
        "metrics/relevance/main.py": between(text, '"""', "Step 3:"),
        "samples.jsonl": between(text, '{"messages"', "Step 4:"),
        "test_reward.py": between(text[text.index("Step 4:") :], '"""', "Step 5:"),
    }
    for name, source in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(translated(source), encoding="utf-8")
    return tmp_path


def rows(project: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (project / "samples.jsonl").read_text().splitlines() if line]


def test_scores_of_the_folder(project: Path) -> None:
    samples = rows(project)
    reward = guerdon.get_reward_function(str(project / "metrics" / "relevance"))
    for results in (guerdon.score(reward, samples, workers=0), [reward(**sample) for sample in samples]):
        found = [
            (r.metrics["keyword_overlap"].score, r.metrics["direct_answer"].score, r.score) for r in results
        ]
        assert found == [pytest.approx(expected) for expected in EXPECTED]
        assert [round(score, 3) for _, _, score in found] == [0.333, 0.0, 0.486]


def test_the_test_script_runs(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "test_reward.py"], cwd=project, capture_output=True, text=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = [line for line in done.stdout.splitlines() if line.startswith(("Loaded", "Overall", "Reason"))]
    assert said == [
        "Loaded 3 sample conversations.",
        *("Overall Score: 0.33", "Reason: Relevance score: 0.33"),
        *("Overall Score: 0.00", "Reason: Relevance score: 0.00"),
        *("Overall Score: 0.49", "Reason: Relevance score: 0.49"),
    ]
    assert "  direct_answer: 1.00 - Response explicitly addresses the query" in done.stdout


@pytest.mark.parametrize(
    ("messages", "score", "reason"),
    [
        ([], 0.0, "Insufficient messages"),
        ([{"role": "user", "content": "hello?"}], 0.0, "Insufficient messages"),
        (
            [{"role": "system", "content": "x"}, {"role": "assistant", "content": "y"}],
            0.0,
            "No user query found",
        ),
        (
            [{"role": "user", "content": "x"}, {"role": "user", "content": "y"}],
            0.0,
            "Last message is not from assistant",
        ),
        (
            [{"role": "user", "content": "the"}, {"role": "assistant", "content": None}],
            0.5,
            "No significant keywords in user query",
        ),
    ],
)
def test_the_early_returns(project: Path, messages: list[object], score: float, reason: str) -> None:
    result = guerdon.get_reward_function(str(project / "metrics" / "relevance"))(messages=messages)
    assert (result.score, result.reason, result.error) == (score, reason, None)

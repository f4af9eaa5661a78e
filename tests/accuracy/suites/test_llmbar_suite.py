"""The suite of LLMBar: there where a judge is configured, and of the right answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from guerdon.accuracy.benchmark import run_suite
from guerdon.accuracy.suites.llmbar import FILE, SUITE, cases
from support.judge_server import Asked, Reply, judge_server, verdict


@pytest.fixture(autouse=True)
def _no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GUERDON_JUDGE_MODEL", "GUERDON_JUDGE_BASE_URL", "GUERDON_JUDGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_judge_it_is_left_out_and_said_so(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run_suite(SUITE, data_dir)
    assert (report.measurements, report.cases) == ([], 0)
    assert "the judge needs a model" in str(report.left_out)
    monkeypatch.setenv("GUERDON_JUDGE_MODEL", "m")
    assert "the judge needs a key" in str(run_suite(SUITE, data_dir).left_out)


def test_the_cases(data_dir: Path) -> None:
    found = list(cases(data_dir))
    assert len(found) == len({case.id for case in found}) == 100
    assert sum(case.right for case in found) == 42
    assert all("label" not in case.row for case in found)
    assert SUITE.files == (FILE,)


def test_a_judge_that_knows_the_labels_agrees_with_all(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUERDON_JUDGE_MODEL", "m")
    with judge_server(lambda asked: Reply({})) as server:
        monkeypatch.setenv("GUERDON_JUDGE_BASE_URL", server.address)
        known = {}
        for case in cases(data_dir):
            one, other = case.row["messages"][-1]["content"].strip(), case.row["reference_response"].strip()
            known[one, other] = "A" if case.right else "B"
            known[other, one] = "B" if case.right else "A"

        def knowing(asked: Asked) -> Reply:
            blocks = asked.blocks()
            return verdict(asked, better=known[blocks["response a"], blocks["response b"]])

        server.script = knowing
        report = run_suite(SUITE, data_dir)
    (found,) = report.measurements
    assert found.counts.accuracy.value == 1.0
    assert (found.counts.true_positives, found.counts.true_negatives) == (42, 58)

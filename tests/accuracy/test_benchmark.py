"""Suites run: verdicts against labels, external verifiers, samples, and results that are kept or are not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guerdon.accuracy.benchmark import BenchmarkOptions, SuiteReport, run_suite, sample
from guerdon.accuracy.folder import Folder
from guerdon.accuracy.measurement import Measurement
from guerdon.accuracy.suite import CatalogueVerifier, ExternalVerifier, LabelledCase, Suite
from guerdon.errors import InputError
from support import verdicts

REWARD = """
from guerdon import EvaluateResult
from guerdon.errors import InputError


def exact(response, ground_truth, *, fold: bool = False):
    if response == "broken":
        raise InputError("cannot be read")
    if response == "skip":
        return EvaluateResult(reason="does not apply")
    same = response.lower() == ground_truth.lower() if fold else response == ground_truth
    return EvaluateResult(float(same), reason=f"{response} and {ground_truth}")
"""


def case(identity: str, response: str, right: bool, kind: str = "", gold: str = "four") -> LabelledCase:
    row = {"messages": [{"role": "assistant", "content": response}], "ground_truth": gold}
    return LabelledCase(identity, row, right, kind)


CASES = (
    case("a", "four", True, "plain"),
    case("b", "Four", True, "case"),
    case("c", "five", False, "plain"),
    case("d", "four", False, "mislabelled"),
    case("e", "broken", True, "failure"),
    case("f", "skip", False, "failure"),
)


@pytest.fixture
def reward(tmp_path: Path) -> str:
    path = tmp_path / "my_reward.py"
    path.write_text(REWARD, encoding="utf-8")
    return f"{path}::exact"


Make = Callable[..., Suite]


@pytest.fixture
def suite(reward: str) -> Make:
    def make(
        *external: ExternalVerifier, cases: tuple[LabelledCase, ...] = CASES, **parameters: Any
    ) -> Suite:
        catalogue = (CatalogueVerifier("exact", reward, parameters),)
        return Suite("words", "Words", (), lambda folder: iter(cases), catalogue, external)

    return make


def external(
    verdict: Callable[[Mapping[str, Any]], bool | None], label: str = "theirs", package: str = "json"
) -> ExternalVerifier:
    return ExternalVerifier(label, package, verdict)


def run(suite: Suite, folder: Folder | None = None, **options: Any) -> list[Measurement]:
    return run_suite(suite, None, BenchmarkOptions(workers=1, **options), folder=folder).measurements


def test_verdicts_against_labels(suite: Make) -> None:
    (found,) = run(suite())
    counts = found.counts
    assert (counts.true_positives, counts.false_negatives, counts.false_positives, counts.true_negatives) == (
        1,
        1,
        1,
        1,
    )
    assert (counts.failed_positives, counts.undecided_negatives) == (1, 1)
    assert found.failures == {"input": 1}
    assert found.first_failure.startswith("e: input: cannot be read")
    assert {kind: counts.cases for kind, counts in found.kinds.items()} == {
        "plain": 2,
        "case": 1,
        "mislabelled": 1,
        "failure": 2,
    }
    assert found.p50_ms is not None
    assert found.p99_ms is not None
    assert 0 < found.p50_ms <= found.p99_ms


def test_disagreements_are_for_reading(suite: Make) -> None:
    (found,) = run(suite())
    assert [(row["id"], row["label"], row["verdict"]) for row in found.disagreements] == [
        ("b", "right", "wrong"),
        ("d", "wrong", "right"),
        ("e", "right", "failed"),
        ("f", "wrong", "undecided"),
    ]
    assert found.disagreements[0] == {
        "suite": "words",
        "verifier": "exact",
        "id": "b",
        "kind": "case",
        "label": "right",
        "verdict": "wrong",
        "score": 0.0,
        "reason": "Four and four",
        "response": "Four",
        "ground_truth": "four",
    }


def test_parameters_and_threshold(suite: Make, reward: str) -> None:
    (found,) = run(suite(fold=True))
    assert found.counts.false_negatives == 0
    strict = replace(suite(), catalogue=(CatalogueVerifier("never", reward, threshold=1.5),))
    assert run(strict)[0].counts.precision.n == 0


def test_external_verifiers_are_measured_too(suite: Make) -> None:
    exact, theirs, absent = run(
        suite(external(verdicts.even), external(verdicts.even, "gone", "no_such_package"))
    )
    assert (exact.catalogue, theirs.catalogue, theirs.verifier) == (True, False, "theirs")
    # four, Four, five and four are even, broken and skip are.
    assert (theirs.counts.true_positives, theirs.counts.false_positives) == (3, 3)
    assert (absent.left_out, absent.counts.cases) == ("no_such_package is not installed", 0)
    assert len(run(suite(external(verdicts.even)), external=False)) == 1


def test_a_peer_that_fails_is_counted_apart(suite: Make) -> None:
    cases = tuple(case(text, text, True) for text in ("fine", "raise", "hang", "end", "too!"))
    _, theirs = run(suite(external(verdicts.broken), cases=cases), timeout=1.0)
    assert theirs.counts.true_positives == 2
    assert theirs.failures == {"exception": 1, "timeout": 1, "crash": 1}
    assert theirs.counts.recall.value == 1.0
    assert theirs.counts.coverage.value == 0.4


def test_a_peer_decides_nothing(suite: Make) -> None:
    _, theirs = run(suite(external(verdicts.even), cases=(case("a", "", True), case("b", "ab", True))))
    assert (theirs.counts.undecided_positives, theirs.counts.true_positives) == (1, 1)


def test_the_imports_of_a_peer_do_not_count_against_its_deadline(suite: Make) -> None:
    _, theirs = run(suite(external(verdicts.with_slow_import)), timeout=0.5)
    assert theirs.failures == {}
    assert theirs.counts.decided == len(CASES)


def test_a_sample_is_fixed_and_spread() -> None:
    cases = [case(f"case {i}", "x", True, kind=str(i % 10)) for i in range(1000)]
    few = sample(cases, 100)
    assert (len(few), few) == (100, sample(list(reversed(cases)), 100)[::-1])
    assert [int(c.id[5:]) for c in few] == sorted(int(c.id[5:]) for c in few)
    assert {c.kind for c in few} == set("0123456789")
    assert {c.id for c in sample(cases, 50)} < {c.id for c in few}
    assert sample(cases, 1000) == sample(cases, None) == cases


def test_a_sample_is_said(suite: Make) -> None:
    report = run_suite(suite(), None, BenchmarkOptions(workers=1, limit=2))
    assert (report.cases, report.of, report.measurements[0].counts.cases) == (2, 6, 2)


def test_what_was_finished_is_kept(suite: Make, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    (first,) = run(suite(), folder)
    (again,) = run(suite(), folder)
    assert (first.kept, again.kept) == (False, True)
    assert again.to_dict() == first.to_dict()
    assert again.disagreements == first.disagreements
    assert not run(suite(), folder, overwrite=True)[0].kept


@pytest.mark.sample(2, seconds=1)
@pytest.mark.parametrize("change", ["parameters", "cases", "limit", "reward", "threshold", "file"])
def test_what_is_stale_is_not(suite: Make, reward: str, tmp_path: Path, change: str) -> None:
    folder = Folder(tmp_path / "out")
    run(suite(), folder)
    changed, options = suite(), {}
    if change == "parameters":
        changed = suite(fold=True)
    elif change == "cases":
        changed = suite(cases=(*CASES[:-1], replace(CASES[-1], right=True)))
    elif change == "limit":
        options = {"limit": 3}
    elif change == "reward":
        path = Path(reward.partition("::")[0])
        other = path.with_name("other.py")
        other.write_text(REWARD.replace("cannot be read", "is broken"), encoding="utf-8")
        changed = replace(suite(), catalogue=(CatalogueVerifier("exact", f"{other}::exact"),))
    elif change == "threshold":
        changed = replace(suite(), catalogue=(CatalogueVerifier("exact", reward, threshold=0.6),))
    else:
        (tmp_path / "out" / "words" / "exact.json").write_text('{"suite": "words"', encoding="utf-8")
    assert not run(changed, folder, **options)[0].kept


def test_what_is_written(suite: Make, tmp_path: Path) -> None:
    run(suite(external(verdicts.even, "Their's (fast)")), Folder(tmp_path / "out"))
    written = sorted(path.name for path in (tmp_path / "out" / "words").iterdir())
    assert written == [
        "exact.disagreements.jsonl",
        "exact.json",
        "their-s-fast.disagreements.jsonl",
        "their-s-fast.json",
    ]
    told = json.loads((tmp_path / "out" / "words" / "exact.json").read_text("utf-8"))
    assert (told["cases"], told["counts"]["false_positives"], told["disagreements"]) == (6, 1, 4)
    assert told["kinds"]["case"]["recall"]["value"] == 0.0


def test_lone_surrogates_are_written(suite: Make, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    odd = suite(cases=(case("a", "fo\ud800ur", True),))
    run(odd, folder)
    (again,) = run(odd, folder)
    assert (again.kept, again.disagreements[0]["response"]) == (True, "fo\ud800ur")


def test_absent_files_leave_a_suite_out(suite: Make, tmp_path: Path) -> None:
    report = run_suite(replace(suite(), files=("rows.jsonl",)), tmp_path)
    assert (report.left_out, report.ok) == (f"the folder {tmp_path} does not have rows.jsonl", True)


def test_a_reward_that_is_not_there_is_left_out(suite: Make) -> None:
    gone = replace(suite(), catalogue=(CatalogueVerifier("gone", "no_such_reward"), *suite().catalogue))
    report = run_suite(gone, None, BenchmarkOptions(workers=1))
    assert [bool(found.left_out) for found in report.measurements] == [True, False]
    assert not report.ok


def test_a_reward_that_decides_nothing_is_not_well(suite: Make) -> None:
    assert not run_suite(suite(cases=(CASES[4],)), None, BenchmarkOptions(workers=1)).ok


def test_a_column_that_no_case_has(suite: Make) -> None:
    bare = LabelledCase("a", {"messages": [{"role": "assistant", "content": "x"}]}, True)
    (found,) = run(suite(cases=(bare,)))
    assert "ground_truth" in found.left_out


@pytest.mark.parametrize(
    ("cases", "labels", "says"),
    [
        ((), ("a",), "has no cases"),
        ((CASES[0], CASES[0]), ("a",), "has two cases with the id 'a'"),
        (CASES, ("Exact!", "exact"), "gives two verifiers the same name"),
    ],
)
def test_suites_that_are_made_wrong(
    suite: Make, reward: str, cases: tuple[LabelledCase, ...], labels: tuple[str, ...], says: str
) -> None:
    wrong = replace(suite(cases=cases), catalogue=tuple(CatalogueVerifier(label, reward) for label in labels))
    with pytest.raises(InputError, match=says):
        run_suite(wrong, None)


def test_a_report_holds_what_was_finished_before_an_interrupt(suite: Make) -> None:
    report = SuiteReport(suite())

    def interrupt(*_: Any) -> None:
        if report.measurements:
            raise KeyboardInterrupt

    both = replace(
        suite(), catalogue=(*suite().catalogue, CatalogueVerifier("second", suite().catalogue[0].reward))
    )
    with pytest.raises(KeyboardInterrupt):
        run_suite(both, None, BenchmarkOptions(workers=1), show=interrupt, report=report)
    assert [found.verifier for found in report.measurements] == ["exact"]

"""``guerdon test``: status 0 where every case is as expected, else 1 and a difference for each that is off."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli_work import Run, row, write_rows


def cases(folder: Path, *scores: float) -> None:
    """cases.jsonl: the responses a, b and c to the answer a, with the scores that are expected of them."""
    rows = [
        row(response, id=f"case-{response}", answer="a", expected=score)
        for response, score in zip("abc", scores, strict=True)
    ]
    write_rows(folder / "cases.jsonl", rows)


def test_all_as_expected(guerdon: Run, work: Path) -> None:
    cases(work, 1.0, 0.0, 0.0)
    result = guerdon("test", "my_rewards.py::exact", "cases.jsonl", "--workers", "0")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "3 cases: 3 as expected, 0 off\n"


def test_a_difference_for_each_that_is_off(guerdon: Run, work: Path) -> None:
    cases(work, 1.0, 0.25, 0.75)
    result = guerdon("test", "my_rewards.py::exact", "cases.jsonl", "--workers", "0")
    assert result.exit_code == 1
    assert "case-a" not in result.stdout
    second, third = result.stdout.index("case case-b, line 2\n"), result.stdout.index("case case-c, line 3\n")
    assert "0.25" in result.stdout[second:third]
    assert "0.75" in result.stdout[third:]
    assert result.stdout.endswith("3 cases: 1 as expected, 2 off\n")


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        (("--param", "most=10"), 0),
        (("--param", "most=5"), 1),
        (("--tolerance", "0.2", "--param", "most=5"), 0),
        (("--workers", "1", "--timeout", "5"), 0),
    ],
)
def test_flags_reach_the_reward(guerdon: Run, work: Path, flags: tuple[str, ...], status: int) -> None:
    cases(work, 0.1, 0.1, 0.1)
    workers = () if "--workers" in flags else ("--workers", "0")
    result = guerdon("test", "my_rewards.py::length", "cases.jsonl", *flags, *workers)
    assert result.exit_code == status, result.output


def test_a_failure_is_off(guerdon: Run, work: Path) -> None:
    cases(work, 1.0, 1.0, 1.0)
    result = guerdon("test", "my_rewards.py::fails_on_b", "cases.jsonl", "--workers", "0")
    assert result.exit_code == 1
    assert "case case-b, line 2\n" in result.stdout
    assert result.stdout.endswith("3 cases: 2 as expected, 1 off\n")


@pytest.mark.parametrize(
    ("args", "fragment"),
    [
        (("exxact", "cases.jsonl"), "there is no reward 'exxact'"),
        (("my_rewards.py::exact", "absent.jsonl"), "absent.jsonl"),
        (("my_rewards.py::length", "cases.jsonl", "--param", "mots=1"), "did you mean 'most'?"),
    ],
)
def test_mistakes(guerdon: Run, work: Path, args: tuple[str, ...], fragment: str) -> None:
    cases(work, 1.0, 0.0, 0.0)
    result = guerdon("test", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fragment in result.stderr


@pytest.mark.slow(seconds=6)
def test_the_contract_is_kept(guerdon: Run, work: Path) -> None:
    cases(work, 1.0, 0.0, 0.0)
    result = guerdon("test", "my_rewards.py::brief", "cases.jsonl", "--contract", "--timeout", "5")
    assert result.exit_code == 0, result.output
    said = result.stdout.splitlines()
    assert said[0] == "3 cases: 3 as expected, 0 off"
    assert said[1].startswith("contract kept: 3 rows and ")
    assert said[1].endswith(", in the modes call, batch, permuted, thread, worker, http")
    assert said[2].startswith("slowest: ")
    assert said[3].startswith("the reward declares no scale")


def test_the_contract_is_broken(guerdon: Run, work: Path) -> None:
    cases(work, 1.0, 0.0, 0.0)
    result = guerdon("test", "my_rewards.py::careless", "cases.jsonl", "--contract")
    assert result.exit_code == 1
    assert "3 as expected, 0 off" in result.stdout
    assert "careless breaks the contract of a reward in 1 way:\n" in result.stdout
    assert "adversarial response: empty: raises: IndexError" in result.stdout


def test_cases_in_a_table_whose_cells_are_text(guerdon: Run, work: Path) -> None:
    (work / "cases.csv").write_text(
        'response,answer,expected\na,a,1\nb,a,0\nb,a,"{""min"": 0.5}"\n', encoding="utf-8"
    )
    result = guerdon("test", "my_rewards.py::exact", "cases.csv")
    assert result.exit_code == 1, result.stderr
    assert "3 cases: 2 as expected, 1 off" in result.stdout
    (work / "cases.csv").write_text("response,answer,expected\na,a,yes\n", encoding="utf-8")
    result = guerdon("test", "my_rewards.py::exact", "cases.csv")
    assert result.exit_code == 2
    assert "\"expected\" must be a number, not 'yes'" in result.stderr

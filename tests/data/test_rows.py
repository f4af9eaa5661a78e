"""Malformed rows: how they are listed, kept and written."""

from __future__ import annotations

import datetime
import json
import pickle
from pathlib import Path

import pytest

from guerdon.data.rows import BadRow, BadRowsError, RejectedFile, quoted
from guerdon.errors import InputError


def bad(line: int, reason: str = "no", file: str = "d.jsonl") -> BadRow:
    return BadRow(file, line, reason)


@pytest.mark.parametrize(
    ("rejected", "count", "rows", "lines"),
    [
        ([bad(3)], 1, 1, ["1 of 1 row is malformed", "d.jsonl:3: no"]),
        ([bad(3)], 1, 2000, ["1 of 2,000 rows is malformed", "d.jsonl:3: no"]),
        ([bad(1), bad(2), bad(3), bad(7)], 4, 9, ["4 of 9 rows are malformed", "d.jsonl:1-3, 7: no"]),
        ([bad(1), bad(2, "so")], 2, 9, ["2 of 9 rows are malformed", "d.jsonl:1: no", "d.jsonl:2: so"]),
        (
            [bad(1), bad(1, file="e.jsonl")],
            2,
            9,
            ["2 of 9 rows are malformed", "d.jsonl:1: no", "e.jsonl:1: no"],
        ),
        ([bad(1)], 1001, 5000, ["1,001 of 5,000 rows are malformed", "d.jsonl:1: no", "and 1,000 more"]),
        (
            [BadRow("p.parquet", n, "no", unit="row") for n in (4, 5)],
            2,
            9,
            ["2 of 9 rows are malformed", "p.parquet, row 4-5: no"],
        ),
    ],
)
def test_what_the_error_lists(rejected: list[BadRow], count: int, rows: int, lines: list[str]) -> None:
    error = BadRowsError.of(rejected, count, rows)
    first, *others = str(error).split("\n")
    assert first == f"{lines[0]}; fix them, or skip them with --skip-bad-rows:"
    assert [line.strip() for line in others] == lines[1:]
    assert (error.bad, error.rows, error.rejected) == (count, rows, tuple(rejected))
    assert isinstance(error, InputError)


def test_the_error_survives_pickling() -> None:
    error = BadRowsError.of([bad(1)], 1, 2)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.rejected) == (BadRowsError, str(error), error.rejected)


@pytest.mark.parametrize(
    ("row", "text", "written"),
    [
        ({"x": [1, None]}, None, {"row": {"x": [1, None]}}),
        ([1], None, {"row": [1]}),
        ({}, None, {"row": {}}),
        (None, "{bad", {"text": "{bad"}),
        (None, None, {"text": ""}),
        ({"day": datetime.date(2024, 2, 29)}, None, {"row": {"day": "2024-02-29"}}),
        ({"x": float("nan")}, None, {"text": "{'x': nan}"}),
        (None, "a\u2028b\ud800", {"text": "a\u2028b\ud800"}),
    ],
)
def test_a_row_as_a_line_of_json(row: object, text: str | None, written: dict[str, object]) -> None:
    line = BadRow("d.jsonl", 3, "why", row, text).to_json()
    assert json.loads(line) == {"file": "d.jsonl", "line": 3, "reason": "why", **written}
    assert line.isascii()
    assert "\n" not in line


def test_a_brief_row_is_small() -> None:
    brief = BadRow("d.jsonl", 3, "why", {"x": "y" * 10**6}, "t" * 10**6).brief()
    assert (brief.row, brief.text) == (None, "t" * 200)


def test_no_file_without_malformed_rows_and_none_of_an_earlier_run(tmp_path: Path) -> None:
    path = tmp_path / "d.rejected.jsonl"
    path.write_text("old")
    with RejectedFile(path):
        pass
    assert not path.exists()
    with RejectedFile(path) as file:
        file.write(bad(1))
        file.write(bad(2))
    assert [json.loads(line)["line"] for line in path.read_text().splitlines()] == [1, 2]


def test_a_rejected_file_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "d.rejected.jsonl"
    with RejectedFile(path) as file, pytest.raises(InputError, match="cannot write the rejected rows to"):
        file.write(bad(1))
    with pytest.raises(InputError, match="cannot write the rejected rows to"), RejectedFile(tmp_path):
        pass


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a b", '"a b"'), ("a\nb\x00", r'"a\nb\x00"'), ("é", '"é"'), ("x" * 100, '"' + "x" * 39 + '…"')],
)
def test_names_in_messages(name: str, shown: str) -> None:
    assert quoted(name) == shown

"""Documents that hold a table, and those that are a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guerdon.data import open_dataset
from guerdon.data.documents import rows_in
from guerdon.errors import InputError

MESSAGES = [{"role": "user", "content": "p"}, {"role": "assistant", "content": "r"}]


@pytest.mark.parametrize(
    "document",
    [
        {"prompt": "p", "response": "r"},
        {"messages": MESSAGES, "data": [{"x": 1}]},
        {"prompt": MESSAGES[:1], "completion": MESSAGES[1:]},
        {"prompt": "p", "responses": ["r", "s"]},
        {"prompt": "p", "response": "r", "samples": [{"x": 1}]},
        {"prompt": "p", "response": "r", "metadata": {"0": 1}},
        {},
    ],
)
def test_a_row_is_no_table(document: dict[str, Any]) -> None:
    assert rows_in(document) is None


@pytest.mark.parametrize("indent", [None, 1])
def test_a_row_in_a_document_by_itself(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"messages": MESSAGES}, indent=indent), encoding="utf-8")
    assert [s.response for s in open_dataset(path)] == ["r"]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"columns": ["prompt", "response"], "data": [["p", "r"], ["p"]]}, "row 2 of the table has 1 values"),
        ({"prompt": ["p", "q"], "response": ["r"]}, "the columns of the table have different lengths"),
    ],
)
def test_tables_that_do_not_fit(tmp_path: Path, document: dict[str, Any], says: str) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=says):
        open_dataset(path).check()

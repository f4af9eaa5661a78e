"""A user's own rows as a suite: which labels are read, and what the reward sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guerdon.accuracy.labelled import labelled, suite_name
from guerdon.accuracy.suite import CatalogueVerifier, LabelledCase
from guerdon.errors import InputError

CATALOGUE = (CatalogueVerifier("exact", "exact"),)


def row(**columns: Any) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": "4"}], **columns}


def cases(*rows: dict[str, Any], **options: Any) -> list[LabelledCase]:
    return list(labelled(rows, CATALOGUE, **options).cases(Path()))


@pytest.mark.parametrize(
    ("value", "right"),
    [
        *((v, True) for v in (True, 1, 1.0, "1", "true", "Right", " correct ", "PASS", "yes")),
        *((v, False) for v in (False, 0, 0.0, "0", "False", "wrong", "incorrect", "fail", "no")),
    ],
)
def test_labels(value: Any, right: bool) -> None:
    assert cases(row(label=value))[0].right is right


@pytest.mark.parametrize("value", ["", "maybe", 0.5, 2, None, [], {"right": True}])
def test_labels_that_say_neither(value: Any) -> None:
    with pytest.raises(InputError, match='row 2: the column "label" must say right or wrong'):
        cases(row(label=1), row(label=value))


def test_the_reward_does_not_see_the_label() -> None:
    (case,) = cases(row(verdict="right", metadata={"verdict": "right", "x": 1}, y=2), label="verdict")
    assert dict(case.row) == row(metadata={"x": 1}, y=2)


def test_a_label_in_the_metadata() -> None:
    (case,) = cases(row(metadata={"label": 0}))
    assert (case.right, dict(case.row)) == (False, row(metadata={}))


def test_kinds_and_ids() -> None:
    found = cases(
        row(label=1, id="a", sort=3), row(label=1, sort="x"), row(label=0, id="a", sort="x"), kind="sort"
    )
    assert [(case.id, case.kind) for case in found] == [("a", "3"), ("2", "x"), ("a (row 3)", "x")]


@pytest.mark.parametrize(
    ("rows", "options", "says"),
    [
        ([], {}, "rows holds no rows"),
        ([row(x=1)], {}, 'row 1 has no column "label"; its columns: messages, x'),
        ([row(label=1)], {"kind": "sort"}, 'row 1 has no column "sort"'),
    ],
)
def test_mistakes(rows: list[Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        labelled(rows, CATALOGUE, **options)


def test_name_of_a_file() -> None:
    assert (suite_name("data/mine.v2.jsonl"), suite_name("-")) == ("mine", "-")

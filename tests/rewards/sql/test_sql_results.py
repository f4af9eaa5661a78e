"""When two results of queries are the same."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.rewards.sql.inside.query import plain
from guerdon.rewards.sql.results import QueryResult, ResultComparison, from_answer, from_rows

NAN = float("nan")


def result(*rows: Any, columns: Sequence[str] | None = None) -> QueryResult:
    """A result as it comes out of the sandbox."""
    cells = [[plain(cell) for cell in row] for row in rows]
    names = columns or [f"c{i}" for i in range(len(rows[0]) if rows else 1)]
    return from_answer({"columns": names, "rows": cells})


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        ([(1,)], [(1,)], True),
        ([(1,)], [(2,)], False),
        ([], [], True),
        ([], [(1,)], False),
        # Multisets: order does not count, how often does.
        ([(1,), (2,)], [(2,), (1,)], True),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], False),
        ([(1,), (1,)], [(1,)], False),
        ([("a", 1), ("b", 2)], [("b", 1), ("a", 2)], False),
        ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], True),
        # Columns.
        ([(1, 2)], [(1,)], False),
        ([(1, 2)], [(2, 1)], False),
        # Types.
        ([(1,)], [(1.0,)], True),
        ([("1",)], [(1,)], False),
        ([(None,)], [(None,)], True),
        ([(None,)], [(0,)], False),
        ([(None,)], [("",)], False),
        ([(b"a",)], [("a",)], False),
        ([(b"a",)], [(b"a",)], True),
        ([("a",)], [("A",)], False),
        ([(True,)], [(1,)], True),
        ([(Decimal("1.50"),)], [(1.5,)], True),
        ([(Decimal("1.50"),)], [(Decimal("1.5"),)], True),
        ([(datetime.date(2020, 1, 2),)], [(datetime.date(2020, 1, 2),)], True),
        ([(datetime.date(2020, 1, 2),)], [("2020-01-02",)], False),
        ([([1, 2],)], [([1, 2],)], True),
        ([([1, 2],)], [([2, 1],)], False),
        ([({"a": 1},)], [({"a": 1},)], True),
        # Tolerance: one part in a million for floats, none for whole numbers.
        ([(0.1 + 0.2,)], [(0.3,)], True),
        ([(1.000001,)], [(1.0,)], True),
        ([(1.001,)], [(1.0,)], False),
        ([(1_000_000_001,)], [(1_000_000_000,)], False),
        ([(10**400,)], [(1.5,)], False),
        ([(NAN,)], [(NAN,)], True),
        ([(NAN,)], [(1.0,)], False),
        ([(float("inf"),)], [(float("inf"),)], True),
        # Rows that a tolerance makes equal although they sort apart.
        ([(1.0, 2), (1.0000001, 1)], [(1.0000001, 2), (1.0, 1)], True),
    ],
)
def test_rows_as_a_multiset(found: list[Any], wanted: list[Any], same: bool) -> None:
    assert ResultComparison().same(result(*found), result(*wanted)) is same


@pytest.mark.parametrize(
    ("found", "order", "same"),
    [
        ([(1, "a"), (1, "b"), (2, "c")], True, True),
        ([(1, "b"), (1, "a"), (2, "c")], True, False),
        ([(1, "b"), (1, "a"), (2, "c")], [0], True),
        ([(1, "b"), (2, "c"), (1, "a")], [0], False),
        ([(2, "c"), (1, "a"), (1, "b")], [0], False),
        ([(2, "c"), (1, "a"), (1, "b")], False, True),
    ],
)
def test_rows_in_order(found: list[Any], order: list[int] | bool, same: bool) -> None:
    wanted = result((1, "a"), (1, "b"), (2, "c"))
    assert ResultComparison().same(result(*found), wanted, order) is same


def test_nan_in_order() -> None:
    assert ResultComparison().same(result((NAN,)), result((NAN,)), True)


@pytest.mark.parametrize(
    ("columns", "rows", "same"),
    [
        (["a", "b"], [(1, 2)], True),
        (["B", "A"], [(2, 1)], True),
        (["b", "a"], [(1, 2)], False),
        (["a", "c"], [(1, 2)], False),
        (["a", "a"], [(1, 2)], False),
    ],
)
def test_columns_by_name(columns: list[str], rows: list[Any], same: bool) -> None:
    wanted = result((1, 2), columns=["a", "b"])
    assert ResultComparison(by_name=True).same(result(*rows, columns=columns), wanted) is same


def test_gold_columns_of_one_name_cannot_be_told_apart() -> None:
    with pytest.raises(InputError, match="compare by position"):
        ResultComparison(by_name=True).same(result((1, 2)), result((1, 2), columns=["a", "a"]))


@pytest.mark.parametrize(
    ("rows", "columns", "cells"),
    [
        ([], (), ()),
        ([{"a": 1, "b": None}, {"b": "x", "a": 2}], ("a", "b"), ((1, None), (2, "x"))),
        ([[1, 2], (3, 4)], ("", ""), ((1, 2), (3, 4))),
        ([1, "a"], ("",), ((1,), ("a",))),
    ],
)
def test_expected_rows(rows: Any, columns: tuple[str, ...], cells: tuple[Any, ...]) -> None:
    assert (from_rows(rows).columns, from_rows(rows).rows) == (columns, cells)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("SELECT 1", "must be a list"),
        ({"a": 1}, "must be a list"),
        ([{"a": 1}, {"b": 1}], "the same keys"),
        ([{"a": 1}, [1]], "the same keys"),
        ([[1], [1, 2]], "as many values"),
    ],
)
def test_expected_rows_that_are_none(rows: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        from_rows(rows)

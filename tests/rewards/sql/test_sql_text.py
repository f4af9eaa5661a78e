"""The query in a response, and what a query orders its rows by."""

from __future__ import annotations

import time

import pytest

from guerdon.rewards.sql.text import ordering, ordering_columns, query_in, without_semicolon


@pytest.mark.parametrize(
    ("response", "query"),
    [
        ("SELECT 1", "SELECT 1"),
        ("  select 1 ;\n", "select 1"),
        ("```sql\nSELECT 1;\n```", "SELECT 1"),
        ("```SQL\nSELECT 1\n```\nThat is it.", "SELECT 1"),
        ("```sqlite\nSELECT 1\n```", "SELECT 1"),
        ("```\nSELECT 1\n```", "SELECT 1"),
        ("~~~sql\nSELECT 1\n~~~", "SELECT 1"),
        ("```sql SELECT 1```", "SELECT 1"),
        ("```SELECT 1```", "SELECT 1"),
        ("```sql\nSELECT 1```", "SELECT 1"),
        # Of several blocks the last that is marked as SQL, else the last.
        ("```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```", "SELECT 2"),
        ("```sql\nSELECT 1\n```\nIt prints\n```\n1\n```", "SELECT 1"),
        ("```\nSELECT 1\n```\n```\nSELECT 2\n```", "SELECT 2"),
        # A block that was cut off.
        ("```sql\nSELECT 1", "SELECT 1"),
        # The last answer, and a block in it.
        ("<answer>SELECT 1</answer> or <answer>SELECT 2;</answer>", "SELECT 2"),
        ("```sql\nSELECT 1\n```\n<answer>\n```sql\nSELECT 2\n```\n</answer>", "SELECT 2"),
        ("<answer>I do not know</answer> SELECT 1", None),
        # What was only thought of.
        ("<think>```sql\nSELECT 1\n```</think>SELECT 2", "SELECT 2"),
        ("<think>SELECT 1", None),
        ("<thinking>```sql\nSELECT 1\n```</thinking>\nSELECT 2", "SELECT 2"),
        ("<Think>SELECT 1</Think> <think>no</think>```SELECT 2```", "SELECT 2"),
        # In a sentence.
        ("The query is:\nSELECT a\nFROM t;\nIt gives all.", "SELECT a\nFROM t"),
        ("Query: SELECT a FROM t", "SELECT a FROM t"),
        ("Here:\n\nSELECT a FROM t\n\nThis works.", "SELECT a FROM t"),
        ("Here:\nSELECT a FROM t WHERE b = 'x;y'; thanks", "SELECT a FROM t WHERE b = 'x;y'"),
        ("`SELECT 1`", "SELECT 1"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT 1) SELECT * FROM a"),
        (
            "WITH RECURSIVE a(x) AS (SELECT 1) SELECT * FROM a",
            "WITH RECURSIVE a(x) AS (SELECT 1) SELECT * FROM a",
        ),
        ("VALUES (1)", "VALUES (1)"),
        ("With this you select all rows.", None),
        # Nothing is left out of a text that is only a query.
        ("SELECT 1; DROP TABLE a", "SELECT 1; DROP TABLE a"),
        ("SELECT 1;\nDrop table a", "SELECT 1;\nDrop table a"),
        ("SELECT a\n\nFROM t\n\nWhere b", "SELECT a\n\nFROM t\n\nWhere b"),
        ("SELECT\n\n  Name as n, b FROM t", "SELECT\n\n  Name as n, b FROM t"),
        # But a sentence behind it is not a query.
        ("SELECT a FROM t;\nThis gives all.", "SELECT a FROM t"),
        ("SELECT a FROM t\n\nThe table has all.", "SELECT a FROM t"),
        ("I do not know.", None),
        ("", None),
        ("```sql\n```", None),
        ("```sql\n;\n```", None),
        # Full-width characters are left as they are: they may stand in a text.
        ("SELECT '１２'", "SELECT '１２'"),
    ],
)
def test_the_query_of_a_response(response: str, query: str | None) -> None:
    assert query_in(response) == query


@pytest.mark.parametrize(
    ("query", "bare"),
    [
        ("SELECT 1;;", "SELECT 1"),
        ("SELECT 1 -- one;", "SELECT 1"),
        ("SELECT 1; /* done */ ;", "SELECT 1"),
        ("SELECT ';'", "SELECT ';'"),
        ("SELECT 'a -- b';", "SELECT 'a -- b'"),
        (";", ""),
    ],
)
def test_the_end_of_a_query(query: str, bare: str) -> None:
    assert without_semicolon(query) == bare


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("SELECT a FROM t", None),
        ("SELECT a FROM t ORDER BY a", ["a"]),
        ("select a from t order\n  by a desc, b limit 3", ["a desc", "b"]),
        ("SELECT a FROM t ORDER BY f(a, b), 2 OFFSET 1", ["f(a, b)", "2"]),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 1)", None),
        ("WITH x AS (SELECT a FROM t ORDER BY a) SELECT a FROM x", None),
        ("SELECT rank() OVER (ORDER BY a) FROM t", None),
        ("SELECT 'ORDER BY a' FROM t -- ORDER BY a", None),
        ('SELECT "ORDER BY" FROM t /* ORDER BY a */', None),
        ("SELECT a FROM t ORDER /* so */ BY a", ["a"]),
        ("SELECT a FROM t UNION SELECT a FROM u ORDER BY 1", ["1"]),
    ],
)
def test_what_a_query_orders_by(query: str, terms: list[str] | None) -> None:
    assert ordering(query) == terms


@pytest.mark.parametrize(
    ("terms", "columns", "places"),
    [
        (["a"], ["a", "b"], [0]),
        (["t.B DESC", '"a"'], ["a", "b"], [1, 0]),
        (["2 ASC NULLS LAST"], ["a", "b"], [1]),
        (["c"], ["a", "b"], None),
        (["3"], ["a", "b"], None),
        (["a + 1"], ["a"], None),
        (["a"], ["a", "a"], None),
    ],
)
def test_columns_that_a_result_is_ordered_by(
    terms: list[str], columns: list[str], places: list[int] | None
) -> None:
    assert ordering_columns(terms, columns) == places


@pytest.mark.parametrize(
    "response",
    [
        "WITH x (\n" * 20_000,
        " " * 40_000 + "x",
        "`" * 40_000,
        "<answer>" * 10_000,
        "</think>" * 10_000,
        "'" * 40_000,
        "SELECT 1" + "\n" * 40_000 + "x",
    ],
)
def test_a_long_response_takes_no_long_time(response: str) -> None:
    started = time.process_time()
    query_in(response)
    assert time.process_time() - started < 2

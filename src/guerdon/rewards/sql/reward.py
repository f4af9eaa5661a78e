"""The reward ``sql``: does the query of a response give what the gold query gives?"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.binding.annotations import Ceiling, Setting
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common import sandboxes
from guerdon.rewards.common.parameters import (
    among,
    non_negative,
    one_of,
    parameter_check,
    response_text,
    shown,
    yes_or_no,
)
from guerdon.rewards.sql.databases import database_in
from guerdon.rewards.sql.results import QueryResult, ResultComparison, from_rows
from guerdon.rewards.sql.runs import (
    DatabaseResults,
    QueryLimits,
    ReferenceResults,
    answers,
    preloads,
    reference_of,
)
from guerdon.rewards.sql.text import ordering, ordering_columns, query_in, without_semicolon
from guerdon.sandbox.isolation.tiers import ISOLATIONS
from guerdon.types import EvaluateResult, MetricResult

SCALES = ("zero-one", "three-way")
COLUMNS = ("position", "name")
ORDERS = ("gold", "always", "never")
MAX_QUERY = 100_000
"""Characters that a query may have."""
MAX_VARIATIONS = 20


def _check(seconds: Any = 5.0, max_rows: Any = 10_000, memory_mb: Any = 512, **given: Any) -> None:
    _bounds(seconds, max_rows, memory_mb)
    parameter_check(
        variations=lambda value, what: _whole(value, what, 0, MAX_VARIATIONS),
        seed=lambda value, what: _whole(value, what, 0, 1 << 62),
        columns=among(COLUMNS),
        order=among(ORDERS),
        tolerance=non_negative,
        scale=among(SCALES),
        allow_empty=yes_or_no,
        isolation=among(ISOLATIONS),
    )(**given)


@reward_function(timeout=300, enforces_timeout=True, scale=(-1, 1), check=_check, reach=sandboxes.reach)
def sql(
    response: str,
    ground_truth: str | Sequence[Any] | None = None,
    db_path: str | None = None,
    database: str | None = None,
    db_id: str | None = None,
    gold_query: str | None = None,
    sql: str | None = None,
    ground_truth_results: Sequence[Any] | None = None,
    *,
    folder: Setting[str | os.PathLike[str] | None] = None,
    variations: Ceiling[int] = 4,
    seed: int = 0,
    columns: str | None = None,
    order: str = "gold",
    tolerance: float = 1e-6,
    scale: str = "zero-one",
    allow_empty: bool = False,
    seconds: Ceiling[float] = 5.0,
    max_rows: Ceiling[int] = 10_000,
    memory_mb: Ceiling[int] = 512,
    isolation: Setting[str] = "auto",
) -> EvaluateResult:
    """Scores 1 where the query of a response gives what the gold query gives, on a database and variations of it.

    The query is looked for in the last ``<answer>…</answer>`` if there is one, there in the last block that
    is marked as SQL, else in the last block, else it is a bare SELECT. Text before ``</think>`` is
    ignored.

    The database is a file of SQLite or DuckDB in ``folder``, named by the row's ``db_path``, ``database`` or
    ``db_id`` (a ``db_id`` such as ``geography`` finds ``geography/geography.sqlite``). Nothing outside of
    the folder is read, and nothing is written: each query runs on a copy within the sandbox, with at most
    ``seconds`` of processor time on each database, ``max_rows`` rows and ``memory_mb`` MiB. ``folder`` and
    ``isolation`` are parameters only; columns of these names are ignored. A column ``seconds``, ``max_rows``,
    ``memory_mb`` or ``variations`` can only lower what the parameter is without it.

    The expected result comes from a gold query (``gold_query``, ``sql`` or the ground truth) or by expected rows
    (``ground_truth_results``, or a ground truth that is a list). With a gold query, both run on the database
    and on so many ``variations`` of it, which are the same for the same ``seed``; a query has to be right on
    all of them, so one that gives the right rows by accident, or as constants, is not paid. A variation
    exchanges values, moves numbers, and leaves out and adds rows; keys, references and dependencies between
    columns hold in it as they do in the original. Where the gold query gives no row on any database the
    reward does not apply, unless ``allow_empty``.

    Rows are compared in order where the gold query orders them (``order`` may be ``gold``, ``always`` or
    ``never``; rows that the order leaves equal may be exchanged), else as a multiset. Columns are compared
    by ``position``, or by ``name``, as expected rows are that are objects. Numbers are equal within the
    relative ``tolerance``, whole ones exactly; text is never equal to a number.

    Scale: 0 or 1; with ``scale="three-way"`` 1 for the right rows, 0 for others, -1 for a query that cannot
    be run, or none.

    The metrics are ``executed`` (whether the query ran, else the kind of error), ``rows``, ``databases``
    (the share on which it is right), ``variations`` (how many were used), ``cpu_s`` and ``tier`` (what the
    query was confined by).

    Source: execution accuracy over variations of a database is test-suite accuracy (Zhong et al. 2020,
    "Semantic Evaluation for Text-to-SQL with Distilled Test Suites"); the three-way scale is that of
    Adaptive's example of a reward server.

    Raises InputError for a database that is not there or not in the folder, and for a gold query that cannot
    be run; MissingExtraError for a DuckDB database without DuckDB; SandboxError where the sandbox is not
    available.

    >>> import sqlite3, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     connection = sqlite3.connect(f"{folder}/seas.sqlite")
    ...     _ = connection.executescript("create table sea (name); insert into sea values ('Red'), ('Coral')")
    ...     connection.close()
    ...     gold = "SELECT count(*) FROM sea"
    ...     right = sql("SELECT count(name) FROM sea", gold, "seas.sqlite", folder=folder)
    ...     right.score, sql("SELECT 2", gold, "seas.sqlite", folder=folder).score
    (1.0, 0.0)
    """
    text = response_text(response)
    scale, order = one_of(scale, SCALES, "scale"), one_of(order, ORDERS, "order")
    bounds = _bounds(seconds, max_rows, memory_mb)
    count = _whole(variations, "variations", 0, MAX_VARIATIONS)
    source = database_in(folder, next((n for n in (db_path, database, db_id) if n is not None), None))
    query, rows = _wanted(ground_truth, gold_query if gold_query is not None else sql, ground_truth_results)
    sandbox = sandboxes.shared(isolation, preload=preloads(source))
    if query is not None:
        gold = reference_of(sandbox, source, query, count, _whole(seed, "seed", 0, 1 << 62), bounds)
    else:
        gold = ReferenceResults((source.content,), (from_rows(rows),))
    if not any(result.rows for result in gold.results) and not yes_or_no(allow_empty, "allow_empty"):
        return EvaluateResult(
            reason="the expected result has no rows on any database, so nothing can be compared"
        )
    mine = query_in(text)
    if mine is None or len(mine) > MAX_QUERY:
        return _verdict(scale, None, [], gold, "no query found" if mine is None else "the query is too long")
    comparison = _comparison(columns, tolerance, rows)
    found = answers(sandbox, source.engine, gold.databases, mine, bounds, stop_at_error=True)
    places = [
        comparison.same(result, wanted, _order(order, query, wanted)) if result.ran else False
        for result, wanted in zip(found.results, gold.results, strict=True)
    ]
    return _verdict(scale, found, places, gold, _reason(found.results[0], places))


def _bounds(seconds: Any, max_rows: Any, memory_mb: Any) -> QueryLimits:
    time = non_negative(seconds, "seconds")
    if not time:
        raise InputError("seconds must be more than 0")
    return QueryLimits(
        seconds=time,
        max_rows=_whole(max_rows, "max_rows", 1, 1_000_000),
        memory_mb=_whole(memory_mb, "memory_mb", 16, 1 << 20),
    )


def _whole(value: Any, what: str, least: int, most: int) -> int:
    number = non_negative(value, what)
    if number is None or number != int(number) or not least <= number <= most:
        raise InputError(f"{what} must be a whole number from {least} to {most}, not {shown(value)}")
    return int(number)


def _comparison(columns: Any, tolerance: Any, rows: Any) -> ResultComparison:
    objects = isinstance(rows, Sequence) and bool(rows) and isinstance(rows[0], dict)
    by_name = objects if columns is None else one_of(columns, COLUMNS, "columns") == "name"
    return ResultComparison(by_name=by_name, relative=non_negative(tolerance, "tolerance") or 0.0)


def _wanted(ground_truth: Any, gold_query: Any, results: Any) -> tuple[str | None, Any]:
    """The gold query, or the expected rows. Raises InputError where there is neither."""
    if gold_query is None and results is None:
        if isinstance(ground_truth, str) and not ground_truth.lstrip().startswith("["):
            gold_query = ground_truth
        else:
            results = ground_truth
    if gold_query is not None:
        query = without_semicolon(gold_query) if isinstance(gold_query, str) else ""
        if not query:
            raise InputError(f"the gold query must be SQL, not {shown(gold_query)}")
        return query, None
    if isinstance(results, str):
        try:
            results = json.loads(results)
        except ValueError:
            raise InputError("the expected rows are text, but no JSON list") from None
    if results is None:
        raise InputError(
            "there is nothing to compare with: give gold_query, ground_truth or ground_truth_results"
        )
    return None, results


def _order(order: str, query: str | None, wanted: QueryResult) -> Sequence[int] | bool:
    if order != "gold" or query is None:
        return order == "always"
    terms = ordering(query)
    if terms is None:
        return False
    places = ordering_columns(terms, wanted.columns)
    return True if places is None else places


def _reason(first: QueryResult, places: Sequence[bool]) -> str:
    if not first.ran:
        return f"the query cannot be run ({first.kind}): {first.error}"
    if all(places):
        return "the right rows on every database" if len(places) > 1 else "the right rows"
    return "the right rows, but not on every variation" if places[0] else "other rows than the gold query's"


def _verdict(
    scale: str, found: DatabaseResults | None, places: Sequence[bool], gold: ReferenceResults, reason: str
) -> EvaluateResult:
    first = found.results[0] if found else QueryResult(kind="no_query")
    score = 1.0 if places and all(places) else -1.0 if scale == "three-way" and not first.ran else 0.0
    metrics = {
        "executed": MetricResult(float(first.ran), success=first.ran, reason=first.kind or "ran"),
        "variations": MetricResult(len(gold.databases) - 1),
    }
    if found is not None:
        names = ["original", *(f"variation {i}" for i in range(1, len(places)))]
        wrong = [name for name, right in zip(names, places, strict=True) if not right]
        listed = f"not right on: {', '.join(wrong)}" if first.ran and wrong else None
        confined = found.tier != "none"
        metrics |= {
            "rows": MetricResult(len(first.rows)),
            "databases": MetricResult(sum(places) / len(places), success=not wrong, reason=listed),
            "cpu_s": MetricResult(found.cpu_s),
            "tier": MetricResult(float(confined), success=confined, reason=found.tier),
        }
    return EvaluateResult(score, reason=reason, metrics=metrics)

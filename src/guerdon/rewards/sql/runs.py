"""Queries in the sandbox: what one gives on each of several databases, and the variations of a database."""

from __future__ import annotations

import functools
import importlib.util
import json
import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from guerdon.errors import InputError, MissingExtraError, SandboxError
from guerdon.rewards.sql.databases import Database, SizedCache
from guerdon.rewards.sql.results import QueryResult, from_answer
from guerdon.sandbox.execution import NO_VERDICT, Executor, Report, SandboxJob, Tier
from guerdon.sandbox.limits import Limits

MAX_RESULT_BYTES = 16 << 20
"""Bytes of what a query gives on all databases together."""
_MAX_CELLS = 1_000_000
_MAX_VARIED_BYTES = 32 << 20
_KEPT_BYTES = 256 << 20
_KEPT_RESULT_BYTES = 64 << 20
_QUEUE_S = 120.0
"""Seconds that a query may wait for a worker of the sandbox that is busy."""
_CANDIDATES = 3
"""Variations that are tried for each that is wanted: not every one tells something of every query."""
_OVERHEAD_MB = {"sqlite": 256, "duckdb": 2048}
"""Address space beside what a query may use. DuckDB reserves more than it uses, and keeps to a limit of its own."""
_STOPPED = {"timeout": "too_slow", "memory_limit": "too_large", "output_limit": "too_large"}
_PARTS = {
    "query": ("__init__", "query"),
    "variations": ("__init__", "structure", "tables", "variations"),
}
_PROGRAM = "import os, sys; sys.path.insert(0, os.getcwd()); from inside_sql import {0}; {0}.main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """What a query may use."""

    seconds: float = 5.0
    """Processor time on each database."""
    memory_mb: int = 512
    max_rows: int = 10_000


@dataclass(frozen=True, slots=True)
class DatabaseResults:
    """What a query gave on each database, and what it was run in."""

    results: tuple[QueryResult, ...]
    tier: Tier
    cpu_s: float


@dataclass(frozen=True, slots=True)
class ReferenceResults:
    """The databases that tell queries apart, the original first, and what is right on each."""

    databases: tuple[bytes, ...]
    results: tuple[QueryResult, ...]


_variations: SizedCache[tuple[bytes, ...]] = SizedCache(_KEPT_BYTES)
_references: SizedCache[ReferenceResults] = SizedCache(_KEPT_RESULT_BYTES)


def preloads(database: Database) -> tuple[str, ...]:
    """The modules that a sandbox for this database has at hand. Raises MissingExtraError without DuckDB."""
    if database.engine == "duckdb" and importlib.util.find_spec("duckdb") is None:
        raise MissingExtraError.of("sql", "the sql reward on a DuckDB database")
    return ("json", "sqlite3", "decimal", "threading", *(["duckdb"] if database.engine == "duckdb" else []))


def answers(
    sandbox: Executor,
    engine: str,
    databases: Sequence[bytes],
    query: str,
    bounds: QueryLimits,
    stop_at_error: bool = False,
) -> DatabaseResults:
    """Runs a query on each database, or up to the first one on which it fails.

    Raises SandboxError where what happened says nothing of the query.
    """
    request = {
        "engine": engine,
        "databases": [f"{i}.db" for i in range(len(databases))],
        "query": query,
        "seconds": bounds.seconds,
        "memory_mb": bounds.memory_mb,
        "max_rows": bounds.max_rows,
        "max_bytes": MAX_RESULT_BYTES,
        "stop_at_error": stop_at_error,
    }
    limits = Limits(
        cpu_s=bounds.seconds * len(databases) + 2,
        wall_s=bounds.seconds * len(databases) * 3 + 20,
        memory_mb=bounds.memory_mb + _OVERHEAD_MB[engine],
        output_kb=(MAX_RESULT_BYTES >> 10) + 64,
        scratch_mb=_scratch(sum(map(len, databases))),
    )
    files = {f"{i}.db": content for i, content in enumerate(databases)}
    report = sandbox.execute(_job("query", request, files, limits))
    lines = report.stdout.splitlines()
    if report.status == "killed" and not lines:
        raise SandboxError(f"{engine} does not start under the isolation {report.tier}: {report.detail}")
    if report.status in NO_VERDICT or not lines or lines[0] != b'"ready"':
        raise _lost(report)
    results = [_result(line) for line in lines[1:]]
    if report.status != "ok" and len(results) < len(databases):
        kind = _STOPPED.get(report.status, "crashed")
        results.append(QueryResult(kind=kind, error=report.detail or kind.replace("_", " ")))
    results += [QueryResult(kind="not_run")] * (len(databases) - len(results))
    return DatabaseResults(tuple(results[: len(databases)]), report.tier, report.cpu_s)


def _result(line: bytes) -> QueryResult:
    try:
        return from_answer(json.loads(line))
    except (ValueError, KeyError, TypeError):  # a line that was cut off where the process was stopped
        return QueryResult(kind="crashed", error="its result was cut off")


def reference_of(
    sandbox: Executor, database: Database, query: str, count: int, seed: int, bounds: QueryLimits
) -> ReferenceResults:
    """What the gold query gives on the database and on ``count`` variations, kept for the next sample.

    Raises InputError where the query cannot be run, SandboxError where that says nothing of the query.
    """
    key = (database.digest, query, count, seed, bounds)
    return _references.get(key, lambda: _reference(sandbox, database, query, count, seed, bounds))


def _reference(
    sandbox: Executor, database: Database, query: str, count: int, seed: int, bounds: QueryLimits
) -> tuple[ReferenceResults, int]:
    varied = variations(sandbox, database, count * _CANDIDATES, seed) if count else ()
    tried = (database.content, *varied)
    found = answers(sandbox, database.engine, tried, query, bounds).results
    if not found[0].ran:
        raise InputError(f"the gold query cannot be run ({found[0].kind}): {found[0].error}")
    places = [0, *_discriminating(found, count)]
    results = tuple(found[place] for place in places)
    gold = ReferenceResults(tuple(tried[place] for place in places), results)
    # The variations are counted where they are kept, once for all queries.
    return gold, sum(len(repr(result.rows)) for result in results) + 1_000


def _discriminating(found: Sequence[QueryResult], count: int) -> list[int]:
    """Which variations to use: first those on which the gold query gives rows that it gave nowhere else."""
    seen = {found[0].rows}
    ranks = []
    for place, result in enumerate(found[1:], start=1):
        if result.ran:
            ranks.append((result.rows in seen, not result.rows, place))
            seen.add(result.rows)
    return [place for *_, place in sorted(ranks)[:count]]


def variations(sandbox: Executor, database: Database, count: int, seed: int) -> tuple[bytes, ...]:
    """Up to ``count`` variations of a database, the same for the same seed; fewer where some cannot be made.

    Raises InputError for a database that is too large to vary or cannot be varied, SandboxError where the
    sandbox failed.
    """
    key = (database.digest, count, seed)
    return _variations.get(key, lambda: _made(sandbox, database, count, seed))


def _made(sandbox: Executor, database: Database, count: int, seed: int) -> tuple[tuple[bytes, ...], int]:
    size = len(database.content)
    if size > _MAX_VARIED_BYTES:
        raise _too_large_to_vary(database, f"{size >> 20} MiB")
    names = tuple(map(str, range(count)))
    request = {"engine": database.engine, "count": count, "seed": seed, "max_cells": _MAX_CELLS}
    limits = Limits(
        cpu_s=20 + 5 * count,
        wall_s=120 + 10 * count,
        memory_mb=4096,
        scratch_mb=_scratch((count + 1) * (2 * size + (1 << 20))),
    )
    job = _job("variations", request, {"original": database.content}, limits, collect=names)
    report = sandbox.execute(job)
    if report.status in NO_VERDICT or report.status == "killed":
        raise _lost(report)
    try:
        answer = json.loads(report.stdout)
    except ValueError:
        if report.status in _STOPPED:
            raise _too_large_to_vary(database, f"the sandbox said {report.status}") from None
        raise _lost(report) from None
    if "too_large" in answer:
        raise _too_large_to_vary(database, answer["too_large"])
    made = tuple(report.collected[name] for name in answer["made"] if name in report.collected)
    if not made:
        raise InputError(
            f"no variation of the database {database.name!r} can be made ({answer['refused']}): give variations=0"
        )
    return made, sum(map(len, made))


def _too_large_to_vary(database: Database, why: str) -> InputError:
    return InputError(f"the database {database.name!r} is too large to vary ({why}): give variations=0")


def _job(
    what: str,
    request: Mapping[str, Any],
    files: Mapping[str, bytes],
    limits: Limits,
    collect: tuple[str, ...] = (),
) -> SandboxJob:
    return SandboxJob(
        kind="program",
        program=_PROGRAM.format(what).encode(),
        files={**files, **_modules(what), "request.json": json.dumps(request).encode()},
        limits=limits,
        collect=collect,
        queue_s=_QUEUE_S,
    )


@functools.cache
def _modules(what: str) -> dict[str, bytes]:
    """The modules that a program consists of, compiled, since each run would have to do that anew."""
    folder = resources.files("guerdon.rewards.sql") / "inside"
    files = {}
    for name in _PARTS[what]:
        code = compile((folder / f"{name}.py").read_bytes(), f"{name}.py", "exec")
        # The header of a compiled module that is not checked against a source.
        files[f"inside_sql/{name}.pyc"] = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
    return files


def _scratch(size: int) -> int:
    """MiB of scratch space for so many bytes; few different ones, since each takes a fork server of its own."""
    room = 16
    while room << 20 < size + (8 << 20):
        room *= 4
    return room


def _lost(report: Report) -> SandboxError:
    said = report.stderr.decode("utf-8", "replace").strip().splitlines()
    why = report.detail or (said[-1] if said else "") or f"its status is {report.status}"
    return SandboxError(f"the sandbox did not run the query: {why}", status=report.status)

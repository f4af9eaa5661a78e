"""The rows of a SQLite or DuckDB file, read and written as a whole; runs within the sandbox."""

from __future__ import annotations

import os
import re
import sqlite3
from typing import Any

from .structure import Opaque, TableData

_ROWS_A_STATEMENT = 50


class DatabaseTooLargeError(Exception):
    """More cells than are to be held in memory."""


def opened(engine: str) -> SQLiteStore | DuckDBStore:
    """What reads and writes files of an engine."""
    return DuckDBStore() if engine == "duckdb" else SQLiteStore()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _check(cells: int, most: int) -> None:
    if cells > most:
        raise DatabaseTooLargeError(f"{cells:,} cells, over {most:,}")


class SQLiteStore:
    """Files of SQLite."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error, OverflowError)

    def read(self, file: str, most: int) -> dict[str, TableData]:
        """The tables of a file by name. Raises DatabaseTooLargeError over ``most`` cells."""
        connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        tables = {}
        room = most
        for name in self._names(connection):
            count = connection.execute(f"select count(*) from {_quoted(name)}").fetchone()[0]
            table = self._described(connection, name)
            room -= count * len(table.columns)
            _check(most - room, most)
            columns = ", ".join(map(_quoted, table.columns))
            # In the order of their content: which rows are left out must not hang on how a file was written.
            table.rows = [list(row) for row in connection.execute(f"select {columns} from {_quoted(name)}")]
            tables[name] = table
        connection.close()
        for table in tables.values():
            table.references = [r for r in table.references if r[1] in tables]
        return tables

    def _names(self, connection: sqlite3.Connection) -> list[str]:
        """The plain tables; those of extensions, such as full-text search, stay as they are."""
        found = dict(
            connection.execute("select name, sql from sqlite_master where type = 'table'").fetchall()
        )
        virtual = [name for name, sql in found.items() if re.match(r"\s*create\s+virtual\b", sql or "", re.I)]
        # The tables in which an extension keeps its own are named after it.
        own = ("sqlite_", *(f"{name}_" for name in virtual))
        return sorted(name for name in found if name not in virtual and not name.startswith(own))

    def _described(self, connection: sqlite3.Connection, name: str) -> TableData:
        about = connection.execute('select name, "notnull", pk, hidden from pragma_table_xinfo(?)', [name])
        # Generated columns follow from the others.
        columns = [row for row in about if row[3] == 0]
        table = TableData(name, [row[0] for row in columns], [])
        position = {row[0].lower(): i for i, row in enumerate(columns)}
        table.required = {i for i, row in enumerate(columns) if row[1]}
        keyed = sorted((row[2], i) for i, row in enumerate(columns) if row[2])
        table.keys += [tuple(i for _, i in keyed)] if keyed else []
        indexes = connection.execute('select name, "unique" from pragma_index_list(?)', [name]).fetchall()
        for index, unique in indexes:
            parts = connection.execute("select name from pragma_index_info(?)", [index]).fetchall()
            if unique and all(part[0] and part[0].lower() in position for part in parts):
                table.keys.append(tuple(position[part[0].lower()] for part in parts))
        self._refer(connection, table, position)
        return table

    def _refer(self, connection: sqlite3.Connection, table: TableData, position: dict[str, int]) -> None:
        asked = 'select id, "table", "from", "to" from pragma_foreign_key_list(?) order by id, seq'
        found: dict[int, list[Any]] = {}
        for identity, target, mine, theirs in connection.execute(asked, [table.name]).fetchall():
            found.setdefault(identity, []).append((target, mine, theirs))
        for parts in found.values():
            target = self._spelled(connection, parts[0][0])
            names = [
                row[0].lower()
                for row in connection.execute(
                    "select name from pragma_table_xinfo(?) where hidden = 0", [target]
                )
            ]
            goals = [theirs for _, _, theirs in parts]
            if None in goals:  # the primary key is meant
                goals = [
                    row[0]
                    for row in connection.execute(
                        "select name from pragma_table_info(?) where pk > 0 order by pk", [target]
                    )
                ]
            if len(goals) == len(parts) and all(goal.lower() in names for goal in goals):
                mine = tuple(position[part[1].lower()] for part in parts if part[1].lower() in position)
                if len(mine) == len(parts):
                    table.references.append((mine, target, tuple(names.index(g.lower()) for g in goals)))

    def _spelled(self, connection: sqlite3.Connection, name: str) -> str:
        asked = "select name from sqlite_master where type = 'table' and name = ? collate nocase"
        found = connection.execute(asked, [name]).fetchone()
        return str(found[0]) if found else name

    def write(self, file: str, tables: dict[str, TableData]) -> None:
        """Puts the rows of the tables in place of those that the file has. Raises one of ``errors``."""
        connection = sqlite3.connect(file, isolation_level=None)
        try:
            connection.execute("pragma journal_mode = off")
            connection.execute("pragma foreign_keys = off")
            connection.execute("begin")
            triggers = connection.execute("select name from sqlite_master where type = 'trigger'").fetchall()
            for (trigger,) in triggers:
                connection.execute(f"drop trigger {_quoted(trigger)}")
            for table in tables.values():
                connection.execute(f"delete from {_quoted(table.name)}")
                columns = ", ".join(map(_quoted, table.columns))
                marks = ", ".join("?" * len(table.columns))
                rows = [[_raw(cell) for cell in row] for row in table.rows]
                statement = f"insert into {_quoted(table.name)} ({columns}) values ({marks})"
                connection.executemany(statement, rows)
            connection.execute("commit")
        finally:
            connection.close()


def _held(cell: Any) -> Any:
    return Opaque(repr(cell), cell) if isinstance(cell, list | tuple | dict) else cell


def _raw(cell: Any) -> Any:
    """A cell as an engine takes it; text that is not UTF-8 goes back as the bytes that it was made of."""
    if isinstance(cell, Opaque):
        return cell.value
    if isinstance(cell, str):
        try:
            cell.encode("utf-8")
        except UnicodeEncodeError:
            return cell.encode("utf-8", "surrogateescape")
    return cell


class DuckDBStore:
    """Files of DuckDB."""

    def __init__(self) -> None:
        import duckdb

        self._duckdb = duckdb
        self.errors: tuple[type[Exception], ...] = (duckdb.Error, OverflowError)

    def _connected(self, file: str, readonly: bool) -> Any:
        config: dict[str, Any] = {"threads": "1", "enable_external_access": "false"}
        return self._duckdb.connect(file, read_only=readonly, config=config)

    def read(self, file: str, most: int) -> dict[str, TableData]:
        """The tables of the schema main by name. Raises DatabaseTooLargeError over ``most`` cells."""
        connection = self._connected(file, True)
        asked = (
            "select table_name, column_name, is_nullable from duckdb_columns() where not internal "
            "and schema_name = 'main' and table_name in (select table_name from duckdb_tables()) "
            "order by table_name, column_index"
        )
        tables: dict[str, TableData] = {}
        for name, column, nullable in connection.execute(asked).fetchall():
            table = tables.setdefault(name, TableData(name, [], []))
            if not nullable:
                table.required.add(len(table.columns))
            table.columns.append(column)
        room = most
        for name, table in tables.items():
            room -= connection.execute(f"select count(*) from {_quoted(name)}").fetchone()[0] * len(
                table.columns
            )
            _check(most - room, most)
            rows = connection.execute(f"from {_quoted(name)}").fetchall()
            table.rows = [[_held(cell) for cell in row] for row in rows]
        self._constrain(connection, tables)
        connection.close()
        return tables

    def _constrain(self, connection: Any, tables: dict[str, TableData]) -> None:
        asked = (
            "select table_name, constraint_type, constraint_column_names, referenced_table, "
            "referenced_column_names from duckdb_constraints() where schema_name = 'main'"
        )
        for name, kind, columns, target, goals in connection.execute(asked).fetchall():
            table = tables[name]
            mine = tuple(table.columns.index(column) for column in columns)
            if kind in ("PRIMARY KEY", "UNIQUE"):
                table.keys.append(mine)
            elif kind == "FOREIGN KEY":
                places = tuple(tables[target].columns.index(goal) for goal in goals)
                table.references.append((mine, target, places))
        for name, sql in connection.execute("select table_name, sql from duckdb_indexes()").fetchall():
            found = re.match(r"create\s+unique\s+index\b.*\(([^()]*)\)\s*;?\s*$", sql or "", re.I | re.S)
            names = [part.strip().strip('"') for part in found[1].split(",")] if found else []
            if names and name in tables and set(names) <= set(tables[name].columns):
                tables[name].keys.append(tuple(tables[name].columns.index(n) for n in names))

    def write(self, file: str, tables: dict[str, TableData]) -> None:
        """Makes the file anew, with these rows. Raises one of ``errors``."""
        # Rows that are deleted still count for keys and references, and a table that refers to itself cannot
        # be dropped; so nothing is left of the old file but what its parts were made with.
        source = self._connected(file, True)
        made = dict(
            source.execute("select table_name, sql from duckdb_tables() where not internal").fetchall()
        )
        before = [
            f"create type {_quoted(name)} as enum ({', '.join(map(_text, labels))})"
            for name, labels in source.execute(
                "select type_name, labels from duckdb_types() where logical_type = 'ENUM' and not internal "
                "and schema_name = 'main' and type_name <> 'enum'"
            ).fetchall()
        ]
        before += [row[0] for row in source.execute("select sql from duckdb_sequences()").fetchall()]
        after = [row[0] for row in source.execute("select sql from duckdb_indexes()").fetchall() if row[0]]
        after += [
            row[0] for row in source.execute("select sql from duckdb_views() where not internal").fetchall()
        ]
        source.close()
        os.unlink(file)
        connection = self._connected(file, False)
        try:
            for statement in before:
                connection.execute(statement)
            for table in _parents_first(tables):
                connection.execute(made[table.name])
                self._insert(connection, table)
            for statement in after:
                connection.execute(statement)
            connection.execute("checkpoint")
        finally:
            connection.close()

    def _insert(self, connection: Any, table: TableData) -> None:
        columns = ", ".join(map(_quoted, table.columns))
        marks = "(" + ", ".join("?" * len(table.columns)) + ")"
        for rows in _levels(table):
            for start in range(0, len(rows), _ROWS_A_STATEMENT):
                some = rows[start : start + _ROWS_A_STATEMENT]
                values = ", ".join([marks] * len(some))
                statement = f"insert into {_quoted(table.name)} ({columns}) values {values}"
                connection.execute(statement, [_raw(cell) for row in some for cell in row])


def _parents_first(tables: dict[str, TableData]) -> list[TableData]:
    order: list[TableData] = []
    left = dict(tables)
    while left:
        ready = [
            t for t in left.values() if not any(r[1] in left and r[1] != t.name for r in t.references)
        ] or list(left.values())
        for table in ready:
            order.append(left.pop(table.name))
    return order


def _levels(table: TableData) -> list[list[list[Any]]]:
    """The rows of a table in groups, so that none refers to a row of a later group or of its own."""
    own = [(columns, places) for columns, target, places in table.references if target == table.name]
    if not own:
        return [table.rows]
    levels: list[list[list[Any]]] = []
    there: list[set[Any]] = [set() for _ in own]
    left = table.rows
    while left:
        ready: list[list[Any]] = []
        later: list[list[Any]] = []
        for row in left:
            fits = all(
                any(row[c] is None for c in columns) or tuple(row[c] for c in columns) in seen
                for (columns, _), seen in zip(own, there, strict=True)
            )
            (ready if fits else later).append(row)
        if not ready:  # rows that refer to one another, which the engine has to accept or refuse
            return [*levels, later]
        for row in ready:
            for (_, places), seen in zip(own, there, strict=True):
                seen.add(tuple(row[p] for p in places))
        levels.append(ready)
        left = later
    return levels

"""Files that were damaged, or that somebody made to do harm: one line and status 2, or an answer; never a traceback."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from guerdon.train.records.folder import RunFolder
from guerdon.train.records.manifest import RunManifest
from guerdon.train.run.monitor import RunMonitor
from support.cli_work import Run
from support.journal_work import entry, write
from support.made_runs import Verdict, batch

DEEP = b"[" * 100_000
VALUES: Sequence[bytes] = (
    *(
        b"null",
        b"true",
        b"NaN",
        b"Infinity",
        b"1e999",
        b"-1",
        b'"text"',
        b"[]",
        b"{}",
        b'{"a":{"b":[1]}}',
        b"[null]",
    ),
    *(b"9" * 400, b'"\\ud800"', b'"\xff"', b"[[]]"),
)
WHOLE: Mapping[str, bytes] = {
    "empty": b"",
    "no JSON": b"not JSON\n",
    "a bomb": DEEP + b"\n",
    "no UTF-8": b"\xff\xfe\x00\n",
    "a list": b"[1]\n",
    "an empty object": b"{}\n",
    "a number": b"5\n",
    "zeros": bytes(4096),
    "Parquet's mark": b"PAR1" + bytes(100) + b"PAR1",
    "SQLite's mark": b"SQLite format 3\x00" + bytes(2000),
    "a long line": b'{"step": 1, "x": "' + b"a" * 2_000_000 + b'"}\n',
}


def mutations(data: bytes) -> Iterator[tuple[str, bytes]]:
    """A file with another value in each place of its first object, or with other contents altogether."""
    yield from WHOLE.items()
    yield "cut", data[: len(data) // 2]
    yield "twice", data * 2
    first, newline, rest = data.partition(b"\n")
    try:
        given = json.loads(first if newline and b"\n" in data.strip() else data)
    except ValueError:
        for place in range(0, len(data), max(len(data) // 12, 1)):
            yield f"byte {place}", data[:place] + bytes((data[place] ^ 0xFF,)) + data[place + 1 :]
        return
    rest = rest if newline and b"\n" in data.strip() else b""
    for keys in _places(given):
        for value in (None, *VALUES):
            changed = json.loads(json.dumps(given))
            holder = changed
            for key in keys[:-1]:
                holder = holder[key]
            if value is None:
                del holder[keys[-1]]
                text = json.dumps(changed).encode()
            else:
                holder[keys[-1]] = "@@here@@"
                text = json.dumps(changed).encode().replace(b'"@@here@@"', value)
            yield f"{keys}={value!r}"[:80], text + b"\n" + rest


def _places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*before, key)
        if len(before) < 2:
            yield from _places(item, (*before, key))


def complaint(result: Result) -> str:
    """What is wrong with how a command ended; empty where it ended as it should."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{type(result.exception).__name__}: {result.exception}"
    if "Traceback" in result.stderr:
        return result.stderr[-300:]
    if result.exit_code == 2 and result.stderr.strip().count("\n"):
        return f"more than one line: {result.stderr[:300]}"
    return "" if result.exit_code in (0, 1, 2) else f"status {result.exit_code}"


def check(
    guerdon: Run, file: Path, commands: Sequence[tuple[str, ...]], restore: Callable[[], None], every: int
) -> None:
    """Run commands over each mutation of a file, or over every so-manieth."""
    data = file.read_bytes()
    for command in commands:
        restore()
        file.write_bytes(data)
        assert guerdon(*command).exit_code == 0, command
    wrong = {}
    for number, (name, changed) in enumerate(mutations(data)):
        if number >= len(WHOLE) and number % every:
            continue
        for command in commands:
            restore()
            file.write_bytes(changed)
            if said := complaint(guerdon(*command)):
                wrong[name, command[:2]] = said
    assert not wrong, "\n".join(f"{name} {command}: {said}" for (name, command), said in wrong.items())


EVERY = [pytest.param(5, marks=pytest.mark.slow(seconds=120), id="many"), pytest.param(37, id="some")]


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_scores(guerdon: Run, work: Path, suffix: str, every: int) -> None:
    file = work / f"s{suffix}"
    args = ("score", "my_rewards.py::exact", "samples.jsonl", "-o", file.name, "--workers", "0")
    assert guerdon(*args).exit_code == 0
    commands = [("inspect", file.name), (*args, "--resume")]

    def restore() -> None:
        for left in work.glob("s.*"):
            left.unlink()

    check(guerdon, file, commands if suffix == ".jsonl" else commands[:1], restore, every)


def made_run(folder: Path) -> None:
    monitor = RunMonitor(RunFolder(folder))
    for step in (1, 2, 3):
        verdicts = [
            Verdict("4", 1.0, parts={"a": 1.0, "b": 0.5}),
            Verdict("5", 0.0),
            Verdict("y", None, "timeout"),
        ]
        monitor.scored(batch(verdicts * 4))
        monitor.step(step, 1.0, {"loss": 0.5})
    monitor.close()
    manifest = RunManifest(
        backend="trl", algorithm="grpo", seed=1, reward={"name": "echo"}, data={"train": 1}
    )
    manifest.write(RunFolder(folder))
    (folder / "warnings.jsonl").write_text(
        '{"step": 1, "code": "sparse", "severity": "warning", "text": "few", "remedy": "more", "about": ""}\n'
    )


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize(
    "name", ["metrics.jsonl", "run.json", "warnings.jsonl", "samples.parquet", "samples.partial.jsonl"]
)
def test_runs(guerdon: Run, work: Path, name: str, every: int) -> None:
    made, run = work / "made", work / "run"
    made_run(made)
    if name == "samples.partial.jsonl":
        lines = [{**line} for line in _sample_lines()]
        (made / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    commands = [("train", "inspect", "run"), ("train", "inspect", "run", "--json"), ("inspect", "run")]
    commands += [] if name.startswith("samples") else [("train", "plot", "run", "-o", "p.svg")]

    def restore() -> None:
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(made, run)

    restore()
    check(guerdon, run / name, commands, restore, every)


def _sample_lines() -> Iterator[dict[str, Any]]:
    from guerdon.train.records.samples import lines_of

    yield from lines_of(batch([Verdict("4", 1.0, parts={"a": 1.0}), Verdict("y", None, "timeout")]), 1, 0)


JOURNAL_COLUMNS = (
    "time",
    "headers",
    "scores",
    "failures",
    "request",
    "response",
    "status",
    "reward",
    "format",
    "op",
)


@pytest.mark.parametrize("every", EVERY)
def test_journals(guerdon: Run, work: Path, every: int) -> None:
    made, file = work / "made.db", work / "j.db"
    write(made, entry(1), entry(2, scores=[None], failures={"timeout": 1}, status=504))
    commands = [
        *(
            ("journal", "list", "j.db"),
            ("journal", "show", "j.db", "1"),
            ("journal", "list", "j.db", "--json"),
        ),
        ("journal", "replay", "j.db", "my_rewards.py::brief", "--as", "brevity", "--workers", "0"),
    ]

    def restore() -> None:
        for left in work.glob("j.db*"):
            left.unlink()

    shutil.copy(made, file)
    check(guerdon, file, commands, restore, every)
    wrong = {}
    values = [
        *(value.decode("utf-8", "replace") for value in VALUES),
        None,
        5,
        1e300,
        b"\xff",
        DEEP.decode(),
        -(2**62),
    ]
    for number, (column, value) in enumerate((c, v) for c in JOURNAL_COLUMNS for v in values):
        if number % every:
            continue
        restore()
        shutil.copy(made, file)
        with sqlite3.connect(file) as connection:
            try:
                connection.execute(f"UPDATE requests SET {column} = ?", (value,))
            except sqlite3.IntegrityError:
                continue
        connection.close()
        for command in commands:
            if said := complaint(guerdon(*command)):
                wrong[column, str(value)[:40], command[:2]] = said
    assert not wrong, "\n".join(f"{what}: {said}" for what, said in wrong.items())


def test_a_score_that_was_edited_by_hand_is_noticed(guerdon: Run, work: Path) -> None:
    args = ("score", "my_rewards.py::exact", "samples.jsonl", "-o", "s.jsonl", "--workers", "0")
    assert guerdon(*args, "--limit", "2").exit_code == 0
    file = work / "s.jsonl"
    data = file.read_bytes()
    for changed in (
        data.replace(b'"score":1.0', b'"score":0.0').replace(b'"score":0.0', b'"score":1.0'),
        data.replace(b'"reason":null', b'"reason":"x"', 1),
        data[: data.rindex(b',"checksum"')] + b"}\n",
    ):
        file.write_bytes(changed)
        result = guerdon(*args, "--resume")
        assert result.exit_code == 2
        assert "is not as guerdon wrote it: its checksum is missing or wrong" in result.stderr
    file.write_bytes(data)
    assert guerdon(*args, "--resume").exit_code == 0

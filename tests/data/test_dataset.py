"""Data sets: every format gives the same samples; checking, skipping, limits, progress, memory."""

from __future__ import annotations

import csv
import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.data import BadRow, BadRowsError, Columns, ReadProgress, open_dataset
from guerdon.errors import InputError
from guerdon.types import Sample

Row = dict[str, Any]

ROWS: list[Row] = [
    {
        "id": "first",
        "messages": [
            {"role": "user", "content": "What is 2 + 2?\nIn words\u2028please, \U0001f600."},
            {"role": "assistant", "content": 'It is "four", or 4.'},
        ],
        "ground_truth": "4",
        "level": "easy",
    },
    {
        "id": "second",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "weather", "arguments": '{"at": "x"}'},
                    }
                ],
            },
            {"role": "tool", "content": "rain", "tool_call_id": "c1"},
            {"role": "assistant", "content": ""},
        ],
        "ground_truth": "rain",
        "level": "hard",
    },
]


def write_lines(path: Path, rows: list[Row]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_json(path: Path, rows: list[Row]) -> None:
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def write_csv(path: Path, rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in rows
        )


def write_parquet(path: Path, rows: list[Row]) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet needs the extra data")
    pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), path)


def write_arrow(path: Path, rows: list[Row]) -> None:
    pa = pytest.importorskip("pyarrow", reason="Arrow needs the extra data")
    table = pa.Table.from_pylist(rows)
    with pytest.importorskip("pyarrow.ipc").new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def write_stream(path: Path, rows: list[Row]) -> None:
    pa = pytest.importorskip("pyarrow", reason="Arrow needs the extra data")
    table = pa.Table.from_pylist(rows)
    with pytest.importorskip("pyarrow.ipc").new_stream(str(path), table.schema) as writer:
        writer.write_table(table)


def zipped(write: Callable[[Path, list[Row]], None]) -> Callable[[Path, list[Row]], None]:
    def write_zipped(path: Path, rows: list[Row]) -> None:
        write(path, rows)
        path.write_bytes(gzip.compress(path.read_bytes()))

    return write_zipped


FORMATS: dict[str, Callable[[Path, list[Row]], None]] = {
    "d.jsonl": write_lines,
    "d.jsonl.gz": zipped(write_lines),
    "d.json": write_json,
    "d.json.gz": zipped(write_json),
    "d.csv": write_csv,
    "d.csv.gz": zipped(write_csv),
    "d.parquet": write_parquet,
    "d.arrow": write_arrow,
    "stream.arrow": write_stream,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_samples(tmp_path: Path, name: str) -> None:
    FORMATS[name](tmp_path / name, ROWS)
    data = open_dataset(tmp_path / name)
    assert data.check() == 2
    for _ in range(2):
        assert [sample.to_row() for sample in data] == [
            {**{k: v for k, v in row.items() if k != "level"}, "metadata": {"level": row["level"]}}
            for row in ROWS
        ]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_mapped(tmp_path: Path, name: str) -> None:
    rows = [{"q": f"question {n}", "r": f"answer {n}", "gold": str(n), "kind": "k"} for n in range(1500)]
    FORMATS[name](tmp_path / name, rows)
    columns = Columns(prompt="q", response="r", answer="gold", rename={"sort": "kind"})
    data = open_dataset(tmp_path / name, columns=columns)
    assert data.check() == 1500
    assert [(s.prompt, s.response, s.ground_truth, s.metadata) for s in data] == [
        (f"question {n}", f"answer {n}", str(n), {"sort": "k"}) for n in range(1500)
    ]


texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
names = texts.filter(lambda name: name not in ("messages", "original_messages", "metadata", "id"))
chat_rows = st.fixed_dictionaries(
    {
        "messages": st.lists(st.fixed_dictionaries({"role": texts, "content": texts}), max_size=2).map(
            lambda before: [*before, {"role": "assistant", "content": "a"}]
        ),
        "ground_truth": values,
        "extra": st.dictionaries(names, values, max_size=3),
    }
)


@given(
    rows=st.lists(chat_rows, min_size=1, max_size=4),
    ascii_only=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=60, deadline=None)
def test_json_lines_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], ascii_only: bool, end: str
) -> None:
    path = tmp_path_factory.mktemp("lines") / "d.jsonl"
    lines = [json.dumps(row, ensure_ascii=ascii_only) + end for row in rows]
    path.write_bytes("".join(lines).encode())
    assert [s.to_row() for s in open_dataset(path)] == [Sample.from_row(row).to_row() for row in rows]
    whole = path.with_suffix(".json")
    whole.write_bytes(json.dumps(rows, ensure_ascii=ascii_only, indent=1).encode())
    assert [s.to_row() for s in open_dataset(whole)] == [Sample.from_row(row).to_row() for row in rows]


fields = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(
    rows=st.lists(st.tuples(fields, fields, fields), min_size=1, max_size=5),
    end=st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=60, deadline=None)
def test_csv_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], end: str
) -> None:
    path = tmp_path_factory.mktemp("csv") / "d.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator=end)
        writer.writerows([("q", "r", "level"), *rows])
    data = open_dataset(path, columns=Columns(prompt="q", response="r"))
    assert [(s.messages[0].text, s.response, s.metadata["level"]) for s in data] == rows


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A file of 100 rows, of which every fourth is not a sample."""
    path = tmp_path / "d.jsonl"
    lines = [json.dumps({"q": "?", "r": str(n)} if n % 4 else {"q": "?", "n": n}) for n in range(100)]
    lines[0] = "{bad"
    path.write_text("\n".join(lines))
    return path


BOTH = Columns(prompt="q", response="r")


def test_checking_counts_all_and_lists_twenty(mixed: Path) -> None:
    with pytest.raises(BadRowsError) as caught:
        open_dataset(mixed, columns=BOTH).check()
    error = caught.value
    assert (error.bad, error.rows, len(error.rejected)) == (25, 100, 20)
    assert [row.line for row in error.rejected] == [4 * n + 1 for n in range(20)]
    assert str(error).endswith("and 5 more")


def test_reading_stops_at_the_first_malformed_row(mixed: Path) -> None:
    with pytest.raises(InputError) as caught:
        next(iter(open_dataset(mixed, columns=BOTH)))
    assert (caught.value.file, caught.value.line) == (str(mixed), 1)
    assert str(caught.value) == f"{mixed}:1: {caught.value.reason}"


def test_skipping_goes_on_and_keeps_what_was_rejected(mixed: Path, tmp_path: Path) -> None:
    rejected = tmp_path / "d.rejected.jsonl"
    seen: list[BadRow] = []
    samples = list(open_dataset(mixed, columns=BOTH).samples(rejected=rejected, on_bad=seen.append))
    assert [s.response for s in samples] == [str(n) for n in range(100) if n % 4]
    written = [json.loads(line) for line in rejected.read_text().split("\n")[:-1]]
    assert [row["line"] for row in written] == [row.line for row in seen] == list(range(1, 101, 4))
    assert written[0] == {
        "file": str(mixed),
        "line": 1,
        "reason": "not JSON: Expecting property name enclosed in double quotes at column 2",
        "text": "{bad",
    }
    assert written[1]["row"] == {"q": "?", "n": 4}
    assert written[1]["reason"] == 'no column "r" (--response-column); the columns are: q, n'


def test_skipping_writes_nothing_where_all_is_well(tmp_path: Path) -> None:
    write_lines(tmp_path / "d.jsonl", ROWS)
    rejected = tmp_path / "d.rejected.jsonl"
    assert len(list(open_dataset(tmp_path / "d.jsonl").samples(rejected=rejected))) == 2
    assert not rejected.exists()


def test_skipping_everything_is_an_error(mixed: Path) -> None:
    with pytest.raises(BadRowsError, match="100 of 100 rows are malformed") as caught:
        list(open_dataset(mixed, columns={"response": "q", "prompt": "n"}).samples())
    assert len(caught.value.rejected) == 20


def test_the_rejected_rows_never_overwrite_the_data(mixed: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(mixed)
    before = mixed.read_bytes()
    with pytest.raises(InputError, match="which is read from"):
        next(open_dataset(mixed, columns=BOTH).samples(rejected=link))
    assert mixed.read_bytes() == before


@pytest.mark.parametrize(("limit", "good", "bad"), [(1, 0, 1), (2, 1, 1), (8, 6, 2), (500, 75, 25)])
def test_a_limit_counts_rows(mixed: Path, limit: int, good: int, bad: int) -> None:
    data = open_dataset(mixed, columns=BOTH, limit=limit)
    survey = data.survey()
    assert (survey.good, survey.bad) == (good, bad)
    if good:
        assert len(list(data.samples())) == good


def test_a_limit_spans_files(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        write_lines(tmp_path / name, ROWS)
    (tmp_path / "d.jsonl").write_text("never read")
    assert open_dataset(tmp_path, limit=2).check() == 2
    assert len(list(open_dataset(tmp_path, limit=3))) == 3


@pytest.mark.parametrize("name", FORMATS)
def test_progress_rises_to_one(tmp_path: Path, name: str) -> None:
    rows = [{**ROWS[0], "id": str(n)} for n in range(3500)]
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        FORMATS[name](tmp_path / folder / name, rows)
    seen: list[ReadProgress] = []
    open_dataset(tmp_path).check(seen.append)
    assert [p.rows for p in seen] == [1000, 2000, 3000, 4000, 5000, 6000, 7000, 7000]
    shares = [p.share for p in seen]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 1
    assert shares[-1] == 1
    assert all(p.bad == 0 for p in seen)


@pytest.mark.sample(1, seconds=3)
@pytest.mark.parametrize("name", ["d.jsonl", "d.csv.gz", "d.parquet"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, name: str) -> None:
    rows = [{"q": "x" * 200, "r": "y" * 800, "n": str(n)} for n in range(20_000)]
    FORMATS[name](tmp_path / name, rows)
    del rows
    data = open_dataset(tmp_path / name, columns=BOTH)
    next(iter(data))
    tracemalloc.start()
    try:
        assert data.check() == 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000


def test_a_file_that_breaks_after_the_check(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    write_lines(path, ROWS)
    data = open_dataset(path)
    data.check()
    path.write_text("{}")
    with pytest.raises(InputError, match=r"d\.jsonl: no column"):
        list(data)
    path.unlink()
    with pytest.raises(InputError, match=r"cannot read .*d\.jsonl: no such file or directory"):
        list(data)


MIXED = [
    {"question": "a?", "reply": "b", "level": 1},
    {"question": "c?", "reply": 4},
    {"question": "e?", "reply": [{"role": "assistant", "content": "f"}]},
]


def test_rows_and_samples_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in MIXED), encoding="utf-8")
    data = open_dataset(path, columns=Columns(prompt="question", response="reply"))
    assert [Sample.from_row(row) for row in data.good_rows()] == list(data.samples())
    good = [MIXED[0], MIXED[2]]
    path.write_text("".join(json.dumps(row) + "\n" for row in good), encoding="utf-8")
    data = open_dataset(path, columns=Columns(prompt="question", response="reply"))
    assert [Sample.from_row(row) for row in data.rows()] == list(data)
    assert next(data.rows())["messages"][0] == {"role": "user", "content": "a?"}


def test_good_rows_are_checked_and_the_others_kept(tmp_path: Path) -> None:
    path, rejected = tmp_path / "rows.jsonl", tmp_path / "rows.rejected.jsonl"
    rows = [
        {"messages": [{"role": "assistant", "content": ""}]},
        {"messages": [{"content": "no role"}]},
        {"messages": []},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert list(open_dataset(path).good_rows(rejected=rejected)) == rows[:1]
    lines = [json.loads(line)["line"] for line in rejected.read_text(encoding="utf-8").splitlines()]
    assert lines == [2, 3]


def test_a_dataset_knows_its_files(tmp_path: Path) -> None:
    path, other = tmp_path / "rows.jsonl", tmp_path / "other.jsonl"
    for file in (path, other):
        file.write_text('{"messages": [{"role": "user"}]}\n', encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(path)
    data = open_dataset(path)
    assert [data.reads(p) for p in (path, tmp_path / "link.jsonl", other, tmp_path / "absent")] == [
        *(True, True, False, False)
    ]


@pytest.mark.parametrize("name", ["responses", "completions", "outputs", "generations"])
def test_text_that_looks_like_a_list_stays_text(tmp_path: Path, name: str) -> None:
    """What a policy writes makes one sample, whatever it looks like, unless every cell is a list."""
    path = tmp_path / "d.csv"
    said = ["4", '["4", "5"]', "[4]", "[[4]]", "['4']", '[{"role": "assistant", "content": "4"}]']
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["prompt", name], *(["q", text] for text in said)])
    assert [sample.response for sample in open_dataset(path)] == said
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["prompt", name], ["q", said[1]], ["q", ""], *[["q", said[1]]] * 70, ["q", "4"]]
        )
    survey = open_dataset(path).survey()
    assert (survey.good, survey.bad) == (143, 1)
    assert survey.rejected[0].reason == f'column "{name}" must hold a list as JSON, as the first rows do'

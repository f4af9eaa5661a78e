"""Parquet and Arrow: what tables do to rows, what is said of broken ones; saved datasets."""

from __future__ import annotations

import datetime
import decimal
import json
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guerdon.data import Columns, open_dataset
from guerdon.errors import InputError

pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow need the extra data")
pq = pytest.importorskip("pyarrow.parquet")
ipc = pytest.importorskip("pyarrow.ipc")

U, A = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
BOTH = Columns(prompt="q", response="r")


def parquet(path: Path, rows: Any, **options: Any) -> Path:
    pq.write_table(rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows), path, **options)
    return path


def test_nulls_that_a_table_adds_to_messages_are_left_out(tmp_path: Path) -> None:
    named = {"role": "user", "content": None, "name": "Ann"}
    rows = [
        {"messages": [U, A], "x": {"k": None, "l": 1}},
        {"messages": [named, A], "x": {"k": 2, "l": None}},
    ]
    first, second = open_dataset(parquet(tmp_path / "d.parquet", rows))
    assert [dict(m) for m in first.messages] == [U, A]
    assert [dict(m) for m in second.messages] == [named, A]
    assert first.metadata == {"x": {"k": None, "l": 1}}


def test_messages_as_prompt_and_response(tmp_path: Path) -> None:
    path = parquet(tmp_path / "d.parquet", [{"q": [U], "r": A}, {"q": [U, A, {**U, "name": "Ann"}], "r": A}])
    samples = list(open_dataset(path, columns=BOTH))
    assert [[dict(m) for m in s.messages] for s in samples] == [[U, A], [U, A, {**U, "name": "Ann"}, A]]


def test_values_of_other_types_are_metadata(tmp_path: Path) -> None:
    row = {"day": datetime.date(2024, 2, 29), "cost": decimal.Decimal("1.50"), "raw": b"\x00\xff", "n": 2**62}
    (sample,) = open_dataset(parquet(tmp_path / "d.parquet", [{"q": "q", "r": "a", **row}]), columns=BOTH)
    assert sample.metadata == row


def test_values_that_lead_out_of_the_file_are_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "d.arrow"
    table = pa.table({"q": ["q", "q"], "r": ["a" * 7, "b" * 11]})
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    data, whole = path.read_bytes(), struct.pack("<3i", 0, 7, 18)
    assert data.count(whole) == 1
    path.write_bytes(data.replace(whole, struct.pack("<3i", 0, 7, 0x7FFF_0000)))
    survey = open_dataset(path, columns=BOTH).survey()
    assert (survey.rows, survey.bad) == (2, 1)


def test_a_row_that_cannot_be_read_is_one_row(tmp_path: Path) -> None:
    day = pa.array([0, 10**15, 1], pa.timestamp("s"))
    table = pa.table({"q": ["q"] * 3, "r": ["a"] * 3, "day": day})
    survey = open_dataset(parquet(tmp_path / "d.parquet", table), columns=BOTH).survey()
    assert (survey.rows, survey.bad) == (3, 1)
    (bad,) = survey.rejected
    assert bad.where == f"{tmp_path}/d.parquet, row 2"
    assert bad.reason.startswith("a value cannot be read: ")


def test_bad_rows_are_numbered_over_batches(tmp_path: Path) -> None:
    rows = [{"q": "q", "r": None if n in (3, 1999) else "a"} for n in range(2500)]
    path = parquet(tmp_path / "d.parquet", rows, row_group_size=700)
    survey = open_dataset(path, columns=BOTH).survey()
    assert [bad.line for bad in survey.rejected] == [4, 2000]
    assert survey.rejected[0].reason == 'column "r" must hold text or a list of messages, not null'


def test_a_large_row_group_is_not_held_in_memory(tmp_path: Path) -> None:
    texts = [random.Random(n).randbytes(500).hex() for n in range(20_000)]
    table = pa.table({"q": texts, "r": texts})
    path = parquet(tmp_path / "d.parquet", table, use_dictionary=False)
    del table
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in open_dataset(path, columns=BOTH)]
    assert path.stat().st_size > 20_000_000
    assert max(held) < 10_000_000


def test_a_file_that_is_corrupt_in_the_middle(tmp_path: Path) -> None:
    rows = [{"q": f"{n} " * 50, "r": "a"} for n in range(5000)]
    path = parquet(tmp_path / "d.parquet", rows, row_group_size=1000, compression="zstd")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 2000] = bytes(2000)
    path.write_bytes(content)
    survey = open_dataset(path, columns=BOTH).survey()
    assert survey.bad == 1
    assert 0 < survey.good < 5000
    assert survey.rejected[0].reason.startswith("the file is corrupt from here on: ")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"q": ["x"]}), 'd.parquet: no column "r" (--response-column); the columns are: q'),
        (
            pa.Table.from_arrays([pa.array(["x"])] * 3, ["q", "r", "q"]),
            'd.parquet: two columns are named "q"',
        ),
        (
            pa.table({"q": pa.array([], pa.string()), "r": pa.array([], pa.string())}),
            "d.parquet holds no rows",
        ),
    ],
)
def test_a_table_that_does_not_do(tmp_path: Path, table: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        open_dataset(parquet(tmp_path / "d.parquet", table), columns=BOTH).check()
    assert message in str(caught.value)


def save(folder: Path, *answers: list[str]) -> None:
    """What ``Dataset.save_to_disk`` writes: a file a shard and two files about them."""
    folder.mkdir(parents=True)
    files = []
    for i, shard in enumerate(answers):
        table = pa.Table.from_pylist([{"q": "q", "r": answer} for answer in shard])
        files.append(f"data-{i:05}-of-{len(answers):05}.arrow")
        with ipc.new_stream(str(folder / files[-1]), table.schema) as writer:
            writer.write_table(table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": f} for f in files]}))
    (folder / "dataset_info.json").write_text('{"features": {}}')


def test_a_saved_dataset(tmp_path: Path) -> None:
    save(tmp_path / "one", ["a", "b"], ["c"])
    assert [s.response for s in open_dataset(tmp_path / "one", columns=BOTH)] == ["a", "b", "c"]
    with pytest.raises(InputError, match="is one saved split; leave out --split train"):
        open_dataset(tmp_path / "one", split="train")


def test_a_saved_dataset_with_splits(tmp_path: Path) -> None:
    for split in ("train", "test"):
        save(tmp_path / "d" / split, [split])
    (tmp_path / "d" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert [s.response for s in open_dataset(tmp_path / "d", columns=BOTH, split="test")] == ["test"]
    choice = "choose one: --split train, --split test"
    with pytest.raises(InputError, match=f"has several splits; {choice}"):
        open_dataset(tmp_path / "d")
    with pytest.raises(InputError, match=f'has no split "dev"; {choice}'):
        open_dataset(tmp_path / "d", split="dev")


def test_a_saved_dataset_that_lacks_a_file(tmp_path: Path) -> None:
    save(tmp_path / "one", ["a"])
    (tmp_path / "one" / "data-00000-of-00001.arrow").unlink()
    with pytest.raises(InputError, match=r"cannot read .*one: no such file or directory"):
        open_dataset(tmp_path / "one", columns=BOTH)


@pytest.mark.parametrize("name", ["dataset_info.json", "state.json"])
@pytest.mark.parametrize("content", ["{}", "[]", "not json", '{"_data_files": 3}'])
def test_a_folder_of_files_with_what_datasets_says_of_them(tmp_path: Path, name: str, content: str) -> None:
    parquet(tmp_path / "train.parquet", [{"q": "q", "r": "a"}])
    (tmp_path / name).write_text(content)
    assert [s.response for s in open_dataset(tmp_path, columns=BOTH)] == ["a"]


def test_without_pyarrow_the_error_is_the_line_that_installs_it(tmp_path: Path) -> None:
    path = parquet(tmp_path / "d.parquet", [{"q": "q", "r": "a"}])
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from guerdon.data import open_dataset\n"
        "from guerdon.errors import MissingExtraError\n"
        "try: open_dataset(sys.argv[1]).check()\n"
        "except MissingExtraError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f'reading {path} needs an extra: pip install "guerdon[data]"'


def test_importing_the_data_layer_imports_no_extra() -> None:
    script = (
        "import sys, guerdon.data; print([m for m in ('pyarrow', 'datasets', 'numpy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"

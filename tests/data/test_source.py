"""Where rows come from: files, folders, pipes; and what is said where there is nothing."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from guerdon.data import open_dataset
from guerdon.errors import InputError

ROW = '{"messages": [{"role": "assistant", "content": "%s"}]}\n'


def put(folder: Path, answers: Mapping[str, str]) -> None:
    """Writes files of one row each, whose answer tells where it came from."""
    for name, answer in answers.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ROW % answer)


def answers(source: str | Path, split: str | None = None) -> list[str]:
    return [sample.response for sample in open_dataset(source, split=split)]


def test_a_folder_is_read_by_path(tmp_path: Path) -> None:
    put(tmp_path, {"b.jsonl": "b", "a.jsonl": "a", "sub/c.jsonl": "c", "sub/deep/d.ndjson": "d"})
    (tmp_path / "e.csv").write_text('messages\n"[{""role"": ""assistant"", ""content"": ""e""}]"\n')
    (tmp_path / "f.jsonl.gz").write_bytes(gzip.compress((ROW % "f").encode()))
    assert answers(tmp_path) == ["a", "b", "e", "f", "c", "d"]


def test_what_in_a_folder_is_no_row(tmp_path: Path) -> None:
    put(tmp_path, {"a.jsonl": "a", "a.rejected.jsonl": "x", ".hidden.jsonl": "x", ".git/b.jsonl": "x"})
    put(tmp_path, {"dataset_info.json": "x", "state.json": "x", "README.md": "x", "a.jsonl.bak": "x"})
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert answers(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("split", "found"),
    [(None, ["d", "b", "a", "c", "e"]), ("train", ["d", "a", "c"]), ("test", ["b"])],
)
def test_a_split_of_a_folder(tmp_path: Path, split: str | None, found: list[str]) -> None:
    put(tmp_path, {"train-00000-of-00002.jsonl": "a", "test.jsonl": "b", "train.jsonl": "c"})
    put(tmp_path, {"data/train/x.jsonl": "d", "training.jsonl": "e"})
    assert answers(tmp_path, split) == found


def test_a_split_that_a_folder_lacks(tmp_path: Path) -> None:
    put(tmp_path, {"train.jsonl": "a", "training.jsonl": "b"})
    with pytest.raises(InputError, match='no files of the split "tes"; there are: train'):
        open_dataset(tmp_path, split="tes")
    with pytest.raises(InputError, match="is one file and has no splits; leave out --split train"):
        open_dataset(tmp_path / "train.jsonl", split="train")


def test_an_empty_file_among_others(tmp_path: Path) -> None:
    put(tmp_path, {"b.jsonl": "b"})
    (tmp_path / "a.jsonl").touch()
    assert answers(tmp_path) == ["b"]
    assert open_dataset(tmp_path).check() == 1


@pytest.mark.parametrize("files", [{}, {"README.md": "x"}, {"a.rejected.jsonl": "x"}])
def test_a_folder_without_data(tmp_path: Path, files: dict[str, str]) -> None:
    put(tmp_path, files)
    with pytest.raises(InputError, match=r"holds no data files; known are \.jsonl"):
        open_dataset(tmp_path)


def test_a_missing_file_with_close_matches(tmp_path: Path) -> None:
    put(tmp_path, {"samples.jsonl": "a", "other.csv": "b"})
    with pytest.raises(InputError) as caught:
        open_dataset(tmp_path / "sample.jsonl")
    assert str(caught.value) == (
        f"there is no file or folder {tmp_path}/sample.jsonl; did you mean {tmp_path}/samples.jsonl?"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "the name of the data is empty"),
        ("a\0b", "has a NUL byte"),
        ("x" * 5000, "file name too long"),
        ("data.jsonl", "there is no file or folder data.jsonl"),
        ("name", "there is no file or folder name"),
        ("gone/data.jsonl", "there is no file gone/data.jsonl: there is no folder gone"),
        ("./gone/data", "there is no file gone/data: there is no folder gone"),
        ("here/data", "there is no file or folder here/data"),
        ("here.csv/data.csv", "there is no file here.csv/data.csv"),
        ("/dev/null", "/dev/null is neither a file nor a folder"),
    ],
)
def test_what_is_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here").mkdir()
    Path("here.csv").touch()
    with pytest.raises(InputError) as caught:
        open_dataset(source)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_limits_that_are_none() -> None:
    with pytest.raises(InputError, match="the limit is 0; give a whole number of 1 or more"):
        open_dataset("x.jsonl", limit=0)


def spooled() -> set[Path]:
    """The temporary files there are of pipes."""
    return set(Path(tempfile.gettempdir()).glob("guerdon-*"))


def through_fifo(path: Path, content: bytes) -> threading.Thread:
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=(content,))
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pipe", (ROW % "a" + ROW % "b").encode()),
        ("pipe.json", f"[{ROW % 'a'}, {ROW % 'b'}]".encode()),
        ("pipe.jsonl.gz", gzip.compress((ROW % "a" + ROW % "b").encode(), mtime=0)),
    ],
)
def test_a_pipe_is_kept_and_read_twice(tmp_path: Path, name: str, content: bytes) -> None:
    before = spooled()
    thread = through_fifo(tmp_path / name, content)
    data = open_dataset(tmp_path / name)
    thread.join()
    assert data.check() == 2
    assert [sample.response for sample in data] == ["a", "b"]
    assert len(spooled() - before) == 1
    del data
    assert spooled() <= before


STDIN = """
import os, sys
from guerdon.data import open_dataset
from guerdon.errors import InputError
try:
    data = open_dataset("-")
    if os.fork() == 0:
        del data
        os._exit(0)
    os.wait()
    print(data.check(), *(s.response for s in data))
except InputError as error:
    print(str(error).splitlines()[-1].strip())
"""


@pytest.mark.parametrize(
    ("content", "printed"),
    [
        ((ROW % "a" + "\n" + ROW % "b").encode(), "2 a b"),
        (gzip.compress((ROW % "a").encode(), mtime=0), "1 a"),
        (b"", "standard input holds no rows"),
        ((ROW % "a" + "{\n").encode(), "standard input:2: not JSON: it ends too early, at column 2"),
    ],
)
def test_standard_input(tmp_path: Path, content: bytes, printed: str) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", STDIN], input=content, capture_output=True, env=environment, check=True
    )
    assert run.stdout.decode().strip() == printed
    assert list(tmp_path.iterdir()) == []

"""When a file counts as changed."""

from __future__ import annotations

from pathlib import Path

from guerdon.serve.reload.file_watch import FileWatch, stamp_of


def put(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def test_a_change_counts_once_the_files_are_still(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    put(file, "a")
    watch = FileWatch(every=0.0)
    watch.set({str(file): stamp_of(str(file)) or (0, 0, 0)}, since=2**63)
    assert not watch.changed()
    put(file, "ab")
    assert [watch.changed() for _ in range(4)] == [False, True, False, False]
    file.unlink()
    assert [watch.changed() for _ in range(2)] == [False, False]
    put(file, "abc")
    assert [watch.changed() for _ in range(3)] == [False, True, False]


def test_a_file_that_was_written_while_it_was_loaded_is_loaded_again(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    put(file, "a")
    watch = FileWatch(every=0.0)
    watch.set({str(file): stamp_of(str(file)) or (0, 0, 0)}, since=0)
    assert [watch.changed() for _ in range(2)] == [True, False]

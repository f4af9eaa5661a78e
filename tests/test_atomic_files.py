"""Files that are replaced whole, in folders where somebody else may have put links."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from guerdon.atomic_files import atomic_write, hidden_beside
from guerdon.scoring.files import write_rows


def test_a_file_appears_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text("before")
    with atomic_write(path) as half:
        half.write_text("whole")
        assert path.read_text() == "before"
    assert (path.read_text(), os.listdir(tmp_path)) == ("whole", ["scores.jsonl"])


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text("before")
    with pytest.raises(LookupError), atomic_write(path):
        raise LookupError
    assert (path.read_text(), os.listdir(tmp_path)) == ("before", ["scores.jsonl"])


def test_names_are_not_guessed(tmp_path: Path) -> None:
    names = {hidden_beside(tmp_path / "a.csv") for _ in range(100)}
    assert len(names) == 100
    assert not any(str(os.getpid()) in name.suffix for name in names)


@pytest.mark.parametrize("target", ["kept", "missing"])
def test_a_link_in_the_way_is_not_followed(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    (tmp_path / ".a.csv.guessed").symlink_to(tmp_path / target)
    tokens = iter(["guessed", "guessed", "free"])
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(tokens))
    with atomic_write(tmp_path / "a.csv") as half:
        half.write_text("whole")
    assert (kept.read_text(), (tmp_path / "a.csv").read_text()) == ("kept", "whole")
    assert not (tmp_path / "missing").exists()


def test_scores_follow_no_link_under_a_name_that_the_process_could_choose(tmp_path: Path) -> None:
    name = "a.jsonl"
    kept = tmp_path / "kept"
    kept.write_text("kept")
    (tmp_path / f".{name}.{os.getpid()}").symlink_to(kept)
    write_rows(tmp_path / name, [{"id": "1", "score": 1.0}])
    assert kept.read_text() == "kept"
    assert "score" in (tmp_path / name).read_text()

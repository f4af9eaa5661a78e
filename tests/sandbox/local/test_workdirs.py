"""Working directories in a folder that others may write to, and what they may have put there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from guerdon.sandbox import Sandbox
from guerdon.sandbox.isolation import tiers
from guerdon.sandbox.local import workdirs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

STRANGER = 65534


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that everybody may write to, as /tmp is."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    (folder / "box").mkdir(parents=True)
    (folder / "box" / "file").write_text("kept")
    return folder


def of_process(pid: int, word: str) -> str:
    return f"guerdon-sandbox-{workdirs.machine()}-{pid}-{word}"


def dead() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_a_killed_process_left_is_removed_and_nothing_else(place: Path, victim: Path) -> None:
    gone = dead()
    left = place / of_process(gone, "left")
    (left / "box" / "deep" / "er").mkdir(parents=True)
    (left / "box" / "deep" / "link").symlink_to(victim)
    (left / "box" / "file").touch()
    alive = place / of_process(os.getpid(), "mine")
    (alive / "box").mkdir(parents=True)
    for number, target in enumerate((victim, victim / "box", "/")):
        (place / of_process(gone, f"link{number}")).symlink_to(target)
    (place / of_process(gone, "file")).write_text("kept")
    os.mkfifo(place / of_process(gone, "pipe"))
    (place / "guerdon-sandbox-other").mkdir()
    kept = {path.name for path in place.iterdir()} - {left.name}
    box = Path(workdirs.make())
    assert {path.name for path in place.iterdir()} == kept | {box.parent.name}
    assert (victim / "box" / "file").read_text() == "kept"
    workdirs.remove(str(box))
    assert {path.name for path in place.iterdir()} == kept


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
@pytest.mark.parametrize("owner", [STRANGER, 4242])
def test_folders_of_other_users_stay_as_they_are(place: Path, victim: Path, owner: int) -> None:
    theirs = place / of_process(dead(), "theirs")
    (theirs / "box").mkdir(parents=True)
    (theirs / "box" / "file").write_text("kept")
    for path in (theirs / "box" / "file", theirs / "box", theirs):
        os.chown(path, owner, owner)
    workdirs.remove(workdirs.make())
    assert (theirs / "box" / "file").read_text() == "kept"
    assert [path.name for path in place.iterdir()] == [theirs.name]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_what_a_killed_process_of_root_left_to_nobody_is_removed(place: Path) -> None:
    left = place / of_process(dead(), "left")
    (left / "box" / "closed").mkdir(parents=True)
    for path in (left / "box" / "closed", left / "box"):
        os.chown(path, STRANGER, STRANGER)
    (left / "box" / "closed").chmod(0)
    workdirs.remove(workdirs.make())
    assert not list(place.iterdir())


def test_it_lies_in_a_folder_of_its_users_own_under_a_name_that_nobody_guesses(place: Path) -> None:
    boxes = [Path(workdirs.make()) for _ in range(3)]
    assert len({box.parent for box in boxes}) == 3
    for box in boxes:
        above, here = box.parent.lstat(), box.lstat()
        assert (above.st_uid, here.st_uid) == (os.geteuid(), os.geteuid())
        assert not above.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        assert stat.S_IMODE(here.st_mode) == 0o700
        workdirs.remove(str(box))


def test_a_link_in_place_of_a_working_directory_is_not_followed(place: Path, victim: Path) -> None:
    box = Path(workdirs.make())
    box.rmdir()
    box.symlink_to(victim / "box")
    workdirs.remove(str(box))
    assert (victim / "box" / "file").read_text() == "kept"


def test_a_place_where_others_move_everything_is_refused(place: Path) -> None:
    # Before the place is unfit: what is found of a tier is kept for the whole process.
    has_landlock = tiers.examine("landlock").available
    place.chmod(0o777)
    with pytest.raises(PermissionError, match="let TMPDIR name a folder of your own"):
        workdirs.make()
    if has_landlock:
        with Sandbox("landlock", workers=1) as sandbox:
            done = sandbox.run("print(1)")
        assert (done.status, "TMPDIR" in done.detail) == ("unavailable", True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_a_place_of_another_user_is_refused(place: Path) -> None:
    os.chown(place, 4242, 4242)
    with pytest.raises(PermissionError, match="others may move"):
        workdirs.make()

"""Emptying what hostile programs made: nothing else is touched, and nothing keeps the folder from being empty."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from guerdon.sandbox.inside import landlock, scratch
from support.confined_process import told

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs descriptors of folders")

MAKERS = {
    "wide": "for n in range(3000): os.mkdir(str(n))",
    "pairs": "for n in range(700): os.makedirs(f'{n}/a')",
    "files": "for n in range(2000): open(str(n), 'w').close()",
    "deep": "for n in range(700): os.mkdir('d' * 250); os.chdir('d' * 250)",
    "a comb": """
for n in range(150):
    for name in ("a", "b/c", "d/e/f"): os.makedirs(name)
    open("b/file", "w").close()
    os.chdir("a")
""",
    "closed": """
os.makedirs("a/b/c")
os.makedirs("d/e/f/g/h")
open("a/b/file", "w").close()
for path in ("a/b/c", "a/b", "a", "d/e/f/g/h", "d/e/f/g", "d/e/f", "d/e", "d"): os.chmod(path, 0)
os.mkdir("readable", 0o500)
os.makedirs("kept/x"); open("kept/x/y", "w").close(); os.chmod("kept/x", 0o500)
""",
    "links": """
for target in (OUT, "/", "..", ".", "missing", "loop", "/proc/self/fd/0"):
    os.symlink(target, f"to {target.replace('/', '|')[-40:]}")
os.symlink("loop", "loop")
os.makedirs("a/b"); os.symlink(OUT, "a/b/out"); os.symlink("..", "a/b/up"); os.mkfifo("a/pipe")
""",
    "names": """
for number in set(range(1, 256)) - {ord("/"), ord(".")}:
    os.makedirs(bytes([number]) + b"/.up-0")
for name in (b"\\xff\\xfe\\n", b".up-0/.up-1", b"..a/...", "\\u202e".encode()): os.makedirs(name)
""",
}  # fmt: skip


@pytest.fixture
def places(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder to be emptied, and one beside it that must stay as it is."""
    box, out = tmp_path / "box", tmp_path / "out"
    box.mkdir()
    (out / "folder").mkdir(parents=True)
    (out / "folder" / "file").write_text("kept")
    yield box, out
    assert (out / "folder" / "file").read_text() == "kept"


def emptied(box: Path) -> bool:
    descriptor = os.open(box, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return scratch.empty(descriptor) and scratch.is_empty(descriptor)
    finally:
        os.close(descriptor)


def making(maker: str, out: Path) -> str:
    return f"import os; OUT = {str(out)!r}\n{MAKERS[maker]}"


@pytest.mark.parametrize("maker", MAKERS)
def test_a_folder_is_emptied_and_nothing_else(maker: str, places: tuple[Path, Path]) -> None:
    box, out = places
    told(making(maker, out) + "\nprint(1)", cwd=box)
    assert emptied(box)
    assert box.is_dir()


# With the rights of Landlock's first version, under which nothing is moved between folders.
OLD = """
import os
from inside import scratch
landlock._handled = lambda version: landlock.MAKE_SYM * 2 - 1
descriptor = os.open({box!r}, os.O_RDONLY | os.O_DIRECTORY)
landlock.restrict(readable=["/usr", "/lib"], writable=[descriptor])
if os.geteuid() == 0: kernel.drop_capabilities()
print(json.dumps([scratch.empty(descriptor), scratch.is_empty(descriptor)]))
"""


@pytest.mark.skipif(not landlock.abi(), reason="needs Landlock")
@pytest.mark.parametrize("maker", ["pairs", "deep", "a comb", "closed", "links", "names"])
def test_it_is_emptied_under_the_first_version_of_landlock(maker: str, places: tuple[Path, Path]) -> None:
    box, out = places
    told(making(maker, out) + "\nprint(1)", cwd=box)
    assert told(OLD.format(box=str(box))) == [True, True]


def test_a_link_in_its_place_is_not_followed(places: tuple[Path, Path]) -> None:
    box, out = places
    box.rmdir()
    box.symlink_to(out)
    assert not scratch.remove(str(box))
    assert box.is_symlink()


def test_what_cannot_be_removed_is_said(places: tuple[Path, Path]) -> None:
    box, _ = places
    (box / "file").touch()
    assert scratch.remove(str(box))
    assert not box.exists()
    assert not scratch.remove(str(box))


def _swaps(box: Path) -> Callable[[], None]:
    """Puts a link in place of a folder, as somebody may while it is emptied."""

    def swap() -> None:
        (box / "a").rename(box.parent / "taken")
        (box / "a").symlink_to(box.parent / "out")

    return swap


def test_a_folder_that_is_replaced_by_a_link_meanwhile_is_not_followed(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    box, _ = places
    (box / "a" / "b" / "c").mkdir(parents=True)
    swap, entered = _swaps(box), scratch._entered

    def late(folder: int, name: str, device: int) -> int:
        if name == "a" and not (box / "a").is_symlink():
            swap()
        return entered(folder, name, device)

    monkeypatch.setattr(scratch, "_entered", late)
    assert not emptied(box)
    assert (box.parent / "out" / "folder").is_dir()


def test_a_file_that_holds_nothing_is_not_brought_back_as_a_large_one(places: tuple[Path, Path]) -> None:
    box, out = places
    (box / "small").write_bytes(b"12")
    (box / "sparse").touch()
    os.truncate(box / "sparse", 1 << 30)
    (box / "link").symlink_to(out / "folder" / "file")
    os.mkfifo(box / "pipe")
    into = os.memfd_create("into")
    try:
        scratch.collect(str(box), ("*", "missing"), into, 1 << 20)
        assert os.pread(into, 1 << 20, 0) == b'[["small", 2]]\n12'
    finally:
        os.close(into)


def test_files_that_come_and_go_do_not_hide_others(places: tuple[Path, Path]) -> None:
    box, _ = places
    for number in range(40):
        (box / f"{number}").write_bytes(bytes(1 << 16))
    code = f"""
import os, threading
from inside import scratch
over = False
def churn():
    while not over:
        for number in range(20):
            name = {str(box)!r} + f"/new{{number}}"
            open(name, "w").close()
            os.unlink(name)
threads = [threading.Thread(target=churn) for _ in range(2)]
for thread in threads: thread.start()
found = sum(scratch.within({str(box)!r}, 1 << 20) for _ in range(300))
over = True
for thread in threads: thread.join()
print(json.dumps(found))
"""
    assert told(code) == 0

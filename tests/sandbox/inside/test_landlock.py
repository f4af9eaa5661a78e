"""What Landlock leaves a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from guerdon.sandbox.inside import landlock
from support.confined_process import told

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not landlock.abi(), reason="needs Landlock")

OUTSIDE = {
    "read": "lambda: open('out/file').read()",
    "read through a link": "lambda: open('write/link').read()",
    "write": "lambda: open('out/file', 'r+')",
    "append": "lambda: open('out/file', 'a')",
    "list": "lambda: os.listdir('out')",
    "make": "lambda: open('out/new', 'x')",
    "make a directory": "lambda: os.mkdir('out/new')",
    "make a link": "lambda: os.symlink('x', 'out/new')",
    "make a pipe": "lambda: os.mkfifo('out/new')",
    "remove": "lambda: os.unlink('out/file')",
    "remove a directory": "lambda: os.rmdir('out/empty')",
    "rename": "lambda: os.rename('out/file', 'out/new')",
    "take": "lambda: os.rename('out/file', 'write/new')",
    "link in": "lambda: os.link('out/file', 'write/new')",
    "put": "lambda: os.rename('write/file', 'out/new')",
    "truncate": "lambda: os.truncate('out/file', 0)",
    "truncate at opening": "lambda: os.open('out/file', os.O_RDONLY | os.O_TRUNC)",
    "execute": "lambda: os.execv('out/program', ['program'])",
    "read the root": "lambda: os.listdir('/')",
    "processes": "lambda: os.listdir('/proc')",
    "mount": "raw('mount', b'none', b'write', b'tmpfs', 0, None)",
}
READABLE = {
    "read": "lambda: open('read/file').read()",
    "list": "lambda: os.listdir('read')",
    "write": "lambda: open('read/file', 'r+')",
    "truncate": "lambda: os.truncate('read/file', 0)",
    "make": "lambda: open('read/new', 'x')",
    "remove": "lambda: os.unlink('read/file')",
    "execute": "lambda: os.execv('read/program', ['program'])",
    "a file alone": "lambda: open('alone').read()",
    "a file alone, written": "lambda: open('alone', 'w')",
}
WRITABLE = {
    "read": "lambda: open('write/file').read()",
    "list": "lambda: os.listdir('write')",
    "write": "lambda: open('write/file', 'r+').write('x')",
    "make": "lambda: open('write/new', 'x').write('x')",
    "make directories": "lambda: os.makedirs('write/a/b')",
    "rename over directories": "lambda: os.rename('write/new', 'write/a/b/new')",
    "truncate": "lambda: os.truncate('write/a/b/new', 0)",
    "truncate at opening": "lambda: open('write/a/b/new', 'w')",
    "make a link": "lambda: os.symlink('x', 'write/s')",
    "hard link": "lambda: os.link('write/file', 'write/a/hard')",
    "make a pipe": "lambda: os.mkfifo('write/p')",
    "remove": "lambda: os.unlink('write/a/b/new')",
    "remove a directory": "lambda: os.rmdir('write/a/b')",
    "execute": "lambda: os.execv('write/program', ['program'])",
    "make a socket": "lambda: socket.socket(socket.AF_UNIX).bind('write/socket')",
    "a file alone": "lambda: open('file', 'w').write('x')",
}
RESTRICT = """
landlock.restrict(readable=["read", "alone"], executable=["run", "/usr", "/lib", "/lib64"],
                  writable=["write", os.open("file", os.O_PATH)])
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory with one of everything."""
    for name in ("out", "read", "run", "write"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("text")
        (tmp_path / name / "program").write_text("#!/bin/sh\necho '[\"ran\"]'\n")
        (tmp_path / name / "program").chmod(0o755)
    (tmp_path / "out" / "empty").mkdir()
    (tmp_path / "write" / "link").symlink_to("../out/file")
    for name in ("file", "alone"):
        (tmp_path / name).write_text("text")
    yield tmp_path
    assert (tmp_path / "out" / "file").read_text() == "text"
    assert sorted(os.listdir(tmp_path / "out")) == ["empty", "file", "program"]


def results(place: Path, attempts: dict[str, str]) -> dict[str, str]:
    table = ", ".join(f"{name!r}: {source}" for name, source in attempts.items())
    found = told(
        f"{RESTRICT}\nprint(json.dumps({{n: name_of(a) for n, a in {{{table}}}.items()}}))", cwd=place
    )
    assert isinstance(found, dict)
    return found


def test_nothing_outside(place: Path) -> None:
    found = results(place, OUTSIDE)
    odd = {name: result for name, result in found.items() if result not in ("EACCES", "EPERM", "EXDEV")}
    if landlock.abi() < 3:
        pytest.fail(f"this Landlock does not keep files from being truncated, so {odd} was to be expected")
    assert odd == {}


def test_what_is_readable_is_only_read(place: Path) -> None:
    assert results(place, READABLE) == {
        "read": "done", "list": "done", "write": "EACCES", "truncate": "EACCES", "make": "EACCES",
        "remove": "EACCES", "execute": "EACCES", "a file alone": "done", "a file alone, written": "EACCES",
    }  # fmt: skip


def test_what_is_writable_is_all_but_executed(place: Path) -> None:
    refused = {"execute": "EACCES", "make a socket": "EACCES"}
    assert results(place, WRITABLE) == dict.fromkeys(WRITABLE, "done") | refused


def test_what_is_executable_runs(place: Path) -> None:
    assert told(f"{RESTRICT}\nos.execv('run/program', ['program'])", cwd=place) == ["ran"]


def test_threads_and_children_are_as_confined(place: Path) -> None:
    code = f"""
import subprocess
{RESTRICT}
done = subprocess.run(["/bin/sh", "-c", "cat out/file"], capture_output=True)
print(json.dumps([done.returncode != 0, done.stdout.decode()]))"""
    assert told(code, cwd=place) == [True, ""]


def test_layers_only_take_away(place: Path) -> None:
    code = f"""
{RESTRICT}
landlock.restrict(readable=["out", "read"])
print(json.dumps([name_of(lambda: open(p).read()) for p in ("out/file", "read/file", "write/file")]))"""
    assert told(code, cwd=place) == ["EACCES", "done", "EACCES"]


def test_a_path_that_is_missing(place: Path) -> None:
    assert (
        told("print(json.dumps(name_of(lambda: landlock.restrict(readable=['none']))))", cwd=place)
        == "ENOENT"
    )


def test_it_says_how_much_it_can(place: Path) -> None:
    assert told("print(json.dumps(landlock.restrict()))", cwd=place) == landlock.abi() >= 1


@pytest.mark.skipif(landlock.abi() < 4, reason="Landlock keeps TCP in from version 4 on")
def test_tcp() -> None:
    code = """
listener = socket.create_server(("127.0.0.1", 0)); address = listener.getsockname()
before = name_of(lambda: socket.create_connection(address).close())
landlock.restrict()
print(json.dumps([before, name_of(lambda: socket.create_connection(address)),
                  name_of(lambda: socket.create_server(("127.0.0.1", 0)))]))"""
    assert told(code) == ["done", "EACCES", "EACCES"]


@pytest.mark.skipif(
    landlock.abi() < 6, reason="Landlock keeps signals and abstract sockets in from version 6 on"
)
def test_signals_and_abstract_sockets() -> None:
    code = """
listener = socket.socket(socket.AF_UNIX); listener.bind(b"\\0guerdon-%d" % os.getpid()); listener.listen()
name = listener.getsockname()
sibling = os.fork()
if not sibling:
    time.sleep(30); os._exit(0)
ask = lambda: socket.socket(socket.AF_UNIX).connect(name)
before = [name_of(ask), name_of(lambda: os.kill(sibling, 0)), name_of(lambda: os.kill(os.getppid(), 0))]
reader, writer = os.pipe()
if not (child := os.fork()):
    landlock.restrict()
    own = os.fork() or time.sleep(30) or os._exit(0)
    after = [name_of(ask), name_of(lambda: os.kill(sibling, 0)), name_of(lambda: os.kill(os.getppid(), 0)),
             name_of(lambda: os.kill(own, 9)), name_of(lambda: os.kill(os.getpid(), 0))]
    os.write(writer, json.dumps(after).encode()); os._exit(0)
os.waitpid(child, 0)
os.kill(sibling, 9)
print(json.dumps([before, json.loads(os.read(reader, 1000))]))"""
    assert told(code) == [["done"] * 3, ["EPERM", "EPERM", "EPERM", "done", "done"]]


@pytest.mark.parametrize("version", [0, 1, 2, 3, 7])
def test_a_version_that_lets_files_be_emptied_is_not_enough_alone(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: version)
    if version in (1, 2):
        with pytest.raises(OSError, match=rf"Landlock {version} of this kernel .*: use Linux 6\.2 or later"):
            landlock.check_alone()
    else:
        # Without any, installing the rules says so.
        landlock.check_alone()

"""Runs the examples of a Markdown page, top to bottom, the way a reader would.

``python`` blocks of a page share one namespace. ``console`` and ``bash`` blocks hold commands after ``$ ``;
lines after a command are what it prints, where ``…`` stands for anything. A comment before a block changes
what becomes of it:

    <!-- file: my_rewards.py -->   the block, in any language, is written to that file
    <!-- same: examples/it.py -->  the block, in any language, is that file, which tests of its own run
    <!-- background: 8000 -->      the block's only command is a server, which listens on that port and runs until
                                   the end of the page; the page is run with a free port in place of that one
    <!-- exit: 2 -->               the last command of the block ends with this status
    <!-- output -->                the block, in any language, is what the Python block before it printed
    <!-- no-run: needs a GPU -->   the block is not run, for this reason

A page runs in a process of its own (``python docs_runner.py PAGE REPORT``) in a working directory of its own.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
import types
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

SHELL = frozenset({"console", "bash", "sh", "shell"})
COMMANDS = frozenset({"guerdon", "python", "cat", "curl", "head", "ls", "mkdir", "wc"})
COMMAND_SECONDS = 120
PAGE_SECONDS = 300

_PROGRESS = re.compile(r"^[a-z]+ [\d,]+(?:/[\d,]+)?, [\d.,]+/s\b.*\n?", re.MULTILINE)
"""A line of progress, which a command prints only on a busy machine, where it takes long."""
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}) *(?P<language>[\w+-]*)[^`]*$")
_DIRECTIVE = re.compile(r"^\s*<!--\s*(file|same|no-run|exit|output|background)\b:?\s*(.*?)\s*-->\s*$")


class PageError(Exception):
    """A page that cannot be run, or a block that did not do what the page says."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; ``line`` is the number of its first line of content, counted from 1."""

    language: str
    line: int
    body: str
    directives: dict[str, str]


@dataclass(slots=True)
class Report:
    """What became of the blocks of a page."""

    ran: int = 0
    written: int = 0
    not_run: list[str] = field(default_factory=list)
    same: int = 0


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page; raises PageError for a fence or a directive that leads nowhere."""
    found: list[Block] = []
    directives: dict[str, str] = {}
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        if directive := _DIRECTIVE.match(lines[i]):
            directives[directive[1]] = directive[2]
        elif fence := _FENCE.match(lines[i]):
            start = i + 1
            i = _closing(lines, start, fence["fence"])
            body = textwrap.dedent("\n".join(lines[start:i]))
            found.append(Block(fence["language"], start + 1, body, directives))
            directives = {}
        elif lines[i].strip() and directives:
            raise PageError(f"{i + 1}: the comment before this line is for a block, and no block follows")
        i += 1
    if directives:
        raise PageError(f"{len(lines)}: the last comment is for a block, and no block follows")
    return found


def _closing(lines: list[str], start: int, fence: str) -> int:
    for i in range(start, len(lines)):
        text = lines[i].strip()
        if set(text) == {fence[0]} and len(text) >= len(fence):
            return i
    raise PageError(f"{start}: this block is never closed")


def commands(body: str) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines that it is expected to print."""
    found: list[tuple[str, list[str]]] = []
    continued = False
    for line in body.splitlines():
        if continued:
            command, _ = found[-1]
            found[-1] = (command[:-1] + line.strip().removeprefix("> "), [])
        elif line.startswith("$ "):
            found.append((line[2:].rstrip(), []))
        elif found:
            found[-1][1].append(line)
            continue
        else:
            raise PageError('a console block must start with a command after "$ "')
        continued = found[-1][0].endswith("\\")
    if not found:
        raise PageError("a console block without a command")
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether output fits what a page shows.

    ``…`` within a line is any text of that line, on a line of its own any lines, also none. Widths of blank
    space do not count, neither do blank lines.
    """
    pattern = ""
    for line in _lines(expected):
        if line == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += "[^\n]*".join(re.escape(part) for part in line.split("…")) + "\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(printed))) is not None


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def run_page(page: Path, *given: Path) -> Report:
    """Runs a page in a new process; raises PageError with the line, and with what went wrong there.

    The working directory holds copies of the directories that are ``given``, and nothing else.
    """
    with tempfile.TemporaryDirectory() as scratch:
        work, report = Path(scratch, "work"), Path(scratch, "report.json")
        work.mkdir()
        for directory in given:
            shutil.copytree(directory, work / directory.name, ignore=shutil.ignore_patterns("__pycache__"))
        try:
            done = subprocess.run(
                [sys.executable, str(Path(__file__).resolve()), str(page.resolve()), str(report)],
                cwd=work,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PAGE_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise PageError(f"{page.name}: not finished after {PAGE_SECONDS} s") from None
        if done.returncode or not report.exists():
            raise PageError(f"{page.name}:{done.stdout}")
        return Report(**json.loads(report.read_text(encoding="utf-8")))


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GUERDON_")}
    return kept | {
        # Not resolved: the interpreter of a virtual environment is a link to one that lacks its packages.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}",
        "COLUMNS": "80",
        "GUERDON_SAY_AFTER": str(COMMAND_SECONDS),
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",
    }


class _Page:
    """The state of a page that runs: one namespace, and the working directory of the process."""

    def __init__(self, script: Path) -> None:
        self.report = Report()
        self.printed: str | None = None
        # All Python of the page so far, each line under its number on the page: tracebacks then point into
        # the page, and functions find their source as they would in a script.
        self.lines: list[str] = []
        self.ports: dict[str, str] = {}
        self.servers: list[subprocess.Popen[bytes]] = []
        self.script = script
        self.main = types.ModuleType("__main__")
        self.main.__file__ = str(script)

    def run(self, block: Block) -> None:
        if "file" in block.directives:
            self.write(block)
        elif "same" in block.directives:
            self.same(block)
        elif "output" in block.directives:
            self.compare(block.body, self.printed)
        elif block.language != "python" and block.language not in SHELL:
            return
        elif "no-run" in block.directives:
            if not block.directives["no-run"]:
                raise PageError("no-run needs a reason")
            self.report.not_run.append(f"{block.line}: {block.directives['no-run']}")
        elif "background" in block.directives:
            self.serve(block)
        elif block.language == "python":
            self.python(block)
        else:
            self.console(block)

    def write(self, block: Block) -> None:
        name = Path(block.directives["file"])
        if not name.name or name.is_absolute() or ".." in name.parts:
            raise PageError(f"{str(name)!r} is not a file name below the working directory")
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(block.body + "\n", encoding="utf-8")
        self.report.written += 1

    def same(self, block: Block) -> None:
        """Compare with a file of a directory that the page was given."""
        name = block.directives["same"]
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise PageError(f"{name!r} cannot be read: {error.strerror}") from None
        if block.body.split("\n") != text.removesuffix("\n").split("\n"):
            lines = difflib.unified_diff(
                text.splitlines(), block.body.splitlines(), name, "on the page", lineterm=""
            )
            raise PageError("the block is not the file\n" + "\n".join(lines))
        self.report.same += 1

    def serve(self, block: Block) -> None:
        """Start a server and wait until it listens and has printed what the page shows."""
        ((command, expected),) = commands(block.body)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        self.ports[f":{block.directives['background']}"] = f":{port}"
        log = self.script.with_name(f"server_{port}.log")
        with log.open("wb") as output:
            server = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                env={**os.environ, "GUERDON_PORT": port},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.servers.append(server)
        end = time.monotonic() + COMMAND_SECONDS
        wanted, printed = self.local("\n".join(expected)), ""
        while not (printed and matches(wanted, printed)):
            if server.poll() is not None or time.monotonic() > end:
                raise PageError(f"{command!r} did not come to print what the page shows, but\n{printed}")
            time.sleep(0.05)
            printed = log.read_text(encoding="utf-8")
        self.report.ran += 1

    def local(self, text: str) -> str:
        """What the page shows, with the ports that its servers have here."""
        for shown, port in self.ports.items():
            text = text.replace(shown, port)
        return text

    def stop(self) -> None:
        """End the servers; raises PageError where one does not end well."""
        for server in self.servers:
            server.terminate()
            if (status := server.wait(COMMAND_SECONDS)) != 0:
                raise PageError(f"a server ended with status {status}")

    def python(self, block: Block) -> None:
        block = replace(block, body=self.local(block.body))
        self.lines += [""] * (block.line - 1 - len(self.lines)) + block.body.split("\n")
        self.script.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        output = io.StringIO()
        try:
            code = compile("\n" * (block.line - 1) + block.body, str(self.script), "exec", dont_inherit=True)
            with contextlib.redirect_stdout(output):
                exec(code, self.main.__dict__)
        except (Exception, SystemExit):
            raise PageError(f"the block failed\n{output.getvalue()}{traceback.format_exc()}") from None
        self.printed = output.getvalue()
        self.report.ran += 1

    def console(self, block: Block) -> None:
        todo = commands(self.local(block.body))
        for i, (command, expected) in enumerate(todo):
            words = [word for word in command.split() if not re.match(r"[A-Z_]+=", word)]
            if not words or words[0] not in COMMANDS:
                known = ", ".join(sorted(COMMANDS))
                raise PageError(f"{command!r} starts with none of {known}; mark the block with no-run")
            done = subprocess.run(
                ["bash", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=COMMAND_SECONDS,
            )
            wanted = int(block.directives.get("exit", "0")) if i == len(todo) - 1 else 0
            if done.returncode != wanted:
                raise PageError(
                    f"{command!r} ended with status {done.returncode}, expected {wanted}\n{done.stdout}"
                )
            if any(line.strip() for line in expected):
                self.compare("\n".join(expected), _PROGRESS.sub("", done.stdout))
        self.report.ran += 1

    @staticmethod
    def compare(expected: str, printed: str | None) -> None:
        if printed is None:
            raise PageError("an output without a Python block before it")
        if not matches(expected, printed):
            lines = difflib.unified_diff(
                _lines(expected), _lines(printed), "on the page", "printed", lineterm=""
            )
            raise PageError("the output differs\n" + "\n".join(lines))


def main(page: str, report: str) -> int:
    """Runs one page in the working directory and writes what became of its blocks."""
    source = Path(page)
    # A script finds its own folder first; here that is where the page's files are.
    sys.path[0] = os.getcwd()
    sys.argv = [source.name]
    line = 0
    running = _Page(Path(report).with_name(source.name.replace(".", "_") + "_blocks.py"))
    try:
        # Kept under another name, since the functions of this module live in it.
        sys.modules["docs_runner"], sys.modules["__main__"] = sys.modules["__main__"], running.main
        for block in blocks(source.read_text(encoding="utf-8")):
            line = block.line
            running.run(block)
        running.stop()
    except PageError as error:
        print(f"{line}: {error}" if line else error)
        return 1
    except subprocess.TimeoutExpired as error:
        print(f"{line}: {error.cmd[-1]!r} not finished after {COMMAND_SECONDS} s")
        return 1
    finally:
        for server in running.servers:
            server.kill()
    Path(report).write_text(json.dumps(asdict(running.report)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

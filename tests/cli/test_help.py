"""The help page is what the commands say of themselves."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from guerdon.cli.app import app
from guerdon.cli.data_options import LimitFlags
from guerdon.cli.help import page
from guerdon.cli.options import Invocation, variable_of
from guerdon.cli.variables import OTHERS
from guerdon.scoring.run import DEFAULT_BATCH
from guerdon.settings import SETTINGS

ROOT = Path(__file__).resolve().parents[2]


def run(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "guerdon.cli.help", *args], capture_output=True, text=True, cwd=folder
    )


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == page(), "python -m guerdon.cli.help"


def test_the_page_fits_a_terminal_and_names_every_command() -> None:
    text = page()
    assert max(map(len, text.splitlines())) <= 80
    for command in ("", " preview", " score", " rewards", " rewards show", " test", " journal replay"):
        assert f"## `guerdon{command}`\n" in text


@pytest.mark.parametrize("columns", ["40", "200"])
def test_the_page_is_the_same_everywhere(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = page()
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("GUERDON_TIMEOUT", "77")
    monkeypatch.setenv("GUERDON_MAX_SAMPLES", "77")
    assert page() == before


def test_check(tmp_path: Path) -> None:
    assert run("--check", folder=tmp_path).returncode == 1
    assert run(folder=tmp_path).returncode == 0
    assert run("--check", folder=tmp_path).returncode == 0
    written = tmp_path / "docs" / "cli.md"
    written.write_text(written.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    done = run("--check", folder=tmp_path)
    assert done.returncode == 1
    assert "is out of date" in done.stderr


def test_flags_say_what_the_settings_say() -> None:
    text = " ".join(page().split())
    for name in LimitFlags.__dataclass_fields__:
        if name in SETTINGS:
            assert SETTINGS[name].help.rstrip(".") in text
            assert SETTINGS[name].variable == variable_of(f"--{name}")
            assert f"- `{SETTINGS[name].variable}`: " in text
    assert f"Samples per call of a batched reward. [default: {DEFAULT_BATCH}]" in text


def commands(command: click.Command = app, name: str = "guerdon") -> Iterator[tuple[str, click.Command]]:
    """Every command with its path."""
    yield name, command
    if isinstance(command, click.Group):
        for below in command.list_commands(click.Context(command)):
            child = command.get_command(click.Context(command), below)
            assert child is not None
            yield from commands(child, f"{name} {below}")


COMMANDS = dict(commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_two_examples_that_parse(name: str, tmp_path: Path) -> None:
    # click keeps the option that it makes of these names.
    context = click.Context(
        COMMANDS[name], info_name=name, terminal_width=80, help_option_names=["-h", "--help"]
    )
    text = COMMANDS[name].get_help(context)
    block = text.split("\n\n")[1].replace("\\\n", " ")
    examples = [" ".join(line.split()) for line in block.splitlines()]
    assert len(examples) == 2
    for example in examples:
        program, *words = shlex.split(example)
        assert program == "guerdon"
        assert example.startswith(f"{name} ") or example == name
        with contextlib.chdir(tmp_path):
            Path("program.py").touch()
            Path("main.cpp").touch()
            parse(words)


def parse(words: list[str]) -> None:
    """Take a command line apart as the program does, down to the last command, and run nothing."""
    context = app.make_context("guerdon", list(words), obj=Invocation(tuple(words)))
    while isinstance(context.command, click.Group) and (rest := [*context._protected_args, *context.args]):
        name, command, left = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, left, parent=context)


def test_an_example_that_does_not_parse_is_noticed() -> None:
    for line in ("score math", "score math rows.jsonl --limt 3", "serve", "judge kalibrate"):
        with pytest.raises(click.UsageError):
            parse(line.split())


def test_variables_stand_in_one_place() -> None:
    text = page()
    assert "env var" not in text
    listed = re.findall(r"^- `(GUERDON_\w+)`", text, re.MULTILINE)
    assert listed == sorted(set(listed))
    flags = {param.envvar for _, command in commands() for param in command.params if param.envvar}
    settings = {setting.variable for setting in SETTINGS.values()}
    assert flags | settings | OTHERS.keys() <= {*listed}
    source = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "src" / "guerdon").rglob("*.py"))
    read = {*re.findall(r'"(GUERDON_[A-Z_]+)"', source)}
    assert read <= {*listed}

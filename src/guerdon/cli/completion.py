"""What completes a word of the command line: rewards, the functions of a file, trainers, presets, options, files.

Nothing of the user's is run and nothing large imported: a file is parsed for the functions that it defines.
"""

from __future__ import annotations

import ast
import glob
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

PACKAGE = Path(__file__).resolve().parents[1]

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def candidates(program: click.Group, line: str) -> list[CompletionItem]:
    """What may stand in the place of the last word of a line, which is the command line up to the cursor."""
    words = split_arg_string(line)
    incomplete = "" if not words or line[-1:].isspace() else words.pop()
    name = next((i for i, word in enumerate(words) if os.path.basename(word) == "guerdon"), None)
    args = words if name is None else words[name + 1 :]
    try:
        return ShellComplete(program, {}, "guerdon", "").get_completions(args, incomplete)
    except click.ClickException:  # a command that does not exist
        return []


def complete_files(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A file."""
    return [CompletionItem(incomplete, type="file")]


def complete_folders(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A folder."""
    return [CompletionItem(incomplete, type="dir")]


def completer_of(metavar: str | None) -> Completer | None:
    """How a value is completed that the help calls so."""
    if metavar in ("DIR", "FOLDER", "RUN"):
        return complete_folders
    return complete_files if metavar in ("FILE", "DATA", "CASES") else None


def complete_rewards(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A reward: a registered name, a file, or a function of a file."""
    name, equals, word = incomplete.rpartition("=")
    found = _functions(word) if ".py:" in word else [*_registered(word), *_python_files(word)]
    return [CompletionItem(f"{name}{equals}{value}", help=text) for value, text in found]


def _registered(word: str) -> Iterator[tuple[str, str]]:
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group="guerdon.rewards"), key=lambda point: point.name):
        if point.name.startswith(word):
            yield point.name, point.value


def _python_files(word: str) -> Iterator[tuple[str, str]]:
    """Files with their functions where there is one file only, and the folders on the way to others."""
    files = sorted(glob.glob(f"{glob.escape(word)}*.py"))
    folders = sorted(glob.glob(f"{glob.escape(word)}*/"))
    yield from ((file, "") for file in files)
    if len(files) == 1 and not folders:
        yield from _functions(f"{files[0]}::")
    yield from (
        (folder, "") for folder in folders if not os.path.basename(folder[:-1]).startswith((".", "_"))
    )


def _functions(word: str) -> Iterator[tuple[str, str]]:
    """The functions and classes of a file, after ``file.py::`` or ``file.py:``."""
    file, _, part = word.partition(".py:")
    try:
        body = ast.parse(Path(f"{file}.py").read_bytes()).body
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return
    for name, text in _defined(body):
        if name.startswith(part.lstrip(":")):
            yield f"{file}.py::{name}", text


def _defined(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not statement.name.startswith("_"):
                yield statement.name, (ast.get_docstring(statement) or "").partition("\n")[0]
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp | ast.Call):
            for target in statement.targets:
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    yield target.id, ""


def complete_trainers(
    context: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """A trainer: the modules that hold one, without importing them."""
    named = {
        path.stem.replace("_", "-")
        for path in (PACKAGE / "trainers").glob("*.py")
        if "\nTRAINER = " in path.read_text(encoding="utf-8")
    }
    return [CompletionItem(name) for name in sorted(named) if name.startswith(incomplete)]


def complete_overrides(
    context: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """An override of a training run: a preset, an option of a group, a key, or the value of a key."""
    key, equals, value = incomplete.partition("=")
    if equals and key.lstrip("+") == "training.reward_function":
        found = complete_rewards(context, param, value)
        return [CompletionItem(f"{key}={item.value}", help=item.help) for item in found]
    if equals and key.endswith(("_dir", ".path")):
        return [CompletionItem(incomplete, type="file")]
    return [
        CompletionItem(text, help=about)
        for text, about in [*_RUN_COMMANDS, *_presets(), *_keys()]
        if text.startswith(incomplete)
    ]


_RUN_COMMANDS = (("inspect", "the samples of a run"), ("plot", "the curves of a run"))


def _presets() -> Iterator[tuple[str, str]]:
    """Guerdon's own options of the groups, then those of the project's conf/."""
    for folder in (PACKAGE / "train" / "config" / "conf", Path("conf")):
        for path in sorted(folder.glob("*/*.yaml")):
            sign = "+" if path.parent.name == "experiment" else ""
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            about = (line[2:] for line in lines if line.startswith("# ") and "@package" not in line)
            yield f"{sign}{path.parent.name}={path.stem}", next(about, "")


def _keys() -> Iterator[tuple[str, str]]:
    from dataclasses import fields, is_dataclass

    from guerdon.train.config.schema import Config

    config: Any = Config()
    for part in fields(config):
        value = getattr(config, part.name)
        if is_dataclass(value):
            yield from ((f"{part.name}.{inner.name}=", "") for inner in fields(value))
        else:
            yield f"{part.name}=", ""


def complete_commands(
    context: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """A command of the program."""
    program = context.find_root().command
    names = program.list_commands(context) if isinstance(program, click.Group) else []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]

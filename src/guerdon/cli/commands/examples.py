"""``guerdon examples``: the files that the documents use, written out."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from guerdon.cli.options import ParamType, debug_option, option
from guerdon.errors import InputError

_PACKAGED = Path(__file__).resolve().parents[2] / "_examples"
_IN_THE_REPOSITORY = Path(__file__).resolve().parents[4] / "examples"


@dataclass(frozen=True, slots=True)
class ExampleSet:
    """Files that belong together."""

    about: str
    patterns: tuple[str, ...]
    """As ``Path.glob`` has them."""


_DATA = "conversations.jsonl"
EXAMPLES = {
    "first": ExampleSet(
        "the rewards, conversations and cases of the README", ("my_rewards.py", _DATA, "cases.jsonl")
    ),
    "composed": ExampleSet("a reward composed of three, with conversations", ("composed.py", _DATA)),
    "relevance": ExampleSet("a folder as a reward, with conversations", ("relevance/*.py", _DATA)),
    "client": ExampleSet("calling a reward server from Python", ("client.py",)),
    "servers": ExampleSet("reward servers: lengths, letters, SQL queries", ("servers/*",)),
    "trainers": ExampleSet("what each trainer needs to use a reward", ("trainers/*",)),
    "all": ExampleSet("all of these", ("*.py", "*.jsonl", "*/*")),
}


class ExampleNameType(ParamType):
    """The name of a set of examples."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in EXAMPLES:
            close = difflib.get_close_matches(value, EXAMPLES, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(EXAMPLES)}"
            self.fail(f"there is no example {value!r}; {hint}", param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        found = {name: one.about for name, one in EXAMPLES.items() if name.startswith(incomplete)}
        return [CompletionItem(name, help=about) for name, about in found.items()]


@click.command(short_help="Write the examples of the documents to files.")
@click.argument("name", type=ExampleNameType(), required=False)
@option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write to; by default this one.",
)
@option("--overwrite", is_flag=True, help="Replace files that exist.")
@option("--list", "listed", is_flag=True, help="List the examples and write nothing.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@debug_option
def examples(name: str | None, output: Path | None, overwrite: bool, listed: bool, as_json: bool) -> None:
    """\b
    guerdon examples
    guerdon examples trainers -o examples

    Write the files of the example NAME, by default those of the README, to this folder.

    Nothing is written if one of the files exists, unless --overwrite is given.
    """
    if listed:
        ignored = {"the name": name, "--output": output, "--overwrite": overwrite or None}
        if given := next((what for what, value in ignored.items() if value is not None), None):
            raise InputError(f"--list writes nothing; leave out {given}")
        _list(as_json)
        return
    folder = output or Path()
    written = _write(EXAMPLES[name or "first"], folder, overwrite)
    if as_json:
        click.echo(json.dumps([str(path) for path in written]))
        return
    for path in written:
        click.echo(f"wrote {path}")
    if (name or "first") == "first":
        click.echo(f"next: guerdon score {folder / 'my_rewards.py'}::last_number {folder / _DATA}", err=True)


def _list(as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({name: example.about for name, example in EXAMPLES.items()}))
        return
    width = max(map(len, EXAMPLES))
    for name, example in EXAMPLES.items():
        click.echo(f"{name:<{width}}  {example.about}")


def _write(example: ExampleSet, folder: Path, overwrite: bool) -> list[Path]:
    """Write all files, or none if one is there already."""
    source = _PACKAGED if _PACKAGED.is_dir() else _IN_THE_REPOSITORY
    files = {folder / file.relative_to(source): file for file in _files(source, example.patterns)}
    if not overwrite and (there := next((path for path in files if path.exists()), None)):
        raise InputError(f"{there} exists already; --overwrite replaces it, and -o names another folder")
    for path, file in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read_bytes())
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None
    return list(files)


def _files(source: Path, patterns: Sequence[str]) -> list[Path]:
    found = {file: None for pattern in patterns for file in sorted(source.glob(pattern))}
    return [file for file in found if file.is_file()]

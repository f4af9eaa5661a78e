"""The configuration file: ``guerdon.toml``, or ``[tool.guerdon]`` in ``pyproject.toml``.

It is looked for from the working directory upwards. What it says becomes the defaults of the commands: a flag comes
first, then the environment, then the file.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import click

from guerdon.cli.options import SettingOption
from guerdon.errors import InputError
from guerdon.settings import SETTINGS

FILE, PROJECT = "guerdon.toml", "pyproject.toml"
SHARED = ("reward", "data", "columns", "server")
"""The keys that hold for all commands."""

_MAX_BYTES = 2**20
_PATHS = {"FILE", "DIR", "FOLDER", "DATA", "CASES", "RUN"}
"""How the help calls values that are paths."""
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".arrow", ".gz", ".eval")
_ROLES = {"prompt": "prompt_column", "response": "response_column", "answer": "answer_column"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigFile:
    """What was found: the file and its table."""

    path: Path
    table: Mapping[str, Any]
    prefix: str = ""
    """What stands before the names of its tables: ``tool.guerdon.`` in a pyproject.toml."""

    def place(self, command: str = "") -> str:
        """How messages call a part of it.

        >>> ConfigFile(path=Path("guerdon.toml"), table={}).place("judge.calibrate")
        'guerdon.toml, [judge.calibrate]'
        """
        section = f"{self.prefix}{command}".strip(".")
        return f"{_near(self.path)}, [{section}]" if section else _near(self.path)


@dataclass(kw_only=True, slots=True)
class CommandDefaults:
    """What the file says for one command."""

    values: dict[str, Any] = field(default_factory=dict)
    """By the parameter of the command."""
    variables: dict[str, str] = field(default_factory=dict)
    """By environment variable, for what guerdon.settings reads."""
    places: dict[str, str] = field(default_factory=dict)
    """Where each of these stands, by the parameter of the command."""


def find_config(folder: Path) -> ConfigFile | None:
    """The nearest configuration from a folder upwards; None where there is none.

    It names rewards, which are code, so a file above the folder counts only if it belongs to this user, to root or
    to whom the folder belongs; others are left out with a warning.

    Raises InputError for a file that cannot be read, and for an unknown key.
    """
    for place in (folder, *folder.parents):
        if (file := place / FILE).is_file() and _is_own(file, folder):
            return _checked(ConfigFile(path=file, table=_read(file)))
        if (file := place / PROJECT).is_file() and _is_own(file, folder):
            tool = _read(file).get("tool")
            table = tool.get("guerdon") if isinstance(tool, Mapping) else None
            if table is not None:
                if not isinstance(table, Mapping):
                    raise InputError(f"{_near(file)}: tool.guerdon is not a table; write [tool.guerdon]")
                return _checked(ConfigFile(path=file, table=table, prefix="tool.guerdon."))
    return None


def _is_own(file: Path, folder: Path) -> bool:
    if file.parent == folder:
        return True
    owner = file.stat().st_uid
    if owner in (os.geteuid(), 0, folder.stat().st_uid):
        return True
    if file.name == FILE:
        click.echo(f"{_near(file)} belongs to another user (uid {owner}) and is left out", err=True)
    return False


def _read(file: Path) -> Mapping[str, Any]:
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise InputError(f"{_near(file)} is over {_MAX_BYTES >> 20} MiB, too large for a configuration")
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {_near(file)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{_near(file)} is not UTF-8 text") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{_near(file)} is not valid TOML: {why}") from None


def _checked(file: ConfigFile) -> ConfigFile:
    """The file, once the values of the shared keys are what they should be."""
    for key in ("reward", "data", "server"):
        if key in file.table and not (isinstance(file.table[key], str) and file.table[key].strip()):
            raise InputError(f"{file.place()}: {key} must be text, such as {_EXAMPLES[key]}")
    columns = file.table.get("columns", {})
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns.values()):
        raise InputError(
            f'{file.place()}: columns must be names, such as columns = {{ prompt = "question" }}'
        )
    server = file.table.get("server")
    if server is not None and not server.startswith(("http://", "https://")):
        raise InputError(f"{file.place()}: server must be an address, such as {_EXAMPLES['server']}")
    return file


_EXAMPLES = {"reward": '"my_rewards.py"', "data": '"answers.jsonl"', "server": '"http://host:8000"'}


def shared_values(file: ConfigFile) -> dict[str, Any]:
    """The shared keys with paths as they are from the working directory."""
    found: dict[str, Any] = {key: file.table[key] for key in SHARED if key in file.table}
    if "reward" in found:
        found["reward"] = _reward_path(file, found["reward"])
    if "data" in found:
        found["data"] = _data_path(file, found["data"])
    return found


def check_tables(file: ConfigFile, commands: Sequence[str]) -> None:
    """Raises InputError for a key that is neither shared nor the name of a command."""
    for key, value in file.table.items():
        if key in SHARED:
            continue
        if key not in commands:
            _unknown(f"{file.place()}: there is no key {key!r}", key, [*SHARED, *commands])
        if not isinstance(value, Mapping):
            raise InputError(
                f"{file.place()}: {key} is a command; write its options below [{file.prefix}{key}]"
            )


def defaults_of(file: ConfigFile, command: click.Command, name: str) -> CommandDefaults:
    """The defaults of one command. Raises InputError for an unknown key and for a value that it does not take."""
    own = _own_table(file, name)
    params = {key_of(param): param for param in params_of(command)}
    below = command.commands if isinstance(command, click.Group) else {}
    found = CommandDefaults()
    for key, value in own.items():
        if key in below and isinstance(value, Mapping):
            continue
        param = params.get(key.replace("_", "-"))
        if param is None:
            _unknown(f"{file.place(name)}: there is no key {key!r}", key, [*params, *below])
        _add(found, file, name, (key, value), param)
    for param in params.values():
        _add_shared(found, file, param)
    return found


def _own_table(file: ConfigFile, name: str) -> Mapping[str, Any]:
    table: Any = file.table
    for part in name.split("."):
        table = table.get(part, {}) if isinstance(table, Mapping) else {}
    return table if isinstance(table, Mapping) else {}


def params_of(command: click.Command) -> list[click.Parameter]:
    """The parameters that a configuration may set; of ``guerdon train`` those of a run."""
    alone: click.Command = getattr(command, "alone", command)
    return [param for param in alone.params if not getattr(param, "is_eager", False)]


def key_of(param: click.Parameter) -> str:
    """What a parameter is called in a file: its long flag, or its own name.

    >>> key_of(click.Option(["-o", "--output"])), key_of(click.Argument(["cases"]))
    ('output', 'cases')
    """
    if isinstance(param, click.Option):
        return next(flag for flag in param.opts if flag.startswith("--"))[2:]
    return str(param.name).replace("_", "-")


def _add(
    found: CommandDefaults, file: ConfigFile, name: str, item: tuple[str, Any], param: click.Parameter
) -> None:
    """One key of a command's own table."""
    key, value = item
    place = f"{file.place(name)}: {key}"
    given = _plain_values(place, value, param)
    if is_path(param):
        given = [_data_path(file, one) for one in given]
    elif param.name in ("reward", "rewards"):
        given = [_reward_path(file, one) for one in given]
    many = param.multiple or param.nargs != 1
    taken: Any = given if many else given[0]
    try:
        param.type_cast_value(click.Context(click.Command(name)), taken)
    except click.ClickException as error:
        raise InputError(f"{place}: {error.message.rstrip('.')}") from None
    assert param.name is not None
    found.places[param.name] = file.place(name)
    if isinstance(param, SettingOption):
        found.variables[str(param.envvar)] = str(taken)
    else:
        found.values[param.name] = taken


def _plain_values(place: str, value: Any, param: click.Parameter) -> list[Any]:
    """The values as flags would give them: a table as NAME=VALUE, each number and word by itself."""
    if isinstance(value, Mapping):
        if not getattr(param, "multiple", False):
            raise InputError(f"{place} takes one value, not a table")
        as_json = param.name == "parameters"
        return [f"{name}={json.dumps(one) if as_json else one}" for name, one in _leaves(place, value)]
    values = value if isinstance(value, list) else [value]
    if isinstance(value, list) and not (param.multiple or param.nargs != 1):
        raise InputError(f"{place} takes one value, not a list")
    for one in values:
        if not isinstance(one, str | int | float):
            raise InputError(f"{place} takes text, numbers, true or false, not {type(one).__name__}")
        if getattr(param, "is_flag", False) and not isinstance(one, bool):
            raise InputError(f"{place} is true or false, not {one!r}")
    return [one if getattr(param, "is_flag", False) else _as_text(one) for one in values]


def _leaves(place: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A table's keys with their values; JSON can write all of them."""
    for name, value in table.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise InputError(f"{place}.{name} is not a value that JSON has") from None
        yield name, value


def _as_text(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _add_shared(found: CommandDefaults, file: ConfigFile, param: click.Parameter) -> None:
    """What the shared keys say for one parameter that the command's own table does not set."""
    name = str(param.name)
    if name in found.places:
        return
    shared = shared_values(file)
    columns = shared.get("columns", {})
    values = {
        "reward": shared.get("reward"),
        "rewards": [shared["reward"]] if "reward" in shared else None,
        "data": shared.get("data"),
        "source": shared.get("data"),
        "mapping": [f"{to}={column}" for to, column in columns.items() if to not in _ROLES],
        **{option: columns.get(role) for role, option in _ROLES.items()},
    }
    value = values.get(name)
    # The options of these names of other commands are something else.
    is_meant = isinstance(param, click.Argument) or name not in ("reward", "rewards", "data")
    if value and is_meant:
        found.values[name] = value
        found.places[name] = file.place()


# Paths are relative to the file.


def is_path(param: click.Parameter) -> bool:
    """Whether the values of a parameter are paths, or may be."""
    metavar = param.metavar or (str(param.name).upper() if isinstance(param, click.Argument) else "")
    return isinstance(param.type, click.Path | click.File) or metavar in _PATHS


def _data_path(file: ConfigFile, text: str) -> str:
    """A path from the working directory; an id of a hub and ``-`` as they are."""
    there = file.path.parent / text
    looks_like_one = text.endswith(_SUFFIXES) or text.startswith((".", "~")) or "/" not in text
    return _from_here(there) if text != "-" and (there.exists() or looks_like_one) else text


def _reward_path(file: ConfigFile, text: str) -> str:
    """A reward whose file is named from the working directory; any other name as it is."""
    if text.startswith(("http://", "https://")):
        return text
    name, equals, spec = text.partition("=") if "=" in text.partition(":")[0] else ("", "", text)
    before, colon, after = spec.partition(":")
    there = file.path.parent / before
    if (
        before.endswith(".py")
        or (not colon and "/" in before)
        or (not colon and (there / "main.py").is_file())
    ):
        before = _from_here(there)
    return f"{name}{equals}{before}{colon}{after}"


def _from_here(path: Path) -> str:
    return os.path.relpath(path.expanduser())


def _near(path: Path) -> str:
    """A file as messages name it: alone where it lies in the working directory."""
    return path.name if path.parent == Path.cwd() else str(path)


def _unknown(message: str, key: str, known: Sequence[str]) -> NoReturn:
    close = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
    raise InputError(f"{message}; {hint}")


# What the settings of the environment are.


def server_variable(file: ConfigFile) -> dict[str, str]:
    """The environment variable that ``server`` stands for."""
    server = file.table.get("server")
    return {SETTINGS["base_url"].variable: server} if isinstance(server, str) else {}

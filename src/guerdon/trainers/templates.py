"""Templates of the modules that connect a reward to a trainer."""

from __future__ import annotations

import keyword
import math
import os
import re
import sys
from collections.abc import Mapping
from importlib.metadata import packages_distributions
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.loading.imports import FOLDER_FILE, FOLDER_FUNCTION
from guerdon.trainers.registry import SetupRequest

IMPORT = "from guerdon import get_reward_function\n"


def absolute(spec: str) -> str:
    """A reward's name with the file in it as an absolute path: trainers work in folders of their own.

    >>> absolute("math"), absolute("/rewards/mine.py::brief"), absolute("http://[::1]:8000")
    ('math', '/rewards/mine.py::brief', 'http://[::1]:8000')
    """
    path, name = _file_in(spec)
    return spec if path is None else f"{os.path.abspath(path)}{name}"


def module_path(request: SetupRequest) -> str:
    """A reward's file as a module, where it is one from the folder of the setup; else its absolute path.

    For configurations, in which a place cannot be named by the place of another file.
    """
    path, name = _file_in(request.spec)
    if path is None or request.directory is None:
        return absolute(request.spec)
    place = os.path.relpath(path, request.directory)
    parts = place.removesuffix(".py").split(os.sep)
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts) or _is_taken(parts[0]):
        return absolute(request.spec)
    if not place.endswith(".py"):  # a folder of Reward Kit's
        parts, name = [*parts, FOLDER_FILE.removesuffix(".py")], f"::{FOLDER_FUNCTION}"
    return f"{'.'.join(parts)}:{name.lstrip(':')}"


def _is_taken(module: str) -> bool:
    """Whether a module of this name is installed, which would be imported in place of the reward's."""
    return module in sys.stdlib_module_names or module in packages_distributions()


def _file_in(spec: str) -> tuple[str | None, str]:
    """The path of a file or a folder in a reward's name, where there is one, and what follows it."""
    if spec.startswith(("http://", "https://")):
        return None, ""
    path, colons, name = spec.partition("::")
    if colons or path.endswith(".py") or (os.sep in path and os.path.isdir(path)):
        return path, f"{colons}{name}"
    return None, ""


def slug(name: str) -> str:
    """A reward's name as a module, a function or a variable may have it.

    >>> slug("accuracy-format v1"), slug("class"), slug("2nd")
    ('accuracy_format_v1', 'reward_class', 'reward_2nd')
    """
    found = re.sub(r"\W+", "_", name).strip("_")
    return f"reward_{found}".rstrip("_") if not found.isidentifier() or keyword.iskeyword(found) else found


def identifier(request: SetupRequest) -> str:
    """The reward's name as one that Python can import."""
    return slug(request.reward.name)


def docstring_name(request: SetupRequest) -> str:
    """The reward's name as it may stand in a docstring: a server chooses its own name, which is not trusted.

    >>> from guerdon import RewardFunction
    >>> docstring_name(SetupRequest(spec="odd", reward=RewardFunction(len, name='a "b" c')))
    'a  b  c'
    """
    return re.sub(r'["\\\x00-\x1f\x7f]+', " ", request.reward.name).strip()


def imports_source(request: SetupRequest, imports: str = IMPORT) -> str:
    """The imports of a file that has ``reward_source`` in it, and the constant that it reads."""
    if _file_in(request.spec)[0] is None or request.directory is None:
        return imports
    return f"from pathlib import Path\n\n{imports}\nHERE = Path(__file__).resolve().parent\n"


def reward_source(request: SetupRequest, file: str) -> str:
    """The source of the reward for ``file``, whose place is below the folder of the request.

    The file begins with ``imports_source``.
    """
    path, name = _file_in(request.spec)
    if path is None or request.directory is None:
        first = repr(absolute(request.spec))
    else:
        place = os.path.relpath(path, (request.directory / file).parent).replace(os.sep, "/")
        first = "f" + repr("{HERE}/" + f"{place}{name}".replace("{", "{{").replace("}", "}}"))
    return f"get_reward_function({', '.join(filter(None, [first, options_source(request.parameters)]))})"


def adapter_source(request: SetupRequest, trainer: str, file: str) -> str:
    """The source of what ``trainer`` takes; the file that it stands in begins with ``imports_source``."""
    method = f"to_{trainer.replace('-', '_')}"
    return f"{reward_source(request, file)}.{call(method, [], request.options)}"


def module_source(
    request: SetupRequest, file: str, *, title: str, attribute: str, trainer: str, imports: str = IMPORT
) -> str:
    """The text of a module whose ``attribute`` is the reward as ``trainer`` takes it; ``title`` is its own name."""
    return (
        f'"""{docstring_name(request)} for {title}."""\n\n'
        f"{imports_source(request, imports)}\n"
        f"{attribute} = {adapter_source(request, trainer, file)}\n"
    )


def call(function: str, values: list[Any], named: Mapping[str, Any]) -> str:
    """The source of a call. Raises InputError for a value that no literal can stand for.

    >>> call("get", ["math"], {"tolerance": 0.1, "class": 1})
    "get('math', tolerance=0.1, **{'class': 1})"
    """
    for name, value in named.items():
        if not _is_literal(value):
            raise InputError(
                f"{name}={value!r} cannot be written to a file; set it in a reward of your own and use that"
            )
    fit = {
        name: value for name, value in named.items() if name.isidentifier() and not keyword.iskeyword(name)
    }
    rest = {name: value for name, value in named.items() if name not in fit}
    parts = [repr(value) for value in values] + [f"{name}={value!r}" for name, value in fit.items()]
    return f"{function}({', '.join([*parts, f'**{rest!r}'] if rest else parts)})"


def options_source(options: Mapping[str, Any]) -> str:
    """An adapter's options as keyword arguments.

    >>> options_source({"on_failure": 0.5, "workers": 2})
    'on_failure=0.5, workers=2'
    """
    return call("", [], options)[1:-1]


def _is_literal(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_literal(k) and _is_literal(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_literal, value))
    # The source of an infinite number, or of NaN, is a name that is not defined.
    return value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))

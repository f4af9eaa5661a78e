"""What is wrong with a configuration, in one line: Hydra's and OmegaConf's errors, in words for a reader."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

_LISTED = 10
"""Keys of a group that a message lists."""

_IN_FILE = re.compile(r"In '([\w/.-]+)'")


def nearest(name: str, there: Iterable[str]) -> str:
    """The end of a sentence: what may be meant, or else what there is.

    >>> nearest("tinny", ["tiny", "huggingface"]), nearest("x", ["tiny", "huggingface"])
    ('; did you mean tiny?', '; there are tiny, huggingface')
    """
    names = list(there)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; there are {', '.join(names)}" if names else "; there are none"


def no_such_key(key: str, keys: Iterable[str], groups: Iterable[str] = ()) -> str:
    """The sentence for a key that no configuration has.

    >>> no_such_key("training.reward_fn", ["training.reward_function", "training.num_epochs"])
    'there is no key training.reward_fn; did you mean training.reward_function?'
    """
    known = list(keys)
    group, _, last = key.rpartition(".")
    if group and not any(name.startswith(f"{group}.") for name in known):
        group = next(iter(difflib.get_close_matches(group, groups, n=1)), "")
    # A key that is right but for its group is nearer than one that happens to be spelt alike.
    same = [name for name in known if name.rpartition(".")[2] == last]
    inside = [name for name in known if name.startswith(f"{group}.")] if group else []
    if close := same[:1] or _alike(last, inside, 0.6) or _alike(last, known, 0.75):
        return f"there is no key {key}; did you mean {close[0]}?"
    if inside and len(inside) <= _LISTED:
        there = ", ".join(name.removeprefix(f"{group}.") for name in inside)
        return f"there is no key {key}; {group} has {there}"
    if group and not key.startswith(f"{group}."):
        return f"there is no key {key}; did you mean {group}.…?"
    return f"there is no key {key}; all there are: guerdon train --cfg job"


def _alike(last: str, keys: Iterable[str], cutoff: float) -> list[str]:
    """The key whose own name, without its group, is nearest."""
    tails = {key.rpartition(".")[2]: key for key in keys}
    return [tails[name] for name in difflib.get_close_matches(last, tails, n=1, cutoff=cutoff)]


def in_words(
    error: BaseException,
    keys: Mapping[str, Any],
    groups: Mapping[str, Iterable[str]] | None = None,
    folder: Path | None = None,
) -> str:
    """An error of Hydra's, OmegaConf's or YAML's on one line, with the file where one is to blame."""
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError, MissingMandatoryValue, ValidationError

    root = _root(error)
    where = _where(error, folder)
    key = str(getattr(root, "full_key", None) or "")
    if isinstance(root, MissingMandatoryValue):
        return f"{where}{key} must be set: {key}=…"
    if isinstance(root, ConfigAttributeError | ConfigKeyError) and key:
        return where + no_such_key(key, keys, groups or ())
    missing, there = getattr(error, "missing_cfg_file", None), getattr(error, "options", None)
    if missing and "/" in str(missing):
        group, _, option = str(missing).rpartition("/")
        return f"{where}there is no {group}={option}{nearest(option, there or ())}"
    if isinstance(root, ValidationError) and key in keys:
        return f"{where}{key} must be {_wanted(keys[key])}{_given(str(root))}"
    if key:
        return f"{where}{key}: {_decapitalized(str(root).strip().split(chr(10))[0])}"
    return where + one_line(root)


def one_line(error: BaseException) -> str:
    """An error's own text on one line.

    >>> one_line(ValueError("not\\n  this way"))
    'not this way'
    """
    return " ".join(str(error).split()) or type(error).__name__


def _root(error: BaseException) -> BaseException:
    """What was raised first: Hydra wraps OmegaConf's errors, with a cause or while it handles them."""
    from omegaconf.errors import OmegaConfBaseException

    at: BaseException | None = error
    while at is not None and not isinstance(at, OmegaConfBaseException):
        at = at.__cause__ or at.__context__
    return error if at is None else at


def _where(error: BaseException, folder: Path | None) -> str:
    found = _IN_FILE.search(str(error))
    if found is None:
        return ""
    if folder is not None and (path := folder / f"{found[1]}.yaml").is_file():
        return f"{path}: "
    return f"{found[1]}: " if not found[1].startswith("guerdon_") else ""


_TYPES = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "null"}
_VALUE = re.compile(r"Value (.+?) (?:of type|is not)")


def _wanted(hint: Any) -> str:
    """A type in words.

    >>> _wanted(int | None), _wanted(list[str])
    ('a whole number or null', 'a list, written [a,b]')
    """
    if (parts := get_args(hint)) and type(None) in parts:
        return " or ".join(_wanted(part) for part in parts)
    origin = get_origin(hint) or hint
    if origin is list:
        return "a list, written [a,b]"
    if origin is dict:
        return "an object, written {a: 1}"
    return _TYPES.get(origin, "a group of keys")


def _given(text: str) -> str:
    """What was given instead, where the error says it."""
    if "is not Optional" in text:
        return ", not null"
    found = _VALUE.search(text)
    return f", not {found[1]}" if found else ""


def _decapitalized(text: str) -> str:
    return text[:1].lower() + text[1:]

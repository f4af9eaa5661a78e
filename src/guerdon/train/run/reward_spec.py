"""Reward specs: what a configuration writes for ``training.reward_function``, as one RewardFunction."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.checks import finite
from guerdon.errors import BindingError, InputError, ResolutionError
from guerdon.reward.compose import weighted
from guerdon.reward.function import RewardFunction
from guerdon.reward.loading.imports import is_path
from guerdon.reward.loading.modules import failed_import, load_file
from guerdon.reward.names import by_name
from guerdon.reward.registry import resolve

CUSTOM = "custom_rewards"
"""The module of a project's own rewards: imported, where the working directory has one, before a name is looked
for, so that what it registers is found; a function of it may be named alone."""

_KEYS = ("name", "weight", "parameters")


@dataclass(frozen=True, slots=True)
class RewardTerm:
    """One reward of a spec."""

    name: str
    """A registered name, a path or the address of a server."""
    weight: float | None = None
    """None where the spec says none."""
    parameters: Mapping[str, Any] = field(default_factory=dict)


def build_reward(
    spec: Any, *, parameters: Mapping[str, Any] | None = None, modules: Sequence[str] = ()
) -> RewardFunction:
    """The reward of a spec; several become their weighted sum, with weights of 1 where none are said.

    A spec is a name, a path (``file.py::name``, ``pkg.mod.name``) or the address of a server; an object with
    ``name`` and, where they are wanted, ``weight`` and ``parameters``; an object from names to weights; or a list
    of names and such objects. ``parameters`` are those of the only reward. ``modules`` are imported first, as is
    ``custom_rewards`` where the working directory has one: they may register rewards under names.

    Raises InputError where the spec is none, ResolutionError where a name leads nowhere, BindingError for a
    parameter that a reward lacks.

    >>> build_reward("length", parameters={"minimum": 1}).name
    'length'
    >>> both = build_reward([{"name": "length", "weight": 0.2, "parameters": {"minimum": 1}}, "conciseness"])
    >>> [(term.name, term.weight) for term in both.components]
    [('length', 0.2), ('conciseness', 1.0)]
    """
    terms = list(reward_terms(spec))
    if parameters and len(terms) > 1:
        raise InputError(
            "training.reward_parameters apply to a single reward; give each of several rewards its own: "
            "{name: math, weight: 0.8, parameters: {…}}"
        )
    custom = _import_all(modules)
    rewards = [_reward(term, parameters or {}, custom) for term in terms]
    if len(terms) == 1 and terms[0].weight is None:
        return rewards[0]
    return weighted(*rewards, weights=[1.0 if term.weight is None else term.weight for term in terms])


def reward_terms(spec: Any) -> Iterator[RewardTerm]:
    """The rewards that a spec names, in order.

    >>> [(term.name, term.weight) for term in reward_terms({"math": 0.8, "format": 0.2})]
    [('math', 0.8), ('format', 0.2)]
    """
    items: Sequence[Any] = spec if isinstance(spec, list | tuple) else [spec]
    if not items:
        raise InputError("training.reward_function is an empty list; name a reward, such as math")
    for item in items:
        if isinstance(item, str):
            yield RewardTerm(item.strip())
        elif isinstance(item, Mapping) and "name" in item:
            yield _term(item)
        elif isinstance(item, Mapping) and item and all(_is_number(weight) for weight in item.values()):
            yield from (RewardTerm(str(name), _weight(weight)) for name, weight in item.items())
        else:
            raise InputError(
                f"training.reward_function: {_shown(item)} does not name a reward; write math, file.py::name, "
                "{name: math, weight: 0.8} or a list of these"
            )


def foreign_code(spec: Any, modules: Sequence[str]) -> list[str]:
    """What of a spec is more than the bare names of registered rewards: code, addresses, and rewards with parameters,
    which may name either.

    >>> foreign_code(["math", "my.py::exact", {"name": "judge", "parameters": {"model": "m"}}], [])
    ['my.py::exact', 'judge with parameters']
    """
    found = list(map(str, modules))
    for term in reward_terms(spec):
        if term.name.startswith(("http://", "https://")) or is_path(term.name):
            found.append(term.name)
        elif term.parameters:
            found.append(f"{term.name} with parameters")
    return found


def _term(item: Mapping[str, Any]) -> RewardTerm:
    name = item["name"]
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"training.reward_function: a name must be text, not {_shown(name)}")
    if unknown := [key for key in item if key not in _KEYS]:
        raise InputError(
            f"training.reward_function: {name} has an unknown key {_shown(unknown[0])}; there are "
            f"{', '.join(_KEYS)}, and the reward's own parameters go below parameters"
        )
    parameters = item.get("parameters") or {}
    if not isinstance(parameters, Mapping):
        raise InputError(f"training.reward_function: the parameters of {name} must be an object")
    weight = None if item.get("weight") is None else _weight(item["weight"])
    return RewardTerm(name.strip(), weight, {str(key): value for key, value in parameters.items()})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _weight(value: Any) -> float:
    try:
        return finite(value, "weight")
    except ValueError as error:
        raise InputError(f"training.reward_function: {error}") from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


# From names to rewards.


def _import_all(modules: Sequence[str]) -> Any:
    """Import what may register rewards; gives the project's own module of rewards, where it has one."""
    for module in modules:
        _imported(module)
    here = Path(f"{CUSTOM}.py").is_file() or Path(CUSTOM, "__init__.py").is_file()
    return _imported(CUSTOM) if here else None


def _imported(module: str) -> Any:
    if module.endswith(".py"):
        if not Path(module).is_file():
            raise ResolutionError(f"training.reward_modules: there is no file {module}", path=module)
        return load_file(Path(module))
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise failed_import(error, module) from error
        raise ResolutionError(
            f"training.reward_modules: there is no module {module!r} here or on PYTHONPATH", path=module
        ) from None
    except (Exception, SystemExit) as error:  # the edge to the user's module
        raise failed_import(error, module) from error


def _reward(term: RewardTerm, parameters: Mapping[str, Any], custom: Any) -> RewardFunction:
    given = {**parameters, **term.parameters}
    target: Any = term.name
    is_bare = not term.name.startswith(("http://", "https://")) and not is_path(term.name)
    if is_bare and custom is not None and by_name(term.name) is None:
        target = getattr(custom, term.name, term.name)
    if "name_or_path" in given or "spec" in given:
        raise BindingError("a reward's parameter cannot be set by the name 'name_or_path' or 'spec' here")
    return resolve(target, **given)

"""The instructions of a row, in the shapes in which the field's data sets bring them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown, text_list
from guerdon.rewards.instructions.kinds import Instruction, Kind, instruction

_IDS = ("instruction_id_list", "instruction_id")
_DEEP = (ValueError, SyntaxError, RecursionError, MemoryError)


def instructions_of(
    ids: Any, arguments: Any, ground_truth: Any, kinds: Mapping[str, Kind]
) -> list[Instruction]:
    """The instructions from the columns ``instruction_id_list`` and ``kwargs``, else from a ground truth that holds
    them. Raises InputError where they are not there or do not fit."""
    if ids is None:
        if arguments is not None:
            raise InputError("there is kwargs, but no instruction_id_list that it belongs to")
        pairs = _of_ground_truth(ground_truth)
    else:
        pairs = _paired(ids, arguments)
    return [instruction(id, given, kinds) for id, given in pairs]


def _paired(ids: Any, arguments: Any) -> list[tuple[str, Mapping[str, Any]]]:
    names = text_list(ids, "instruction_id_list")
    values = _decoded(arguments, "kwargs")
    if values is None:
        values = [None] * len(names)
    elif isinstance(values, Mapping):
        values = [values]
    elif not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise InputError(f"kwargs must be a list of objects, one for each instruction, not {shown(values)}")
    given = [_object(value) for value in values]
    if len(given) != len(names):
        raise InputError(f"there are {len(names)} instructions, but {len(given)} kwargs; give one for each")
    return list(zip(names, given, strict=True))


def _object(value: Any) -> Mapping[str, Any]:
    value = _decoded(value, "kwargs")
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"kwargs must hold an object for each instruction, not {shown(value)}")
    return value


def _of_ground_truth(value: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """From an object with ids and kwargs, or a list of such objects."""
    found = _decoded(value, "ground_truth")
    if found is None:
        raise InputError("there is no instruction to check: give instruction_id_list and kwargs")
    objects = [found] if isinstance(found, Mapping) else found
    if not isinstance(objects, list | tuple):
        raise InputError(
            f"ground_truth must hold instructions, not {shown(value)}; or give instruction_id_list"
        )
    pairs: list[tuple[str, Mapping[str, Any]]] = []
    for item in objects:
        item = _decoded(item, "ground_truth")
        if isinstance(item, Mapping) and "func_name" in item:
            pairs.append((str(item["func_name"]), {n: v for n, v in item.items() if n != "func_name"}))
            continue
        name = next((name for name in _IDS if isinstance(item, Mapping) and name in item), None)
        if name is None:
            raise InputError(
                "ground_truth must hold objects with instruction_id and kwargs, or give both as columns"
            )
        pairs += _paired(item[name], item.get("kwargs"))
    return pairs


def _decoded(value: Any, what: str) -> Any:
    """What a text of JSON holds, or a text as Python writes lists and objects, as some data sets have it."""
    if not isinstance(value, str):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except _DEEP:
            continue
    raise InputError(f"{what} is not JSON: {shown(value)}")

"""JSON Schemas as they are given, and the validators made of them."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.rewards.common.json_text import MAX_DEPTH, is_deep, read_json, without_surrogates
from guerdon.rewards.common.parameters import shown
from guerdon.rewards.json_schema.structure import paths_of_schema

DRAFTS: Mapping[str, str] = {
    "4": "Draft4Validator",
    "6": "Draft6Validator",
    "7": "Draft7Validator",
    "2019-09": "Draft201909Validator",
    "2020-12": "Draft202012Validator",
}
"""The drafts of JSON Schema, as the parameter has them, and the library's class for each."""

_EXPLAINED_DEPTH = 3
_EXPLAINED_VALUES = 1_000

Schema = dict[str, Any] | bool


def schema_of(value: Any, what: str = "the schema") -> Schema:
    """A schema from a mapping, its JSON text, a Pydantic model, or OpenAI's ``response_format``.

    Raises InputError for what is none of these.
    """
    if isinstance(value, type) and callable(describe := getattr(value, "model_json_schema", None)):
        value = describe()
    if isinstance(value, str):
        read = read_json(value)
        if read.problem:
            raise InputError(f"{what} must be a JSON Schema; as text it is {read.problem}")
        value = read.value
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be an object, its JSON text or a Pydantic model, not {shown(value)}")
    if value.get("type") == "json_schema" and isinstance(value.get("json_schema"), Mapping):
        value = value["json_schema"]
    # "schema" is no keyword of JSON Schema: it is the name under which OpenAI's format holds one.
    if isinstance(value.get("schema"), Mapping) and not value.keys() & {
        "type",
        "properties",
        "$schema",
        "$ref",
    }:
        value = value["schema"]
    return dict(value)


def schemas_of(value: Any) -> dict[str, Schema]:
    """Schemas by the URI that others refer to them by, from a mapping or its JSON text."""
    if value is None:
        return {}
    if isinstance(value, str):
        value = read_json(value).value
    if not isinstance(value, Mapping):
        raise InputError('schemas must be an object from URI to schema: {"https://example.org/a": {…}}')
    return {
        str(uri).removesuffix("#"): schema_of(schema, f"the schema of {shown(str(uri))}")
        for uri, schema in value.items()
    }


def draft_of(value: Any) -> str:
    """The name of a draft as DRAFTS has it, from ``draft7``, ``7``, ``2020-12`` and the like; empty for None."""
    if value is None:
        return ""
    name = str(value).strip().lower().removeprefix("draft").strip(" -_").removeprefix("0")
    if name not in DRAFTS:
        raise InputError(f"draft must be one of {', '.join(DRAFTS)}, not {shown(value)}")
    return name


class Validator:
    """A schema that was found to be one, ready to judge values."""

    def __init__(self, schema: Schema, compiled: Any, error: type[Exception], text: str) -> None:
        self.paths = paths_of_schema(schema)
        self.required_paths = paths_of_schema(schema, required_only=True)
        self._compiled = compiled
        self._error = error
        self._has_branches = '"anyOf"' in text or '"oneOf"' in text
        self._max_depth = _EXPLAINED_DEPTH if 'Ref"' in text or '"$ref"' in text else MAX_DEPTH

    def problem(self, value: Any) -> str:
        """What is wrong with the value, in a line; empty where it is valid."""
        try:
            return self._problem(value)
        except UnicodeEncodeError:
            return self._problem(without_surrogates(value))

    def _problem(self, value: Any) -> str:
        if self._compiled.is_valid(value):
            return ""
        # An error of anyOf holds those of all its branches: where these recurse, or go over long lists, making
        # it takes far longer than the verdict.
        if self._has_branches and (is_deep(value, self._max_depth) or _is_large(value)):
            return "it is not valid against the schema"
        try:
            self._compiled.validate(value)
        except self._error as error:
            return _located(error)
        except UnicodeEncodeError:
            raise
        except ValueError:  # the error quotes a number of more digits than Python turns into text
            pass
        return "it is not valid against the schema"


def _located(error: Any) -> str:
    at = "/".join(map(str, error.instance_path))
    return f"{at or 'the value'}: {_brief(error.message)}"


def _is_large(value: Any) -> bool:
    waiting, count = [value], 0
    for item in waiting:
        if isinstance(item, dict | list):
            count += len(item)
            if count > _EXPLAINED_VALUES:
                return True
            waiting.extend(item.values() if isinstance(item, dict) else item)
    return False


def validator(schema: Schema, schemas: Mapping[str, Schema], draft: str, formats: bool) -> Validator:
    """The validator of a schema; the same one for the same schema.

    References lead into the schema itself, the schemas given and the drafts' own, nowhere else: nothing is
    ever fetched. Raises InputError for an invalid schema.
    """
    return _validator(_text(schema), _text(dict(schemas)), draft, formats)


def _text(schema: Any) -> str:
    try:
        return json.dumps(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the schema is not JSON: {_brief(str(error))}") from None


@functools.lru_cache(maxsize=256)
def _validator(schema_text: str, schemas_text: str, draft: str, formats: bool) -> Validator:
    library = _library()
    schema, schemas = json.loads(schema_text), json.loads(schemas_text)

    def given(uri: str) -> Any:
        return schemas[uri.removesuffix("#")]

    options: dict[str, Any] = {"validate_formats": formats, "retriever": given}
    try:
        if own := _metaschemas(schema, schemas):
            options["registry"] = library.Registry(own, retriever=given)
            if not formats and "$vocabulary" in own[0][1]:
                options["validate_formats"] = None  # as its vocabulary says
        if draft:
            compiled = getattr(library, DRAFTS[draft])(schema, **options)
        else:
            compiled = library.validator_for(schema, **options)
    except library.ValidationError as error:
        at = "/".join(map(str, error.instance_path))
        raise InputError(_invalid(f"{at}: {error.message}" if at else error.message)) from None
    except (library.ReferencingError, ValueError, TypeError) as error:
        raise InputError(_invalid(str(error))) from None
    return Validator(schema, compiled, library.ValidationError, schema_text + schemas_text)


def _metaschemas(schema: Any, schemas: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The schema's own metaschema, where it is one of those that are given."""
    name = schema.get("$schema") if isinstance(schema, dict) else None
    uri = name.removesuffix("#") if isinstance(name, str) else ""
    return [(uri, schemas[uri])] if uri in schemas else []


def _invalid(why: str) -> str:
    why = _brief(why)
    if "not present in a registry" in why:
        why = why.partition(" and retrieving it failed")[0]
        return f"the schema refers to what is not given: {why}; give it in schemas"
    if ": null is not of type" in why:  # tables of Arrow give every object the members of all the others
        why += "; in a table keep schemas as JSON text, since its objects are filled up with nulls"
    return f"the schema is not valid: {why}"


def _brief(text: str) -> str:
    line = " ".join(text.split("\n", 1)[0].split())
    return line if len(line) <= 200 else line[:199] + "…"


def _library() -> ModuleType:
    try:
        import jsonschema_rs
    except ImportError as error:
        raise MissingExtraError.of("schema", "the json_schema reward") from error
    return jsonschema_rs

"""The test suite of JSON Schema: instances that are valid or not, by draft and keyword."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guerdon.accuracy.suite import CatalogueVerifier, ExternalVerifier, LabelledCase, Suite

FOLDER = "json_schema_test_suite"
DRAFTS = {"draft7": "7", "draft2020-12": "2020-12"}
_HOST = "http://localhost:1234/"
_FILES = (f"{FOLDER}/tests/draft7", f"{FOLDER}/tests/draft2020-12", f"{FOLDER}/remotes")


def required(data: Path) -> Iterator[LabelledCase]:
    """The cases that every implementation has to get right."""
    yield from _cases(data, "*.json", formats=False)


def optional(data: Path) -> Iterator[LabelledCase]:
    """The cases that an implementation may leave out: formats, other dialects of regular expressions."""
    yield from _cases(data, "optional/*.json", formats=False)
    yield from _cases(data, "optional/format/*.json", formats=True)


def _cases(data: Path, pattern: str, formats: bool) -> Iterator[LabelledCase]:
    folder = data / FOLDER
    remotes = _remotes(folder / "remotes")
    for directory, draft in DRAFTS.items():
        tests = folder / "tests" / directory
        for path in sorted(tests.glob(pattern)):
            name = path.relative_to(tests).with_suffix("").as_posix()
            for g, group in enumerate(json.loads(path.read_text(encoding="utf-8"))):
                columns = {"schema": group["schema"], "draft": draft, "formats": formats}
                if _HOST in json.dumps(group["schema"]):
                    columns["schemas"] = remotes
                for t, test in enumerate(group["tests"]):
                    messages = [{"role": "assistant", "content": json.dumps(test["data"])}]
                    case = f"{directory}/{name}/{g}/{t}"
                    yield LabelledCase(
                        case, {"messages": messages, **columns}, test["valid"], f"{directory} {name}"
                    )


def _remotes(folder: Path) -> dict[str, Any]:
    return {
        _HOST + path.relative_to(folder).as_posix(): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.json"))
    }


def jsonschema_verdict(row: Any) -> bool | None:
    """What the package jsonschema says of a case; None where it raises."""
    import jsonschema
    import referencing.jsonschema

    draft7 = row["draft"] == "7"
    validator = jsonschema.Draft7Validator if draft7 else jsonschema.Draft202012Validator
    default = referencing.jsonschema.DRAFT7 if draft7 else referencing.jsonschema.DRAFT202012
    resources = [
        (uri, referencing.Resource.from_contents(schema, default_specification=default))
        for uri, schema in row.get("schemas", {}).items()
    ]
    checker = validator.FORMAT_CHECKER if row["formats"] else None
    try:
        judge = validator(
            row["schema"], registry=referencing.Registry().with_resources(resources), format_checker=checker
        )
        return bool(judge.is_valid(json.loads(row["messages"][-1]["content"])))
    except Exception:  # whatever it raises of a case, it decides nothing then
        return None


_CATALOGUE = (CatalogueVerifier("json_schema", "json_schema"),)
_EXTERNAL = (ExternalVerifier("jsonschema", "jsonschema", jsonschema_verdict),)

SUITES = (
    Suite(
        name="json-schema",
        title="JSON Schema test suite, drafts 7 and 2020-12, the required cases",
        files=_FILES,
        cases=required,
        catalogue=_CATALOGUE,
        external=_EXTERNAL,
        aim="every case right",
    ),
    Suite(
        name="json-schema-optional",
        title="JSON Schema test suite, drafts 7 and 2020-12, the optional cases",
        files=_FILES,
        cases=optional,
        catalogue=_CATALOGUE,
        external=_EXTERNAL,
        aim="printed, not promised: these cases are optional in the standard",
    ),
)

"""The reward ``json_schema``: is the JSON of a response valid against a schema?"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.json_text import (
    Read,
    balanced,
    comments,
    fences,
    outside,
    read_json,
    said,
    same_json,
)
from guerdon.rewards.common.parameters import (
    among,
    needs,
    one_of,
    parameter_check,
    response_text,
    shown,
    text_list,
    yes_or_no,
)
from guerdon.rewards.json_schema.schemas import Schema, Validator, draft_of, schema_of, schemas_of, validator
from guerdon.rewards.json_schema.structure import paths_of, share, similarity
from guerdon.types import EvaluateResult, MetricResult

PLACES = ("fence", "text")
SCORINGS = ("valid", "fraction", "equal")


def _check(
    schema: Any = None,
    json_schema: Any = None,
    expected_schema: Any = None,
    draft: Any = None,
    schemas: Any = None,
    **given: Any,
) -> None:
    parameter_check(formats=yes_or_no, bare=yes_or_no, scoring=among(SCORINGS))(**given)
    _places(given.get("extract"), yes_or_no(given.get("bare", False), "bare"))
    others, name = schemas_of(schemas), draft_of(draft)
    if (rule := next((s for s in (schema, json_schema, expected_schema) if s is not None), None)) is not None:
        read = schema_of(rule)
        with contextlib.suppress(MissingExtraError):  # which is said before a run
            validator(read, others, name, yes_or_no(given.get("formats", False), "formats"))


@reward_function(reach=needs("jsonschema_rs", "schema", "the json_schema reward"), scale=(0, 1), check=_check)
def json_schema(
    response: str,
    ground_truth: Any = None,
    *,
    schema: Any = None,
    json_schema: Any = None,
    expected_schema: Any = None,
    draft: str | None = None,
    formats: bool = False,
    schemas: Mapping[str, Any] | None = None,
    extract: str | Sequence[str] | None = None,
    bare: bool = False,
    scoring: str = "valid",
) -> EvaluateResult:
    """Scores 1 where the response holds JSON that is valid against the schema, else 0.

    The schema is an object, its JSON text, in Python also a Pydantic model, or OpenAI's ``response_format``
    around one; it is given as ``schema``, ``json_schema`` or ``expected_schema``, as a parameter or a column.
    It is read by the ``draft`` that is named, out of 4, 6, 7, 2019-09 and 2020-12, else by the one of its
    ``$schema``, else by 2020-12. ``formats`` makes ``format`` a condition. References to other schemas
    lead to those given in ``schemas`` by their URI; nothing is ever fetched.

    The JSON is the whole response, else the last block fenced as ``json`` or without a label, else the last
    object in the text, or the last array where the schema is one of arrays. ``extract`` chooses out of
    ``fence`` and ``text``; with ``bare`` nothing may stand around the JSON. Text before ``</think>``
    is ignored. Names that occur twice in an object, ``NaN`` and values nested more than 128 deep are
    no JSON here.

    ``scoring="fraction"`` scores by the metric ``similarity`` instead; ``scoring="equal"`` also asks that
    the JSON equals the one of the ground truth.

    Scale: 0 to 1; 0 or 1 unless ``scoring="fraction"``.

    The metric ``json_found`` says whether there was JSON, ``valid`` whether it fits the schema,
    ``similarity`` is the Jaccard index of its paths with their types and the schema's, ``required`` the share
    of the required paths that are there, and ``equal`` whether it equals the ground truth, where that is JSON.

    Source: JSON Schema drafts 4 to 2020-12 (json-schema.org) as jsonschema-rs has them; the similarity is that
    of reward-kit's json_schema reward.

    Raises InputError for an invalid schema or one that refers to a schema that is not given, MissingExtraError without
    jsonschema-rs.

    >>> person = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    >>> json_schema('{"age": 42}', schema=person).score
    1.0
    >>> json_schema('Here: {"age": "42"}', schema=person).reason
    'age: "42" is not of type "integer"'
    """
    text = response_text(response)
    rule = _schema(schema, json_schema, expected_schema)
    judge = validator(rule, schemas_of(schemas), draft_of(draft), yes_or_no(formats, "formats"))
    places = _places(extract, yes_or_no(bare, "bare"))
    scoring = one_of(scoring, SCORINGS, "scoring")
    gold = _gold(ground_truth, scoring == "equal")
    read = _find(text, places, _wants_array(rule))
    found = MetricResult(float(not read.problem), success=not read.problem, reason=read.problem or "found")
    metrics = {"json_found": found, **_structure(judge, read)}
    problem = read.problem or judge.problem(read.value)
    metrics["valid"] = MetricResult(float(not problem), success=not problem)
    if gold is not None:
        equal = not read.problem and same_json(gold, read.value)
        metrics["equal"] = MetricResult(float(equal), success=equal)
        if scoring == "equal" and not problem and not equal:
            problem = "it is valid, but not the JSON of the ground truth"
    score = metrics["similarity"].score if scoring == "fraction" else float(not problem)
    return EvaluateResult(score, reason=problem or "valid", metrics=metrics)


def _schema(*given: Any) -> Schema:
    found = [value for value in given if value is not None]
    if not found:
        raise InputError("no schema: give one as schema, json_schema or expected_schema, or as such a column")
    return schema_of(found[0])


def _places(extract: Any, bare: bool) -> list[str]:
    if extract is None:
        return [] if bare else list(PLACES)
    if bare:
        raise InputError("give either extract or bare")
    return [one_of(place, PLACES, "extract") for place in text_list(extract, "extract")]


def _gold(ground_truth: Any, needed: bool) -> Any:
    """The JSON of the ground truth; None where it is something else, such as an answer in words."""
    read = read_json(ground_truth) if isinstance(ground_truth, str) else Read(ground_truth, 0)
    if needed and (ground_truth is None or read.problem):
        raise InputError(f'scoring="equal" needs JSON as ground truth, not {shown(ground_truth)}')
    return None if read.problem else read.value


def _wants_array(schema: Schema) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "array"


def _find(text: str, places: Sequence[str], wants_array: bool) -> Read:
    """The JSON of a response, from the first of the places that holds any."""
    whole = read_json(text)
    if not whole.problem:
        return whole
    text = said(text)
    whole = read_json(text)
    if not whole.problem:
        return whole
    for place in places:
        read = _in_fence(text) if place == "fence" else _in_text(text, wants_array)
        if read is not None:
            return read
    return Read(None, 0, whole.problem if not places else "no JSON found")


def _in_fence(text: str) -> Read | None:
    for fence in reversed(fences(text)):
        if fence.label == "json" or (not fence.label and fence.text.lstrip()[:1] in ("{", "[")):
            return read_json(fence.text)
    return None


def _in_text(text: str, wants_array: bool) -> Read | None:
    """The last object that means to be JSON, else the last array; only an array where one is wanted."""
    spans = list(outside(balanced(text), comments(text)))
    for sign in "[" if wants_array else "{[":
        for start, end in reversed(spans):
            # "{name}" and "[sic]" are not JSON gone wrong.
            if text[start] == sign and _opens_json(text[start + 1 : min(end, start + 1_000)].lstrip(), sign):
                return read_json(text[start:end])
    return None


def _opens_json(inner: str, sign: str) -> bool:
    return inner[:1] in ('"', "}") if sign == "{" else inner[:1] in tuple('"{[]-0123456789tfn')


def _structure(judge: Validator, read: Read) -> dict[str, MetricResult]:
    there = {} if read.problem else paths_of(read.value)
    alike = 0.0 if read.problem else similarity(judge.paths, there)
    present = 0.0 if read.problem else share(judge.required_paths, there)
    return {
        "similarity": MetricResult(alike, success=alike == 1),
        "required": MetricResult(
            present, success=present == 1, reason=f"of {len(judge.required_paths)} paths"
        ),
    }

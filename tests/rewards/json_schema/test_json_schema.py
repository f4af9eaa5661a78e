"""``json_schema``: valid or not, by which draft, with nothing fetched."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pydantic import BaseModel

import guerdon
from guerdon.rewards.json_schema.reward import json_schema

PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


class Address(BaseModel):
    city: str


class Person(BaseModel):
    name: str
    age: int | None = None
    homes: list[Address] = []


def test_a_model_of_pydantic_is_a_schema() -> None:
    right = json_schema('{"name": "Ann", "age": 7, "homes": [{"city": "Oslo"}]}', schema=Person)
    assert right.score == 1.0
    assert {name: metric.score for name, metric in right.metrics.items()} == {
        "json_found": 1.0,
        "similarity": 1.0,
        "required": 1.0,
        "valid": 1.0,
    }
    wrong = json_schema('{"name": "Ann", "homes": [{"town": "Oslo"}]}', schema=Person)
    assert (wrong.score, wrong.reason) == (0.0, 'homes/0: "city" is a required property')


@pytest.mark.parametrize(
    ("schema", "value", "similarity", "required"),
    [
        # Two of three paths alike; the third is there in another type, which makes two more.
        ({"properties": {"a": {"type": "string"}, "b": {"type": "number"}}}, {"a": "x", "b": "y"}, 1 / 3, 1),
        ({"properties": {"a": {}}}, {"a": [1]}, 0.5, 1),
        ({"properties": {"a": {"items": {"type": "number"}, "type": "array"}}}, {"a": [1, 2]}, 1, 1),
        ({"properties": {"a": {"items": {"type": "number"}, "type": "array"}}}, {"a": [1, "x"]}, 1 / 3, 1),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"const": 1}}}}, [{"a": 2}], 1, 1),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"required": ["a", "b"]}}}, {"a": 1}, 0, 0.5),
        (
            {"required": ["a"], "properties": {"a": {"required": ["b"], "type": "object"}}},
            {"a": {"c": 1}},
            0.5,
            0.5,
        ),
        ({"anyOf": [{"properties": {"a": {"type": "null"}}}, {"required": ["a"]}]}, {"a": None}, 1, 1),
        (True, {"a": 1}, 0, 1),
        ({}, {}, 1, 1),
        ({"$ref": "#"}, 1, 1, 1),
    ],
)
def test_similarity(schema: Any, value: Any, similarity: float, required: float) -> None:
    metrics = json_schema(json.dumps(value), schema=schema).metrics
    assert metrics["similarity"].score == pytest.approx(similarity)
    assert metrics["required"].score == pytest.approx(required)


def test_similarity_of_a_recursive_schema_is_finite_work() -> None:
    tree = {"properties": {side: {"$ref": "#"} for side in "abcdefgh"}, "required": ["a", "b"]}
    result = json_schema('{"a": {"b": {}}}', schema=tree)
    assert result.score == 0.0
    assert 0 < result.metrics["similarity"].score < 0.01


@pytest.mark.parametrize(
    ("schema", "response"),
    [
        # The errors of all branches at every depth would be 2 to the 100th.
        (
            {
                "anyOf": [
                    {"type": "integer"},
                    {"type": "array", "items": {"$ref": "#"}, "maxItems": 1},
                    {"type": "array", "items": {"$ref": "#"}, "minItems": 0},
                ]
            },
            "[" * 100 + '"x"' + "]" * 100,
        ),
        (
            {"oneOf": [{"items": {"type": "null"}}, {"items": {"type": "integer"}}]},
            json.dumps(["x"] * 200_000),
        ),
        ({"items": {"type": "integer"}}, json.dumps(["x"] * 200_000)),
        ({"pattern": "^(a|a)*\\1c$"}, json.dumps("a" * 100_000)),
        ({"uniqueItems": True}, json.dumps([[i] for i in range(100_000)] + [[0]])),
    ],
    ids=["recursive", "long", "long, plain", "backtracking", "unique"],
)
def test_what_is_wrong_is_told_in_time(schema: Any, response: str) -> None:
    start = time.perf_counter()
    result = json_schema(response, schema=schema)
    assert result.score == 0.0
    assert result.reason
    assert time.perf_counter() - start < 10  # under a second where nothing else runs


class _Recorder(BaseHTTPRequestHandler):
    seen: list[str]

    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self.send_response(404)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


def test_nothing_is_fetched(tmp_path: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Recorder)
    server.seen = []  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    local = tmp_path / "number.json"
    local.write_text('{"type": "number"}', encoding="utf-8")
    host = f"http://127.0.0.1:{server.server_port}"
    try:
        for schema in (
            {"$ref": f"{host}/ref"},
            {"$dynamicRef": f"{host}/dynamic"},
            {"$schema": f"{host}/meta"},
            {"$id": f"{host}/base/", "$ref": "other"},
            {"$ref": local.as_uri()},
        ):
            assert json_schema("1", schema=schema).error_kind == "input"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert server.seen == []  # type: ignore[attr-defined]


def test_a_metaschema_that_is_given_says_what_counts() -> None:
    lax = {
        "$id": "https://example.org/lax",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": True},
    }
    schema = {"$schema": "https://example.org/lax", "type": "string"}
    assert json_schema("1", schema=schema, schemas={"https://example.org/lax": lax}).score == 1.0
    assert json_schema("1", schema=schema).error_kind == "input"


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        (
            {"schema": {"$ref": "https://a.org/b"}},
            "Resource 'https://a.org/b' is not present in a registry; give it",
        ),
        ({"schema": {"pattern": "("}}, 'the schema is not valid: pattern: "(" is not a "regex"'),
        ({"schema": {"properties": {"a": {}, "b": None}}}, "in a table keep schemas as JSON text"),
        ({"schema": {"const": {1, 2}}}, "the schema is not JSON: Object of type set"),
        ({"schema": True, "schemas": [1]}, "schemas must be an object from URI to schema"),
        ({"schema": True, "formats": "perhaps"}, "formats must be true or false"),
        ({"schema": True, "scoring": "half"}, "scoring must be one of valid, fraction, equal"),
        ({"schema": True, "extract": "box"}, "extract must be one of fence, text"),
    ],
)
def test_parameters_that_cannot_be_read(parameters: dict[str, Any], says: str) -> None:
    result = json_schema("1", **parameters)
    assert result.error_kind == "input"
    assert says in str(result.error)


def test_a_deep_schema_is_an_error() -> None:
    schema: dict[str, Any] = {}
    for _ in range(20_000):
        schema = {"items": schema}
    assert json_schema("[]", schema=schema).error_kind == "input"


def test_it_runs_in_workers_with_a_model() -> None:
    rows = [{"messages": [{"role": "assistant", "content": text}]} for text in ('{"name": "Ann"}', "{}")]
    assert [result.score for result in guerdon.score("json_schema", rows, workers=1, schema=Person)] == [1, 0]


def test_the_samples_of_eval_protocol(data_dir: Path) -> None:
    """Their labels are of the similarity; JSON with every path has 1, none has 0."""
    for line in (data_dir / "function_calling" / "json_schema.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        about, label = row["input_metadata"]["dataset_info"], row["evaluation_result"]["metrics"]
        result = json_schema(row["messages"][-1]["content"], schema=about["expected_schema"])
        similarity = result.metrics["similarity"].score
        expected = label.get("schema_similarity", {"score": 0.0})["score"]
        assert (similarity == 1.0) is (expected == 1.0), about["test_case"]
        assert (similarity == 0.0) is (expected == 0.0), about["test_case"]

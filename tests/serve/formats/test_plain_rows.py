"""v1's samples as a prompt and a response."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.serve.formats.base import RewardInfo
from guerdon.serve.formats.v1 import V1Format
from guerdon.types import Sample
from support.format_work import SERVED, answer, read, refusal, roles, sample_in

V1 = V1Format()
TALK = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]


def exact(response: str, ground_truth: Any) -> bool:
    return bool(response == ground_truth)


def test_a_prompt_a_response_and_a_truth() -> None:
    row = {
        "prompt": "2 + 2?",
        "response": "4",
        "ground_truth": "4",
        "id": "a",
        "level": 3,
        "metadata": {"x": 1},
    }
    sample = sample_in(V1, "score", row)
    assert roles(sample) == [("user", "2 + 2?"), ("assistant", "4")]
    assert (sample.ground_truth, sample.id, sample.metadata) == ("4", "a", {"level": 3, "x": 1})
    status, result = answer(V1, "score", row, exact)
    assert (status, result["score"], result["id"]) == (200, 1.0, "a")


def test_the_prompt_and_the_response_may_be_messages() -> None:
    system = {"role": "system", "content": "Be brief."}
    row = {"prompt": [system, TALK[0]], "response": [TALK[1], {"role": "tool", "content": "5"}, TALK[1]]}
    sample = sample_in(V1, "score", row)
    assert [role for role, _ in roles(sample)] == ["system", "user", "assistant", "tool", "assistant"]
    assert sample_in(V1, "score", {"response": "4"}).original_messages == []


def test_columns_name_the_fields() -> None:
    row = {"question": "2 + 2?", "output": "4", "gold": "4", "level": 1}
    columns = {"prompt": "question", "response": "output", "ground_truth": "gold"}
    sample = sample_in(V1, "score", {**row, "columns": columns})
    assert (sample.prompt, sample.response, sample.ground_truth) == ("2 + 2?", "4", "4")
    assert sample.metadata == {"level": 1}


def test_columns_may_be_dotted() -> None:
    row = {"response": "4", "reward_model": {"ground_truth": "4"}}
    columns = {"ground_truth": "reward_model.ground_truth"}
    assert answer(V1, "score", {**row, "columns": columns}, exact)[1]["score"] == 1.0
    wrong = {"ground_truth": "reward_model.ground_truht"}
    assert "no field" in refusal(V1, "score", {**row, "columns": wrong})[0][1]
    far = {"response": "4", "x": ["4"], "columns": {"prompt": f"x.{'9' * 5000}"}}
    assert "no field" in refusal(V1, "score", far)[0][1]


def test_fields_are_found_by_their_names() -> None:
    row = {"question": "2 + 2?", "completion": "4", "answer": "4", "level": 1}
    status, result = answer(V1, "score", row, exact)
    assert (status, result["score"]) == (200, 1.0)
    assert result["columns"] == "prompt=question, response=completion, ground_truth=answer"
    assert "columns" not in answer(V1, "score", {"response": "4", "ground_truth": "4"}, exact)[1]
    several = {"samples": [row, {"response": "4", "ground_truth": "4"}]}
    found = answer(V1, "batch_score", several, exact)[1]["results"]
    assert [(result["score"], "columns" in result) for result in found] == [(1.0, True), (1.0, False)]


def test_a_batch_may_mix_both_forms() -> None:
    rows = [{"prompt": "2 + 2?", "response": "4", "id": 1}, {"messages": TALK, "id": 2}]
    parsed = read(V1, "batch_score", {"samples": rows})
    assert [s.response for s in parsed.samples if isinstance(s, Sample)] == ["4", "4"]
    assert parsed.context == [1, 2]
    bad = {"samples": [*rows, {"promt": "?", "response": "4"}]}
    assert refusal(V1, "batch_score", bad)[0][0] == ["body", "samples", 2, "promt"]


def test_over_the_socket() -> None:
    parsed = read(V1, "frame", {"n": 4, "sample": {"prompt": "?", "response": "4", "id": "a"}})
    assert parsed.context == (4, "a")


@pytest.mark.parametrize(
    ("row", "place", "words"),
    [
        ({"prompt": "?"}, [], "no column for the response"),
        ({"prompt": "?", "output": "4", "completion": "4"}, [], "output"),
        ({"prompt": "?", "completions": ["4", "5"]}, [], "2 responses; send one a sample"),
        ({"prompt": "?", "response": 4}, ["response", "str"], "valid string"),
        ({"prompt": "?", "response": None}, ["response", "str"], "valid string"),
        ({"prompt": 2, "response": "4"}, ["prompt", "str"], "valid string"),
        ({"prompt": "?", "response": []}, ["response"], "is empty"),
        ({"prompt": "?", "response": "4", "metadata": "x"}, ["metadata"], "valid dict"),
        ({"prompt": "?", "response": "4", "id": 1.5}, ["id", "str"], "valid string"),
        ({"promt": "?", "response": "4"}, ["promt"], "did you mean 'prompt'?"),
        (
            {"prompt": "?", "response": "4", "groud_truth": "4"},
            ["groud_truth"],
            "did you mean 'ground_truth'?",
        ),
        ({"mesages": TALK}, ["mesages"], "did you mean 'messages'?"),
        ({"response": "4", "columns": ["prompt"]}, ["columns"], "must be an object"),
        ({"response": "4", "columns": {"promt": "response"}}, ["columns", "promt"], "did you mean 'prompt'?"),
        (
            {"response": "4", "columns": {"prompt": "respons"}},
            ["columns", "prompt"],
            "did you mean 'response'?",
        ),
        ({"response": "4", "columns": {"prompt": 4}}, ["columns", "prompt"], "there is no field 4"),
        ({"columns": {"response": "columns.response"}}, ["columns", "response"], "there is no field"),
        ({"response": "4", "a": "5", "columns": {"response": "a"}}, ["columns"], "which is there too"),
    ],
)
def test_what_is_wrong_is_said_where_it_is(row: Any, place: list[Any], words: str) -> None:
    found = refusal(V1, "score", row)
    assert found[0][0] == ["body", *place]
    assert words in found[0][1]


def test_a_column_that_the_reward_reads_is_not_misspelt() -> None:
    row = {"prompt": "?", "response": "4", "answers": ["4"]}
    assert "did you mean 'answer'?" in refusal(V1, "score", row)[0][1]
    reads = RewardInfo("any_of", "1", reads=frozenset({"answers", "columns"}))
    assert sample_in(V1, "score", {**row, "columns": ["a"]}, reads).metadata == {
        "answers": ["4"],
        "columns": ["a"],
    }
    assert sample_in(V1, "score", {**row, "answer": "4"}).metadata == {"answers": ["4"]}


def test_columns_name_what_the_reward_reads() -> None:
    reads = RewardInfo("graded", "1", reads=frozenset({"level"}))
    row = {"response": "4", "difficulty": 3, "columns": {"level": "difficulty"}}
    assert sample_in(V1, "score", row, reads).metadata == {"level": 3}
    assert (
        "did you mean 'level'?"
        in refusal(V1, "score", {**row, "columns": {"leve": "difficulty"}}, reads)[0][1]
    )


@pytest.mark.parametrize(
    "row",
    [
        {"response": "4", "columns": {"x" * 1_000_000: "response"}},
        {"response": "4", "columns": {"prompt": "x" * 1_000_000}},
        {"x" * 1_000_000: "4"},
    ],
)
def test_a_long_name_is_not_repeated(row: dict[str, Any]) -> None:
    ((place, words),) = refusal(V1, "score", row)
    assert len(str(place)) + len(words) < 1000


def test_a_misspelt_field_beside_messages_is_named() -> None:
    row = {"messages": TALK, "groud_truth": "4", "level": 1}
    says = "Extra inputs are not permitted"
    found = [(["body", "groud_truth"], f"{says}; did you mean 'ground_truth'?"), (["body", "level"], says)]
    assert refusal(V1, "score", row) == found
    assert refusal(V1, "batch_score", {"samples": [row]})[0][1] == found[0][1]


def test_messages_beside_a_prompt_are_refused() -> None:
    assert refusal(V1, "score", {"messages": TALK, "prompt": "?"}, SERVED)[0][0] == ["body", "prompt"]

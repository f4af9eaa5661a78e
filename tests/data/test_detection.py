"""Which columns have which role, what they hold decides with their names."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.data import Columns, RewardNeeds, sample_of_row
from guerdon.data.detection import detect, likely_response
from guerdon.data.paths import ABSENT, value_at
from guerdon.errors import InputError

Row = dict[str, Any]

MESSAGES = [{"role": "user", "content": "p"}, {"role": "assistant", "content": "r"}]

# A row, and the candidates for prompt, response and ground truth.
CANDIDATES: list[tuple[Row, list[str], list[str], list[str]]] = [
    ({"question": "p", "completion": "r", "answer": "t"}, ["question"], ["completion"], ["answer"]),
    ({"question": "p", "answer": "r", "ground_truth": "t"}, ["question"], ["answer"], ["ground_truth"]),
    ({"question": "p", "answer": "r", "gold": "t"}, ["question"], ["answer"], ["gold"]),
    # A problem's solution and its final answer: neither is a response.
    ({"problem": "p", "solution": "s", "answer": "t"}, ["problem"], [], ["answer", "solution"]),
    ({"prompt": "p", "response": "r", "label": True}, ["prompt"], ["response"], []),
    ({"prompt": "p", "response": "r", "label": 1}, ["prompt"], ["response"], ["label"]),
    ({"prompt": "p", "response": "r", "label": False, "gold": "t"}, ["prompt"], ["response"], ["gold"]),
    ({"input": {"x": 1}, "prompt": "p", "output": "r"}, ["prompt"], ["output"], []),
    ({"prompt": "p", "output": {"tokens": 3}, "response": "r"}, ["prompt"], ["response"], []),
    ({"question": "p", "choices": ["a", "b"], "output": "a"}, ["question"], ["output"], []),
    ({"prompt": "p", "choices": [{"text": "r"}]}, ["prompt"], ["choices"], []),
    ({"prompt": "p", "response": "r", "reward_model": {"ground_truth": "t"}}, ["prompt"], ["response"],
     ["reward_model.ground_truth"]),
    ({"prompt": "p", "response": "r", "extra_info": {"answer": "t"}}, ["prompt"], ["response"],
     ["extra_info.answer"]),
    ({"prompt": "p", "response": "r", "answer": "t", "extra_info": {"answer": "u"}}, ["prompt"], ["response"],
     ["answer"]),
    ({"prompt": "p", "response": "r", "reward_model.ground_truth": "t"}, ["prompt"], ["response"],
     ["reward_model.ground_truth"]),
]  # fmt: skip


@pytest.mark.parametrize(("row", "prompt", "response", "truth"), CANDIDATES)
def test_candidates(row: Row, prompt: list[str], response: list[str], truth: list[str]) -> None:
    found = detect(list(row), [row])
    assert (found.prompt, found.response, found.truth) == (prompt, response, truth)


def test_columns_with_a_meaning_of_their_own_have_no_role() -> None:
    row = {"prompt": "p", "response": "r", "answer": "yes", "gold": "t"}
    found = detect(list(row), [row], ["answer"])
    assert found.truth == ["gold"]


@pytest.mark.parametrize(
    ("row", "likely"),
    [
        ({"prompt": "p", "reply": "r"}, "reply"),
        ({"prompt": "p", "notes": "n", "gpt4_response": "r"}, "gpt4_response"),
        ({"prompt": "p", "chosen": "a", "rejected": "b"}, "chosen"),
        ({"prompt": "p", "notes": "n", "more": "m"}, None),
        ({"prompt": "p", "level": 3}, None),
        ({"prompt": "p", "url": "u"}, None),
        ({"prompt": "p", "input_output": "i", "expected_text": "e"}, None),
    ],
)
def test_a_guess_for_the_error(row: Row, likely: str | None) -> None:
    assert likely_response(list(row), [row], ["prompt"]) == likely


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a", {"b": [{"c": 1}], "d": '{"e": 2}'}),
        ("a.b.0.c", 1),
        ("a.d.e", 2),
        ("a.x", ABSENT),
        ("a.b.1", ABSENT),
        ("x.y", 3),
        ("x", ABSENT),
    ],
)
def test_dotted_paths(path: str, value: Any) -> None:
    assert value_at({"a": {"b": [{"c": 1}], "d": '{"e": 2}'}, "x.y": 3}, path) == value


# What the reward reads, the row, and what is said; None for a sample.
TWO = {"prompt": "p", "response": "r", "answer": "t", "solution": "s"}


@pytest.mark.parametrize(
    ("reads", "refused"),
    [
        ({"response", "ground_truth"}, True),
        ({"completions", "labels"}, True),
        (None, True),
        ({"response"}, False),
        ({"response", "solution"}, False),
        ({"response", "answer"}, False),  # by its own name there is one
    ],
)
def test_an_unclear_truth_is_refused_where_it_is_read(reads: set[str] | None, refused: bool) -> None:
    if refused:
        with pytest.raises(InputError, match=r'choose one: columns={"ground_truth": "answer"} or'):
            sample_of_row(TWO, reads=reads)
        return
    sample = sample_of_row(TWO, reads=reads)
    assert (sample.response, sample.answer, sample.metadata["solution"]) == ("r", "t", "s")


def test_columns_that_are_found_keep_their_names() -> None:
    sample = sample_of_row({"problem": "p", "generation": "r", "gold": "t", "level": 1})
    assert (sample.prompt, sample.response, sample.ground_truth) == ("p", "r", "t")
    assert sample.metadata == {"problem": "p", "generation": "r", "gold": "t", "level": 1}


def test_an_answer_that_is_the_response_is_no_truth() -> None:
    sample = sample_of_row({"question": "p", "answer": "r", "ground_truth": "t"})
    assert (sample.response, sample.answer, sample.ground_truth) == ("r", None, "t")


def test_a_data_set_of_problems_has_no_responses() -> None:
    row = {"question": "p", "answer": "t"}
    with pytest.raises(InputError, match="or score the expected answers themselves") as caught:
        Columns().layout([row])
    assert "--response-column answer --answer-column answer" in str(caught.value)
    sample = Columns(response="answer", answer="answer").sample(row)
    assert (sample.prompt, sample.response, sample.ground_truth) == ("p", "t", "t")


def test_text_is_never_parsed() -> None:
    for text in ('["a", "b"]', '[{"role": "assistant", "content": "a"}]', '{"choices": []}', "[]"):
        for name in ("response", "completion", "responses"):
            assert sample_of_row({"prompt": "p", name: text}).response == text


def test_rows_are_read_by_the_layout_of_the_first_ones() -> None:
    layout = Columns().layout([{"prompt": "p", "response": "r", "answer": "t"}, {"prompt": "p", "other": 1}])
    assert layout.line == "columns: prompt, response, ground_truth=answer"
    (row,) = layout.rows({"prompt": "p", "response": "r"})
    assert layout.sample(row).ground_truth is None
    with pytest.raises(InputError, match='no column "response"; the columns are: prompt, other'):
        layout.rows({"prompt": "p", "other": 1})
    with pytest.raises(InputError, match='column "response" must hold text or a list of messages, not null'):
        layout.rows({"prompt": "p", "response": None})


@pytest.mark.parametrize("value", [["a", 5], ["a", None], [[], ["b"]], [{"message": {"content": "no role"}}]])
def test_a_list_of_responses_is_whole_or_malformed(value: Any) -> None:
    layout = Columns().layout([{"prompt": "p", "responses": ["r"]}])
    with pytest.raises(InputError, match='column "responses'):
        layout.rows({"prompt": "p", "responses": value})


def test_responses_of_a_list_are_samples_of_one_group() -> None:
    row = {"id": "a", "responses": ["r", "s"]}
    layout = Columns().layout([row])
    samples = [layout.sample(made) for made in layout.rows(row)]
    assert [(s.id, s.response, s.metadata["group_id"]) for s in samples] == [
        ("a-0", "r", "a"),
        ("a-1", "s", "a"),
    ]


@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_a_conversation_must_end_with_the_assistant(role: str) -> None:
    row = {"messages": [*MESSAGES, {"role": role, "content": "x"}]}
    with pytest.raises(InputError, match=f'ends with a message of the role "{role}"'):
        sample_of_row(row)
    assert sample_of_row(row, any_ending=True).messages[-1].role == role


def test_a_reward_that_takes_any_ending_takes_a_prompt_alone() -> None:
    layout = Columns().layout([{"prompt": "p"}], needs=RewardNeeds(any_ending=True))
    (row,) = layout.rows({"prompt": "p"})
    assert [m.role for m in layout.sample(row).messages] == ["user"]


@pytest.mark.parametrize("given", [{"prompt": ""}, {"prompt": None}, {"prompt": 5}, ["prompt"], "prompt"])
def test_columns_that_are_no_names(given: Any) -> None:
    with pytest.raises(InputError, match="columns must be names such as"):
        Columns.of(given)

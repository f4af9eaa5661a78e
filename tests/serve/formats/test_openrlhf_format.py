"""OpenRLHF's remote reward models."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import RewardInfo
from guerdon.serve.formats.openrlhf import OpenRLHFFormat
from guerdon.types import Sample
from support.format_work import CRASH, FAILURES, LACKING, TIMEOUT, answer, read, refusal, roles, said, write

RLHF = OpenRLHFFormat()


@pytest.mark.parametrize(
    ("query", "prompt", "conversation"),
    [
        ("2 + 2?4", "2 + 2?", [("user", "2 + 2?"), ("assistant", "4")]),
        ("<s>2 + 2?4</s>", "2 + 2?", [("user", "2 + 2?"), ("assistant", "4</s>")]),
        ("2 + 2?", "2 + 2?", [("user", "2 + 2?"), ("assistant", "")]),
        ("aab", "a", [("user", "a"), ("assistant", "ab")]),
        ("something else", "2 + 2?", [("user", "2 + 2?"), ("assistant", "something else")]),
        ("4", "", [("assistant", "4")]),
    ],
)
def test_the_response_is_what_follows_the_prompt(query: str, prompt: str, conversation: Any) -> None:
    asked = read(RLHF, "get_reward", {"query": [query], "prompts": [prompt], "labels": ["4"]})
    (sample,) = asked.samples
    assert isinstance(sample, Sample)
    assert roles(sample) == conversation
    assert (sample.ground_truth, sample.metadata) == ("4", {"label": "4"})


@pytest.mark.parametrize(
    "body",
    [{"query": ["a", "b"]}, {"query": ["a", "b"], "prompts": None, "labels": [None, None]}],
)
def test_prompts_and_labels_may_be_absent(body: Any) -> None:
    samples = [s for s in read(RLHF, "get_reward", body).samples if isinstance(s, Sample)]
    assert [s.response for s in samples] == ["a", "b"]
    assert [(s.prompt, s.ground_truth, s.metadata) for s in samples] == [("", None, {})] * 2


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, [(["body", "query"], "Field required")]),
        ({"query": "a"}, [(["body", "query"], "Input should be a valid array")]),
        (
            {"query": ["a", 1], "prompts": [None], "images": []},
            [
                (["body", "query", 1], "Input should be a valid string"),
                (["body", "prompts", 0], "Input should be a valid string"),
                (["body", "images"], "Extra inputs are not permitted"),
            ],
        ),
        ({"query": ["a"], "prompts": []}, [(["body", "prompts"], "prompts has 0 entries for 1 in query")]),
        ({"query": ["a"], "labels": [1, 2]}, [(["body", "labels"], "labels has 2 entries for 1 in query")]),
    ],
)
def test_everything_wrong_with_a_body_is_named(body: Any, found: Any) -> None:
    assert refusal(RLHF, "get_reward", body) == found


class Labelled(BaseModel):
    """Metadata with something to get wrong."""

    label: int


def test_labels_are_held_against_the_rewards_class() -> None:
    body = {"query": ["a", "b", "c"], "labels": ["x", 1, None]}
    places = [place for place, _ in refusal(RLHF, "get_reward", body, RewardInfo("exact", "1", {}, Labelled))]
    assert places == [["body", "query", 0, "label"], ["body", "query", 2, "label"]]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], {"rewards": [], "scores": [], "extra_logs": {}}),
        ([Outcome(0.5)], {"rewards": [0.5], "scores": [0.5], "extra_logs": {}}),
        (
            [
                Outcome(1.0, None, {"right": (1.0, True, None, 0.5), "reward": (3.0, None, None, None)}),
                Outcome(-1.0, None, {"reward": (4.0, None, None, None), "right": (0.0, False, None, 0.5)}),
            ],
            {
                "rewards": [1.0, -1.0],
                "scores": [1.0, -1.0],
                "extra_logs": {"right": [1.0, 0.0], "metric_reward": [3.0, 4.0]},
            },
        ),
        (
            [Outcome(1.0, None, {"right": (1.0, True, None, 0.5)}), Outcome(0.0)],
            {"rewards": [1.0, 0.0], "scores": [1.0, 0.0], "extra_logs": {}},
        ),
    ],
)
def test_answers_are_lists(outcomes: list[Outcome], expected: Any) -> None:
    assert write(RLHF, "get_reward", outcomes) == (200, expected)


@pytest.mark.parametrize(("outcome", "status", "kind", "message"), FAILURES)
def test_one_failure_fails_the_batch(outcome: Outcome, status: int, kind: str, message: str) -> None:
    given, body = write(RLHF, "get_reward", [Outcome(1.0), outcome])
    assert (given, *said(body)) == (status, kind, f"1 of 2 have no score: query[1]: {kind}: {message}")
    assert body["errors"] == [{"index": 1, "kind": kind, "message": message}]
    assert not {"rewards", "scores"} & set(body)


@pytest.mark.parametrize(
    ("outcomes", "status", "kind"),
    [([LACKING, CRASH, TIMEOUT], 504, "timeout"), ([LACKING, CRASH], 500, "crash"), ([LACKING] * 7, 422, "binding")],
)  # fmt: skip
def test_the_gravest_failure_decides(outcomes: list[Outcome], status: int, kind: str) -> None:
    given, body = write(RLHF, "get_reward", outcomes)
    assert (given, body["error"]["kind"]) == (status, kind)
    assert len(body["errors"]) == len(outcomes)
    assert body["detail"].endswith("; and 2 more") is (len(outcomes) == 7)


def test_rewards_in_both_conventions_answer() -> None:
    def theirs(queries: list[str], prompts: list[str], labels: list[str]) -> list[float]:
        triples = zip(queries, prompts, labels, strict=True)
        return [float(query[len(prompt) :] == label) for query, prompt, label in triples]

    def plain(response: str, label: str) -> bool:
        return response == label

    body = {"query": ["2 + 2?4", "3 + 3?5"], "prompts": ["2 + 2?", "3 + 3?"], "labels": ["4", "6"]}
    expected = {"rewards": [1.0, 0.0], "scores": [1.0, 0.0], "extra_logs": {}}
    assert answer(RLHF, "get_reward", body, theirs) == (200, expected)
    assert answer(RLHF, "get_reward", body, plain) == (200, expected)


def test_bodies_are_known_by_their_query() -> None:
    assert RLHF.claims("get_reward", {"query": []})
    assert not RLHF.claims("get_reward", {"prompt": "a", "response": "b"})

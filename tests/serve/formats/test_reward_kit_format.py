"""Reward Kit's servers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import RewardInfo
from guerdon.serve.formats.reward_kit import RewardKitFormat
from support.format_work import FAILURES, answer, refusal, roles, said, sample_in, write

KIT = RewardKitFormat()
TALK = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]


@pytest.mark.parametrize(
    ("op", "body"),
    [
        (
            "evaluate",
            {"messages": TALK, "ground_truth": "4", "kwargs": {"level": 3, "answer": "four", "id": 7}},
        ),
        ("reward", {"messages": TALK, "ground_truth": "4", "level": 3, "answer": "four", "id": 7}),
        (
            "reward",
            {"messages": TALK, "ground_truth": "4", "metadata": {"level": 3}, "answer": "four", "id": 7},
        ),
    ],
)
def test_further_arguments_are_columns(op: str, body: dict[str, Any]) -> None:
    sample = sample_in(KIT, op, body)
    assert roles(sample) == [("user", "2 + 2?"), ("assistant", "4")]
    assert (sample.ground_truth, sample.answer, sample.id) == ("4", "four", 7)
    assert sample.metadata == {"level": 3}


@pytest.mark.parametrize(
    ("op", "body", "truth", "context"),
    [
        ("evaluate", {"messages": TALK}, None, 1),
        ("evaluate", {"messages": TALK, "ground_truth": None, "kwargs": None}, None, 1),
        ("reward", {"messages": TALK, "ground_truth": TALK[:1]}, TALK[:1], 1),
        ("reward", {"messages": TALK, "original_messages": []}, None, 0),
        ("evaluate", {"messages": TALK, "kwargs": {"original_messages": []}}, None, 0),
    ],
)
def test_ground_truth_and_context_are_as_they_were_sent(op: str, body: Any, truth: Any, context: int) -> None:
    sample = sample_in(KIT, op, body)
    assert sample.ground_truth == truth
    assert sample.original_messages == sample.messages[:context]


@pytest.mark.parametrize(
    ("op", "body", "places"),
    [
        ("evaluate", {"message": TALK, "level": 3}, [["messages"], ["message"], ["level"]]),
        ("evaluate", {"messages": TALK, "kwargs": [1]}, [["kwargs"]]),
        ("evaluate", {"messages": TALK, "kwargs": {"messages": []}}, [["kwargs", "messages"]]),
        ("evaluate", {"messages": TALK, "kwargs": {"metadata": 1}}, [["kwargs"]]),
        ("reward", {"ground_truth": "4"}, [["messages"]]),
        ("reward", {"messages": [{"role": 1}], "metadata": 2}, [["messages", 0, "role"], ["metadata"]]),
        ("reward", {"messages": []}, [["messages"]]),
        ("reward", b"[1]", [[]]),
        ("reward", b"", [[]]),
    ],
)
def test_everything_wrong_with_a_body_is_named(op: str, body: Any, places: list[list[Any]]) -> None:
    assert [place for place, _ in refusal(KIT, op, body)] == [["body", *place] for place in places]


class Level(BaseModel):
    """Metadata with something to get wrong."""

    level: int
    topic: str


@pytest.mark.parametrize(
    ("op", "body", "inside"),
    [
        ("evaluate", {"messages": TALK, "kwargs": {"level": "x"}}, ["kwargs"]),
        ("reward", {"messages": TALK, "level": "x"}, []),
    ],
)
def test_columns_are_held_against_the_rewards_class(op: str, body: Any, inside: list[str]) -> None:
    places = [place for place, _ in refusal(KIT, op, body, RewardInfo("exact", "1", {}, Level))]
    assert places == [["body", *inside, "level"], ["body", *inside, "topic"]]


@pytest.mark.parametrize("op", ["evaluate", "reward"])
def test_a_result_has_what_their_client_insists_on(op: str) -> None:
    metrics = {
        "right": (1.0, True, "equal", 0.5),
        "brief": (0.0, False, None, None),
        "words": (12.0, None, None, None),
        "tone": (0.25, None, None, None),
    }
    steps = [{"step_index": 0, "base_reward": 0.5, "metrics": {}}]
    assert write(KIT, op, [Outcome(-1.5, "two of four", metrics, steps)]) == (
        200,
        {
            "score": -1.5,
            "is_score_valid": True,
            "reason": "two of four",
            "metrics": {
                "right": {"score": 1.0, "reason": "equal", "is_score_valid": True, "success": True},
                "brief": {"score": 0.0, "reason": "brief score", "is_score_valid": False, "success": False},
                "tone": {"score": 0.25, "reason": "tone score", "is_score_valid": True},
            },
            "unbounded_metrics": {"words": {"score": 12.0, "reason": "words score", "is_score_valid": True}},
            "step_outputs": steps,
            "error": None,
        },
    )


@pytest.mark.parametrize("op", ["evaluate", "reward"])
@pytest.mark.parametrize(("outcome", "status", "kind", "message"), FAILURES)
def test_a_failure_is_a_status_and_never_a_zero(
    op: str, outcome: Outcome, status: int, kind: str, message: str
) -> None:
    given, body = write(KIT, op, [outcome])
    assert (given, *said(body)) == (status, kind, message)
    assert "score" not in body


def test_a_reward_answers() -> None:
    def exact(messages: Any, ground_truth: Any, level: int, **kwargs: Any) -> float:
        return float(messages[-1].content == ground_truth) / level

    body = {"messages": TALK, "ground_truth": "4", "level": 2}
    assert answer(KIT, "reward", body, exact)[1]["score"] == 0.5
    status, failed = answer(KIT, "reward", {"messages": TALK, "ground_truth": "4"}, exact)
    assert (status, failed["error"]["kind"]) == (422, "binding")
    assert "level" in failed["detail"]


@pytest.mark.parametrize("op", ["evaluate", "reward"])
def test_bodies_are_known_by_their_messages(op: str) -> None:
    assert KIT.claims(op, {"messages": []})
    assert not KIT.claims(op, {"query": []})

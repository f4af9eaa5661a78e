"""slime's remote reward models."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import RewardInfo
from guerdon.serve.formats.slime import SlimeFormat
from support.format_work import FAILURES, answer, refusal, roles, said, sample_in, write

SLIME = SlimeFormat()
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]


@pytest.mark.parametrize(
    ("body", "conversation", "label"),
    [
        (
            {"prompt": "2 + 2?", "response": "4", "label": "4"},
            [("user", "2 + 2?"), ("assistant", "4")],
            "4",
        ),
        (
            {"prompt": MESSAGES, "response": "4", "label": 4},
            [("system", "Be brief."), ("user", "2 + 2?"), ("assistant", "4")],
            4,
        ),
        ({"prompt": "", "response": "4", "label": None}, [("assistant", "4")], None),
        ({"response": ""}, [("assistant", "")], None),
    ],
)
def test_a_body_is_one_sample(body: Any, conversation: Any, label: Any) -> None:
    sample = sample_in(SLIME, "reward", body)
    assert roles(sample) == conversation
    assert sample.ground_truth == label
    assert sample.metadata == ({} if label is None else {"label": label})


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"prompt": "a"}, [["response"]]),
        (
            {"prompt": 1, "response": None, "labels": 2},
            [["prompt", "str"], ["prompt", "list[Message]"], ["response"], ["labels"]],
        ),
        (b"0.5", [[]]),
    ],
)
def test_everything_wrong_with_a_body_is_named(body: Any, places: Any) -> None:
    assert [place for place, _ in refusal(SLIME, "reward", body)] == [["body", *place] for place in places]


class Labelled(BaseModel):
    """Metadata with something to get wrong."""

    label: int


def test_the_label_is_held_against_the_rewards_class() -> None:
    served = RewardInfo("exact", "1", {}, Labelled)
    assert sample_in(SLIME, "reward", {"response": "4", "label": 4}, served).ground_truth == 4
    assert [place for place, _ in refusal(SLIME, "reward", {"response": "4"}, served)] == [["body", "label"]]


@pytest.mark.parametrize(("score", "body"), [(0.5, b"0.5"), (1.0, b"1.0"), (-3.0, b"-3.0")])
def test_the_answer_is_the_bare_number(score: float, body: bytes) -> None:
    outcome = Outcome(score, "why", {"a": (1.0, None, None, None)})
    assert SLIME.write("reward", None, [outcome], RewardInfo("exact", "1")) == (200, body)


@pytest.mark.parametrize(("outcome", "status", "kind", "message"), FAILURES)
def test_a_failure_is_a_status(outcome: Outcome, status: int, kind: str, message: str) -> None:
    given, body = write(SLIME, "reward", [outcome])
    assert (given, *said(body)) == (status, kind, message)


@pytest.mark.parametrize(
    "names", [("response", "label"), ("completion", "ground_truth"), ("prompt", "answer")]
)
def test_a_reward_gets_what_it_names(names: tuple[str, str]) -> None:
    scope: dict[str, Any] = {}
    exec(f"def fn({', '.join(names)}): return {names[0]} == {names[1]}", scope)
    body = {"prompt": "4", "response": "4", "label": "4"}
    assert answer(SLIME, "reward", body, scope["fn"]) == (200, 1.0)


@pytest.mark.parametrize(
    ("body", "mine"),
    [
        ({"prompt": "a", "response": "b", "label": None}, True),
        ({"response": "b"}, False),
        ({"response": {"output": []}, "label": 1}, False),
        ({"query": ["a"], "prompts": ["b"]}, False),
    ],
)
def test_bodies_are_known_by_their_shape(body: dict[str, Any], mine: bool) -> None:
    assert SLIME.claims("reward", body) is mine

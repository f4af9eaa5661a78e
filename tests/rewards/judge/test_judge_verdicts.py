"""Messages of a judge without a verdict, and what judging costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.judge_server import (
    Asked,
    JudgeServer,
    Reply,
    always,
    ask,
    completion,
    in_turn,
    saying,
    verdict,
)

# Messages without a verdict.


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (completion(None, refusal="I cannot grade this."), "the judge refused: I cannot grade this."),
        (completion('{"code": "CO', finish="length"), "cut off; max_tokens= lets it be longer"),
        (completion("", finish="content_filter"), "held back by its server's content filter"),
        (completion(None), "the judge answered nothing"),
        (completion("   "), "the judge answered nothing"),
        (
            completion(None, tool_calls=[{"id": "1", "type": "function"}]),
            "called a tool in place of a verdict",
        ),
        (completion("Five of five."), 'no readable verdict: "Five of five."'),
    ],
)
def test_a_message_without_a_verdict_is_never_a_score(body: Any, says: str, server: JudgeServer) -> None:
    server.script = lambda asked: Reply(body)
    result = ask(server)
    assert (result.score, result.error_kind) == (None, "invalid_result")
    assert says in str(result.error)
    assert len(server.asked) == 2  # asked for once more
    assert server.asked[0].body["seed"] != server.asked[1].body["seed"]
    assert result.metrics["prompt_tokens"].score == 200


def test_a_verdict_at_the_second_attempt(server: JudgeServer) -> None:
    server.script = in_turn(saying("Let me think."), always(score=4))
    result = ask(server)
    assert (result.score, result.metrics["completion_tokens"].score) == (0.75, 40)


def test_a_cut_message_that_holds_a_verdict_is_none(server: JudgeServer) -> None:
    server.script = lambda asked: Reply(
        completion(f'{{"code": "{asked.code}", "score": 5}} but', finish="length")
    )
    assert ask(server).error_kind == "invalid_result"


def test_content_in_parts(server: JudgeServer) -> None:
    def script(asked: Asked) -> Reply:
        text = json.dumps({"code": asked.code, "explanation": "", "score": 2})
        parts = [{"type": "text", "text": text[:9]}, {"type": "text", "text": text[9:]}]
        return Reply({"choices": [{"message": {"content": parts}}]})

    server.script = script
    result = ask(server)
    assert (result.score, result.reason) == (0.25, "2")
    assert "prompt_tokens" not in result.metrics  # the server told none


# Costs.


def test_the_cost(server: JudgeServer) -> None:
    result = ask(server, votes=3, prompt_price="2.5", completion_price=10)
    assert result.metrics["cost"].score == pytest.approx(3 * (100 * 2.5 + 20 * 10) / 1e6)
    assert ask(server, completion_price=10).metrics["cost"].score == pytest.approx(0.0002)
    assert "cost" not in ask(server).metrics


def test_usage_that_is_none_does_not_count(server: JudgeServer) -> None:
    def script(asked: Asked) -> Reply:
        body = verdict(asked, score=4).body
        return Reply({**body, "usage": {"prompt_tokens": -5, "completion_tokens": "many"}})

    server.script = script
    assert ask(server).score == 0.75

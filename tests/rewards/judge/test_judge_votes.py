"""Several votes of a judge, and pairs in both orders."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from guerdon.rewards.judge.reward import judge
from guerdon.types import EvaluateResult
from support.judge_server import (
    Asked,
    JudgeServer,
    Reply,
    Script,
    always,
    ask,
    better_is_longer,
    completion,
    verdict,
)

# Votes.


def by_seed(*grades: int | None) -> Script:
    """Grades by the seed of the request; None for one that cannot be read."""

    def script(asked: Asked) -> Reply:
        grade = grades[asked.body["seed"] % 7919]
        return verdict(asked, f"Grade {grade}.", score=grade) if grade else Reply(completion("Hm."))

    return script


@pytest.mark.parametrize(
    ("grades", "voting", "score", "agreement"),
    [
        ((5, 5, 1), "mean", 2 / 3, 2 / 3),
        ((5, 5, 1), "majority", 1.0, 2 / 3),
        ((5, 3, 1), "majority", 0.5, 1 / 3),
        ((5, 5, 1, 1), "majority", 0.5, 0.5),
        ((2, 2, 2), "mean", 0.25, 1.0),
        ((5, 5, None), "mean", 1.0, 1.0),
    ],
)
def test_votes(
    grades: tuple[int | None, ...], voting: str, score: float, agreement: float, server: JudgeServer
) -> None:
    server.script = by_seed(*grades)
    result = ask(server, votes=len(grades), voting=voting)
    assert result.unwrap() == pytest.approx(score)
    assert result.metrics["agreement"].score == pytest.approx(agreement)
    read = sum(grade is not None for grade in grades)
    assert (result.metrics["votes"].score, result.metrics["votes"].success) == (read, read == len(grades))
    assert {asked.body["temperature"] for asked in server.asked} == {1.0}


def test_half_of_the_votes_do_not_do(server: JudgeServer) -> None:
    server.script = by_seed(5, None)
    result = ask(server, votes=2)
    assert (result.score, result.error_kind) == (None, "invalid_result")


def test_votes_that_it_does_not_apply(server: JudgeServer) -> None:
    words = ("NA", "NA", "PASS")
    server.script = lambda asked: verdict(asked, verdict=words[asked.body["seed"]])
    result = ask(server, votes=3, kind="verdict", rubric="It names a sea.")
    assert (result.score, result.failed, result.reason) == (None, False, "NA: Because.")
    result = ask(server, votes=2, seed=1, kind="verdict", rubric="It names a sea.")
    assert result.score == 1.0  # of one each, the one that decides


# Pairs.


def pair(server: JudgeServer, response: str, baseline: str, **options: Any) -> EvaluateResult:
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": response}]
    return asyncio.run(judge(messages, baseline=baseline, **server.options(kind="pairwise", **options)))


@pytest.mark.parametrize(("always_better", "bias"), [("A", 1.0), ("B", -1.0)])
def test_a_judge_that_looks_at_the_place_only_is_found_out(
    always_better: str, bias: float, server: JudgeServer
) -> None:
    server.script = always(better=always_better)
    result = pair(server, "long answer", "short")
    assert (result.score, result.metrics["position_consistency"].score) == (0.5, 0.0)
    assert result.metrics["position_bias"].score == bias


def test_both_orders_are_asked(server: JudgeServer) -> None:
    server.script = better_is_longer
    assert pair(server, "long answer", "short").score == 1.0
    shown = {(asked.blocks()["response a"], asked.blocks()["response b"]) for asked in server.asked}
    assert shown == {("long answer", "short"), ("short", "long answer")}
    assert pair(server, "brief", "long answer").score == 0.0
    assert pair(server, "brief", "short").score == 0.5


def test_a_tie_in_one_order_and_a_win_in_the_other(server: JudgeServer) -> None:
    def script(asked: Asked) -> Reply:
        return verdict(asked, better="A" if asked.blocks()["response a"] == "mine" else "TIE")

    server.script = script
    result = pair(server, "mine", "theirs")
    assert (result.score, result.metrics["position_consistency"].score) == (0.75, 0.0)
    assert result.metrics["position_bias"].score == 0.0


def test_a_pair_is_compared_beside_the_reference_too(server: JudgeServer) -> None:
    server.script = always(better="TIE")
    assert pair(server, "mine", "theirs", ground_truth="The Red Sea").score == 0.5
    assert server.asked[0].blocks()["reference"] == "The Red Sea"


def test_one_order_without_a_verdict_is_a_failure(server: JudgeServer) -> None:
    def script(asked: Asked) -> Reply:
        return (
            verdict(asked, better="A") if asked.blocks()["response a"] == "mine" else Reply(completion("Hm."))
        )

    server.script = script
    result = pair(server, "mine", "theirs")
    assert (result.score, result.error_kind) == (None, "invalid_result")

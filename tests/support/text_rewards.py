"""What every reward that compares a response with texts must keep."""

from __future__ import annotations

import time
from typing import Any

from guerdon.reward.function import RewardFunction


def assert_refused(reward: RewardFunction, response: str, gold: Any, says: str, **given: Any) -> None:
    """The reward fails with an input error that says so."""
    result = reward(response, gold, **given)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


def score_of_a_megabyte(reward: RewardFunction, piece: str, gold: str) -> float:
    """The score of a megabyte of the piece, which takes seconds at most."""
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    score = reward(text, gold).unwrap()
    assert time.process_time() - start < 5
    return score


def assert_padding_gains_nothing(reward: RewardFunction) -> None:
    """The score falls with each text that is added to a response in full agreement."""
    text = "the cat sat on the mat"
    scores = [reward(text + " and so on" * count, text).unwrap() for count in (0, 1, 10, 1_000, 100_000)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1
    assert scores[-1] < 0.001

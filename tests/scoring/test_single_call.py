"""A direct call with a deadline."""

from __future__ import annotations

import threading
from typing import Any

import guerdon
from support.scoring_work import backtrack


def test_a_direct_call_with_a_deadline_is_ended_also_in_a_thread() -> None:
    @guerdon.reward_function(timeout=0.4)
    def reward(response: str) -> float:
        if response == "spin":
            backtrack()
        return 1.0

    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend([reward("spin"), reward("fine")]))
    thread.start()
    thread.join(20)
    assert [result.error_kind for result in found] == ["timeout", None]
    assert found[1].score == 1.0

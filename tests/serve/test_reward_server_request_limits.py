"""What a request may set of the rewards that run programs: less than the owner of the server, never more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import guerdon
from guerdon.types import Sample
from support.serve_work import call, in_background

GREEDY = "```python\nx = bytearray(900 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint(7)\n```"
ROW: dict[str, Any] = {
    "tests": [{"input": "", "output": "7"}],
    "limits": {"memory_mb": 100_000, "cpu_s": 9000},
}
CHAT = [{"role": "user", "content": "?"}, {"role": "assistant", "content": GREEDY}]
BODIES: list[tuple[str, Any]] = [
    ("/v1/score", {"prompt": "?", "response": GREEDY, **ROW}),
    ("/v1/score", {"messages": CHAT, "metadata": ROW}),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with in_background(guerdon.get_reward_function("code")) as server:
        yield server.url


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_a_request_does_not_raise_the_memory_of_its_program(url: str, path: str, body: Any) -> None:
    reply = call(url, path, body)
    assert reply.status == 200
    assert reply.json["score"] == 0.0
    assert "memory" in reply.json["reason"]


def test_a_row_does_not_either_and_the_owner_does() -> None:
    row = {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": GREEDY}], **ROW}
    reward = guerdon.get_reward_function("code")
    assert reward.evaluate(Sample.from_row(row)).score == 0.0
    raised = guerdon.get_reward_function("code", limits={"memory_mb": 1200, "cpu_s": 10})
    assert raised.evaluate(Sample.from_row(row)).score == 1.0
    problem = {**row, "limits": None, "memory_limit": 10**7, "time_limit": 10**6}
    assert raised.evaluate(Sample.from_row(problem)).score == 1.0

"""A reward and a conversation that several tests use."""

from __future__ import annotations

from guerdon import Message, reward_function

TALK = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]


@reward_function
def length(messages: list[Message]) -> float:
    return float(len(messages[-1].text))

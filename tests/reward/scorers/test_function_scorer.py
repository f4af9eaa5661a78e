"""Metadata schemas: checked, converted and filled in before each call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from guerdon import (
    Sample,
    reward_function,
)
from support.convention_rewards import (
    MESSAGES,
    as_async,
    value_of,
)

# Metadata schemas


class Meta(BaseModel):
    level: int
    nested: str = "default"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_schema_checks_converts_and_fills_in(asynchronous: bool) -> None:
    def model(response, metadata: Meta, level):
        assert isinstance(metadata, Meta)
        assert metadata.level == level
        return level + len(metadata.nested)

    def plain(response, metadata: dict[str, Any]):
        assert type(metadata) is dict
        return metadata["level"] + len(metadata["nested"])

    def column(response, level, nested):
        return level + len(nested)

    for function in (model, plain, column):
        reward = reward_function(metadata_schema=Meta)(as_async(function) if asynchronous else function)
        row = {"messages": MESSAGES, "level": "3"}
        assert reward.evaluate(Sample.from_row(row)).unwrap() == 10.0
        called = [reward(messages=MESSAGES, metadata={"level": 3}), reward(messages=MESSAGES, level=3)]
        results = [asyncio.run(value_of(r)) if asynchronous else r for r in called]
        assert [r.unwrap() for r in results] == [10.0, 10.0]
        result = reward.evaluate(Sample.from_row({"messages": MESSAGES, "level": "high"}))
        assert (result.score, result.error_kind) == (None, "input")
        assert str(result.error).startswith("metadata.level: Input should be a valid integer")


def test_a_schema_for_a_batch() -> None:
    @reward_function(mode="batch", metadata_schema=Meta)
    def batched(messages, level):
        return [float(n) for n in level]

    samples = [Sample.from_row({"messages": MESSAGES, "level": n}) for n in ("1", 2)]
    assert [r.unwrap() for r in batched.evaluate_batch(samples)] == [1.0, 2.0]
    assert [r.unwrap() for r in batched(messages=[MESSAGES] * 2, level=[1, 2])] == [1.0, 2.0]

"""Rewards that return what no reward may, named after what that is."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy

from guerdon import RewardFunction, reward_function, weighted
from guerdon.reward.factory import composition_factory


class Stopped(BaseException):
    """An exception that no `except Exception` sees."""


@reward_function
def one_for_all(completions: list[str], **columns: Any) -> Any:
    return [1.0]


@reward_function
def one_too_many(completions: list[str], **columns: Any) -> Any:
    return [1.0] * (len(completions) + 1)


@reward_function
def none_at_all(completions: list[str], **columns: Any) -> Any:
    return []


@reward_function
def bare_number(completions: list[str], **columns: Any) -> Any:
    return 1.0


@reward_function
def nothing(completions: list[str], **columns: Any) -> Any:
    return None


@reward_function
def short_array(completions: list[str], **columns: Any) -> Any:
    return numpy.ones(1)


@reward_function
def generator(completions: list[str], **columns: Any) -> Any:
    return (1.0 for _ in completions)


@reward_function
def by_text(completions: list[str], **columns: Any) -> Any:
    return {str(text): 1.0 for text in completions}


@reward_function
def text_of_ones(completions: list[str], **columns: Any) -> Any:
    return "1" * len(completions)


@reward_function
async def one_for_all_async(completions: list[str], **columns: Any) -> Any:
    await asyncio.sleep(0)
    return [1.0]


@reward_function
def good_batch(completions: list[str], **columns: Any) -> Any:
    return [1.0] * len(completions)


WRONG_LENGTHS = [
    one_for_all,
    one_too_many,
    none_at_all,
    bare_number,
    nothing,
    short_array,
    generator,
    by_text,
    text_of_ones,
    one_for_all_async,
]


@reward_function
def leaves(response: str) -> Any:
    raise SystemExit(0)


@reward_function
def closes(response: str) -> Any:
    raise GeneratorExit


@reward_function
def cancels(response: str) -> Any:
    raise asyncio.CancelledError


@reward_function
def stops(response: str) -> Any:
    raise Stopped("no more")


@reward_function
async def stops_async(response: str) -> Any:
    raise Stopped("no more")


@reward_function
async def closes_async(response: str) -> Any:
    raise GeneratorExit


@reward_function
def text_score(response: str) -> Any:
    return "1.0"


@reward_function
def nan_score(response: str) -> Any:
    return float("nan")


@reward_function
def list_score(response: str) -> Any:
    return [1.0]


@reward_function
def complex_score(response: str) -> Any:
    return 1j


@reward_function
def type_score(response: str) -> Any:
    return float


@reward_function
def dict_without_score(response: str) -> Any:
    return {"accuracy": 1.0}


WRONG_TYPES = [text_score, nan_score, list_score, complex_score, type_score, dict_without_score]
RAISES = [leaves, closes, cancels, stops, stops_async, closes_async]


@reward_function
def exact(response: str, ground_truth: str) -> float:
    return float(response == ground_truth)


@reward_function
def measured(response: str, most: int = 3) -> float:
    return float(len(response) <= most)


@reward_function
def together(completions: list[str], ground_truth: list[str]) -> list[float]:
    return [float(a == b) for a, b in zip(completions, ground_truth, strict=False)]


@composition_factory
def built(strict: bool = False) -> RewardFunction:
    return weighted(exact if strict else good_batch, good_batch, weights=[0.5, 0.5])

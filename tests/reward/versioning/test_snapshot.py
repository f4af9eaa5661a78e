"""A version is computed again where a notebook's cell gives a name another meaning."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon import RewardFunction


def _notebook(first: str, *cells: str) -> dict[str, Any]:
    """The names of a notebook whose cells ran one after the other, and the versions after each."""
    names: dict[str, Any] = {"__name__": "notebook"}
    versions = []
    for cell in (first, *cells):
        exec(cell, names)
        versions.append(names["reward"].version)
    return {**names, "versions": versions}


@pytest.mark.parametrize(
    "cell",
    [
        "LIMIT = 4",
        "WORDS.append('x')",
        "def helper(text): return len(text) + 1",
        "part = RewardFunction(lambda response: 3)",
        "def under(): return 2",
    ],
)
def test_a_cell_that_is_run_again_changes_the_version(cell: str) -> None:
    first = """
from guerdon import RewardFunction
LIMIT, WORDS = 3, []
def under(): return 1
def helper(text): return len(text)
part = RewardFunction(lambda response: under())
def f(response): return helper(response) + LIMIT + len(WORDS) + part(response=response).score
reward = RewardFunction(f)
whole = 0.5 * reward
whole.version
"""
    names = _notebook(first, "other = 1", cell)
    before, unrelated, after = names["versions"]
    assert before == unrelated != after
    assert names["reward"](response="a").version == after
    assert names["whole"](response="a").provenance == names["whole"].provenance
    assert names["whole"].parameters["components"]["f"]["version"] == after


def test_a_reward_that_calls_itself_has_one_version_at_any_depth() -> None:
    source = """
from guerdon import RewardFunction
def odd(response): return 0.0 if not response else even(response=response[1:]).score
def even(response): return 1.0 if not response else odd(response=response[1:]).score
odd, even = RewardFunction(odd), RewardFunction(even)
"""

    def deep(reward: RewardFunction, depth: int) -> str:
        return reward.version if not depth else deep(reward, depth - 1)

    first: dict[str, Any] = {"__name__": "notebook"}
    second: dict[str, Any] = {"__name__": "notebook"}
    exec(source, first)
    exec(source, second)
    assert first["odd"](response="abc").score == 1.0
    assert first["odd"].version == deep(second["odd"], 300)
    assert first["even"].version == deep(second["even"], 10) != first["odd"].version

"""Other verifiers of mathematical answers, called as their own documents say."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from typing import Any

from guerdon.accuracy.suite import CatalogueVerifier, ExternalVerifier


def _response(row: Mapping[str, Any]) -> str:
    return str(row["messages"][-1]["content"])


@functools.cache
def _quiet() -> None:
    """math-verify warns at each call without a time limit of its own; the workers have one."""
    for name in ("math_verify.parser", "math_verify.grader"):
        logging.getLogger(name).setLevel(logging.ERROR)


def math_verify_verdict(row: Mapping[str, Any]) -> bool | None:
    """What math-verify says; None where it cannot read the gold.

    Its own time limit, which needs the main thread, is off.
    """
    from math_verify import parse, verify

    _quiet()
    gold = parse(f"${row['ground_truth']}$", parsing_timeout=None)
    if not gold:
        return None
    return bool(verify(gold, parse(_response(row), parsing_timeout=None), timeout_seconds=None))


def trl_verdict(row: Mapping[str, Any]) -> bool | None:
    """What TRL's accuracy_reward says; None where it skips."""
    from trl.rewards import accuracy_reward

    _quiet()
    completion = [{"role": "assistant", "content": _response(row)}]
    score = accuracy_reward([completion], [f"${row['ground_truth']}$"])[0]
    return None if score is None else score >= 0.5


def reward_kit_verdict(row: Mapping[str, Any]) -> bool | None:
    """What reward-kit's math_reward says."""
    from reward_kit.rewards.math import math_reward

    truth = rf"\boxed{{{row['ground_truth']}}}"
    return bool(math_reward(messages=list(row["messages"]), ground_truth=truth).score >= 0.5)


CATALOGUE = (CatalogueVerifier("math", "math"),)
EXTERNAL = (
    ExternalVerifier("math-verify", "math_verify", math_verify_verdict),
    ExternalVerifier("TRL accuracy_reward", "trl", trl_verdict),
    ExternalVerifier("reward-kit math_reward", "reward_kit", reward_kit_verdict),
)


def row_of(question: str, response: str, gold: str) -> dict[str, Any]:
    """A row that the catalogue and the external verifiers read."""
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": response}]
    return {"messages": messages, "ground_truth": gold}

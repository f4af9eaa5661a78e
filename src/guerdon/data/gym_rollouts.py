"""NeMo Gym's rollouts: the row that was run, with the model's Response beside it, as a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.data.responses import conversation_of
from guerdon.errors import InputError
from guerdon.types import Message, Sample

PARAMS, RESPONSE = "responses_create_params", "response"
OWN = frozenset(
    {
        PARAMS,
        RESPONSE,
        "reward",
        "reward_components",
        "mask_sample",
        "failure_kind",
        "failure_reason",
        "agent_ref",
    }
)
"""Fields of NeMo Gym's own, which are neither columns of the row nor names for a metric."""


def sample_of_rollout(row: Mapping[str, Any]) -> Sample:
    """The sample of a request to ``/verify``: every further field is a column, ``expected_answer`` the ground truth.

    ``row`` holds ``responses_create_params`` with an ``input`` of text or items, and ``response`` with its
    ``output``. Raises InputError whose ``where`` is the path of fields to what is malformed.

    >>> row = {"responses_create_params": {"input": "2 + 2?"}, "expected_answer": "4", "level": 1,
    ...        "response": {"output": [{"type": "message", "role": "assistant", "content": "4"}]}}
    >>> sample = sample_of_rollout(row)
    >>> sample.prompt, sample.response, sample.ground_truth, sample.metadata["level"]
    ('2 + 2?', '4', '4', 1)
    """
    params, response = row[PARAMS], row[RESPONSE]
    before = [Message(role="system", content=params["instructions"])] if params.get("instructions") else []
    if isinstance(params["input"], str):
        before.append(Message(role="user", content=params["input"]))
    else:
        before += _conversation(params["input"], PARAMS, "input")
    after = _conversation(response["output"], RESPONSE, "output")
    if not after or after[-1].role != "assistant":
        # The rollout ended at a tool's output: the model gave no last answer, and the tool's is not its own.
        after.append(Message(role="assistant", content=""))
    identity = row.get("id")
    known = isinstance(identity, str | int) and not isinstance(identity, bool)
    taken = {*OWN, "ground_truth", "answer", *(("id",) if known else ())}
    metadata = {n: v for n, v in row.items() if n not in taken and not n.startswith("_ng_")}
    if params.get("tools"):
        metadata.setdefault("tools", params["tools"])
    truth = next((row[n] for n in ("ground_truth", "expected_answer") if row.get(n) is not None), None)
    return Sample([*before, *after], before, truth, row.get("answer"), metadata, identity if known else None)


def _conversation(items: Sequence[Mapping[str, Any]], *where: str) -> list[Message]:
    try:
        return conversation_of(items)
    except ValueError as error:
        raise InputError(str(error), where=where) from None


def field_name(metric: str) -> str:
    """The top-level field of an answer that a metric goes to: its name, unless NeMo Gym has one of that name."""
    return f"metric_{metric}" if metric in OWN or metric.startswith("_ng_") else metric


def parts_of(reward: float, terms: Mapping[str, tuple[float, float | None]]) -> dict[str, float] | None:
    """Weight times score of each component of a weighted sum; None where they do not sum to the reward.

    ``terms`` are score and weight by name. Components of components, named ``outer/inner``, are in their outer
    one already.

    >>> parts_of(0.7, {"right": (1.0, 0.5), "brief": (0.4, 0.5), "brief/words": (9.0, None)})
    {'right': 0.5, 'brief': 0.2}
    """
    parts = {
        name: score * weight
        for name, (score, weight) in terms.items()
        if weight is not None and name.rpartition("/")[0] not in terms
    }
    sums = parts and math.isclose(sum(parts.values()), reward, rel_tol=1e-9, abs_tol=1e-9)
    return parts if sums else None

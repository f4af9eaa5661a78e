"""What the tests of wire formats share: bodies in, samples and answers out, without a server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from guerdon import RewardFunction
from guerdon.scoring.outcome import Outcome, pack
from guerdon.serve.formats.base import Format, ParsedRequest, RefusedError, RewardInfo, json_bytes
from guerdon.serve.formats.nemo_gym import NemoGymFormat
from guerdon.serve.formats.openenv import OpenEnvFormat
from guerdon.serve.formats.openrlhf import OpenRLHFFormat
from guerdon.serve.formats.reward_kit import RewardKitFormat
from guerdon.serve.formats.slime import SlimeFormat
from guerdon.serve.formats.v1 import V1Format
from guerdon.types import Sample

FORMATS: tuple[Format, ...] = (
    V1Format(),
    RewardKitFormat(),
    OpenRLHFFormat(),
    SlimeFormat(),
    NemoGymFormat(),
    OpenEnvFormat(),
)
SERVED = RewardInfo("exact", "3f2a", {"strict": True})
TIMEOUT = Outcome(None, error="over 10 s", kind="timeout")
CRASH = Outcome(None, error="the worker process died", kind="crash")
LACKING = Outcome(None, error="exact needs 'answer'", kind="binding")
NOT_APPLICABLE = Outcome(None, "no code in the response")
FAILURES = [
    (TIMEOUT, 504, "timeout", "over 10 s"),
    (CRASH, 500, "crash", "the worker process died"),
    (LACKING, 422, "binding", "exact needs 'answer'"),
    (NOT_APPLICABLE, 422, "not_applicable", "no code in the response"),
    (Outcome(None), 422, "not_applicable", "the reward does not apply to this sample"),
]
"""Outcomes without a score, with the status, the kind and the words that tell them."""


def read(format: Format, op: str, body: Any, served: RewardInfo = SERVED) -> ParsedRequest:
    """What a body holds; anything but bytes is written as JSON first."""
    return format.read(op, body if isinstance(body, bytes) else json.dumps(body).encode(), served)


def sample_in(format: Format, op: str, body: Any, served: RewardInfo = SERVED) -> Sample:
    """The one sample that a body holds."""
    (sample,) = read(format, op, body, served).samples
    assert isinstance(sample, Sample)
    return sample


def refusal(format: Format, op: str, body: Any, served: RewardInfo = SERVED) -> list[tuple[list[Any], str]]:
    """The places and the words of what is wrong with a body, which is refused with status 422."""
    with pytest.raises(RefusedError) as caught:
        read(format, op, body, served)
    assert caught.value.status == 422
    assert isinstance(caught.value.detail, list)
    json.loads(json_bytes(caught.value.detail))
    return [(problem["loc"], problem["msg"]) for problem in caught.value.detail]


def write(
    format: Format, op: str, outcomes: Sequence[Outcome], context: Any = None, served: RewardInfo = SERVED
) -> tuple[int, Any]:
    """The status and the body that answer outcomes."""
    status, body = format.write(op, context, outcomes, served)
    return status, json.loads(body)


def answer(
    format: Format, op: str, body: Any, function: Callable[..., Any] | RewardFunction
) -> tuple[int, Any]:
    """The answer to a body by a real reward, from reading to writing."""
    reward = function if isinstance(function, RewardFunction) else RewardFunction(function)
    schema = reward.options.metadata_schema
    served = RewardInfo(reward.name, reward.version, reward.parameters, schema, reward.reads)
    asked = read(format, op, body, served)
    samples = [sample for sample in asked.samples if isinstance(sample, Sample)]
    outcomes = [pack(result) for result in reward.evaluate_batch(samples)] if samples else []
    return write(format, op, outcomes, asked.context, served)


def roles(sample: Sample) -> list[tuple[str, Any]]:
    """The conversation as pairs."""
    return [(message.role, message.content) for message in sample.messages]


def said(problem: Mapping[str, Any]) -> tuple[str, str]:
    """The kind and the message of a failure's body."""
    assert problem["detail"] == problem["error"]["message"]
    return problem["error"]["kind"], problem["error"]["message"]


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | NUMBERS | st.text(max_size=12)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def outcomes(text: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Outcome]:
    """Any outcome: scored, failed or not applicable."""
    words = st.text() if text is None else text
    metric = st.tuples(NUMBERS, st.none() | st.booleans(), st.none() | words, st.none() | NUMBERS)
    metrics = st.none() | st.dictionaries(words, metric, min_size=1, max_size=4)
    step = st.fixed_dictionaries(
        {
            "step_index": st.integers(0, 9) | words,
            "base_reward": NUMBERS,
            "metrics": st.dictionaries(words, SCALARS.filter(lambda value: value is not None), max_size=2),
        }
    )
    steps = st.none() | st.lists(step, min_size=1, max_size=3)
    reason = st.none() | words
    kinds = st.sampled_from(["exception", "timeout", "memory", "input", "error", "new_kind"])
    return st.one_of(
        st.builds(Outcome, NUMBERS, reason, metrics, steps, st.none(), st.none()),
        st.builds(Outcome, st.none(), reason, st.none(), st.none(), st.none(), st.none()),
        st.builds(Outcome, st.none(), reason, metrics, st.none(), words, kinds),
    )

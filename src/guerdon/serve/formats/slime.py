"""slime's remote reward models (``--rm-type remote_rm``): one sample in, the bare number out.

The client returns the parsed body as the reward, whatever it is, so a sample without a score is answered with an
HTTP status: it calls ``raise_for_status``, tries ten times in all and then raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, RootModel

from guerdon.data.labels import label_of, labelled_sample
from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import (
    Format,
    ParsedRequest,
    RewardInfo,
    Route,
    check_metadata,
    failure_answer,
    json_bytes,
    read_model,
    reason_without_score,
)
from guerdon.types import Message


class SlimeRequest(BaseModel):
    """One sample of slime's."""

    model_config = ConfigDict(extra="forbid")

    prompt: str | list[Message] = Field("", description="The prompt as text, or as messages.")
    response: str = Field(description="The completion.")
    label: Any = Field(None, description="The ground truth, or an object (or its JSON) that has the columns.")


class SlimeResponse(RootModel[float]):
    """The reward; the whole body is this number."""


class SlimeFormat(Format):
    """Recognised by a ``response`` next to a ``prompt`` or a ``label``, at every path that a trainer may be given."""

    name: ClassVar[str] = "slime"
    routes: ClassVar[Sequence[Route]] = tuple(
        Route(path, "reward", "Score a response", SlimeRequest, SlimeResponse)
        for path in ("/", "/score", "/reward", "/get_reward")
    )

    def example(self, prompt: str, response: str, columns: Mapping[str, Any]) -> tuple[str, Any]:
        return "/reward", {"prompt": prompt, "response": response, "label": label_of(columns)}

    def claims(self, op: str, body: Mapping[str, Any]) -> bool:
        return isinstance(body.get("response"), str) and ("prompt" in body or "label" in body)

    def read(self, op: str, body: bytes, reward: RewardInfo) -> ParsedRequest:
        request = read_model(SlimeRequest, body)
        sample = labelled_sample(request.prompt, request.response, request.label)
        check_metadata(reward, [(sample, ())])
        return ParsedRequest([sample])

    def write(
        self, op: str, context: Any, outcomes: Sequence[Outcome], reward: RewardInfo
    ) -> tuple[int, bytes]:
        (outcome,) = outcomes
        if (missing := reason_without_score(outcome)) is not None:
            return failure_answer(*missing)
        return 200, json_bytes(outcome.score)

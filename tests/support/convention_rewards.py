"""One reward in every calling convention of the field; each scores 1.0 where the completion ends with the truth."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from guerdon import (
    EmptyMetadata,
    EvaluateResult,
    Message,
    Response,
    RewardServer,
    ServerInfo,
    ValidatedRequest,
)

ROW = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": "It is 4"},
    ],
    "ground_truth": "4",
    "id": "r1",
    "level": 3,
    "metadata": {"nested": "n"},
}


class Tensor:
    """What OpenRLHF's functions return: something with ``tolist``."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = list(values)

    def tolist(self) -> list[float]:
        return self.values


# Every function scores 1.0 where the completion ends with the ground truth.


def pointwise(messages, original_messages=None, ground_truth=None, **kwargs):
    assert [m.role for m in original_messages] == ["system", "user"]
    return EvaluateResult(float(messages[-1].content.endswith(ground_truth)))


def pointwise_dicts(messages: list[dict[str, str]], ground_truth: str | None = None, **kwargs: Any) -> float:
    assert type(messages[-1]) is dict
    return float(messages[-1]["content"].endswith(ground_truth))


def reward_kit_batch(rollouts_messages: list[list[Message]], ground_truth: list[str], **kwargs: Any):
    return [
        EvaluateResult(float(messages[-1].content.endswith(truth)))
        for messages, truth in zip(rollouts_messages, ground_truth, strict=True)
    ]


def response_only(response: str, ground_truth: str) -> float:
    return float(response.endswith(ground_truth))


def agent_tunix(response: str, prompt: str = "", answer: str = "") -> float:
    assert prompt == "2 + 2?"
    return float(response.endswith(answer))


def tunix_kwargs(response: str, **kwargs: Any) -> float:
    assert kwargs["prompt"] == "2 + 2?"
    return float(response.endswith(kwargs["answer"]))


def completion_alone(completion, ground_truth, level, nested, id):
    assert (level, nested, id) == (3, "n", "r1")
    return completion.endswith(ground_truth)


def trl_strings(prompts, completions, ground_truth, **kwargs):
    assert kwargs["level"] == [3] * len(completions)
    return [float(c.endswith(truth)) for c, truth in zip(completions, ground_truth, strict=True)]


def trl_chat(completions, ground_truth, **kwargs):
    contents = [completion[0]["content"] for completion in completions]
    return [float(c.endswith(truth)) for c, truth in zip(contents, ground_truth, strict=True)]


def trl_annotated(
    prompts: list[list[dict[str, str]]], completions: list[list[dict[str, str]]], ground_truth: list[str]
) -> list[float]:
    assert prompts[0][0] == {"role": "system", "content": "Be brief."}
    return [float(c[0]["content"].endswith(t)) for c, t in zip(completions, ground_truth, strict=True)]


def trl_everything(
    prompts, completions, completion_ids=None, trainer_state=None, log_extra=None, log_metric=None, **columns
):
    log_metric("mean", 0.5)
    log_extra("column", completions)
    assert trainer_state.global_step == 0
    return [
        float(c.endswith(t)) if t else None for c, t in zip(completions, columns["ground_truth"], strict=True)
    ]


def tunix_batched(prompts, completions, answer, mode="", **kwargs):
    assert mode == "train"
    return [float(c.endswith(a)) for c, a in zip(completions, answer, strict=True)]


def verl(data_source, solution_str, ground_truth, extra_info=None, **reward_kwargs):
    assert extra_info["level"] == 3
    return {"score": float(solution_str.endswith(ground_truth)), "acc": 1}


def openrlhf(queries, prompts, labels):
    answers = [query[len(prompt) :] for query, prompt in zip(queries, prompts, strict=True)]
    assert answers == ["It is 4"] * len(queries)
    scores = Tensor([float(a.endswith(label)) for a, label in zip(answers, labels, strict=True)])
    return {"rewards": scores, "scores": scores, "extra_logs": {"length": Tensor([7.0] * len(queries))}}


def positional(messages, ground_truth, /):
    return float(messages[-1].content.endswith(ground_truth))


class Callable_:  # noqa: N801
    def __init__(self, ending: str = "") -> None:
        self.ending = ending

    def __call__(self, response: str, ground_truth: str) -> float:
        return float(response.endswith(ground_truth + self.ending))

    def method(self, response: str, ground_truth: str) -> float:
        return self(response, ground_truth)

    @classmethod
    def of_class(cls, response: str, ground_truth: str) -> float:
        return cls()(response, ground_truth)

    @staticmethod
    def of_nothing(response: str, ground_truth: str) -> float:
        return Callable_()(response, ground_truth)


class Server(RewardServer[EmptyMetadata]):
    def __init__(self, port: int = 8000, blocking: bool = True, **kwargs: Any) -> None:
        super().__init__(port, EmptyMetadata, blocking, **kwargs)

    async def score(self, request: ValidatedRequest[EmptyMetadata]) -> Response:
        assert [turn.role for turn in request.turns] == ["system", "user", "assistant"]
        return Response(reward=request.turns[-1].content.endswith("4"))

    async def info(self) -> ServerInfo:
        return ServerInfo(version="1", name="four", description="Ends with 4.")


class Truth(BaseModel):
    ground_truth: str
    level: int


class TruthServer(RewardServer[Truth]):
    """Its metadata class asks for a column that a sample keeps apart from its metadata."""

    def __init__(self, port: int = 8000) -> None:
        super().__init__(port, Truth)

    async def score(self, request: ValidatedRequest[Truth]) -> Response:
        assert request.metadata.level == 3
        return Response(reward=request.turns[-1].content.endswith(request.metadata.ground_truth))

    async def info(self) -> ServerInfo:
        return ServerInfo(version="1", name="truth", description="Ends with the truth.")


@functools.wraps(response_only)
def wrapped(*args: Any, **kwargs: Any) -> float:
    return response_only(*args, **kwargs)


SYNC: list[Any] = [
    *(pointwise, pointwise_dicts, reward_kit_batch, response_only, agent_tunix, tunix_kwargs),
    *(completion_alone, trl_strings, trl_chat, trl_annotated, trl_everything, tunix_batched, verl, openrlhf),
    *(
        positional,
        Callable_,
        Callable_(),
        Callable_().method,
        Callable_.of_class,
        Callable_.of_nothing,
        wrapped,
    ),
    functools.partial(agent_tunix, prompt="2 + 2?"),
    functools.partial(trl_chat, unused=1),
    functools.partial(Callable_().method),
    lambda response, ground_truth: response.endswith(ground_truth),
    lambda completions, ground_truth: [c.endswith(t) for c, t in zip(completions, ground_truth, strict=True)],
    lambda **kwargs: kwargs["response"].endswith(kwargs["ground_truth"]),
]


def as_async(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function as an ``async def`` with the same signature, as users write their async rewards."""

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0)
        return function(*args, **kwargs)

    return run


ASYNC: list[Any] = [as_async(f) for f in SYNC if not isinstance(f, type | functools.partial)]


ASYNC += [Server, TruthServer, functools.partial(as_async(response_only), ground_truth="4")]


def names(value: Any) -> str:
    return getattr(value, "__name__", type(value).__name__)


MESSAGES = ROW["messages"]


OBJECTS = [Message(**m) for m in MESSAGES]  # type: ignore[attr-defined]


async def value_of(value: Any) -> Any:
    return await value

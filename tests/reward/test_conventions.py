# ruff: noqa: UP006, UP035, UP045  the older annotations are among the cases
"""How a call is bound: every convention of the field, sync and async, by row and by direct call."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Dict, List, Optional, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import guerdon
from guerdon import (
    EmptyMetadata,
    EvaluateResult,
    Message,
    Response,
    RewardFunction,
    RewardServer,
    Sample,
    ServerInfo,
    ValidatedRequest,
    reward_function,
)
from guerdon.errors import BindingError
from guerdon.reward.binding.annotations import Setting, wants_chat, wants_dicts

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


@pytest.mark.parametrize("truth", ["4", "5"])
@pytest.mark.parametrize("target", SYNC, ids=names)
def test_every_convention_bare_and_decorated(target: Any, truth: str) -> None:
    expected = float(truth == "4")
    sample = Sample.from_row({**ROW, "ground_truth": truth})
    reward = RewardFunction(target)
    decorated = reward_function(name="x")(target)
    assert reward.is_async is decorated.is_async is False
    results = [
        reward.evaluate(sample),
        decorated.evaluate(sample),
        *reward.evaluate_batch([sample, sample]),
        asyncio.run(reward.aevaluate(sample)),
        *guerdon.score(target, [sample.to_row()] * 2, workers=0),
    ]
    assert [(r.score, r.error) for r in results] == [(expected, None)] * 7


@pytest.mark.parametrize("target", ASYNC, ids=names)
def test_every_convention_async(target: Any) -> None:
    sample = Sample.from_row(ROW)
    reward = RewardFunction(target)
    assert reward.is_async
    results = [
        reward.evaluate(sample),
        reward_function(target).evaluate(sample),
        *reward.evaluate_batch([sample, sample]),
        asyncio.run(reward.aevaluate(sample)),
        *asyncio.run(reward.aevaluate_batch([sample, sample])),
        *guerdon.score(target, [ROW] * 2, workers=0),
    ]
    assert [(r.score, r.error) for r in results] == [(1.0, None)] * 9


MESSAGES = ROW["messages"]
OBJECTS = [Message(**m) for m in MESSAGES]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("target", "args", "kwargs"),
    [
        (pointwise, (MESSAGES, MESSAGES[:-1], "4"), {}),
        (pointwise, (OBJECTS,), {"ground_truth": "4"}),
        (pointwise, (), {"messages": tuple(OBJECTS), "ground_truth": "4", "anything": 1}),
        (pointwise, (MESSAGES, None, "4"), {}),
        (pointwise_dicts, (MESSAGES, "4"), {}),
        (pointwise_dicts, (OBJECTS,), {"ground_truth": "4"}),
        (response_only, ("It is 4", "4"), {}),
        (response_only, (), {"response": "It is 4", "ground_truth": "4"}),
        (response_only, (), {"messages": MESSAGES, "ground_truth": "4"}),
        (response_only, ("It is 4",), {"answer": "4"}),
        (agent_tunix, ("It is 4", "2 + 2?", "4"), {}),
        (agent_tunix, (), {"messages": MESSAGES, "answer": "4"}),
        (tunix_kwargs, ("It is 4",), {"prompt": "2 + 2?", "answer": "4"}),
        (verl, ("gsm8k", "It is 4", "4"), {"extra_info": {"level": 3}}),
        (positional, (MESSAGES, "4"), {}),
        (positional, (), {"messages": MESSAGES, "ground_truth": "4"}),
        (Callable_, ("It is 4", "4"), {}),
        (lambda response, ground_truth: response.endswith(ground_truth), ("It is 4", "4"), {}),
        (trl_strings, (), {"messages": MESSAGES, "ground_truth": "4", "level": 3}),
        (trl_chat, (), {"messages": MESSAGES, "ground_truth": "4"}),
    ],
    ids=lambda value: names(value) if callable(value) else "",
)
def test_direct_calls(target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    assert RewardFunction(target)(*args, **kwargs).unwrap() == 1.0
    if not isinstance(target, type):
        awaited = RewardFunction(as_async(target))(*args, **kwargs)
        assert inspect.isawaitable(awaited)
        assert asyncio.run(_awaited(awaited)).unwrap() == 1.0


async def _awaited(value: Any) -> Any:
    return await value


@pytest.mark.parametrize(
    ("target", "args", "kwargs"),
    [
        (trl_strings, (["p", "p"], ["a 4", "a 5"], ["4", "4"]), {"level": [3, 3]}),
        (
            trl_strings,
            (),
            {"prompts": ["p"] * 2, "completions": ["4", "5"], "ground_truth": ["4", "4"], "level": [3, 3]},
        ),
        (trl_chat, ([[{"role": "assistant", "content": c}] for c in "45"], ["4", "4"]), {}),
        (reward_kit_batch, ([MESSAGES, MESSAGES], ["4", "5"]), {}),
        (reward_kit_batch, (), {"rollouts_messages": [MESSAGES, OBJECTS], "ground_truth": ["4", "5"]}),
    ],
    ids=lambda value: names(value) if callable(value) else "",
)
def test_direct_calls_of_batches(target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    assert [r.unwrap() for r in RewardFunction(target)(*args, **kwargs)] == [1.0, 0.0]
    awaited = RewardFunction(as_async(target))(*args, **kwargs)
    assert [r.unwrap() for r in asyncio.run(_awaited(awaited))] == [1.0, 0.0]


def test_any_pointwise_names_in_batch_mode() -> None:
    seen = []

    @reward_function(mode="batch")
    def batched(messages: list[list[dict[str, str]]], level, metadata, id, step=None):
        seen.append((type(messages[0][0]), level, [m["nested"] for m in metadata], id, step))
        return [0.5] * len(messages)

    sample = Sample.from_row({**ROW, "step": 7})
    assert [r.unwrap() for r in batched.evaluate_batch([sample, sample])] == [0.5, 0.5]
    assert seen == [(dict, [3, 3], ["n", "n"], ["r1", "r1"], 7)]
    results = batched(messages=[MESSAGES, OBJECTS], level=[1, 2], metadata=[{"nested": 1}] * 2, id=[1, 2])
    assert [r.unwrap() for r in results] == [0.5, 0.5]
    assert seen[1] == (dict, [1, 2], [1, 1], [1, 2], None)


def test_pointwise_mode_for_names_that_look_batched() -> None:
    @reward_function(mode="pointwise")
    def counts(completions: int) -> float:
        return float(completions)

    assert counts.evaluate(Sample.from_row({**ROW, "completions": 5})).score == 5.0


# What a parameter is given


class Turn(TypedDict):
    role: str
    content: str


class Plain:
    pass


@pytest.mark.parametrize(
    ("annotation", "dicts"),
    [
        (List[Dict[str, str]], True),
        (list[dict[str, Any]], True),
        (list[dict], True),
        (dict, True),
        (Sequence[Mapping[str, str]], True),
        (Optional[List[Dict[str, str]]], True),
        ("List[Dict[str, str]]", True),
        ("list[dict] | None", True),
        ("t.Sequence[t.Mapping]", True),
        (list[Message], False),
        (List[Message], False),
        ("List[Message]", False),
        (list[Message | dict], False),
        ("List[Union[Message, Dict]]", False),
        (Message, False),
        (list, False),
        ("list", False),
        (Any, False),
        (inspect.Parameter.empty, False),
        (list[Plain], False),
        (None, False),
    ],
    ids=str,
)
def test_which_annotations_ask_for_plain_dicts(annotation: Any, dicts: bool) -> None:
    assert wants_dicts(annotation) is dicts


def test_annotations_decide_also_as_text_and_under_a_name() -> None:
    """This module's annotations are text, since it imports ``annotations`` from ``__future__``."""
    chat = list[dict[str, str]]
    namespace: dict[str, Any] = {"Chat": chat, "Message": Message}
    exec("def named(messages: Chat): return type(messages[0]) is dict", namespace)
    exec("def quoted(messages: 'Chat'): return type(messages[0]) is dict", namespace)
    exec("def unknown(messages: 'List[Dict[str, Nowhere]]'): return type(messages[0]) is dict", namespace)
    exec("def objects(messages: 'List[Message]'): return type(messages[0]) is Message", namespace)
    exec("def context(original_messages: Chat): return type(original_messages[0]) is dict", namespace)
    exec(
        "def mixed(messages: Chat, original_messages): return type(original_messages[0]) is Message",
        namespace,
    )
    for name in ("named", "quoted", "unknown", "objects", "context", "mixed"):
        reward = RewardFunction(namespace[name])
        assert [reward.evaluate(Sample.from_row(ROW)).score, reward(messages=OBJECTS).score] == [1.0, 1.0], (
            name
        )


@pytest.mark.parametrize(
    ("function", "chat"),
    [
        (trl_strings, False),
        (trl_chat, True),
        (functools.partial(trl_chat), True),
        (lambda completions: [c[0].get("content") for c in completions], True),
        (lambda completions: [len(c) for c in completions], False),
    ],
)
def test_a_batched_function_that_reads_contents_is_given_chats(function: Any, chat: bool) -> None:
    assert wants_chat(function, inspect.Parameter.empty) is chat


class Chatty:
    def __call__(self, completions):
        return [float(c[0]["content"] == "It is 4") for c in completions]


def test_an_instance_that_reads_contents_is_given_chats() -> None:
    assert RewardFunction(Chatty()).evaluate(Sample.from_row(ROW)).unwrap() == 1.0


def test_defaults_are_left_to_the_function() -> None:
    default = object()

    def f(response, missing=default, ground_truth="none", answer=default, metadata=default):
        return float(missing is default and ground_truth == "none" and answer is default)

    sample = Sample(messages=[{"role": "assistant", "content": "x"}])
    assert RewardFunction(f).evaluate(sample).score == 1.0
    assert RewardFunction(f)(response="x").score == 1.0


@pytest.mark.parametrize(
    ("given_row", "truth", "answer"),
    [
        ({}, None, None),
        ({"ground_truth": "g"}, "g", "g"),
        ({"answer": "a"}, "a", "a"),
        ({"ground_truth": "g", "answer": "a"}, "g", "a"),
        ({"metadata": {"ground_truth": "m"}}, "m", "m"),
        ({"ground_truth": 0}, 0, 0),
        ({"ground_truth": ""}, "", ""),
        ({"ground_truth": False, "answer": "a"}, False, "a"),
    ],
)
def test_ground_truth_and_answer_stand_in_for_each_other(
    given_row: dict[str, Any], truth: Any, answer: Any
) -> None:
    seen: list[Any] = []

    def f(response, ground_truth=None, answer=None):
        seen.append((ground_truth, answer))
        return 1.0

    row = {"messages": MESSAGES, **given_row}
    assert RewardFunction(f).evaluate(Sample.from_row(row)).score == 1.0
    assert RewardFunction(f)(**row).score == 1.0
    assert seen == [(truth, answer)] * 2


def test_kwargs_get_what_there_is_but_the_completion_once() -> None:
    seen: dict[str, Any] = {}

    def f(response, **kwargs):
        seen.update(kwargs)
        return 1.0

    RewardFunction(f).evaluate(Sample.from_row(ROW))
    assert set(seen) == {
        "original_messages",
        "ground_truth",
        "answer",
        "prompt",
        "metadata",
        "id",
        "level",
        "nested",
    }
    assert seen["metadata"] == {"nested": "n", "level": 3}


def test_explicit_before_fixed_before_the_sample() -> None:
    def f(response, level, scale=1):
        return level * scale

    reward = RewardFunction(f, level=10)
    assert reward.evaluate(Sample.from_row(ROW)).score == 10.0
    assert reward(messages=MESSAGES, level=5).score == 5.0
    assert reward(response="x", scale=2).score == 20.0
    assert RewardFunction(reward, scale=3).parameters == {"level": 10, "scale": 3}
    assert RewardFunction(reward, scale=3)("x").score == 30.0
    assert RewardFunction(f)("x", 4).score == 4.0


@pytest.mark.parametrize(
    ("function", "row", "says"),
    [
        (lambda response, rubric: 1, {}, "lambda needs 'rubric', which nothing supplies and which has no default; "
         "the columns there are: messages"),
        (lambda response, ground_truth: 1, {}, "needs 'ground_truth'"),
        (lambda response, levl: 1, {"level": 3}, "map one to it, such as levl=level"),
        (lambda completions, rubric: [1], {}, "needs 'rubric'"),
        (lambda queries, prompts, labels: [1], {}, "needs 'labels'"),
        (lambda response, id: 1, {}, "needs 'id'"),
        (lambda response, x: 1, {f"c{i:02}": i for i in range(30)}, "and 11 more"),
    ],
)  # fmt: skip
def test_a_missing_parameter_is_named_with_the_columns(function: Any, row: dict[str, Any], says: str) -> None:
    row = {"messages": MESSAGES, **row}
    reward = RewardFunction(function)
    with pytest.raises(BindingError) as caught:
        guerdon.score(reward, [row], workers=0)
    assert says in str(caught.value)
    result = reward.evaluate(Sample.from_row(row))
    assert (result.score, result.error_kind) == (None, "binding")
    assert says in str(result.error)


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        (("a", "b", "c"), {}, "f takes 2 positional arguments, not 3"),
        (("a",), {"response": "b"}, "f got 'response' twice"),
        ((), {"respons": "a"}, "f has no parameter 'respons'; did you mean 'response'?"),
        ((), {"zzz": 1}, "f has no parameter 'zzz'; it takes response, level"),
    ],
)
def test_arguments_that_do_not_fit(args: tuple[Any, ...], kwargs: dict[str, Any], says: str) -> None:
    def f(response, level=1):
        return 1.0

    for function in (f, as_async(f)):
        with pytest.raises(BindingError) as caught:
            RewardFunction(function)(*args, **kwargs)
        assert str(caught.value) == says


@pytest.mark.parametrize("target", [response_only, trl_strings, Callable_, functools.partial(response_only)])
def test_a_fixed_argument_that_does_not_exist(target: Any) -> None:
    name = "ending" if target is Callable_ else "ground_truth"
    wrong = name[:-1]
    if target is trl_strings:
        assert RewardFunction(target, anything=1).parameters == {"anything": 1}
        return
    with pytest.raises(BindingError, match=f"no parameter '{wrong}'; did you mean '{name}'"):
        RewardFunction(target, **{wrong: "4"})


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
        results = [asyncio.run(_awaited(r)) if asynchronous else r for r in called]
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


# Properties

NAMES = ["response", "completion", "prompt", "ground_truth", "answer", "id", "metadata", "messages"]
COLUMNS = ["level", "kind", "x1"]


@given(st.permutations([*NAMES, *COLUMNS]), st.integers(0, 11), st.booleans(), st.sampled_from(["", "*, "]))
def test_any_set_of_parameters_gets_the_right_values(
    order: list[str], count: int, takes_kwargs: bool, star: str
) -> None:
    chosen = order[:count]
    columns = {name: f"value of {name}" for name in COLUMNS}
    row = {"messages": MESSAGES, "ground_truth": "g", "answer": "a", "id": 5, **columns}
    expected = {
        "response": "It is 4",
        "completion": "It is 4",
        "prompt": "2 + 2?",
        "ground_truth": "g",
        "answer": "a",
        "id": 5,
        "metadata": columns,
        "messages": OBJECTS,
        **columns,
    }
    parameters = ", ".join([*chosen, *(["**rest"] if takes_kwargs else [])])
    seen: list[dict[str, Any]] = []
    namespace: dict[str, Any] = {"seen": seen}
    header = f"def f({star if chosen else ''}{parameters}):"
    exec(f"{header}\n    seen.append(locals())\n    return 1", namespace)
    reward = RewardFunction(namespace["f"])
    assert reward.evaluate(Sample.from_row(row)).error is None
    assert reward(**row).error is None if takes_kwargs or set(COLUMNS) <= set(chosen) else True
    for bound in seen:
        rest = bound.pop("rest", {})
        assert bound == {name: expected[name] for name in chosen}
        assert set(rest) & set(chosen) == set()
        assert {n: v for n, v in rest.items() if n in COLUMNS} == {
            n: v for n, v in columns.items() if n not in chosen and takes_kwargs
        }


class ForeignMessage(BaseModel):
    """A message class of another package, as Reward Kit's decorator insists on its own."""

    role: str
    content: str | None = ""


def _takes_foreign(messages: list[ForeignMessage], **kwargs: Any) -> float:
    return float(all(type(m) is ForeignMessage for m in messages))


def _takes_either(messages: list[ForeignMessage] | list[dict[str, Any]]) -> float:
    return float(all(type(m) is ForeignMessage for m in messages))


@pytest.mark.parametrize("function", [_takes_foreign, _takes_either])
def test_another_packages_message_class_is_given_where_it_is_annotated(function: Any) -> None:
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
    reward = RewardFunction(function)
    assert reward.evaluate(Sample(messages=messages)).score == 1.0
    assert reward(messages=messages).score == 1.0
    assert guerdon.score(function, [{"messages": messages}], workers=1).scores == [1.0]


def test_verls_batched_convention() -> None:
    def compute_score(
        data_sources: list[str],
        solution_strs: list[str],
        ground_truths: list[Any],
        extra_infos: list[dict[str, Any]],
    ) -> list[dict[str, Any]]:
        rows = zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)
        return [
            {"score": float(s == g), "acc": s == g, "level": e["level"], "from": d} for d, s, g, e in rows
        ]

    rows = [
        {
            "messages": [{"role": "assistant", "content": content}],
            "ground_truth": "4",
            "data_source": "sums",
            "level": 2,
        }
        for content in ("4", "5")
    ]
    scores = guerdon.score(compute_score, rows, workers=0)
    assert scores.scores == [1.0, 0.0]
    assert scores[1].metrics["level"].score == 2.0


def in_folder(response: str, folder: Setting[str] = "here", unit: str = "words") -> dict[str, Any]:
    return {"score": 1.0, "reason": f"{folder}, {unit}"}


def all_in_folder(completions: list[str], folder: Setting[str] = "here", unit: Any = None) -> list[float]:
    return [float(folder == "here")] * len(completions)


def needs_folder(response: str, folder: Setting[str]) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("fixed", "reason"),
    [
        ({}, "here, lines"),
        ({"folder": "there"}, "there, lines"),
        ({"folder": "there", "unit": "pages"}, "there, pages"),
    ],
)
def test_no_row_gives_a_setting(fixed: dict[str, Any], reason: str) -> None:
    row = {**ROW, "folder": "elsewhere", "unit": "lines"}
    assert RewardFunction(in_folder, **fixed).evaluate(Sample.from_row(row)).reason == reason
    assert guerdon.score(RewardFunction(all_in_folder), [row])[0].score == 1
    assert in_folder("x", folder="mine")["reason"] == "mine, words"
    with pytest.raises(BindingError, match="folder"):
        guerdon.score(RewardFunction(needs_folder), [row])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, ("d", None, "n")),
        ({"kind": None, "most": None}, ("d", None, "n")),
        ({"kind": "k", "most": 0}, ("k", 0, "n")),
    ],
)
def test_a_null_in_a_column_leaves_the_default(row: dict[str, Any], expected: tuple[Any, ...]) -> None:
    seen = []

    def told(response: str, needed: Any, kind: str = "d", *, most: int | None = None) -> float:
        seen.append((kind, most, needed or "n"))
        return 1.0

    messages = [{"role": "assistant", "content": "a"}]
    (result,) = guerdon.score(told, [{"messages": messages, "needed": None, **row}], workers=0)
    assert (result.score, seen) == (1.0, [expected])

"""``judge`` on the network: what it sends, what servers refuse, faults, deadlines."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import pytest

import guerdon
from guerdon.rewards.judge.reward import judge
from support.judge_server import (
    MESSAGES,
    Asked,
    JudgeServer,
    Reply,
    Script,
    always,
    ask,
    completion,
    failure,
    in_turn,
    judge_server,
    verdict,
)

KEY = "sk-test-0123456789abcdef"


# What is sent.


def test_the_request(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUERDON_JUDGE_API_KEY", KEY)
    result = ask(server, seed=3, max_tokens=99, temperature="0.5", points="7")
    assert result.score == 0.5  # grade 4 of 1 to 7
    sent = server.asked[0]
    assert {n: sent.body[n] for n in ("model", "temperature", "seed", "max_tokens")} == {
        "model": "scripted",
        "temperature": 0.5,
        "seed": 3,
        "max_tokens": 99,
    }
    assert sent.headers["Authorization"] == f"Bearer {KEY}"
    assert [m["role"] for m in sent.body["messages"]] == ["system", "user"]
    form = sent.body["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    assert form["json_schema"]["schema"]["properties"]["score"] == {
        "type": "integer",
        "enum": [1, 2, 3, 4, 5, 6, 7],
    }
    assert sent.blocks() == {
        "request": "Name a sea.",
        "rubric": sent.blocks()["rubric"],
        "response": "The Red Sea.",
    }


def test_a_conversation_is_shown_with_its_roles_and_tool_calls(server: JudgeServer) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "map", "arguments": '{"of": "seas"}'}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Name a sea."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "Red, Black", "tool_call_id": "1"},
        {"role": "assistant", "content": "Red."},
    ]
    asyncio.run(judge(messages, ground_truth={"seas": ["Red"]}, **server.options()))
    blocks = server.asked[0].blocks()
    assert blocks["request"].startswith(
        "system:\nBe brief.\n\nuser:\nName a sea.\n\nassistant:\ntool calls: ["
    )
    assert "tool:\nRed, Black" in blocks["request"]
    assert (blocks["reference"], blocks["response"]) == ('{"seas": ["Red"]}', "Red.")


def test_a_response_that_is_only_a_tool_call_is_judged(server: JudgeServer) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "map", "arguments": "{}"}}
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    assert asyncio.run(judge(messages, **server.options())).score == 0.75
    assert '"name": "map"' in server.asked[0].blocks()["response"]


def test_a_long_response_is_judged_by_its_ends(server: JudgeServer) -> None:
    messages = [{"role": "assistant", "content": "a" * 300 + "b" * 300}]
    asyncio.run(judge(messages, **server.options(max_characters=100)))
    assert server.asked[0].blocks()["response"] == (
        "a" * 50 + "\n[500 characters are left out here]\n" + "b" * 50
    )


def test_the_reasoning_can_be_shown(server: JudgeServer) -> None:
    messages = [{"role": "assistant", "content": "<think>why</think>Red."}]
    asyncio.run(judge(messages, **server.options(reasoning="yes")))
    assert server.asked[0].blocks()["response"] == "<think>why</think>Red."


def test_a_system_prompt_and_a_template_of_ones_own(server: JudgeServer) -> None:
    template = 'Grade this:\n{response}\nby {rubric} from 1 to {points}, as in {"x": 1} {other}'
    ask(server, system_prompt="You teach geography.", template=template, rubric="{response}")
    sent = server.asked[0]
    assert sent.system.startswith("You teach geography.\n\nHow to read what follows:")
    assert sent.blocks() == {"response": "The Red Sea.", "rubric": "{response}"}
    assert 'from 1 to 5, as in {"x": 1} {other}' in sent.user
    assert sent.user.count("The Red Sea.") == 1  # what is filled in is not filled in again
    assert f'"code": "{sent.code}"' in sent.user.rpartition("Answer now")[2]


# What servers refuse, and what is remembered of it.


def refusing(
    field: str, message: str, *, status: int = 400, unless: Callable[[Any], bool] | None = None
) -> Script:
    def script(asked: Asked) -> Reply:
        given = asked.body.get(field)
        if given is not None and not (unless is not None and unless(given)):
            return failure(status, message, param=field)
        return verdict(asked, score=3)

    return script


@pytest.mark.parametrize(
    ("script", "requests", "left"),
    [
        (refusing("response_format", "response_format is not supported"), 3, {"response_format": None}),
        (
            refusing(
                "response_format",
                "'json_schema' is not supported with this model",
                unless=lambda form: form["type"] == "json_object",
            ),
            2,
            {"response_format": {"type": "json_object"}},
        ),
        (
            refusing(
                "max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            ),
            2,
            {"max_tokens": None, "max_completion_tokens": 2048},
        ),
        (
            refusing("temperature", "'temperature' does not support 0 with this model."),
            2,
            {"temperature": None},
        ),
        (refusing("seed", "Extra inputs are not permitted", status=422), 2, {"seed": None}),
        (refusing("response_format", "cannot do that", status=501), 3, {"response_format": None}),
    ],
)
def test_what_a_server_refuses_is_left_out_from_then_on(
    script: Script, requests: int, left: dict[str, Any], server: JudgeServer
) -> None:
    server.script = script
    first = ask(server)
    assert (first.score, first.metrics["requests"].score) == (0.5, requests)
    assert {name: server.asked[-1].body.get(name) for name in left} == left
    second = ask(server)
    assert (second.score, second.metrics["requests"].score) == (0.5, 1)


def test_a_request_that_is_refused_for_good_is_a_failure(server: JudgeServer) -> None:
    server.script = lambda asked: failure(400, "this model is retired")
    result = ask(server, retries=5)
    assert (result.score, result.error_kind) == (None, "remote")
    assert "answered 400: this model is retired" in str(result.error)
    assert len(server.asked) == 3  # once for each form of the answer


def test_a_prompt_over_the_context_is_no_reason_to_ask_in_another_form(server: JudgeServer) -> None:
    server.script = lambda asked: failure(
        400, "This model's maximum context length is 100 tokens.", code="context_length_exceeded"
    )
    result = ask(server)
    assert "max_characters= shortens what it reads" in str(result.error)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "is the key right?"), (403, "may this key"), (404, "the address and the model")],
)
def test_what_no_other_try_would_cure_is_not_tried_again(status: int, says: str, server: JudgeServer) -> None:
    server.script = lambda asked: failure(status, "no")
    result = ask(server, retries=5)
    assert result.error_kind == "remote"
    assert says in str(result.error)
    assert len(server.asked) == 1


# Faults that pass.


@pytest.mark.sample(4, seconds=1)
@pytest.mark.parametrize(
    "fault",
    [
        failure(429, "slow down", headers={"Retry-After": "0"}),
        failure(500, "oops"),
        Reply("<html>bad gateway</html>", 502),
        failure(503, "loading"),
        Reply(None, hang_up=True),
        Reply("not JSON at all {"),
        Reply({"choices": []}),
        Reply("[" * 100_000),
        Reply(b"\x80\x81"),
    ],
)
def test_a_fault_that_passes_is_tried_again(fault: Reply, server: JudgeServer) -> None:
    server.script = in_turn(lambda asked: fault, always(score=4))
    result = ask(server, retries=2)
    assert (result.score, result.metrics["requests"].score) == (0.75, 2)


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("dated", [False, True])
def test_retry_after_is_kept_to(dated: bool, server: JudgeServer) -> None:
    def busy(asked: Asked) -> Reply:
        wait = formatdate(time.time() + 3, usegmt=True) if dated else "1.5"
        return failure(429, "busy", headers={"Retry-After": wait})

    server.script = in_turn(busy, always(score=4))
    started = time.monotonic()
    assert ask(server, retries=1).score == 0.75
    assert time.monotonic() - started >= 1.5


def test_a_wait_beyond_the_deadline_is_not_begun(server: JudgeServer) -> None:
    server.script = lambda asked: failure(429, "busy", headers={"Retry-After": "3600"})
    started = time.monotonic()
    result = ask(server, retries=5)
    assert time.monotonic() - started < 5
    assert (result.score, result.error_kind) == (None, "remote")
    assert "busy; the next try, in 3.6e+03 s, would come after the deadline" in str(result.error)


def test_an_empty_purse_is_no_fault_that_passes(server: JudgeServer) -> None:
    server.script = lambda asked: failure(429, "You exceeded your current quota", code="insufficient_quota")
    result = ask(server, retries=5)
    assert result.error_kind == "remote"
    assert len(server.asked) == 1


def test_faults_without_end_are_a_failure_with_their_number(server: JudgeServer) -> None:
    server.script = lambda asked: failure(500, "oops")
    result = ask(server, retries=1)
    assert (result.score, result.error_kind) == (None, "remote")
    assert "answered 500: oops (2 tries)" in str(result.error)
    assert result.metrics["requests"].score == 2


def test_a_server_that_is_not_there() -> None:
    result = asyncio.run(judge(MESSAGES, model="m", base_url="http://127.0.0.1:9/v1", retries=0))
    assert (result.score, result.error_kind) == (None, "remote")
    assert "http://127.0.0.1:9/v1/chat/completions cannot be asked: Connect" in str(result.error)


def test_a_redirect_is_not_followed(server: JudgeServer) -> None:
    with judge_server(always(score=5)) as other:
        server.script = lambda asked: Reply("", 307, {"Location": f"{other.address}/chat/completions"})
        result = ask(server)
        assert (result.score, result.error_kind, other.asked) == (None, "remote", [])


def test_an_answer_without_end_is_cut(server: JudgeServer) -> None:
    body = gzip.compress(json.dumps(completion(" " * (9 << 20))).encode())
    server.script = lambda asked: Reply(body, headers={"Content-Encoding": "gzip"})
    result = ask(server)
    assert "answered with more than 8 MiB" in str(result.error)


# Deadlines.


def test_one_request_may_take_so_long(server: JudgeServer) -> None:
    server.script = lambda asked: Reply(completion("late"), delay=1.5)
    started = time.monotonic()
    result = ask(server, request_seconds=0.3)
    assert time.monotonic() - started < 1.4
    assert (result.score, result.error_kind) == (None, "remote")
    assert "did not answer within 0.3 s" in str(result.error)


def test_the_whole_judgement_may_take_so_long(server: JudgeServer) -> None:
    server.script = lambda asked: Reply(completion("late"), delay=1.5)
    started = time.monotonic()
    result = ask(server, seconds="0.3")
    assert time.monotonic() - started < 1.4
    assert (result.score, result.error_kind) == (None, "timeout")
    assert "the judge gave no verdict within 0.3 s" in str(result.error)
    assert result.metrics["requests"].score == 1


def test_many_are_asked_at_once(server: JudgeServer) -> None:
    server.script = lambda asked: Reply(verdict(asked, score=5).body, delay=0.4)
    rows = [{"messages": [{"role": "assistant", "content": f"Sea {n}"}]} for n in range(40)]
    reward = guerdon.get_reward_function("guerdon.rewards.judge.reward:judge", **server.options())
    scores = guerdon.score(reward, rows, concurrency=20)
    assert scores.scores == [1.0] * 40
    assert 10 <= server.most_in_flight <= 20


def test_loops_of_several_threads_at_once(server: JudgeServer) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: ask(server).score, range(12)))
    assert found == [0.75] * 12

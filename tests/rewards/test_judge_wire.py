"""``judge`` on the wire: what it sends, what servers refuse, faults, deadlines, votes, costs, the cache."""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import BindingError
from guerdon.rewards.judge.reward import judge
from guerdon.types import EvaluateResult
from support.judge_server import (
    Asked,
    JudgeServer,
    Reply,
    Script,
    always,
    better_is_longer,
    completion,
    failure,
    judge_server,
    saying,
    verdict,
)

MESSAGES = [{"role": "user", "content": "Name a sea."}, {"role": "assistant", "content": "The Red Sea."}]
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MODEL", "BASE_URL", "API_KEY", "CACHE"):
        monkeypatch.delenv(f"GUERDON_JUDGE_{name}", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server(always(score=4)) as running:
        yield running


def ask(server: JudgeServer, **options: Any) -> EvaluateResult:
    return asyncio.run(judge(MESSAGES, **server.options(**options)))


def in_turn(*scripts: Script) -> Script:
    """The scripts one after the other; the last one for all further requests."""
    return lambda asked: scripts[min(asked.number, len(scripts)) - 1](asked)


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


# Votes.


def by_seed(*grades: int | None) -> Script:
    """Grades by the seed of the request; None for one that cannot be read."""

    def script(asked: Asked) -> Reply:
        grade = grades[asked.body["seed"] % 7919]
        return verdict(asked, f"Grade {grade}.", score=grade) if grade else Reply(completion("Hm."))

    return script


@pytest.mark.parametrize(
    ("grades", "voting", "score", "agreement"),
    [
        ((5, 5, 1), "mean", 2 / 3, 2 / 3),
        ((5, 5, 1), "majority", 1.0, 2 / 3),
        ((5, 3, 1), "majority", 0.5, 1 / 3),
        ((5, 5, 1, 1), "majority", 0.5, 0.5),
        ((2, 2, 2), "mean", 0.25, 1.0),
        ((5, 5, None), "mean", 1.0, 1.0),
    ],
)
def test_votes(
    grades: tuple[int | None, ...], voting: str, score: float, agreement: float, server: JudgeServer
) -> None:
    server.script = by_seed(*grades)
    result = ask(server, votes=len(grades), voting=voting)
    assert result.unwrap() == pytest.approx(score)
    assert result.metrics["agreement"].score == pytest.approx(agreement)
    read = sum(grade is not None for grade in grades)
    assert (result.metrics["votes"].score, result.metrics["votes"].success) == (read, read == len(grades))
    assert {asked.body["temperature"] for asked in server.asked} == {1.0}


def test_half_of_the_votes_do_not_do(server: JudgeServer) -> None:
    server.script = by_seed(5, None)
    result = ask(server, votes=2)
    assert (result.score, result.error_kind) == (None, "invalid_result")


def test_votes_that_it_does_not_apply(server: JudgeServer) -> None:
    words = ("NA", "NA", "PASS")
    server.script = lambda asked: verdict(asked, verdict=words[asked.body["seed"]])
    result = ask(server, votes=3, kind="verdict", rubric="It names a sea.")
    assert (result.score, result.failed, result.reason) == (None, False, "NA: Because.")
    result = ask(server, votes=2, seed=1, kind="verdict", rubric="It names a sea.")
    assert result.score == 1.0  # of one each, the one that decides


# Pairs.


def pair(server: JudgeServer, response: str, baseline: str, **options: Any) -> EvaluateResult:
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": response}]
    return asyncio.run(judge(messages, baseline=baseline, **server.options(kind="pairwise", **options)))


@pytest.mark.parametrize(("always_better", "bias"), [("A", 1.0), ("B", -1.0)])
def test_a_judge_that_looks_at_the_place_only_is_found_out(
    always_better: str, bias: float, server: JudgeServer
) -> None:
    server.script = always(better=always_better)
    result = pair(server, "long answer", "short")
    assert (result.score, result.metrics["position_consistency"].score) == (0.5, 0.0)
    assert result.metrics["position_bias"].score == bias


def test_both_orders_are_asked(server: JudgeServer) -> None:
    server.script = better_is_longer
    assert pair(server, "long answer", "short").score == 1.0
    shown = {(asked.blocks()["response a"], asked.blocks()["response b"]) for asked in server.asked}
    assert shown == {("long answer", "short"), ("short", "long answer")}
    assert pair(server, "brief", "long answer").score == 0.0
    assert pair(server, "brief", "short").score == 0.5


def test_a_tie_in_one_order_and_a_win_in_the_other(server: JudgeServer) -> None:
    def script(asked: Asked) -> Reply:
        return verdict(asked, better="A" if asked.blocks()["response a"] == "mine" else "TIE")

    server.script = script
    result = pair(server, "mine", "theirs")
    assert (result.score, result.metrics["position_consistency"].score) == (0.75, 0.0)
    assert result.metrics["position_bias"].score == 0.0


def test_a_pair_is_compared_beside_the_reference_too(server: JudgeServer) -> None:
    server.script = always(better="TIE")
    assert pair(server, "mine", "theirs", ground_truth="The Red Sea").score == 0.5
    assert server.asked[0].blocks()["reference"] == "The Red Sea"


def test_one_order_without_a_verdict_is_a_failure(server: JudgeServer) -> None:
    def script(asked: Asked) -> Reply:
        return (
            verdict(asked, better="A") if asked.blocks()["response a"] == "mine" else Reply(completion("Hm."))
        )

    server.script = script
    result = pair(server, "mine", "theirs")
    assert (result.score, result.error_kind) == (None, "invalid_result")


# Messages without a verdict.


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (completion(None, refusal="I cannot grade this."), "the judge refused: I cannot grade this."),
        (completion('{"code": "CO', finish="length"), "cut off; max_tokens= lets it be longer"),
        (completion("", finish="content_filter"), "held back by its server's content filter"),
        (completion(None), "the judge answered nothing"),
        (completion("   "), "the judge answered nothing"),
        (
            completion(None, tool_calls=[{"id": "1", "type": "function"}]),
            "called a tool in place of a verdict",
        ),
        (completion("Five of five."), 'no readable verdict: "Five of five."'),
    ],
)
def test_a_message_without_a_verdict_is_never_a_score(body: Any, says: str, server: JudgeServer) -> None:
    server.script = lambda asked: Reply(body)
    result = ask(server)
    assert (result.score, result.error_kind) == (None, "invalid_result")
    assert says in str(result.error)
    assert len(server.asked) == 2  # asked for once more
    assert server.asked[0].body["seed"] != server.asked[1].body["seed"]
    assert result.metrics["prompt_tokens"].score == 200


def test_a_verdict_at_the_second_attempt(server: JudgeServer) -> None:
    server.script = in_turn(saying("Let me think."), always(score=4))
    result = ask(server)
    assert (result.score, result.metrics["completion_tokens"].score) == (0.75, 40)


def test_a_cut_message_that_holds_a_verdict_is_none(server: JudgeServer) -> None:
    server.script = lambda asked: Reply(
        completion(f'{{"code": "{asked.code}", "score": 5}} but', finish="length")
    )
    assert ask(server).error_kind == "invalid_result"


def test_content_in_parts(server: JudgeServer) -> None:
    def script(asked: Asked) -> Reply:
        text = json.dumps({"code": asked.code, "explanation": "", "score": 2})
        parts = [{"type": "text", "text": text[:9]}, {"type": "text", "text": text[9:]}]
        return Reply({"choices": [{"message": {"content": parts}}]})

    server.script = script
    result = ask(server)
    assert (result.score, result.reason) == (0.25, "2")
    assert "prompt_tokens" not in result.metrics  # the server told none


# Costs.


def test_the_cost(server: JudgeServer) -> None:
    result = ask(server, votes=3, prompt_price="2.5", completion_price=10)
    assert result.metrics["cost"].score == pytest.approx(3 * (100 * 2.5 + 20 * 10) / 1e6)
    assert ask(server, completion_price=10).metrics["cost"].score == pytest.approx(0.0002)
    assert "cost" not in ask(server).metrics


def test_usage_that_is_none_does_not_count(server: JudgeServer) -> None:
    def script(asked: Asked) -> Reply:
        body = verdict(asked, score=4).body
        return Reply({**body, "usage": {"prompt_tokens": -5, "completion_tokens": "many"}})

    server.script = script
    assert ask(server).score == 0.75


# The cache.


def test_a_verdict_is_kept(server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "verdicts.sqlite"
    first = ask(server, cache=file)
    second = ask(server, cache=str(file))
    assert (first.score, second.score, second.reason) == (0.75, 0.75, first.reason)
    assert (second.metrics["cached"].score, second.metrics["requests"].score) == (1, 0)
    assert second.metrics["prompt_tokens"].score == 0
    assert len(server.asked) == 1
    monkeypatch.setenv("GUERDON_JUDGE_CACHE", str(file))
    assert ask(server).metrics["cached"].score == 1
    for other in (
        {"seed": 1},
        {"model": "m2"},
        {"points": 4},
        {"rubric": "x"},
        {"temperature": 1},
        {"max_tokens": 99},
    ):
        ask(server, **other)
    assert len(server.asked) == 7


def test_what_is_unreadable_is_not_kept(server: JudgeServer, tmp_path: Path) -> None:
    server.script = in_turn(saying("Hm."), saying("Hm."), always(score=4))
    assert ask(server, cache=tmp_path / "c").failed
    assert ask(server, cache=tmp_path / "c").score == 0.75


def test_neither_the_key_nor_a_text_that_was_judged_is_in_the_cache(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUERDON_JUDGE_API_KEY", KEY)
    ask(server, cache=tmp_path / "c")
    content = (tmp_path / "c").read_bytes()
    assert KEY.encode() not in content
    assert b"Red Sea" not in content


def test_a_cache_that_cannot_be_used_is_said_so(server: JudgeServer, tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"no database, only some text that is long enough" * 50)
    result = ask(server, cache=tmp_path / "c")
    assert result.error_kind == "input"
    assert "cannot be used: file is not a database" in str(result.error)
    assert ask(server, cache=tmp_path / "no" / "folder").error_kind == "input"
    assert ask(server, cache=3).error_kind == "input"


def test_several_processes_use_one_cache(server: JudgeServer, tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from guerdon.rewards.judge.reward import judge\n"
        "async def all():\n"
        "    calls = [judge([{'role': 'assistant', 'content': f'Sea {n}'}], model='m', base_url=sys.argv[1],\n"
        "        cache=sys.argv[2]) for n in range(30)]\n"
        "    return await asyncio.gather(*calls)\n"
        "assert [r.score for r in asyncio.run(all())] == [0.75] * 30\n"
    )
    command = [sys.executable, "-W", "error", "-c", code, server.address, str(tmp_path / "c")]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    with sqlite3.connect(tmp_path / "c") as connection:
        assert connection.execute("select count(*) from answers").fetchone() == (30,)
    connection.close()


# Keys, versions, settings.


def test_no_key_in_anything_that_is_told(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUERDON_JUDGE_API_KEY", KEY)
    for script in (
        lambda asked: failure(401, f"Incorrect API key provided: {asked.headers['Authorization']}"),
        lambda asked: Reply(f"bad gateway for Bearer {KEY}", 502),
        lambda asked: failure(400, f"temperature {KEY}"),
        lambda asked: Reply(completion(None, refusal=f"I will not, with {KEY}.")),
        lambda asked: Reply(completion(f"Your key is {KEY}.")),
    ):
        server.script = script
        result = ask(server)
        assert result.failed
        assert KEY not in repr(result) + str(result.model_dump())
        assert "[redacted]" in str(result.error)


def test_the_key_is_no_parameter_and_no_version_knows_it(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward = guerdon.get_reward_function(
        "guerdon.rewards.judge.reward:judge", model="m", key_variable="MY_KEY"
    )
    before = reward.version
    monkeypatch.setenv("MY_KEY", KEY)
    after = guerdon.get_reward_function(
        "guerdon.rewards.judge.reward:judge", model="m", key_variable="MY_KEY"
    )
    assert (after.version, dict(after.parameters)) == (before, {"model": "m", "key_variable": "MY_KEY"})
    with pytest.raises(BindingError) as refused:
        guerdon.get_reward_function("guerdon.rewards.judge.reward:judge", api_key=KEY)
    assert KEY not in str(refused.value)


def test_the_version_knows_the_model_of_the_environment_and_no_request_changes_it(
    server: JudgeServer, tmp_path: Path
) -> None:
    code = (
        "import asyncio, sys\n"
        "from guerdon.rewards.judge.reward import judge\n"
        "before = judge.version\n"
        "if len(sys.argv) > 1: asyncio.run(judge([{'role': 'assistant', 'content': 'Sea'}], base_url=sys.argv[1]))\n"
        "assert judge.version == before\n"
        "print(before)"
    )

    def version(model: str, *arguments: str) -> str:
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(
            command, env={"GUERDON_JUDGE_MODEL": model}, capture_output=True, text=True, check=True
        )
        return done.stdout

    one = version("one", server.address)
    assert one == version("one")
    assert one != version("two")
    assert len(server.asked) == 1


def test_openais_key_goes_to_openais_address_only(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ask(server)
    assert "Authorization" not in server.asked[-1].headers
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    asyncio.run(judge(MESSAGES, model="m"))
    assert server.asked[-1].headers["Authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv("GUERDON_JUDGE_API_KEY", "own")
    ask(server)
    assert server.asked[-1].headers["Authorization"] == "Bearer own"


def test_the_environment_names_the_judge(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUERDON_JUDGE_MODEL", "from-environment")
    monkeypatch.setenv("GUERDON_JUDGE_BASE_URL", server.address + "/")
    result = asyncio.run(judge(MESSAGES))
    assert result.score == 0.75
    assert server.asked[0].body["model"] == "from-environment"
    assert result.metrics["judge"].reason == "from-environment, prompts 1"


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({}, "the judge needs a model: give model=, or set GUERDON_JUDGE_MODEL"),
        ({"model": "m"}, "the judge needs a key for https://api.openai.com/v1: set GUERDON_JUDGE_API_KEY"),
        ({"model": " "}, "model must be a text that is not empty"),
        ({"model": "m", "base_url": "localhost:8000"}, "must be of the form https://host/v1"),
        ({"model": "m", "base_url": "http://user:pass@h/v1"}, "without a password"),
        ({"model": "m", "base_url": "http://h:99999/v1"}, "must be of the form https://host/v1"),
        ({"model": "m", "base_url": "http://h/v1?key=s3cret"}, "a query or a fragment"),
        (
            {"model": "m", "base_url": "http://h", "key_variable": "sk-s3cret"},
            "must be the name of an environment",
        ),
        (
            {"model": "m", "base_url": "http://h", "key_variable": "NO_SUCH"},
            "variable NO_SUCH of the judge's key",
        ),
    ],
)
def test_an_endpoint_that_cannot_be_used(parameters: dict[str, Any], says: str) -> None:
    result = asyncio.run(judge(MESSAGES, **parameters))
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)
    assert "s3cret" not in str(result.error)
    assert "pass@" not in str(result.error)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"kind": "best"}, "kind must be one of rubric, verdict, checklist, reference, pairwise"),
        ({"points": 1}, "points must be a whole number from 2 to 100, not 1"),
        ({"votes": 0}, "votes must be a whole number from 1 to 32, not 0"),
        ({"votes": 1.5}, "votes must be a whole number"),
        ({"voting": "loud"}, "voting must be one of mean, majority"),
        ({"temperature": -1}, "temperature must be a number of 0 or more"),
        ({"seconds": 0}, "seconds must be more than 0"),
        ({"reasoning": "perhaps"}, "reasoning must be true or false"),
        ({"system_prompt": ""}, "system_prompt must be a text that is not empty"),
        ({"template": "Grade it."}, "the template must hold {response}"),
        (
            {"template": "{response} {criteria}"},
            "the template holds {criteria}, which kind='rubric' does not have",
        ),
        ({"template": "{response_a}", "kind": "pairwise", "baseline": "x"}, "must hold {response_b}"),
        ({"max_characters": 5}, "max_characters must be a whole number from 100"),
        ({"cache": 5}, "cache must be the path of a file"),
        ({"prompt_price": "dear"}, "prompt_price must be a number"),
    ],
)
def test_parameters_that_cannot_be_used(parameters: dict[str, Any], says: str, server: JudgeServer) -> None:
    result = ask(server, **parameters)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)
    assert server.asked == []


def test_nothing_is_left_open(server: JudgeServer) -> None:
    before = threading.active_count()
    for _ in range(3):
        ask(server, votes=4)
    ends = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < ends:
        time.sleep(0.02)  # the server's threads have to notice that they are left
    assert threading.active_count() <= before


def test_the_wire_format_is_that_of_openais_own_library(server: JudgeServer) -> None:
    """What is sent is what its types say, and so are the answers of the scripted server."""
    from openai.types.chat import ChatCompletion
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
    from pydantic import TypeAdapter

    ask(server)
    sent = dict(server.asked[0].body)
    known = CompletionCreateParamsNonStreaming
    assert set(sent) <= known.__required_keys__ | known.__optional_keys__
    TypeAdapter(known).validate_python(sent)
    for body in (
        completion("x"),
        completion(None, refusal="no"),
        completion("x", finish="length", usage=None),
    ):
        ChatCompletion.model_validate(body)


def test_without_the_extra(server: JudgeServer) -> None:
    code = (
        "import asyncio, sys\n"
        "sys.modules['aiohttp'] = None\n"
        "from guerdon.rewards.judge.reward import judge\n"
        "say = lambda text: [{'role': 'assistant', 'content': text}]\n"
        "result = asyncio.run(judge(say('Sea'), model='m', base_url='http://127.0.0.1:9'))\n"
        "print(result.error_kind, result.error)\n"
        "print(asyncio.run(judge(say(''), model='m', base_url='http://127.0.0.1:9')).score)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kind, empty = done.stdout.splitlines()
    assert kind.startswith('missing_extra asking a judge needs an extra: pip install "guerdon[judge]"')
    assert empty == "0.0"  # for which nobody is asked

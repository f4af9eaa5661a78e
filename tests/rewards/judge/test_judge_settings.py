"""Keys, versions and settings of ``judge``: what no message shows, what it takes and what it refuses."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import BindingError
from guerdon.rewards.judge.reward import judge
from support.judge_server import (
    MESSAGES,
    JudgeServer,
    Reply,
    ask,
    completion,
    failure,
)

KEY = "sk-test-0123456789abcdef"


def test_no_key_in_any_message(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
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

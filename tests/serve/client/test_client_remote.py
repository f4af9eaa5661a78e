"""Rewards that a server scores, beside the same reward here."""

from __future__ import annotations

import asyncio
import pickle
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import guerdon
from guerdon import EvaluateResult, MetricResult, RewardFunction
from guerdon.errors import BindingError, InputError, RemoteError, RewardError
from support.misbehaving import Misbehaving
from support.serve_work import in_background

FORMATS = {"v1": {}, "adaptive": {"v1": False}, "reward-kit": {"v1": False, "health": {"status": "ok"}}}
SAID = {
    "raise": ("exception", "ValueError: no (scary.py, line 3)"),
    "late": ("timeout", "scary overran its deadline of 1 s and was ended"),
    "nan": ("invalid_result", "scary returned an invalid result: score must be finite, not nan"),
}


@pytest.fixture(params=FORMATS)
def peer(request: pytest.FixtureRequest) -> Iterator[Misbehaving]:
    with Misbehaving(**FORMATS[request.param]) as server:
        yield server


@pytest.fixture
def two_rewards() -> Iterator[str]:
    def first(response: str) -> float:
        return 1.0

    def second(response: str) -> float:
        return 2.0

    with in_background(first, second, workers=1) as running:
        yield running.url


def talk(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]


def rows(count: int) -> list[dict[str, Any]]:
    return [{"messages": talk(f"text {i} {'z' * (i % 2)}"), "scary_letter": "z"} for i in range(count)]


def scary(response: str, scary_letter: str) -> EvaluateResult:
    """The server's reward, here."""
    count = response.count(scary_letter)
    words, score = f"{count} scary letters", 0.0 if count else 1.0
    return EvaluateResult(score, words, {"letters": MetricResult(score, success=score == 1.0, reason=words)})


def remote(server: Misbehaving, **options: Any) -> RewardFunction:
    return RewardFunction(endpoint=server.url, mode="remote", **options)


def test_making_one_asks_nothing(server: Misbehaving) -> None:
    reward = remote(server)
    assert (reward.__name__, reward.is_async, reward.returns_awaitable) == ("remote", True, False)
    assert server.seen == []


def test_its_name_is_the_servers(server: Misbehaving) -> None:
    reward = remote(server)
    assert (reward.name, reward.provenance.reward) == ("scary", "scary")
    assert remote(server, scary_letter="q").name == "scary"
    assert remote(server, name="mine").name == "mine"
    assert RewardFunction(endpoint="http://127.0.0.1:9", retries=0).name == "remote"
    scores = guerdon.score(reward, rows(2), workers=0)
    assert {result.reward for result in scores} == {"scary"}


def test_of_several_rewards_one_is_named(two_rewards: str) -> None:
    several = RewardFunction(endpoint=two_rewards)
    says = f"serves 2 rewards: first, second; give the address of one, such as {two_rewards}/rewards/first"
    for use in (
        lambda: several.name,
        lambda: several.version,
        several.to_trl,
        lambda: several(messages=talk("a")),
        lambda: list(guerdon.score(several, rows(2))),
    ):
        with pytest.raises(InputError, match=re.escape(says)):
            use()
    assert "serves 2 rewards" in repr(several)
    second = RewardFunction(endpoint=f"{two_rewards}/rewards/second")
    assert (second.name, second(messages=talk("a")).score) == ("second", 2.0)


def test_it_scores_as_the_same_reward_does_here(server: Misbehaving) -> None:
    there, here = remote(server, name="scary"), RewardFunction(scary)
    for text in ("abc", "zebra"):
        mine, other = (
            here(messages=talk(text), scary_letter="z"),
            there(messages=talk(text), scary_letter="z"),
        )
        assert (mine.score, mine.reason, mine.metrics) == (other.score, other.reason, other.metrics)
    assert there("abc", scary_letter="b").score == 0.0
    assert (other.reward, other.version) == ("scary", "v-1")
    assert other.provenance is not None
    assert other.provenance.parameters == {"case": "lower"}


def test_a_parameter_that_nothing_supplies(server: Misbehaving) -> None:
    for reward in (remote(server), RewardFunction(scary)):
        with pytest.raises(BindingError, match="scary needs 'scary_letter', which nothing supplies"):
            reward(messages=talk("a"))
        with pytest.raises(BindingError, match="needs 'scary_letter'"):
            guerdon.score(reward, [{"messages": talk("a")}])
    assert server.scored == {}


@pytest.mark.parametrize("text", SAID)
def test_a_failure_is_a_failure_with_its_kind_and_message(server: Misbehaving, text: str) -> None:
    for options in ({}, {"format": "v1"}):
        result = remote(server, **options)(messages=talk(text), scary_letter="z")
        assert (result.score, result.error_kind, result.error) == (None, *SAID[text])
    assert server.scored[text] == 2


@pytest.mark.parametrize("text", SAID)
@pytest.mark.parametrize("health", [{"status": "ok"}, {"status": "ok", "reward_function": "scary"}])
def test_a_failure_of_reward_kit_is_never_a_valid_zero(health: dict[str, Any], text: str) -> None:
    with Misbehaving(v1=False, health=health) as server:
        result = remote(server)(messages=talk(text), scary_letter="z")
        assert (result.score, result.error) == (None, SAID[text][1])
        path = "/evaluate" if "reward_function" in health else "/reward"
        assert server.seen[-1][1] == path


def test_over_http_where_there_is_no_socket() -> None:
    with Misbehaving(sockets=False) as server:
        reward = remote(server)
        result = reward(messages=talk("raise"), scary_letter="z")
        assert (result.error_kind, result.error) == SAID["raise"]
        assert reward(messages=talk("a"), scary_letter="z").score == 1.0
        assert server.scored == {"raise": 1, "a": 1}


def test_every_format_is_detected(peer: Misbehaving) -> None:
    result = remote(peer)(messages=talk("zz"), scary_letter="z")
    assert (result.score, result.error) == (0.0, None)
    assert remote(peer, scary_letter="q")(messages=talk("zz")).score == 1.0
    assert remote(peer, scary_letter="q")(messages=talk("zz"), scary_letter="z").score == 0.0


@pytest.mark.parametrize(
    ("path", "said", "asked"),
    [
        ("", {}, "/v1/ws"),
        ("/rewards/scary", {}, "/rewards/scary/v1/ws"),
        ("/rewards/scary/", {"format": "v1"}, "/rewards/scary/v1/ws"),
        ("/v1/score", {}, "/v1/ws"),
        ("/reward", {}, "/v1/ws"),
        ("", {"format": "adaptive"}, "/score"),
        ("/score", {"format": "adaptive"}, "/score"),
        ("/reward", {"format": "reward-kit"}, "/reward"),
        ("/evaluate", {"format": "reward-kit"}, "/evaluate"),
    ],
)
def test_the_endpoint_may_be_that_of_a_format(
    server: Misbehaving, path: str, said: dict[str, str], asked: str
) -> None:
    reward = RewardFunction(endpoint=server.url + path, mode="remote", **said)
    assert reward(messages=talk("zz"), scary_letter="z").score == 0.0
    assert server.seen[-1][1].partition("?")[0] == asked
    assert reward.name == ("scary" if said.get("format") != "reward-kit" else "remote")


def test_names_and_hosted_models(monkeypatch: pytest.MonkeyPatch) -> None:
    with Misbehaving(key="k") as server:
        monkeypatch.setenv("GUERDON_BASE_URL", server.url)
        monkeypatch.setenv("GUERDON_API_KEY", "k")
        assert RewardFunction(name="scary", mode="remote")(messages=talk("a"), scary_letter="z").score == 1.0
        assert server.seen[-1][1].startswith("/rewards/scary/v1/ws")
    with Misbehaving(v1=False, key="k", health={}) as server:
        monkeypatch.setenv("GUERDON_BASE_URL", server.url)
        assert RewardFunction(name="scary", mode="remote")(messages=talk("a"), scary_letter="z").score == 1.0
        assert server.seen[-1][1] == "/v1/reward/scary"
        for mode in ("hosted", "fireworks_hosted"):
            model = RewardFunction(model_id="big/judge", mode=mode, strict=True)
            assert (model.name, model(messages=talk("a"), ground_truth="4").score) == ("judge", 1.0)
            assert server.seen[-1][1] == "/v1/models/big/judge/reward"
            assert server.seen[-1][3] == {"messages": talk("a"), "ground_truth": "4", "strict": True}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"mode": "remote"}, "needs an endpoint, or a name"),
        ({"mode": "remote", "name": "x"}, "set GUERDON_BASE_URL to where 'x' is served, or give endpoint="),
        ({"mode": "hosted"}, 'mode="hosted" needs a model_id'),
        ({"mode": "hosted", "model_id": "m"}, "set GUERDON_BASE_URL to where the model is hosted"),
        ({"mode": "hosted", "model_id": "m", "endpoint": "http://a"}, "endpoint is for"),
        ({"mode": "remote", "model_id": "m", "endpoint": "http://a"}, 'model_id belongs to mode="hosted"'),
        ({"mode": "remote", "endpoint": "here"}, "'here' is not an address"),
        (
            {"mode": "remote", "endpoint": "http://a", "format": "xml"},
            "format must be one of v1, adaptive, reward-kit",
        ),
        ({"mode": "remote", "endpoint": "http://a", "timeout": -1}, "not a number of seconds"),
        ({"mode": "remote", "endpoint": "http://a", "func": len}, "leave out func"),
    ],
)
def test_what_makes_no_remote_reward(given: dict[str, Any], says: str) -> None:
    with pytest.raises(RewardError) as caught:
        RewardFunction(**given)
    assert says in str(caught.value)


# In every place that takes a reward.


@pytest.mark.sample(1, seconds=1)
def test_scored_in_a_worker(peer: Misbehaving, tmp_path: Path) -> None:
    scores = guerdon.score(remote(peer), rows(500), output=tmp_path / "scores.jsonl")
    assert scores.scores == [1.0, 0.0] * 250
    assert len(peer.scored) == 500
    assert set(peer.scored.values()) == {1}
    if peer.v1:
        assert (scores.provenance.reward, scores.provenance.version) == ("scary", "v-1")
    again = guerdon.score(remote(peer), rows(500), output=tmp_path / "scores.jsonl", resume=True)
    assert again.scores == scores.scores
    assert set(peer.scored.values()) == {1}


def test_a_resumed_file_is_refused_once_the_server_has_another_version(
    server: Misbehaving, tmp_path: Path
) -> None:
    guerdon.score(remote(server), rows(4), output=tmp_path / "scores.jsonl")
    server.version = "v-2"
    with pytest.raises(RewardError, match="v-2"):
        guerdon.score(remote(server), rows(4), output=tmp_path / "scores.jsonl", resume=True)


def test_a_server_that_changes_its_version(server: Misbehaving) -> None:
    reward = remote(server)
    assert reward(messages=talk("a"), scary_letter="z").version == "v-1"
    server.version = "v-2"
    assert reward(messages=talk("b"), scary_letter="z").version == "v-2"
    assert reward.version == "v-2"


def test_a_run_that_meets_another_version_fails_those_samples(server: Misbehaving) -> None:
    def changing() -> Iterator[dict[str, Any]]:
        for i, row in enumerate(rows(2_000)):
            if i == 1_000:
                until = time.monotonic() + 20
                while len(server.scored) < 1_000 and time.monotonic() < until:
                    time.sleep(0.01)
                time.sleep(0.05)
                server.version = "v-2"
            yield row

    results = list(guerdon.score(remote(server), changing()))
    assert [result.failed for result in results] == [False] * 1_000 + [True] * 1_000
    assert "the server now has version v-2 of remote, and this run began with v-1" in str(results[-1].error)


def test_an_address_is_a_reward(server: Misbehaving) -> None:
    assert guerdon.score(f"{server.url}/rewards/scary", rows(4)).scores == [1.0, 0.0, 1.0, 0.0]
    assert guerdon.get_reward_function(server.url, scary_letter="q").parameters == {"scary_letter": "q"}


def test_fixed_arguments_are_part_of_the_version(server: Misbehaving) -> None:
    plain, fixed = remote(server), remote(server, scary_letter="q")
    assert plain.version == "v-1"
    assert fixed.version not in (plain.version, remote(server, scary_letter="r").version)
    result = fixed(messages=talk("zz"))
    assert (result.score, result.version) == (1.0, fixed.version)
    assert guerdon.get_reward_function(plain, scary_letter="q").version == fixed.version
    assert fixed.parameters == {"scary_letter": "q"}


def test_composed_with_a_reward_that_is_here(server: Misbehaving) -> None:
    there, here = remote(server, name="there"), RewardFunction(scary, name="here")
    both = 0.5 * there + 0.5 * here
    result = both(messages=talk("zz"), scary_letter="z")
    assert result.score == 0.0
    assert result.metrics["there"].reason == result.metrics["here"].reason == "2 scary letters"
    assert result.metrics["there/letters"] == result.metrics["here/letters"]
    assert guerdon.score(both, rows(20)).scores == [1.0, 0.0] * 10
    failed = both(messages=talk("raise"), scary_letter="q")
    assert (failed.error_kind, failed.error) == ("exception", f"component 'there' failed: {SAID['raise'][1]}")


def test_as_a_function_of_trl(server: Misbehaving) -> None:
    function = remote(server).get_trl_adapter()
    completions = ["a", "z", "raise", "late"] * 25
    started = time.monotonic()
    assert function(completions=completions, scary_letter=["z"] * 100) == [1.0, 0.0, None, None] * 25
    assert time.monotonic() - started < 10


def test_awaited_in_async_code(server: Misbehaving) -> None:
    reward = remote(server)

    async def main() -> list[float | None]:
        samples = [guerdon.Sample.from_row(row) for row in rows(6)]
        results = await asyncio.gather(*map(reward.aevaluate, samples))
        return [result.score for result in results]

    assert asyncio.run(main()) == asyncio.run(main()) == [1.0, 0.0] * 3


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_pickled(server: Misbehaving, pickler: Any) -> None:
    reward = remote(server, scary_letter="z")
    reward(messages=talk("a"))
    copy = pickle.loads(pickler.dumps(reward))
    assert copy == reward
    assert copy(messages=talk("zz")).score == 0.0


def test_the_key_is_shown_nowhere(server: Misbehaving) -> None:
    server.key = "sk-right"
    reward = remote(server, api_key="sk-right")
    assert reward(messages=talk("a"), scary_letter="z").score == 1.0
    assert "sk-right" not in f"{reward!r} {reward.provenance!r} {reward.parameters!r}"
    result = remote(server, api_key="sk-wrong", retries=0)(messages=talk("a"), scary_letter="z")
    assert result.error_kind == "remote"
    assert "(403)" in str(result.error)
    assert "sk-wrong" not in str(result.error)


# Faults.


def test_a_server_that_is_not_there() -> None:
    reward = RewardFunction(endpoint="http://127.0.0.1:9", mode="remote", retries=0)
    version = reward.version
    result = reward(messages=talk("a"))
    assert (result.score, result.error_kind, result.version) == (None, "remote", version)
    assert "http://127.0.0.1:9/v1/info cannot be reached" in str(result.error)
    other = RewardFunction(endpoint="http://127.0.0.1:10", mode="remote", retries=0)
    assert other.version != version


def test_a_deadline_of_its_own(server: Misbehaving) -> None:
    reward = remote(server, timeout=0.3)
    assert reward(messages=talk("a"), scary_letter="z").score == 1.0
    server.socket_faults.append("silence")
    started = time.monotonic()
    result = reward(messages=talk("b"), scary_letter="z")
    assert (result.score, result.error_kind) == (None, "timeout")
    assert time.monotonic() - started < 3


@pytest.mark.slow(seconds=5)
def test_the_network_fails_in_the_middle_of_10_000_samples(server: Misbehaving) -> None:
    timers = [threading.Timer(at, server.stop) for at in (0.8,)]
    timers += [threading.Timer(at + 0.4, server.start) for at in (0.8,)]
    for timer in timers:
        timer.start()
    scores = guerdon.score(remote(server), rows(10_000), timeout=30)
    assert len(scores) == 10_000
    assert [result.error for result in scores if result.failed] == []
    assert scores.scores == [1.0, 0.0] * 5_000
    assert set(server.scored.values()) == {1}


def test_what_cannot_travel(server: Misbehaving) -> None:
    result = remote(server)(messages=talk("a"), scary_letter="z", column=object())
    assert (result.score, result.error_kind) == (None, InputError.kind)
    assert "JSON has no form for a object" in str(result.error)


def test_a_format_that_does_not_exist() -> None:
    with Misbehaving(v1=False) as server:
        result = remote(server, format="v1")(messages=talk("a"))
        assert (result.error_kind, result.error) == (
            RemoteError.kind,
            f"{server.url} does not serve Guerdon's v1 format",
        )

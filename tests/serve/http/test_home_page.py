"""The page at ``/``."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from pydantic import BaseModel

from guerdon import RewardFunction, RewardServer, ServerInfo
from guerdon.serve.background import BackgroundServer
from guerdon.serve.http.home_page import home_page
from support.serve_work import ActServer, Reply, act, call, in_background

HOSTILE = "</script><img src=x onerror=alert(1)>'\"&"


def exact(response: str, ground_truth: str) -> bool:
    """Whether it is the ground truth."""
    return response == ground_truth


def graded(response: str, cases: list[str], level: int, note: str, weight: float = 1.0) -> float:
    """</script><img src=x onerror=alert(1)>'"&"""
    return float(len(cases) + level) * weight


def keyed(response: str, api_key: str = "", words: int = 3) -> float:
    return float(words)


class Level(BaseModel):
    level: int
    ground_truth: str


class LevelServer(RewardServer[Level]):
    def __init__(self, port: int = 8000, blocking: bool = True, **kwargs: Any) -> None:
        super().__init__(port, Level, blocking, **kwargs)

    async def score(self, request: Any) -> Any:
        return float(request.metadata.level)

    async def info(self) -> ServerInfo:
        return ServerInfo(version="1", name="level", description="The level.")


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the texts of some."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    hostile = RewardFunction(graded).with_name(HOSTILE)
    with in_background(
        exact, hostile, RewardFunction(keyed, api_key="s3cret", words=4), workers=1
    ) as running:
        yield running


def page_of(reply: Reply) -> str:
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/html")
    return reply.body.decode()


def commands_in(page: str) -> list[str]:
    return Elements(page).texts.get("pre", [])


def test_it_shows_each_reward_and_what_it_takes(server: BackgroundServer) -> None:
    page = page_of(call(server.url, "/"))
    titles = Elements(page).texts["h3"]
    assert titles == ["exact", HOSTILE, "keyed"]
    assert "Whether it is the ground truth." in page
    assert "<code>words = 4</code>" in page
    assert "s3cret" not in page
    assert "<code>cases</code> list[str]" in page
    assert "<code>weight</code> float (optional)" in page


def test_names_and_descriptions_are_text(server: BackgroundServer) -> None:
    page = page_of(call(server.url, "/"))
    assert "<img" not in page
    found = Elements(page)
    assert not found.attributes("img")
    assert len(found.attributes("script")) == 2  # its own, and the form's data
    (data,) = [text for text in found.texts["script"] if text.startswith("[")]
    assert [reward["name"] for reward in json.loads(data)] == ["exact", HOSTILE, "keyed"]


def test_its_policy_allows_its_own_script_and_nothing_else(server: BackgroundServer) -> None:
    reply = call(server.url, "/")
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    found = Elements(page_of(reply))
    for tag in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(found.texts[tag][-1].encode()).digest()).decode()
        assert policy[f"{tag}-src"] == f"'sha256-{digest}'"
    loaded = [a for _, a in found.found if "src" in a] + found.attributes("link")
    assert [link.get("href") for link in loaded] == ["data:,"]
    assert not any(name.startswith("on") or name == "style" for _, given in found.found for name in given)


def test_every_field_has_a_label() -> None:
    page = home_page([], "http://localhost", needs_key=True, shows=False)
    found = Elements(page)
    labels = {label.get("for") for label in found.attributes("label")}
    assert {field["id"] for field in found.attributes("input")} <= labels
    assert found.attributes("html") == [{"lang": "en"}]


def test_its_curl_lines_work(server: BackgroundServer) -> None:
    commands = commands_in(page_of(call(server.url, "/")))
    assert len(commands) == 21
    for number, command in enumerate(commands):
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30)
        score = [1.0, 1.0, 4.0][number // 7]
        answer = json.loads(run.stdout)
        assert run.returncode == 0
        numbers = (
            [answer] if isinstance(answer, float) else [answer.get(n) for n in ("score", "reward", "rewards")]
        )
        assert score in numbers or [score] in numbers, (command, answer)


def test_a_reward_server_has_one_too() -> None:
    with LevelServer(port=0, blocking=False) as running, ActServer(port=0, blocking=False) as other:
        assert running.url
        assert other.url
        page = page_of(call(running.url, "/"))
        assert "<code>level</code> integer" in page
        for command in commands_in(page):
            run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30)
            assert '"error":{' not in run.stdout, command
            assert "1.0" in run.stdout
        assert len(commands_in(page_of(call(other.url, "/")))) == 7


def test_with_keys_it_shows_nothing_without_one() -> None:
    with in_background(exact, keyed, api_key="opensesame", workers=1) as running:
        closed = page_of(call(running.url, "/"))
        assert 'id="key"' in closed
        assert not {"exact", "keyed", "ground truth.", "opensesame"} & set(re.findall(r"[\w.]+", closed))
        assert not commands_in(closed)
        assert call(running.url, "/", headers={"x-api-key": "wrong"}).error[:2] == (403, "key")
        opened = page_of(call(running.url, "/", headers={"authorization": "Bearer opensesame"}))
        assert "opensesame" not in opened
        command = html.unescape(commands_in(opened)[0])
        key = {"GUERDON_API_KEY": "opensesame"}
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30, env=key)
        assert json.loads(run.stdout)["reward"] == 1.0


@pytest.mark.parametrize("host", ["a$(reboot)", "x'y", "<b>", "a b"])
def test_a_host_that_is_none_is_not_shown(host: str) -> None:
    with in_background(act, workers=1, api_key="opensesame") as running:
        page = page_of(call(running.url, "/", headers={"host": host, "x-api-key": "opensesame"}))
    assert host not in page
    assert "http://localhost/v1/score" in page


def test_head_is_answered(server: BackgroundServer) -> None:
    assert call(server.url, "/", method="HEAD").status == 200

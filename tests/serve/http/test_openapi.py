"""The page that documents the server's endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from guerdon.serve.background import BackgroundServer
from support import serve_work
from support.serve_work import call, in_background


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    with in_background(serve_work.act, workers=1) as running:
        yield running


def test_the_page_of_the_formats(server: BackgroundServer) -> None:
    page = call(server.url, "/openapi.json").json
    assert {"/score", "/v1/batch_score", "/rewards/{reward}/score", "/state"} <= set(page["paths"])
    assert {"get", "post"} <= set(page["paths"]["/state"])
    assert call(server.url, "/docs").status == 200


def test_the_page_of_documentation_brings_its_own_scripts(server: BackgroundServer) -> None:
    page = call(server.url, "/docs", method="GET")
    assert page.status == 200
    sources = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert sources
    for source in sources:
        assert source.startswith("/")
        assert call(server.url, source, method="GET").status == 200


def test_it_begins_with_the_rewards() -> None:
    def graded(response: str, ground_truth: str, level: int = 1) -> float:
        """Grades *it* <b>."""
        return float(level)

    def brief(response: str) -> float:
        return 1.0

    with in_background(graded, brief, workers=1) as running:
        page = call(running.url, "/openapi.json").json
        text = page["info"]["description"]
        assert text.startswith("## Served here\n\n- **graded** at `/`, version ")
        assert r"reads ground\_truth; optional: level: Grades \*it\* \<b\>." in text
        assert "- **brief** at `/rewards/brief`, version" in text
        body = page["paths"]["/v1/score"]["post"]["requestBody"]["content"]["application/json"]
        assert len(body["schema"]["anyOf"]) == 2
        assert call(running.url, "/v1/score", body["example"]).json["score"] == 1.0
    with in_background(graded, brief, api_key="k", workers=1) as running:
        text = call(running.url, "/openapi.json").json["info"]["description"]
        assert "**graded**" in text
        assert "brief" not in text

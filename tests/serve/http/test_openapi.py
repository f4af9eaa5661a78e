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

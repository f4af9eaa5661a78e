"""Where a client takes its server's address and its options from."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon import Response, RewardClient
from guerdon.errors import (
    RewardError,
)
from support.client_requests import request_of
from support.misbehaving import Misbehaving


@pytest.mark.parametrize("named", ["positional", "url", "base_url", "setting"])
def test_the_address_has_several_spellings(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("GUERDON_BASE_URL", server.url)
    given = {"positional": (server.url + "/",)}.get(named, ())
    options = {named: server.url} if named in ("url", "base_url") else {}
    with RewardClient(*given, **options) as client:
        assert client.score(request_of("abc", "b")).reward == 0.0
        assert client.score(request_of("abc", "d", id=7)) == Response(
            reward=1.0, metadata={"feedback": "0 scary letters"}, id=7
        )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "give the server's address as url=, or set GUERDON_BASE_URL"),
        ({"url": "http://a", "base_url": "http://b"}, "two names for the same thing"),
        ({"url": "localhost:8000"}, "did you mean http://localhost:8000?"),
        ({"url": "ftp://a"}, "write it as http://host:8000"),
        ({"url": "http://a:x"}, "write it as http://host:8000"),
        ({"url": "http://me:secret@a"}, "must not hold a user name or a password"),
        ({"url": "http://a/?key=1"}, "leave out what follows"),
        ({"url": "http://a", "retries": -1}, "retries must be a whole number"),
        ({"url": "http://a", "timeout": 0}, "not a number of seconds"),
        ({"url": "http://a", "max_connections": 0}, "whole number of 1 or more"),
        ({"url": "http://a", "transport": "carrier pigeon"}, 'transport must be "http"'),
        ({"url": "http://a", "api_key": "a\nb"}, "a header cannot carry"),
    ],
)
def test_options_that_do_not_fit(given: dict[str, Any], says: str) -> None:
    with pytest.raises(RewardError) as caught:
        RewardClient(**given)
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)

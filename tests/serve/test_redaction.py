"""What is taken out of what is written down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from guerdon.serve.redaction import (
    is_secret_name,
    redacted_body,
    redacted_headers,
    redacted_path,
    redacted_text,
)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("api_key", True),
        ("apiKey", True),
        ("apikey", True),
        ("API-KEY", True),
        ("OPENAI_API_KEY", True),
        ("x-api-key", True),
        ("token", True),
        ("access_token", True),
        ("hfToken", True),
        ("password", True),
        ("Authorization", True),
        ("secret", True),
        ("client_secret", True),
        ("set-cookie", True),
        ("max_tokens", False),
        ("tokens", False),
        ("keywords", False),
        ("monkey", False),
        ("tokenizer", False),
        ("author", False),
        ("ground_truth", False),
        ("", False),
    ],
)
def test_secret_names(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/score", "/score"),
        ("/score?", "/score?"),
        ("/ws?session=abc", "/ws?session=abc"),
        ("/score?api_key=s3cret", "/score?api_key=[redacted]"),
        ("/score?a=1&key=s3cret&b=2", "/score?a=1&key=[redacted]&b=2"),
        ("/score?api%5Fkey=s3cret", "/score?api%5Fkey=[redacted]"),
        ("/score?%6Bey=s3cret&sig=abc", "/score?%6Bey=[redacted]&sig=[redacted]"),
        ("/score?token=a=b=c", "/score?token=[redacted]"),
        ("/score?x=1?token=s3cret&token", "/score?x=1?token=s3cret&token"),
    ],
)
def test_queries(path: str, shown: str) -> None:
    assert redacted_path(path) == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"turns": [], "metadata": {"token": "s3cret"}}, {"turns": [], "metadata": {"token": "[redacted]"}}),
        ([{"password": {"deep": "s3cret"}}], [{"password": "[redacted]"}]),
        ({"a": [{"b": {"apiKey": ["s3cret"]}}]}, {"a": [{"b": {"apiKey": "[redacted]"}}]}),
        ({"token": 12, "secret": None, "max_tokens": 5}, {"token": 12, "secret": None, "max_tokens": 5}),
        ({"text": "my password is a secret"}, {"text": "my password is a secret"}),
    ],
)
def test_bodies(body: Any, shown: Any) -> None:
    assert json.loads(redacted_body(json.dumps(body).encode())) == shown


@pytest.mark.parametrize(
    "body",
    [
        b'{"\\u0061pi_key": "s3cret"}',
        b'{"api_key": "s3cret", "api_key": null}',
        b'{"a": {"api_key": "s3cret"}, "a": 1}',
        b'{"api_key": "s3cret"',
        b"api_key=s3cret&x=1",
        b'{"TOKEN": "s3cret", "x": NaN}',
    ],
)
def test_no_way_around_it(body: bytes) -> None:
    assert b"s3cret" not in redacted_body(body)


def test_a_body_without_a_hint_stays_as_it_is() -> None:
    body = b'{"turns" : [{"role":"user","content":"\xc3\xa9"}], "x":1e400}'
    assert redacted_body(body) is body
    assert redacted_body(b"") == b""


def test_only_known_headers_are_kept() -> None:
    headers = [
        (b"Content-Type", b"application/json"),
        (b"authorization", b"Bearer s3cret"),
        (b"x-api-key", b"s3cret"),
        (b"cookie", b"s3cret"),
        (b"x-my-own", b"s3cret"),
        (b"user-agent", b"caf\xe9"),
    ]
    assert redacted_headers(headers) == {"content-type": "application/json", "user-agent": "café"}


def test_free_text() -> None:
    text = "401 for {'Authorization': 'Bearer sk-abcdef123'} and Basic dXNlcjpwYXNz; a bearer bond"
    shown = redacted_text(text)
    assert "sk-abcdef123" not in shown
    assert "dXNlcjpwYXNz" not in shown
    assert shown.endswith("a bearer bond")

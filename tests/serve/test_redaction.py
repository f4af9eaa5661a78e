"""What is taken out of what is written down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from guerdon.serve.redaction import (
    is_secret_name,
    redacted_body,
    redacted_headers,
    redacted_path,
    redacted_text,
)

SECRET = [
    *(
        "openai_key",
        "OPENAI_KEY",
        "openaiKey",
        "anthropic-key",
        "hf_key",
        "auth",
        "basic_auth",
        "X-Auth",
        "jwt",
    ),
    *("idJwt", "jwt_token", "private_key", "sshKey", "awsSecretAccessKey", "signing_key", "webhook-secret"),
    *("db_password_prod", "password2", "pwd", "smtp.password", "auth_token", "authToken", "api_key_value"),
    *(
        "github_token",
        "GITLAB_TOKEN",
        "session_token",
        "bearer",
        "credentials",
        "proxy-authorization",
        "cookies",
    ),
    *("passphrase", "client-secret", "apikeys", "service_account_key", "APIKey", "llm.api.key", "masterKey"),
]
PLAIN = [
    *(
        "key",
        "keys",
        "key_points",
        "primary_key",
        "foreignKey",
        "answer_key",
        "sort_key",
        "public_key",
        "group_key",
    ),
    *(
        "token_count",
        "tokenCount",
        "num_tokens",
        "eos_token",
        "pad_token",
        "next_token",
        "tokenize",
        "author",
    ),
    *(
        "authors",
        "authentic",
        "authority",
        "auth_method",
        "secretary",
        "secret_number",
        "passage",
        "passed",
        "compass",
    ),
    *("keyboard", "turkey", "idempotency_key", "cache_key", "hockey"),
    *(
        "prompt",
        "response",
        "reason",
        "score",
        "metadata",
        "messages",
        "content",
        "id",
        "name",
        "value",
        "max_new_tokens",
    ),
]


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
        *((name, True) for name in SECRET),
        *((name, False) for name in PLAIN),
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


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----"
SHAPED = [
    *(
        "sk-proj-abc123def456ghi789",
        "sk-ant-api03-abcdefghij12345",
        "sk_live_abcdef1234567",
        "ghp_" + "a1" * 18,
    ),
    *(
        "github_pat_" + "a1" * 15,
        "glpat-abcdefghij123456",
        "hf_" + "aB" * 15,
        "gsk_" + "a1" * 15,
        "AKIAIOSFODNN7EXAMPLE",
    ),
    *(
        "AIza" + "aB1-" * 9,
        "xoxb-123456-abcdef",
        "npm_" + "a1" * 18,
        JWT,
        PEM,
        PEM[:50],
        "Bearer abc.def.ghi",
    ),
    *("Basic dXNlcjpwYXNz", "postgres://me:hunter2@db.example/x", "https://user:pa55@host"),
]
ORDINARY = [
    *(
        "sk-learn",
        "a task-oriented, risk-averse approach",
        "sk-something-without-digits",
        "ghp_short",
        "eyJhbGci",
    ),
    *(
        "max_tokens=12 and key_points",
        "the bearer of news",
        "basic maths is fun",
        "token: the first word",
        "a@b.example",
    ),
    *(
        "https://example.com:8000/a@b",
        "def key(x): return x.token",
        "2 + 2 = 4",
        "AKIA is short",
        "-----BEGIN TEXT-----",
    ),
    *("api_key = os.environ['KEY']", "password: the magic word", "user:password", "hf_hub", "x = 'Basic'"),
]


@pytest.mark.parametrize("secret", SHAPED)
def test_secrets_by_their_shape(secret: str) -> None:
    """In any text: what was asked, what was answered, a reason, a name."""
    for text in (secret, f"it says {secret} there", f"({secret})", f'"{secret}"'):
        body = json.dumps({"turns": [{"content": text}], "x": [text], text: 1}).encode()
        shown = redacted_body(body).decode()
        assert "[redacted]" in shown
        core = secret.removeprefix("Bearer ").removeprefix("Basic ").partition("://")[2] or secret.split()[-1]
        assert core not in shown
        assert core not in redacted_text(text)
        assert core not in redacted_path(f"/{text}")
        assert redacted_headers([(b"user-agent", text.encode())]) != {"user-agent": text}


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    body = {"turns": [{"content": text}], "note": "a key and a token"}
    assert json.loads(redacted_body(json.dumps(body).encode())) == body


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"name": "api_key", "value": "abc"}, {"name": "api_key", "value": "[redacted]"}),
        ([{"key": "X-Auth", "value": "abc"}], [{"key": "X-Auth", "value": "[redacted]"}]),
        ({"headers": [["Authorization", "abc"]]}, {"headers": [["Authorization", "[redacted]"]]}),
        ({"name": "length", "value": "key"}, {"name": "length", "value": "key"}),
        ({"name": "api_key", "value": 12}, {"name": "api_key", "value": 12}),
        (
            {"error": {"message": "401 for api_key='abc9'"}},
            {"error": {"message": "401 for api_key='[redacted]'"}},
        ),
        ({"detail": "OPENAI_KEY=abcd, x=1"}, {"detail": "OPENAI_KEY=[redacted], x=1"}),
        ({"chunk": '{"jwt": "abcd"}'}, {"chunk": '{"jwt": "[redacted]"}'}),
        ({"detail": "max_tokens=4096, token_count: many"}, {"detail": "max_tokens=4096, token_count: many"}),
    ],
)
def test_names_beside_their_values(body: Any, shown: Any) -> None:
    assert json.loads(redacted_body(json.dumps(body).encode())) == shown


def test_lines_of_json() -> None:
    body = b'{"id": 1, "total_num_chunks": 1}\n{"id": 1, "chunk": "x", "auth": "abc"}'
    assert redacted_body(body) == b'{"id":1,"total_num_chunks":1}\n{"id":1,"chunk":"x","auth":"[redacted]"}'


def test_secrets_of_this_process() -> None:
    """The server's own keys and what the environment calls a secret, wherever they occur; short ones are words."""
    code = (
        "from guerdon.serve.redaction import add_secrets, redacted_body, redacted_path, redacted_text\n"
        "add_secrets(['correct-horse', 'tea'])\n"
        "print(redacted_text('key correct-horse and tea, opensesame22'))\n"
        'print(redacted_body(b\'{"a": "xcorrect-horsex", "b": "two-keys-1 two-keys-2 ordinary-value"}\').decode())\n'
        "print(redacted_path('/opensesame22'))\n"
    )
    env = {
        **os.environ,
        "MY_SERVICE_TOKEN": "opensesame22",
        "GUERDON_API_KEY": "two-keys-1 two-keys-2",
        "EDITOR": "ordinary-value",
    }
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "key [redacted] and tea, [redacted]",
        '{"a":"x[redacted]x","b":"[redacted] [redacted] ordinary-value"}',
        "/[redacted]",
    ]


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "sk-",
            "-eyJ",
            "eyJ-",
            "a.",
            "a-",
            "key ",
            "key=",
            "bearer ",
            "basic  ",
            "://",
            "://a:",
            ":a@",
            "ghp_",
            "=",
        ),
        *("-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "token token=", "api_", "x.eyJaaaaaaaa", "secret: "),
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """Half a megabyte of what each expression begins with: quadratic time would be minutes."""
    text = piece * (500_000 // len(piece))
    redacted_text(text)
    redacted_body(json.dumps({"message": text, "prompt": text}).encode())

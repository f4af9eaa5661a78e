"""Redaction: secrets are removed from what is logged, recorded, traced and sent as an error.

A secret is known by the name of what holds it, by its shape, or because it is one of this process's own: a key of
the server, or the value of an environment variable with a secret's name.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import from_json, to_json

from guerdon.serve.json_reading import TooManyValuesError, read_bounded_json

REDACTED = "[redacted]"

HEADERS = frozenset(
    {
        *("accept", "content-length", "content-type", "host", "idempotency-key", "traceparent"),
        *("user-agent", "x-batch-errors", "x-request-id"),
    }
)
"""The only headers that are ever written down."""

# Names, as their words in lower case.
_ALWAYS = frozenset(
    {
        *("password", "passwd", "passphrase", "pwd", "apikey", "apikeys", "jwt", "bearer", "authorization"),
        *("credential", "credentials", "cookie", "cookies"),
    }
)
_LAST = frozenset({"secret", "secrets", "auth", "token"})
_KEY_OWNERS = frozenset(
    {
        *("api", "access", "secret", "private", "auth", "encryption", "signing", "ssh", "service", "account"),
        *("client", "license", "master", "webhook", "hmac", "session", "admin", "user", "bot", "app", "tls"),
        *(
            "openai",
            "anthropic",
            "claude",
            "azure",
            "aws",
            "gcp",
            "google",
            "gemini",
            "hf",
            "huggingface",
            "wandb",
        ),
        *("cohere", "mistral", "groq", "together", "openrouter", "deepseek", "fireworks", "replicate", "xai"),
        *("stripe", "github", "gitlab", "slack", "twilio", "sendgrid", "datadog", "e2b", "serper", "tavily"),
        *("pinecone", "perplexity", "vllm", "judge", "guerdon", "adaptive"),
    }
)
_MAX_VALUES = 1_000_000
"""A body with more of them, of which redacting takes seconds, is left out."""
_TEXT_TOKENS = frozenset(
    {
        *(
            "eos",
            "bos",
            "pad",
            "unk",
            "mask",
            "sep",
            "cls",
            "stop",
            "next",
            "end",
            "start",
            "special",
            "image",
        ),
        *("last", "first", "think", "begin", "decoder", "stop", "per", "by", "each"),
    }
)
"""What stands before ``token`` where it is one of a tokenizer's."""
_AFTER = frozenset(
    {"value", "values", "string", "text", "header", "prod", "dev", "test", "plain", "b64", "hash"}
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IN_QUERIES = frozenset({"key", "sig", "signature"})
_NAME_KEYS, _VALUE_KEYS = ("name", "key", "header", "field", "k"), ("value", "val", "v", "content")

# Shapes.
# Each begins where a run of its characters does and goes back over none, so that no text takes long.
_SHAPES = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
    r"|(?<![\w-])(?:sk-(?=[\w-]{0,200}?\d)[\w-]{16,}+|[sr]k_(?:live|test)_\w{10,}+|gh[opsur]_\w{20,}+"
    r"|github_pat_\w{20,}+|glpat-[\w-]{16,}+|hf_[A-Za-z0-9]{20,}+|gsk_\w{20,}+|xai-\w{20,}+|npm_\w{30,}+"
    r"|pypi-[\w-]{30,}+|e2b_[0-9a-f]{20,}+|(?:AKIA|ASIA)[A-Z0-9]{16}\b|AIza[\w-]{30,}+|xox[abeprs]-[\w-]{10,}+"
    r"|eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?)"
)
_SHAPED = re.compile(_SHAPES)
_INLINE = re.compile(
    r"(?i)\b(bearer|basic) +(?=[\w.~+/=-]*?(?:[\d=_]|\w\.\w|(?-i:[a-z][A-Z])))[\w.~+/=-]{6,}"
)
_IN_ADDRESS = re.compile(r"(://[^\s/:@\"'<>]{0,256}):[^\s/@\"'<>]{1,256}@")
_ASSIGNED = re.compile(
    r"(?i)(?<![\w.-])([\w.-]{0,100}?(?:key|token|secret|passw(?:or)?d|passphrase|pwd|authorization|auth|jwt|credentials?|cookie))"
    r"(\\?[\"']?\s*[:=]\s*\\?[\"']?)([^\s\"',;&\\)}\]]{4,})"
)
_HINTS = (
    *(
        b"key",
        b"token",
        b"passw",
        b"pwd",
        b"passphrase",
        b"auth",
        b"secret",
        b"credential",
        b"cookie",
        b"bearer",
    ),
    *(b"basic ", b"jwt", b"\\u", b"\\/"),
)
_BYTES_SHAPED = re.compile(_SHAPES.encode() + rb"|://[^\s/:@\"'<>]{0,256}:[^\s/@\"'<>]{1,256}@")
_TELLING = frozenset({"error", "detail", "message", "msg", "traceback", "stderr", "exception", "chunk"})
"""Fields with free text about what went wrong, in which ``api_key=…`` is no program that is scored."""

_LEAST_LENGTH = 8
"""Shorter values are not looked for in texts, which they would take apart."""
_own: set[str] = set()


def add_secrets(values: Iterable[str]) -> None:
    """Have these values redacted wherever they occur: the server's own keys."""
    fresh = {value for value in values if len(value) >= _LEAST_LENGTH}
    if not fresh <= _own:
        _own.update(fresh)
        _own_values.cache_clear()


@functools.lru_cache(maxsize=1)
def _own_values() -> tuple[re.Pattern[str], re.Pattern[bytes]] | None:
    """What finds this process's own secrets; the variables are those at the first use."""
    known = set(_own)
    for name, value in os.environ.items():
        if is_secret_name(name):
            known.update(part for part in value.split() if len(part) >= _LEAST_LENGTH)
    if not known:
        return None
    text = "|".join(re.escape(value) for value in sorted(known, key=len, reverse=True))
    return re.compile(text), re.compile(text.encode("utf-8", "surrogateescape"))


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether what has this name looks like a secret.

    >>> [is_secret_name(name) for name in ("api_key", "openaiKey", "X-Auth", "jwt", "max_tokens", "monkey", "author")]
    [True, True, True, True, False, False, False]
    """
    words = [word.lower() for word in _WORDS.findall(name[:200])]
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _AFTER):
        words.pop()
    if not words:
        return False
    if not _ALWAYS.isdisjoint(words):
        return True
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in ("key", "keys"):
        return before in _KEY_OWNERS
    return last in _LAST and not (last == "token" and before in _TEXT_TOKENS)


def redacted_path(path: str) -> str:
    """A path with its query, whose secret values are taken out.

    >>> redacted_path("/score?api_key=s3cret&verbose=1")
    '/score?api_key=[redacted]&verbose=1'
    """
    head, mark, query = path.partition("?")
    return _without_values(head + mark + "&".join(map(_redacted_pair, query.split("&")))) if mark else (
        _without_values(path)
    )  # fmt: skip


def _redacted_pair(pair: str) -> str:
    from urllib.parse import unquote_plus

    name, equals, _ = pair.partition("=")
    plain = unquote_plus(name)
    return f"{name}={REDACTED}" if equals and (plain in _IN_QUERIES or is_secret_name(plain)) else pair


def redacted_text(text: str) -> str:
    """Free text about what happened, of a message or a traceback, without the secrets in it.

    >>> redacted_text("refused: Authorization: Bearer abc.def.gh1, api_key='s3cret'")
    "refused: Authorization: Bearer [redacted], api_key='[redacted]'"
    """
    text = _without_values(text)
    return _ASSIGNED.sub(_unassigned, text) if "=" in text or ":" in text else text


def _unassigned(match: re.Match[str]) -> str:
    name, between, value = match.groups()
    if value.startswith(REDACTED[:-1]) or value.lower() in (
        "bearer",
        "basic",
        "none",
        "null",
        "true",
        "false",
    ):
        return match[0]
    return f"{name}{between}{REDACTED}" if is_secret_name(name) and not value.isdigit() else match[0]


def _without_values(text: str) -> str:
    """Any text without values that are secrets by their shape, or this process's own."""
    if (own := _own_values()) is not None:
        text = own[0].sub(REDACTED, text)
    text = _SHAPED.sub(REDACTED, text)
    if " " in text:
        text = _INLINE.sub(rf"\1 {REDACTED}", text)
    return _IN_ADDRESS.sub(rf"\1:{REDACTED}@", text) if "@" in text else text


def redacted_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Of raw headers, names in lower case, those that are known to hold no secret."""
    return {
        text: _without_values(value.decode("latin-1"))
        for name, value in headers
        if (text := name.decode("latin-1").lower()) in HEADERS
    }


def redacted_body(body: bytes) -> bytes:
    """A JSON body, or lines of JSON, in which secrets are ``"[redacted]"``.

    A body that may hold a secret and is not JSON is left out but for its length.

    >>> redacted_body(b'{"metadata": {"api_key": "s3cret", "level": 2}}')
    b'{"metadata":{"api_key":"[redacted]","level":2}}'
    """
    lower = body.lower()
    if not any(hint in lower for hint in _HINTS):  # a tenth of what a regular expression takes
        own = _own_values()
        if _BYTES_SHAPED.search(body) is None and (own is None or own[1].search(body) is None):
            return body
    # Written again even if nothing is taken out: of a name given twice, only the last one was looked at.
    try:
        try:
            return _as_json(read_bounded_json(body, _MAX_VALUES))
        except TooManyValuesError:
            raise
        except ValueError:
            return b"\n".join(_as_json(from_json(line)) for line in body.split(b"\n"))
    except (ValueError, RecursionError):
        return to_json({"unreadable": len(body)})


def _as_json(value: Any) -> bytes:
    return to_json(redacted_value(value), inf_nan_mode="constants")


def redacted_value(value: Any, name: str = "") -> Any:
    """Plain data without the secrets in it; ``name`` is what holds it.

    >>> redacted_value({"judge": {"openai_key": "abc"}, "headers": [{"name": "X-Auth", "value": "abc"}]})
    {'judge': {'openai_key': '[redacted]'}, 'headers': [{'name': 'X-Auth', 'value': '[redacted]'}]}
    """
    if isinstance(value, str):
        return redacted_text(value) if name in _TELLING else _without_values(value)
    if isinstance(value, Mapping):
        named = any(isinstance(said := value.get(key), str) and is_secret_name(said) for key in _NAME_KEYS)
        return {
            (_without_values(key) if isinstance(key, str) else key): REDACTED
            if _hides(str(key), item) or (named and key in _VALUE_KEYS and _is_secret_value(item))
            else redacted_value(item, str(key) if not isinstance(item, Mapping) else "")
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        if len(value) == 2 and isinstance(value[0], str) and _hides(value[0], value[1]):
            return [value[0], REDACTED]
        return [redacted_value(item, name) for item in value]
    return value


def _hides(name: str, item: Any) -> bool:
    return _is_secret_value(item) and is_secret_name(name)


def _is_secret_value(item: Any) -> bool:
    # A number or a yes or no is no secret: {"token": 12}, {"secret": true}.
    return item is not None and not isinstance(item, bool | int | float)

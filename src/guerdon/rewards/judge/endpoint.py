"""Where a judge is and what its server understands: address, model, key, capabilities."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from guerdon.errors import InputError

OPENAI = "https://api.openai.com/v1"
MODEL, ADDRESS, KEY = "GUERDON_JUDGE_MODEL", "GUERDON_JUDGE_BASE_URL", "GUERDON_JUDGE_API_KEY"
MODES = ("json_schema", "json_object", "text")
"""How the form of the answer is asked for, the surest first."""
_OPTIONAL = ("temperature", "seed", "max_completion_tokens", "max_tokens")


class _JudgeVariables(Mapping[str, str]):
    """The variable that decides verdicts, read anew each time; as a mapping it counts in the reward's version."""

    def __getitem__(self, name: str) -> str:
        if name == MODEL and (value := _variable(MODEL)) is not None:
            return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter([MODEL] if _variable(MODEL) is not None else [])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _variable(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


ENVIRONMENT = _JudgeVariables()


@dataclass(frozen=True, slots=True)
class JudgeEndpoint:
    """A model at an address."""

    address: str
    """The base of the API, without a slash at its end."""
    model: str
    key: str | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"{self.address}/chat/completions"

    def struck_out(self, content: bytes) -> bytes:
        """What a server answered without the key, which it may have repeated."""
        return content.replace(self.key.encode(), b"[redacted]") if self.key else content


def endpoint(base_url: str | None, model: str | None, key_variable: str | None) -> JudgeEndpoint:
    """The endpoint that parameters name, else environment variables.

    A key of OPENAI_API_KEY goes only to OpenAI's own address and to that of OPENAI_BASE_URL. Raises InputError
    where there is no model, no usable address, or no key for OpenAI.
    """
    named = _text(model, "model") or ENVIRONMENT.get(MODEL)
    if named is None:
        raise InputError(f"the judge needs a model: give model=, or set {MODEL}")
    of_openai = _variable("OPENAI_BASE_URL") or OPENAI
    address = checked_address(_text(base_url, "base_url") or _variable(ADDRESS) or of_openai)
    key = _key(key_variable)
    if key is None and key_variable is None and address in (OPENAI, of_openai.rstrip("/")):
        key = _variable("OPENAI_API_KEY")
    if key is None and address == OPENAI:
        raise InputError(
            f"the judge needs a key for {OPENAI}: set {KEY}, or the address of another server: {ADDRESS}"
        )
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InputError("the judge's key holds characters that a header cannot carry")
    return JudgeEndpoint(address, named, key)


def _text(value: Any, what: str) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value if value is None else value.strip()
    raise InputError(f"{what} must be a text that is not empty")


def _key(variable: str | None) -> str | None:
    if variable is None:
        return _variable(KEY)
    name = _text(variable, "key_variable")
    assert name is not None
    if not name.isidentifier():  # not shown: it may be the key itself
        raise InputError("key_variable must be the name of an environment variable that holds the key")
    if (key := _variable(name)) is None:
        raise InputError(f"the environment variable {name} of the judge's key is not set")
    return key


def checked_address(address: str) -> str:
    """An address in its plain form. Raises InputError for one that no judge can have."""
    try:
        parts = urlsplit(address)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        usable = False
    if not usable or "@" in address or parts.query or parts.fragment:  # not shown: it may hold a password
        raise InputError(
            "the judge's address must be of the form https://host/v1, without a password, a query or a fragment"
        )
    return address.rstrip("/").removesuffix("/chat/completions")


# What a server understands.


@dataclass(frozen=True, slots=True)
class ServerCapabilities:
    """The request options that a server understands, as far as they are known."""

    mode: str = MODES[0]
    tokens: str = "max_tokens"
    """Under which name the longest answer is given."""
    refused: frozenset[str] = frozenset()

    def body(self, request: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The body to send: the request under the server's names, with the form of the answer."""
        named = {self.tokens if name == "max_tokens" else name: value for name, value in request.items()}
        body = {name: value for name, value in named.items() if name not in self.refused}
        if self.mode == "json_schema":
            form = {"name": "verdict", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif self.mode == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def after(self, complaint: str, body: Mapping[str, Any], *, may_lower: bool) -> ServerCapabilities | None:
        """What to try after a server refused a body, by the words in which it did so; None where nothing is left.

        What it names is renamed or left out; where it names nothing of it, a form of the answer may be the reason.
        """
        text = complaint.lower()
        blamed = next((name for name in _OPTIONAL if name in body and name in text), None)
        if blamed == "max_tokens" and "max_completion_tokens" in text:
            return replace(self, tokens="max_completion_tokens")
        if "response_format" in body and any(word in text for word in ("response_format", "json_", "schema")):
            return self._lower()
        if blamed is not None:
            return replace(self, refused=self.refused | {blamed})
        return self._lower() if "response_format" in body and may_lower else None

    def _lower(self) -> ServerCapabilities:
        return replace(self, mode=MODES[MODES.index(self.mode) + 1])


class _KnownServers:
    """The capabilities of the servers that were asked in this process."""

    def __init__(self) -> None:
        # Private and mutable, so that it is no part of the reward's version.
        self._capabilities: dict[tuple[str, str], ServerCapabilities] = {}

    def of(self, endpoint: JudgeEndpoint) -> ServerCapabilities:
        return self._capabilities.get((endpoint.address, endpoint.model), ServerCapabilities())

    def learn(self, endpoint: JudgeEndpoint, found: ServerCapabilities) -> None:
        self._capabilities[endpoint.address, endpoint.model] = found


KNOWN = _KnownServers()

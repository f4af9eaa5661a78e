"""HttpResponse: a server's response to one request, and the error that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.errors import DeadlineError, InputError, RemoteError, RewardError, error_of_kind
from guerdon.serve.client.retries import RETRYABLE_STATUSES
from guerdon.serve.json_reading import MAX_ANSWER_VALUES, read_bounded_json

_SHOWN = 300
_NEVER_A_VERDICT = frozenset({429, 502, 503})
_VERDICTS = frozenset(
    {
        *("binding", "input", "resolution", "exception", "invalid_result", "timeout", "crash", "memory"),
        *("remote", "missing_extra", "not_applicable", "wrong_length", "error"),
    }
)
"""The kinds of failure that come from a reward, as those of a server in trouble do not."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response: its status, its headers, its whole body."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed when it is sent again.

        A 5xx that reports a failure of the reward is the answer, and not retryable.
        """
        if self.status < 500:
            return self.status in RETRYABLE_STATUSES
        return self.status in _NEVER_A_VERDICT or self.reward_error() is None

    def json(self) -> Any:
        """The body as JSON. Raises RemoteError where it is none."""
        try:
            return read_bounded_json(self.body, MAX_ANSWER_VALUES)
        except ValueError:
            raise RemoteError(
                f"{self.url} answered {self.status} with something that is not JSON: {_text(self.body)}",
                url=self.url,
                status=self.status,
            ) from None

    def object(self) -> dict[str, Any]:
        """The body as a JSON object. Raises RemoteError where it is none, or the status is no success."""
        self.raise_for_status()
        value = self.json()
        if not isinstance(value, dict):
            raise RemoteError(f"{self.url} answered no JSON object: {_text(self.body)}", url=self.url)
        return value

    def reward_error(self) -> RewardError | None:
        """The failure of the reward that the body reports, if it reports one."""
        error = self._field("error")
        return (
            error_from_payload(error) if isinstance(error, dict) and error.get("kind") in _VERDICTS else None
        )

    def raise_for_status(self) -> None:
        """Raise the error that a status stands for, unless it is a success."""
        if not 200 <= self.status < 300:
            raise self.error()

    def error(self) -> RewardError:
        """The error that the answer stands for."""
        if self.status in (401, 403):
            reason = "refused the key" if self.status == 403 else "requires an API key, or a different one"
            hint = "give api_key= or set GUERDON_API_KEY"
            return RemoteError(
                f"{self.url} {reason} ({self.status}); {hint}", url=self.url, status=self.status
            )
        if self.status not in _NEVER_A_VERDICT and (failure := self.reward_error()) is not None:
            return failure
        said = self._said()
        kind = {400: InputError, 413: InputError, 422: InputError, 504: DeadlineError}.get(
            self.status, RemoteError
        )
        if 300 <= self.status < 400:
            said = (
                f"a redirect to {self.headers.get('Location', 'nowhere')}; give that address if you trust it"
            )
        return kind(f"{self.url} answered {self.status}: {said}", url=self.url, status=self.status)

    def problems(self) -> list[dict[str, Any]]:
        """What a 422 lists in FastAPI's form: objects with ``loc`` and ``msg``."""
        detail = self._field("detail")
        return [p for p in detail if isinstance(p, dict)] if isinstance(detail, list) else []

    def _field(self, name: str) -> Any:
        try:
            value = read_bounded_json(self.body, MAX_ANSWER_VALUES)
        except ValueError:
            return None
        return value.get(name) if isinstance(value, dict) else None

    def _said(self) -> str:
        if problems := self.problems():
            shown = "; ".join(map(problem_text, problems[:3]))
            return shown if len(problems) <= 3 else f"{shown}; and {len(problems) - 3} more"
        detail = self._field("detail")
        return detail[:_SHOWN] if isinstance(detail, str) and detail else _text(self.body)


def error_from_payload(error: Mapping[str, Any]) -> RewardError:
    """The exception for an ``error`` object: ``{"kind", "message"}``."""
    return error_of_kind(str(error.get("kind") or ""), str(error.get("message") or "it did not say why"))


def problem_text(problem: Mapping[str, Any]) -> str:
    """One problem of a 422 in words: ``metadata.scary_letter: Field required``."""
    loc = problem.get("loc")
    where = ""
    for part in loc if isinstance(loc, list) else []:
        if part != "body":
            where += f"[{part}]" if isinstance(part, int) else f".{part}"
    return f"{where.lstrip('.')}: {problem.get('msg', 'it does not fit')}".removeprefix(": ")


def _text(body: bytes) -> str:
    text = " ".join(body[: 4 * _SHOWN].decode("utf-8", "replace").split())
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…") if text else "an empty body"

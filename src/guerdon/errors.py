"""What can go wrong, as types.

    RewardError
    ├── BindingError          a call and a function's parameters do not fit together
    ├── InputError            a sample, a row, a file or an option is malformed
    ├── ResolutionError       a name or a path leads to no reward
    ├── ExecutionError        the reward function raised
    ├── InvalidResultError    the reward function returned something invalid
    ├── WrongLengthError      an InvalidResultError: a batched reward returned too few or too many results
    ├── DeadlineError         the deadline passed and the call was ended
    ├── CrashError            the worker process died
    ├── MemoryLimitError      the worker process outgrew its memory
    ├── RemoteError           a remote reward did not answer with a result
    ├── SandboxError          the sandbox cannot run the program, or lost it
    ├── MissingExtraError     an optional dependency is not installed
    ├── ResumeError           an output file does not belong to this run
    └── NotApplicableError    the reward does not apply to this sample, so there is no score

Every class carries what it was about as attributes and survives pickling. ``kind`` is the word under
which a failure is counted, written to a scores file and reported.
"""

from __future__ import annotations

from typing import Any, ClassVar


class RewardError(Exception):
    """The base class; ``about`` holds the facts given as keywords, each an attribute too.

    >>> error = InputError("row 3 has no messages", row=3)
    >>> error.row, error.kind, str(error)
    (3, 'input', 'row 3 has no messages')
    """

    kind: ClassVar[str] = "error"

    def __init__(self, message: str, **about: Any) -> None:
        super().__init__(message)
        self.message = message
        self.about = about
        for name, value in about.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.about)

    def __str__(self) -> str:
        return self.message


def _rebuild(cls: type[RewardError], message: str, about: dict[str, Any]) -> RewardError:
    return cls(message, **about)


class BindingError(RewardError, TypeError):
    """A function's parameters and what there is to give do not fit together."""

    kind = "binding"


class InputError(RewardError, ValueError):
    """A sample, a row, a file or an option is malformed; the message says what to do."""

    kind = "input"


class ResolutionError(RewardError, LookupError):
    """A string is neither a registered name nor the path of something that can be imported."""

    kind = "resolution"


class ExecutionError(RewardError):
    """The reward function raised; the original exception is the cause where it was in this process."""

    kind = "exception"


class InvalidResultError(RewardError, ValueError):
    """The reward function returned something that is not a score: NaN, infinity, a string, …"""

    kind = "invalid_result"


class WrongLengthError(InvalidResultError):
    """A batched reward returned another number of results than it got samples, so no result has a sample."""

    kind = "wrong_length"


class DeadlineError(RewardError, TimeoutError):
    """The call overran its deadline and was ended."""

    kind = "timeout"


class CrashError(RewardError):
    """The worker process died while it scored the sample."""

    kind = "crash"


class MemoryLimitError(RewardError):
    """The worker process outgrew ``max_memory`` while it scored the sample."""

    kind = "memory"


class RemoteError(RewardError):
    """A remote reward could not be reached or did not answer with a result."""

    kind = "remote"


class SandboxError(RewardError):
    """The sandbox cannot run the program here, or lost it; that says nothing about the program."""

    kind = "sandbox"


class MissingExtraError(RewardError, ImportError):
    """An optional dependency is missing; the message is the line that installs it."""

    kind = "missing_extra"

    @classmethod
    def of(cls, extra: str, what: str) -> MissingExtraError:
        """The error for the extra named ``extra`` that ``what`` needs."""
        return cls(f'{what} needs an extra: pip install "guerdon[{extra}]"', extra=extra)


class ResumeError(RewardError):
    """An output file does not belong to this run: another reward, version or data."""

    kind = "resume"


class NotApplicableError(RewardError):
    """The reward does not apply to this sample, so there is no score."""

    kind = "not_applicable"


_BY_KIND: dict[str, type[RewardError]] = {
    cls.kind: cls
    for cls in (
        BindingError,
        InputError,
        ResolutionError,
        ExecutionError,
        InvalidResultError,
        WrongLengthError,
        DeadlineError,
        CrashError,
        MemoryLimitError,
        RemoteError,
        SandboxError,
        MissingExtraError,
        ResumeError,
        NotApplicableError,
    )
}


def error_of_kind(kind: str | None, message: str, **about: Any) -> RewardError:
    """The exception for a failure that was recorded as ``kind`` and ``message``.

    >>> type(error_of_kind("timeout", "over 10 s")).__name__
    'DeadlineError'
    """
    return _BY_KIND.get(kind or "", RewardError)(message, **about)


def kind_of(error: BaseException) -> str:
    """The kind under which an exception is recorded."""
    if isinstance(error, RewardError):
        return error.kind
    if isinstance(error, MemoryError):
        return MemoryLimitError.kind
    return ExecutionError.kind

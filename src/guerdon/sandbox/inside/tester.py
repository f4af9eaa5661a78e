"""The trusted client of an assert test: the test code runs here, and the program is at the end of a channel.

The names under test are proxies. What comes back over the channel is data: a value, or the account of an
exception, which becomes an exception of the same built-in class. Anything else ends the test as failed, whatever
the test code makes of it.
"""

from __future__ import annotations

import builtins
import json
import socket
import sys
from collections import deque
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import encoding, frames, testcode

# A harness, a comprehension or an iterator takes these for its own: all(map(candidate, xs)) is true when the
# first call raises StopIteration. They arrive as themselves only where the test code waits for them by name.
# An ImportError says that the test itself could not run.
_GUARDED = frozenset(
    {"AssertionError", "StopIteration", "StopAsyncIteration", "ImportError", "ModuleNotFoundError"}
)
_NO_FOLDER = ("FileNotFoundError: ", "PermissionError: ", "OSError: ")
_SHOWN = 2000


class CandidateError(Exception):
    """The program raised what has no built-in class, or gave no answer that can be used."""


class _CandidateClient:
    """Calls to the program, one after the other."""

    def __init__(self, channel: socket.socket, plan: testcode.TestPlan) -> None:
        self.channel = channel
        self.plan = plan
        self.calls = 0
        self.broken = ""
        """Why nothing the test code finds can be a pass."""
        self.foreign = ""
        """A value that the test code passes and that cannot be encoded."""
        self.last = ""
        """The last call and its outcome, for the owner of the tests."""

    def call(self, name: str, line: int, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Asks the program. Raises what it raised, and CandidateError."""
        if self.broken:
            raise CandidateError(self.broken)
        self.calls += 1
        copy_back = line in self.plan.copied_back
        try:
            question = encoding.dumps([self.calls, name, arguments, keywords, copy_back])
        except encoding.ForeignError as error:
            if line in self.plan.handed_back:
                # Of what the program returned; were the test not to blame it, that would be the way out of a failure.
                raise self._break(f"the test could not hand over {error}") from None
            self.foreign = str(error)
            raise CandidateError(self.foreign) from None
        except (
            encoding.EncodingError
        ) as error:  # too large or deep: perhaps made of what the program returned
            raise self._break(f"the test could not hand over {error}") from None
        self.last = f"{name}{_shown(arguments, keywords)}"
        changed, word, *rest = self._ask(question)
        self.last += f" {_outcome(word, rest)}"
        if changed is not None:
            _copy_back([*arguments, *keywords.values()], changed)
        return self._result(word, rest)

    def _ask(self, question: bytes) -> list[Any]:
        try:
            frames.send(self.channel, question)
            answer = frames.receive(self.channel)
        except (OSError, frames.ChannelError) as error:
            said = error if isinstance(error, frames.ChannelError) else "nothing: it has ended"
            raise self._break(f"the program answered {said}") from None
        if type(answer) is not list or len(answer) < 3 or type(answer[2]) is not str:
            raise self._break("the program answered something that is not an answer")
        if type(answer[0]) is not int or answer[0] != self.calls:
            raise self._break("the program answered twice, or another question")
        return answer[1:]

    def _result(self, word: str, rest: list[Any]) -> Any:
        if word == "value" and len(rest) == 1:
            return rest[0]
        if word in ("raised", "failed") and len(rest) == 3:
            names, message, line = rest
            if type(names) is list and type(message) is str and type(line) is int:
                if word == "failed":
                    raise self._break(f"the program raised {_class_name(names)} in line {line}")
                raise self._exception(names, message)
        if word == "missing":
            raise self._break("the program does not define the function")
        if word == "foreign" and len(rest) == 1:
            raise CandidateError(f"the program returned {rest[0]}"[:300])
        raise self._break("the program answered something that is not an answer")

    def _exception(self, names: list[Any], message: str) -> BaseException:
        """The exception by the first built-in name among the program's class and those it descends from."""
        name = _class_name(names)
        kind = getattr(builtins, name, None)
        expected = name in self.plan.expects
        usual = isinstance(kind, type) and issubclass(kind, Exception) and name not in _GUARDED
        if not isinstance(kind, type) or not issubclass(kind, BaseException) or not (usual or expected):
            return CandidateError(f"{name}: {message}")
        try:
            return kind(message)
        except TypeError:  # some take more arguments; what they hold is of no account here
            return kind.__new__(kind)

    def _break(self, why: str) -> CandidateError:
        self.broken = self.broken or why
        return CandidateError(why)


def test(questions: bytes, channel: socket.socket, write: Callable[[bytes], None]) -> None:
    """Runs the test that ``questions`` holds and writes what came of it, one line."""
    options = json.loads(questions)
    plan = testcode.TestPlan(**options["plan"])
    client = _CandidateClient(channel, plan)
    frames.send(channel, encoding.dumps(options["prelude"]))
    module = ModuleType("__main__")
    outcome = _prepared(plan, module)
    for name in (plan.entry_point, *plan.proxied):
        module.__dict__[name] = _proxy(client, name)
    outcome = outcome or testcode.run(plan, module)
    if client.foreign:
        outcome = ["unable", outcome[1], f"the test hands over {client.foreign}"]
    elif client.broken:
        outcome = ["broken", outcome[1], client.broken]
    elif outcome[0] == "error" and not client.calls and outcome[2].startswith(_NO_FOLDER):
        # It has no folder to write to; nor has the program had any part in it yet.
        outcome = ["unable", *outcome[1:]]
    elif outcome[0] == "unable" and (
        not {"ImportError", "ModuleNotFoundError"}.isdisjoint(plan.expects)
        # A module that is there cannot be loaded when a program's answers have taken all memory.
        or (client.calls and not outcome[2].startswith("ModuleNotFoundError"))
    ):
        outcome = ["error", *outcome[1:]]
    elif outcome[0] == "passed" and not client.calls:
        outcome = ["unable", 0, "the test code never calls the program"]
    write(json.dumps([*outcome, client.last]).encode("ascii") + b"\n")


def _prepared(plan: testcode.TestPlan, module: ModuleType) -> list[Any]:
    """Runs the set-up, before the proxies take the names it may define too; what went wrong, or nothing."""
    try:
        testcode.prepare(plan, module)
        exec(compile(plan.setup, "setup.py", "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:  # trusted code, but whose failure is nothing of the program's
        return ["unable", 0, f"the set-up raised {type(error).__name__}: {error}"[:300]]
    return []


def _proxy(client: _CandidateClient, name: str) -> Callable[..., Any]:
    def candidate(*arguments: Any, **keywords: Any) -> Any:
        return client.call(name, sys._getframe(1).f_lineno, list(arguments), keywords)

    candidate.__name__ = candidate.__qualname__ = name
    return candidate


def _class_name(names: list[Any]) -> str:
    """The first name that is a built-in exception's, and no general one; else the class's own."""
    for name in names:
        kind = getattr(builtins, name, None) if type(name) is str else None
        if isinstance(kind, type) and issubclass(kind, BaseException):
            return str(name)
    return "an exception"


def _copy_back(arguments: list[Any], changed: Any) -> None:
    """Gives the test's own containers the content that the program left in its copies."""
    if type(changed) is not list or len(changed) != len(arguments):
        return
    for mine, theirs in zip(arguments, changed, strict=True):
        if type(mine) is not type(theirs):
            continue
        if isinstance(mine, list | bytearray):
            mine[:] = theirs
        elif isinstance(mine, dict | set):
            mine.clear()
            mine.update(theirs)
        elif isinstance(mine, deque):
            mine.clear()
            mine.extend(theirs)


def _shown(arguments: list[Any], keywords: dict[str, Any]) -> str:
    parts = [*map(_text, arguments), *(f"{name}={_text(value)}" for name, value in keywords.items())]
    return f"({', '.join(parts)})"[:_SHOWN]


def _outcome(word: str, rest: list[Any]) -> str:
    if word == "value" and rest:
        return f"returned {_text(rest[0])}"
    if word in ("raised", "failed") and len(rest) == 3 and type(rest[0]) is list:
        return f"raised {_text(rest[0][:1])}: {_text(rest[1])}"
    return "gave no value"


def _text(value: Any) -> str:
    try:
        return repr(value)[:_SHOWN]
    except (ValueError, RecursionError, MemoryError):  # an integer of too many digits, a list too deep
        return "…"

"""The program's side of an assert test: it answers calls, and knows nothing of the test.

The first message is whether the program gets the prelude. A call is ``[number, function, arguments, keyword
arguments, copy back]``; its answer is what solution.call_outcome says, behind the number and, where it was asked
for, the arguments as the call left them.
"""

from __future__ import annotations

import socket
from types import ModuleType
from typing import Any

from . import encoding, frames, solution


def serve(source: bytes, channel: socket.socket) -> None:
    """Runs the program and answers calls until the other side hangs up."""
    module: ModuleType | None = None
    failure: list[Any] = []
    try:
        prelude = frames.receive(channel)
    except frames.ChannelError:
        return
    try:
        module = solution.load(source, prelude=prelude)
    except BaseException as error:  # whatever the program raises is reported at the first call
        failure = solution.describe_exception(error)
    while True:
        try:
            number, name, arguments, keywords, copy_back = frames.receive(channel)
        except frames.ChannelError:
            return
        if module is None:
            answer = encoding.dumps([number, None, "failed", *failure])
        else:
            answer = _answer(module, [number], name, arguments, keywords, copy_back)
        frames.send(channel, answer)


def _answer(
    module: ModuleType,
    number: list[int],
    name: str,
    arguments: list[Any],
    keywords: dict[str, Any],
    copy_back: bool,
) -> bytes:
    changed = [*arguments, *keywords.values()] if copy_back else None
    return solution.call_outcome(number, lambda: solution.find(module, name)(*arguments, **keywords), changed)

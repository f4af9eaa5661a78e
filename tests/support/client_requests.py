"""What the tests of the client send."""

from __future__ import annotations

from typing import Any

from guerdon import Request, Turn
from support.misbehaving import Misbehaving

KEY = "sk-very-secret"


def request_of(text: str, letter: str | None = "z", id: int | None = None) -> Request:
    metadata = None if letter is None else {"scary_letter": letter}
    return Request(turns=[Turn(role="assistant", content=text)], metadata=metadata, id=id)


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"messages": [{"role": "assistant", "content": f"text {i}"}], "scary_letter": "z", "id": i}
        for i in range(count)
    ]


def posts(server: Misbehaving) -> list[dict[str, str]]:
    """The headers of the POST requests that a server got."""
    return [headers for method, _, headers, _ in server.seen if method == "POST"]

"""What the tests of the server share."""

from __future__ import annotations

from support.command_work import serve
from support.interrupted_runs import notes, numbered_server

__all__ = ["notes", "numbered_server", "serve"]

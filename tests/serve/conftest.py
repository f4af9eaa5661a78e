"""What the tests of the server share."""

from __future__ import annotations

from support.command_work import serve

__all__ = ["serve"]

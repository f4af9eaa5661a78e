"""What the tests of a whole server share."""

from __future__ import annotations

from support.command_work import serve

__all__ = ["serve"]

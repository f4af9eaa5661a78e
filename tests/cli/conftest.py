"""Fixtures for the command line's tests."""

from support.cli_work import guerdon, work
from support.command_work import serve

__all__ = ["guerdon", "serve", "work"]

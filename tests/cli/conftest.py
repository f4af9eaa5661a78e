"""Fixtures for the command line's tests."""

from cli_work import guerdon, work
from command_work import serve

__all__ = ["guerdon", "serve", "work"]

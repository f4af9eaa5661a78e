"""Fixtures for the command line's tests."""

from cli_work import guerdon, work

__all__ = ["guerdon", "work"]

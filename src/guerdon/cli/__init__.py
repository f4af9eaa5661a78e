"""The command line: ``guerdon COMMAND …`` and ``python -m guerdon COMMAND …``."""

from guerdon.cli.app import main

__all__ = ["main"]

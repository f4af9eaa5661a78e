"""What a person sees in the terminal: a sample with its verdicts, and the statistics of a run.

Everything is printed as text and never as markup. Each name is imported when it is first used: a command that prints a
list needs no samples.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guerdon.console.layout import print_heading, print_labelled
    from guerdon.console.sample import print_failures, print_sample, score_text
    from guerdon.console.statistics import print_statistics
    from guerdon.console.text import clean, cut, duration

_HOME_OF = {
    "clean": "text",
    "cut": "text",
    "duration": "text",
    "print_failures": "sample",
    "print_heading": "layout",
    "print_labelled": "layout",
    "print_sample": "sample",
    "print_statistics": "statistics",
    "score_text": "sample",
}

__all__ = [
    "clean",
    "cut",
    "duration",
    "print_failures",
    "print_heading",
    "print_labelled",
    "print_sample",
    "print_statistics",
    "score_text",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'guerdon.console' has no attribute {name!r}")
    return getattr(importlib.import_module(f"guerdon.console.{_HOME_OF[name]}"), name)

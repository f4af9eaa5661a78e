"""A bar in a notebook's cell, without widgets."""

from __future__ import annotations

import sys
from html import escape
from typing import Any


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """One bar, gone once it stops; drawn at most ten times a second."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._handle: Any = None

    def show(self, completed: float, total: float | None, text: str) -> None:
        """Draw the bar at ``completed`` of ``total``; without a total there is only the text."""
        from IPython.display import HTML, display

        value = f' value="{completed:.4f}" max="{total:g}"' if total else ""
        html = HTML(f"{escape(self._title)} <progress{value}></progress> {escape(text)}")
        if self._handle is None:
            self._handle = display(html, display_id=True)
        else:
            self._handle.update(html)

    def stop(self) -> None:
        """Take the bar away."""
        from IPython.display import HTML

        if self._handle is not None:
            self._handle.update(HTML(""))

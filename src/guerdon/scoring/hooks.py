"""How results show themselves: functions of the layers above, which ``guerdon/__init__`` sets here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

render_text: Callable[[Any], str] | None = None
"""Scores or SampleResults as text for a terminal."""

render_html: Callable[[Any], str] | None = None
"""Scores, SampleResults or a SampleResult as HTML for a notebook."""

scoring_progress: Callable[[bool], AbstractContextManager[Any]] | None = None
"""Makes what ``score`` calls with a Progress; called with whether the caller asked for it."""


def shown_as_text(shown: Any) -> str:
    """The text of something that shows itself."""
    return render_text(shown) if render_text is not None else object.__repr__(shown)


def shown_as_html(shown: Any) -> str:
    """The HTML of something that shows itself."""
    return render_html(shown) if render_html is not None else ""

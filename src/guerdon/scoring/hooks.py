"""How results show themselves: functions of the layers above, which ``guerdon/__init__`` sets here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

render_text: Callable[[Any], str] | None = None
"""Scores or SampleResults as text for a terminal."""

render_html: Callable[[Any], str] | None = None
"""Scores, SampleResults or a SampleResult as HTML for a notebook."""


def shown_as_text(shown: Any) -> str:
    """The text of something that shows itself."""
    return render_text(shown) if render_text is not None else object.__repr__(shown)


def shown_as_html(shown: Any) -> str:
    """The HTML of something that shows itself."""
    return render_html(shown) if render_html is not None else ""

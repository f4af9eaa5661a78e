"""Scores as a notebook shows them: whole, well-formed and harmless HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

import guerdon

VOID = {"br"}


class Page(HTMLParser):
    """Reads HTML, and refuses what is not closed where it was opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile(response: str) -> Any:
    if response == "":
        raise ValueError("<script>alert(1)</script>")
    return (len(response) % 5 / 4, {"<b>bold": 0.5})


ROWS = [
    {"messages": [{"role": "user", "content": "<img src=x>"}, {"role": "assistant", "content": "<i>" * (i % 7)}]}
    for i in range(40)
]  # fmt: skip
SCORES = guerdon.score(hostile, ROWS, workers=0)


def test_a_report_has_figures_bars_findings_and_samples() -> None:
    page = Page(SCORES._repr_html_())
    for piece in (
        "hostile",
        "34 scored",
        "distinct scores",
        "rank correlation",
        "samples failed",
        "highest scores",
    ):
        assert piece in page.text
    assert SCORES._repr_html_().count('class="bar"') == SCORES.statistics().distinct
    assert page.tags.count("details") == 3
    assert page.tags.count("svg") == len(SCORES.statistics().components) == 1


@pytest.mark.parametrize("shown", [SCORES, SCORES.worst(3), SCORES.failed(), SCORES.by_id(1)])
def test_nothing_of_the_data_becomes_markup(shown: Any) -> None:
    page = Page(shown._repr_html_())
    assert not {"script", "img", "i"} & set(page.tags)
    assert "<img src=x>" in page.text


def test_a_run_of_failures_or_of_nothing_has_no_histogram() -> None:
    assert "There are no samples." in Page(guerdon.score(hostile, [], workers=0)._repr_html_()).text
    failed = guerdon.score(hostile, ["", ""], workers=0)._repr_html_()
    assert "2 failed (100%)" in Page(failed).text
    assert 'class="bar"' not in failed


def test_what_cannot_be_seen_is_shown() -> None:
    response = "1\x1b[31m \u202e2\u2066 \x00"
    shown = guerdon.score(lambda response: 1.0, [response], workers=0).worst(1)[0]._repr_html_()
    assert shown is not None
    assert "1\\x1b[31m \\u202e2\\u2066 \\x00" in shown

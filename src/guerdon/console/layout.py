"""Where things stand in the terminal: headings, labels with text beside them, tables."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from guerdon.console.text import NAME_LIMIT, REASON_LIMIT, block, one_line

WIDEST = 100
"""Most columns that a summary uses: beyond them bars grow without saying more."""

LABEL = 11


def usable_width(console: Console) -> int:
    """The columns that are used."""
    return max(min(console.width, WIDEST), 20)


def heading(console: Console, title: str) -> None:
    """The line that opens a section; the title is clean."""
    console.print(Rule(Text(title, style="bold"), align="left", style="dim"), width=usable_width(console))


def print_heading(console: Console, title: str) -> None:
    """The line that opens a section; the title may be of any origin."""
    heading(console, one_line(title, NAME_LIMIT, console))


def print_labelled(
    console: Console, label: str, text: str, limit: int | None = 10 * REASON_LIMIT, style: str = ""
) -> None:
    """A label, and beside it a text of any origin, cut to ``limit`` characters and wrapped in its own column."""
    labelled(console, one_line(label, LABEL, console), Text(block(text, limit, console), style=style))


def print_line(console: Console, line: Text) -> None:
    """One line as it is, without trailing spaces; the caller has seen to the width."""
    line.rstrip()
    console.print(line, soft_wrap=True)


def labelled(console: Console, label: str, body: Text, label_style: str = "dim", gap: int = LABEL) -> None:
    """A label, and beside it a text that is wrapped within its own column."""
    width = max(usable_width(console) - gap, 10)
    lines = body.wrap(console, width, overflow="fold")
    for number, line in enumerate(lines):
        # Assembled, since what is added to a text takes on the style that the text was made with.
        start = f"{label if number == 0 else '':<{gap}}"
        print_line(console, Text.assemble((start, label_style), line))


def print_table(console: Console, table: Table) -> None:
    """A table without the spaces that rich fills its last column with."""
    options = console.options.update_width(usable_width(console))
    for segments in console.render_lines(table, options, pad=False):
        print_line(console, Text.assemble(*((segment.text, segment.style or "") for segment in segments)))


def print_items(console: Console, label: str, pieces: Iterable[str], style: str = "") -> None:
    """A label, and beside it pieces that are broken over lines only between each other."""
    width = max(usable_width(console) - LABEL, 10)
    lines: list[str] = []
    for piece in pieces:
        if lines and cell_len(lines[-1]) + 3 + cell_len(piece) <= width:
            lines[-1] += f"   {piece}"
        else:
            lines.append(piece)
    labelled(console, label, Text("\n".join(lines), style=style))

"""The bar that shows on a terminal how far a long job is; commands and training runs draw it alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column


@dataclass(frozen=True, slots=True)
class InterruptMargin:
    """Leaves room for the ^C that a terminal echoes after a line, which would otherwise wrap it."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.inner, options.update_width(max(options.max_width - 4, 20)))


class TransientBar(Progress):
    """One bar over the whole width, gone once it stops; text stands behind it, ``footer`` below it."""

    footer: RenderableType | None = None

    def __init__(self, title: str, console: Console, *, auto_refresh: bool = True) -> None:
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[text]}", table_column=Column(no_wrap=True), markup=False),
            console=console,
            transient=True,
            expand=True,
            auto_refresh=auto_refresh,
        )
        self._task = self.add_task(title, total=None, text="")
        self.start()

    def show(self, completed: float, total: float | None, text: str) -> None:
        """Draw the bar at ``completed`` of ``total``; without a total it only moves."""
        self.update(self._task, completed=completed, total=total, text=text)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield InterruptMargin(self.make_tasks_table(self.tasks))
        if self.footer is not None:
            yield self.footer


def as_clock(seconds: float) -> str:
    """Seconds as a clock shows them.

    >>> as_clock(7.2), as_clock(190), as_clock(7200)
    ('0:07', '3:10', '2:00:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

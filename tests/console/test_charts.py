"""The histogram and the table of the components."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from guerdon.scoring.statistics.accumulator import Accumulator
from support.console_work import summary


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_every_bar_that_is_not_empty_shows(encoding: str) -> None:
    accumulator = Accumulator()
    for i in range(100_000):
        accumulator.add(float(i == 0))
    bars = [line for line in summary(accumulator.statistics(), encoding=encoding) if line.endswith("%")]
    assert bars[0].startswith("0  ████" if encoding == "utf-8" else "0  ####")
    assert re.match(r"1  [▏#] +1 +<0\.1%$", bars[1])


def test_component_table_lines_up() -> None:
    accumulator = Accumulator()
    for i in range(4):
        accumulator.add(0.5, components={"correct": float(i == 0), "漢字": -i * 12.5, "format": 1.0})
    accumulator.add(0.5, components={"correct": 1.0})
    lines = summary(accumulator.statistics())
    start = lines.index("component  scored    mean     std    min  max  levels")
    assert lines[start + 1 : start + 4] == [
        "correct         5    0.4    0.49     0      1       2",
        "漢字            4  -18.75  13.975  -37.5    0       4",
        "format          4    1      0        1      1       1",
    ]


def test_long_and_many_component_names() -> None:
    accumulator = Accumulator()
    for i in range(30):
        accumulator.add(i / 30, components={f"{'quality/' * 10}{k}漢字": i / 30 for k in range(300)})
    lines = summary(accumulator.statistics(), width=60)
    assert max(map(cell_len, lines)) <= 60
    assert "and 226 more" in lines
    assert "1,320 values have further names and are not counted here" in lines

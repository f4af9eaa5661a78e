"""The fuzz targets, and inputs made of their seeds.

A target is a module of this folder with ``SEEDS``, inputs to begin with, and ``check``, which takes bytes and raises
where they break what must always hold.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

FOLDER = Path(__file__).parent
_BESIDE = {"targets", "runner"}
_EDITS = 8


@dataclass(frozen=True)
class Target:
    """One module: where to begin and what must hold."""

    name: str
    seeds: Sequence[bytes]
    check: Callable[[bytes], None]


def names() -> list[str]:
    """The targets of this folder."""
    found = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith(("_", "test_"))}
    return sorted(found - _BESIDE)


def load(name: str) -> Target:
    """Import a target."""
    module = importlib.import_module(f"fuzz.{name}")
    return Target(name, tuple(module.SEEDS), module.check)


@st.composite
def inputs(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """A seed with some pieces replaced, removed, doubled or taken from another seed."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, _EDITS))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(len(data), start + 64)))
        other = draw(st.sampled_from(seeds))
        begin = draw(st.integers(0, len(other)))
        piece = draw(
            st.one_of(
                st.binary(max_size=16),
                st.just(data[start:stop] * 2),
                st.just(other[begin : begin + 64]),
            )
        )
        data = data[:start] + piece + data[stop:]
    return data

"""The units of a run with their rows pickled, read by the engine's thread or ahead of it."""

from __future__ import annotations

import socket
from collections.abc import Generator, Iterator

from guerdon.scoring.engine.base import PendingSample
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.prefetch import Prefetcher
from guerdon.scoring.row_pickle import row_bytes

PackedUnit = list[tuple[PendingSample, bytes | Outcome]]
"""A unit whose rows are pickles; an Outcome where a row has no pickle, or is known to have no score."""
_NO_ROW = failure("", "")


class PackedSource:
    """Gives the units of a run one by one; remembers what the caller's own iterator raised."""

    def __init__(self, units: Iterator[list[PendingSample]]) -> None:
        self._units = _packed_units(units)
        self._prefetcher: Prefetcher[PackedUnit] | None = None
        self.exhausted = False
        self.error: BaseException | None = None

    def read_ahead(self) -> socket.socket:
        """Read on a thread from now on; the socket is readable when a unit came."""
        self._prefetcher = Prefetcher(self._units, _size)
        return self._prefetcher.bell

    @property
    def reads_ahead(self) -> bool:
        """Whether a thread reads, so that there may be a unit later where there is none now."""
        return self._prefetcher is not None

    def silence(self) -> None:
        """Let the socket become readable anew with the next unit."""
        if self._prefetcher is not None:
            self._prefetcher.silence()

    def next_unit(self) -> PackedUnit | None:
        """The next unit; None where the source has ended, or has nothing yet."""
        try:
            if self._prefetcher is None:
                unit = next(self._units, None)
                self.exhausted = unit is None
            else:
                unit = self._prefetcher.take()
                self.exhausted = unit is None and self._prefetcher.ended
        except BaseException as error:  # the source is the caller's: raised there once all it gave is scored
            unit, self.error, self.exhausted = None, error, True
        return unit

    def close(self) -> None:
        """Read no more."""
        if self._prefetcher is not None:
            self._prefetcher.close()
        else:
            self._units.close()


def _packed_units(units: Iterator[list[PendingSample]]) -> Generator[PackedUnit, None, None]:
    for unit in units:
        # The row itself is not kept: its pickle is, should it have to be run again.
        yield [
            (item._replace(row=_NO_ROW), item.row if isinstance(item.row, Outcome) else row_bytes(item.row))
            for item in unit
        ]


def _size(unit: PackedUnit) -> int:
    return sum(len(body) for _, body in unit if isinstance(body, bytes))

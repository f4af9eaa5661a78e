"""A large batch in pieces that a server takes: bounded in number and in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PIECE_ITEMS = 256
PIECE_BYTES = 4_000_000

Piece = list[tuple[int, bytes]]
"""Items of a batch as JSON, each with its place."""


def pieces(
    items: Iterable[tuple[int, bytes]], count: int = PIECE_ITEMS, size: int = PIECE_BYTES
) -> Iterator[Piece]:
    """Consecutive items in pieces of at most ``count`` items and ``size`` bytes; a larger item goes alone.

    >>> [[place for place, _ in piece] for piece in pieces(enumerate([b"1", b"22", b"333", b"4"]), 2, 4)]
    [[0, 1], [2, 3]]
    """
    piece: Piece = []
    held = 0
    for item in items:
        if piece and (len(piece) == count or held + len(item[1]) > size):
            yield piece
            piece, held = [], 0
        piece.append(item)
        held += len(item[1])
    if piece:
        yield piece

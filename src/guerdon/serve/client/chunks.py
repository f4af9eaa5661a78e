"""A large batch in chunks that a server takes: bounded in number and in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

CHUNK_ITEMS = 256
CHUNK_BYTES = 4_000_000

RowChunk = list[tuple[int, bytes]]
"""Items of a batch as JSON, each with its place."""


def chunks(
    items: Iterable[tuple[int, bytes]], count: int = CHUNK_ITEMS, size: int = CHUNK_BYTES
) -> Iterator[RowChunk]:
    """Consecutive items in chunks of at most ``count`` items and ``size`` bytes; a larger item goes alone.

    >>> [[place for place, _ in chunk] for chunk in chunks(enumerate([b"1", b"22", b"333", b"4"]), 2, 4)]
    [[0, 1], [2, 3]]
    """
    chunk: RowChunk = []
    held = 0
    for item in items:
        if chunk and (len(chunk) == count or held + len(item[1]) > size):
            yield chunk
            chunk, held = [], 0
        chunk.append(item)
        held += len(item[1])
    if chunk:
        yield chunk

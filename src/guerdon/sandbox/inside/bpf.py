"""An assembler for seccomp's filters, made of blocks that end in a verdict on every path.

Nothing jumps out of a block, so blocks nest without labels: a condition holds one block for each outcome.

The kernel runs a filter once for each system call number, without arguments, and never again for the numbers
that it found allowed on that path (from Linux 5.11 on). So a filter decides by number first and loads an
argument only where it matters: the rest costs next to nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

Instruction = tuple[int, int, int, int]
"""Code, offsets where the condition holds and where it does not, constant."""
Block = tuple[Instruction, ...]

KILL_PROCESS = 0x8000_0000
ALLOW = 0x7FFF_0000
ERRNO = 0x0005_0000

_LOAD = 0x20  # a 32-bit word of struct seccomp_data into the accumulator
_AND = 0x54
_JUMP = 0x05
_EQUAL = 0x15
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_RETURN = 0x06
_LONGEST = 255

NUMBER = 0
ARCHITECTURE = 4


def low(argument: int) -> int:
    """Where the lower half of an argument lies: all of it, where the kernel takes an int."""
    return 16 + 8 * argument


def high(argument: int) -> int:
    """Where the upper half of an argument lies."""
    return low(argument) + 4


def verdict(value: int) -> Block:
    """Ends the filter."""
    return ((_RETURN, 0, 0, value),)


ALLOWED = verdict(ALLOW)
KILLED = verdict(KILL_PROCESS)


def refused(code: int) -> Block:
    """The call fails with that error; 0 lets it seem to succeed."""
    return verdict(ERRNO | code)


def if_equal(value: int, then: Block, otherwise: Block) -> Block:
    """Whether the loaded word is ``value``."""
    return _branch(_EQUAL, value, then, otherwise)


def if_at_least(value: int, then: Block, otherwise: Block) -> Block:
    """Whether the loaded word is ``value`` or more, unsigned."""
    return _branch(_AT_LEAST, value, then, otherwise)


def if_any_bit(bits: int, then: Block, otherwise: Block) -> Block:
    """Whether the loaded word has one of the bits."""
    return _branch(_ANY_BIT, bits, then, otherwise)


def if_one_of(values: Iterable[int], then: Block, otherwise: Block) -> Block:
    """Whether the loaded word is one of the values."""
    block = otherwise
    for value in sorted(values, reverse=True):
        block = if_equal(value, then, block)
    return block


def load(where: int, then: Block) -> Block:
    """Loads a word, then goes on."""
    return ((_LOAD, 0, 0, where), *then)


def masked(bits: int, then: Block) -> Block:
    """Keeps the bits of the loaded word that are in ``bits``, then goes on."""
    return ((_AND, 0, 0, bits), *then)


def if_zero(argument: int, then: Block, otherwise: Block) -> Block:
    """Whether all 64 bits of an argument are 0."""
    return load(high(argument), if_equal(0, load(low(argument), if_equal(0, then, otherwise)), otherwise))


def by_number(blocks: Mapping[int, Block], between: Block, beyond: Block, last: int) -> Block:
    """Chooses the block of the loaded number by bisection.

    ``between`` is for the numbers up to ``last`` that have none, ``beyond`` for those above.
    """
    steps: list[tuple[int, Block]] = [(0, blocks.get(0, between))]
    for number in range(1, last + 1):
        block = blocks.get(number, between)
        if block != steps[-1][1]:
            steps.append((number, block))
    if steps[-1][1] != beyond:
        steps.append((last + 1, beyond))
    return _bisect(steps, last + 2)


def assemble(block: Block) -> bytes:
    """The block as an array of ``struct sock_filter``. Raises ValueError where it is longer than Linux takes."""
    if len(block) > 4096:
        raise ValueError(f"a filter holds at most 4096 instructions, not {len(block)}")
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in block)


def _bisect(steps: list[tuple[int, Block]], end: int) -> Block:
    """Halves the numbers rather than the steps: Linux tries each number once when a filter is installed."""
    if len(steps) == 1:
        return steps[0][1]
    centre = (steps[0][0] + end) / 2
    middle = min(range(1, len(steps)), key=lambda index: abs(steps[index][0] - centre))
    start = steps[middle][0]
    return if_at_least(start, _bisect(steps[middle:], end), _bisect(steps[:middle], start))


def _branch(code: int, value: int, then: Block, otherwise: Block) -> Block:
    if len(then) <= _LONGEST:
        return ((code, 0, len(then), value), *then, *otherwise)
    # A condition jumps over 255 instructions at most, a plain jump over any number.
    return ((code, 1, 0, value), (_JUMP, 0, 0, len(then)), *then, *otherwise)

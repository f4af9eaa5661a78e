"""The assembler of filters."""

from __future__ import annotations

import pytest

from guerdon.sandbox.inside import bpf
from support.filter_simulator import answer

REFUSED = bpf.refused(1)
UNKNOWN = bpf.refused(38)
LONG = tuple(instruction for _ in range(150) for instruction in bpf.load(bpf.low(5), ())) + REFUSED


def said(block: bpf.Block, number: int = 0, arguments: tuple[int, ...] = ()) -> str:
    return answer(bpf.assemble(block), "x86_64", number, arguments)


@pytest.mark.parametrize(
    ("block", "argument", "expected"),
    [
        (bpf.load(bpf.low(0), bpf.if_equal(5, bpf.ALLOWED, REFUSED)), 5, "ALLOW"),
        (bpf.load(bpf.low(0), bpf.if_equal(5, bpf.ALLOWED, REFUSED)), 6, "EPERM"),
        (bpf.load(bpf.low(0), bpf.if_equal(5, bpf.ALLOWED, REFUSED)), 5 + 2**32, "ALLOW"),
        (bpf.load(bpf.high(0), bpf.if_equal(1, bpf.ALLOWED, REFUSED)), 5 + 2**32, "ALLOW"),
        (bpf.load(bpf.low(0), bpf.if_at_least(5, bpf.ALLOWED, REFUSED)), 4, "EPERM"),
        (bpf.load(bpf.low(0), bpf.if_at_least(5, bpf.ALLOWED, REFUSED)), 5, "ALLOW"),
        (bpf.load(bpf.low(0), bpf.if_at_least(5, bpf.ALLOWED, REFUSED)), 2**31, "ALLOW"),
        (bpf.load(bpf.low(0), bpf.if_any_bit(6, REFUSED, bpf.ALLOWED)), 4, "EPERM"),
        (bpf.load(bpf.low(0), bpf.if_any_bit(6, REFUSED, bpf.ALLOWED)), 9, "ALLOW"),
        (bpf.load(bpf.low(0), bpf.masked(15, bpf.if_equal(1, bpf.ALLOWED, REFUSED))), 0x81, "ALLOW"),
        (bpf.load(bpf.low(0), bpf.if_one_of((3, 9), bpf.ALLOWED, REFUSED)), 9, "ALLOW"),
        (bpf.load(bpf.low(0), bpf.if_one_of((3, 9), bpf.ALLOWED, REFUSED)), 4, "EPERM"),
        (bpf.if_zero(0, bpf.ALLOWED, REFUSED), 0, "ALLOW"),
        (bpf.if_zero(0, bpf.ALLOWED, REFUSED), 1, "EPERM"),
        (bpf.if_zero(0, bpf.ALLOWED, REFUSED), 2**32, "EPERM"),
        # Blocks beyond the reach of a conditional jump, on either side.
        (bpf.load(bpf.low(0), bpf.if_equal(5, LONG * 2, bpf.ALLOWED)), 5, "EPERM"),
        (bpf.load(bpf.low(0), bpf.if_equal(5, LONG * 2, bpf.ALLOWED)), 6, "ALLOW"),
        (bpf.load(bpf.low(0), bpf.if_equal(5, bpf.ALLOWED, LONG * 2)), 6, "EPERM"),
    ],
)
def test_conditions(block: bpf.Block, argument: int, expected: str) -> None:
    assert said(block, 0, (argument,)) == expected


@pytest.mark.parametrize("then", [254, 255, 256, 257])
def test_a_block_of_any_length_is_jumped_over(then: int) -> None:
    block = bpf.load(bpf.low(1), ()) * (then - 1) + REFUSED
    condition = bpf.load(bpf.low(0), bpf.if_equal(1, block, bpf.ALLOWED))
    assert [said(condition, 0, (value,)) for value in (0, 1)] == ["ALLOW", "EPERM"]


def test_every_number_finds_its_block() -> None:
    wanted = {0: REFUSED, 1: REFUSED, 4: bpf.ALLOWED, 5: UNKNOWN, 6: bpf.ALLOWED, 12: REFUSED}
    block = bpf.load(bpf.NUMBER, bpf.by_number(wanted, bpf.KILLED, UNKNOWN, 13))
    found = [said(block, number) for number in (*range(15), 2**30 + 4, -1)]
    assert found == [
        "EPERM", "EPERM", "KILL", "KILL", "ALLOW", "ENOSYS", "ALLOW", *["KILL"] * 5, "EPERM", "KILL",
        "ENOSYS", "ENOSYS", "ENOSYS",
    ]  # fmt: skip


def test_a_filter_that_is_longer_than_linux_takes() -> None:
    assert len(bpf.assemble(REFUSED * 4096)) == 8 * 4096
    with pytest.raises(ValueError, match="4097"):
        bpf.assemble(REFUSED * 4097)

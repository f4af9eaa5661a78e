"""Whole numbers and fractions taken apart into primes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from guerdon.rewards.math.normal_form import Rational, UnknownError, bits

_TRIAL = 10_000


@lru_cache(maxsize=4096)
def factors(value: Rational) -> Mapping[int, int]:
    """The prime factors with their exponents. Raises UnknownError where they take long to find."""
    found: dict[int, int] = {}
    for number, step in ((value.numerator, 1), (value.denominator, -1)):
        rest, divisor = number, 2
        if bits(number) > 4_000:
            raise UnknownError("a number too large to factor")
        while divisor * divisor <= rest and divisor <= _TRIAL:
            while rest % divisor == 0:
                found[divisor] = found.get(divisor, 0) + step
                rest //= divisor
            divisor += 1 if divisor == 2 else 2
        if rest > 1:
            if rest > _TRIAL**2:
                rest, step = _as_power(rest, step)
            found[rest] = found.get(rest, 0) + step
    return found


def _as_power(rest: int, step: int) -> tuple[int, int]:
    """What is left after trial division: a prime or a power of one, or else it is unknown."""
    side = math.isqrt(rest)
    if side * side == rest:
        rest, step = side, 2 * step
    if rest > _TRIAL**2 and not _is_prime(rest):
        raise UnknownError("a number too large to factor")
    return rest, step


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test with the bases that decide every number below 3·10²⁴."""
    if number >= 3_317_044_064_679_887_385_961_981:
        raise UnknownError("a number too large to factor")
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41):
        residue = pow(base, odd, number)
        if residue in (1, number - 1):
            continue
        if all((residue := residue * residue % number) != number - 1 for _ in range(twos - 1)):
            return False
    return True

"""How sure a share is that was counted on a sample."""

from __future__ import annotations

import math


def wilson(successes: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's score interval for a share of which ``successes`` of ``n`` were seen; (0, 1) where n is 0.

    ``successes`` may be a sum of shares, one a subject, for which the interval is too wide rather than too narrow.
    ``z`` is the quantile of the normal distribution, 1.96 for 95 %. Unlike the textbook interval it stays
    between 0 and 1 and says something at the ends: none of 1,000 is compatible with up to 0.4 %.

    Raises ValueError where there are fewer than no successes or more than n.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference.

    >>> [round(end, 4) for end in wilson(8, 10)]
    [0.4902, 0.9433]
    >>> [round(end, 4) for end in wilson(0, 1000)]
    [0.0, 0.0038]
    """
    if not 0 <= successes <= n:
        raise ValueError(f"there cannot be {successes} successes of {n}")
    if n == 0:
        return 0.0, 1.0
    share, square = successes / n, z * z
    middle = (share + square / (2 * n)) / (1 + square / n)
    reach = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    # At the ends the formula gives 0 and 1 but for rounding.
    low = 0.0 if successes == 0 else max(0.0, middle - reach)
    high = 1.0 if successes == n else min(1.0, middle + reach)
    return low, high

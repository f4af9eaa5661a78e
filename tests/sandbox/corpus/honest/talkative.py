"""Prints while it works, to both streams where output is not judged, warns, and logs."""

import logging
import sys
import warnings

logging.basicConfig(level=logging.DEBUG)


def solve(numbers):
    if __name__ != "__main__":
        print("working on", numbers)
        print('{"passed": false}')
    print("debug", file=sys.stderr)
    logging.info("sorting")
    warnings.warn("slow", stacklevel=1)
    return sorted(numbers)


def mean(numbers):
    print("mean of", numbers)
    return sum(numbers) / len(numbers)


if __name__ == "__main__":
    print(*solve([int(word) for word in sys.stdin.read().split()]))

"""Deep recursion, caches, generators, dataclasses and threads: everyday means."""

import heapq
import sys
import threading
from dataclasses import dataclass
from functools import cache, reduce

sys.setrecursionlimit(20_000)


@dataclass(order=True)
class Item:
    key: int


@cache
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


def drained(heap):
    while heap:
        yield heapq.heappop(heap).key


def solve(numbers):
    assert depth(3_000) == 3_000
    heap = [Item(n) for n in numbers]
    heapq.heapify(heap)
    found = []
    worker = threading.Thread(target=lambda: found.extend(drained(heap)))
    worker.start()
    worker.join()
    return found


def mean(numbers):
    return reduce(lambda a, b: a + b, numbers) / len(numbers)


if __name__ == "__main__":
    print(*solve([int(word) for word in input().split()]))

"""The functions are methods, as LeetCode has it, and names at the top lead to them."""

from typing import List  # noqa: UP035


class Solution:
    def solve(self, numbers: List[int]) -> List[int]:  # noqa: UP006
        return self.merge(numbers)

    def merge(self, numbers):
        if len(numbers) < 2:
            return list(numbers)
        half = len(numbers) // 2
        left, right = self.merge(numbers[:half]), self.merge(numbers[half:])
        merged = []
        while left and right:
            merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
        return merged + left + right

    def mean(self, numbers):
        return sum(numbers) / len(numbers)


def solve(numbers):
    return Solution().solve(numbers)


def mean(numbers):
    return Solution().mean(numbers)


if __name__ == "__main__":
    import sys

    for line in sys.stdin:
        print(*Solution().solve([int(word) for word in line.split()]))

"""Changes its argument and returns it, as much honest code does; ends by sys.exit."""

import sys


def solve(numbers):
    numbers.sort()
    return numbers


def mean(numbers):
    total = 0.0
    while numbers:
        total += numbers.pop()
        count = mean.counted = getattr(mean, "counted", 0) + 1
    mean.counted = 0
    return total / count


def main():
    numbers = list(map(int, sys.stdin.readline().split()))
    sys.stdout.write(" ".join(map(str, solve(numbers))) + "\n")
    sys.exit(0)


if __name__ == "__main__":
    main()

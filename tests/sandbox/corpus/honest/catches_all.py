"""Catches exceptions of its own, broadly, and reads to the end of its input."""


def number(word):
    try:
        return int(word)
    except Exception:
        return 0


def solve(numbers):
    best = []
    while True:
        try:
            smallest = min(n for n in numbers if n not in best)
        except ValueError:
            return best
        best.append(smallest)


def mean(numbers):
    try:
        return sum(numbers) / len(numbers)
    except ZeroDivisionError:
        return 0.0


if __name__ == "__main__":
    words = []
    while True:
        try:
            words += input().split()
        except EOFError:
            break
    print(" ".join(str(n) for n in solve([number(word) for word in words])))

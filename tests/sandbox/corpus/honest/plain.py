"""The plain answer, with a main part that reads and prints. Right in every form."""


def solve(numbers):
    return sorted(numbers)


def mean(numbers):
    return sum(numbers) / len(numbers)


if __name__ == "__main__":
    print(*solve(map(int, input().split())))

"""Leaves folders that take long to remove, in every shape. It must not keep its verdict, nor the next run, waiting.

Limits: scratch_mb=4, cpu_s=1, wall_s=3
Ends: ok, killed
Variants: wide, deep, comb, closed, names, pairs
"""

from attack import VARIANT, os, say

try:
    for number in range(600):
        if VARIANT == "wide":
            os.mkdir(f"{number}")
        elif VARIANT == "pairs":
            os.makedirs(f"{number % 300}/{number}")
        elif VARIANT == "deep":
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        elif VARIANT == "comb" and number < 150:
            for name in ("a", "b/c", "d/e/f"):
                os.makedirs(name)
            os.chdir("a")
        elif VARIANT == "closed" and number < 200:
            os.makedirs(f"{number}/a")
            os.mkdir(f"{number}/closed", 0)
            os.mkdir(f"closed-{number}", 0)
        elif VARIANT == "names" and number % 256 not in (0, 46, 47):
            os.makedirs(bytes([number % 256, 255, 10]) + b"%d/.up-0" % number)
except OSError as refusal:
    say(f"refused: {refusal}")

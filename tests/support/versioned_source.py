"""A file with a reward that refers to much, and versions of edited copies of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from guerdon import RewardFunction
from guerdon.reward.loading.modules import load_file

BASE = '''
import enum
import functools
import re
from dataclasses import dataclass
from pydantic import BaseModel
from guerdon import reward_function

LIMIT = 10
WORDS = {"and", "or", "but", "not", "nor"}
TABLE = {"b": 2, "a": 1}
PATTERN = re.compile("[0-9]+")

class Level(enum.Enum):
    HIGH = 1
    LOW = 0

class Settings(BaseModel):
    scale: float = 1.0

class Checker:
    bonus = 0.5
    allowed = frozenset({"x", "y"})

    def __init__(self, strict=True):
        self.strict = strict

    def check(self, text):
        return self.bonus if self.strict else 0

    @property
    def weight(self):
        return 1

    @functools.cached_property
    def kept(self):
        return 2

CHECKER = Checker()

def deepest(text):
    return len(text)

@functools.lru_cache
def cached(text):
    return deepest(text)

def helper(text):
    return min(cached(text), LIMIT)

def make(threshold):
    def closed(response):
        return len(response) > threshold
    return closed

closed = make(3)

@dataclass
class Fields:
    first: int = 1

    def __call__(self, response):
        return self.first

def evaluate(response, scale=1, *, shift=0):
    """How good."""
    # a comment
    found = PATTERN.findall(response)
    if any(word in WORDS for word in response.split()):
        return TABLE["a"] * scale + shift
    if Level.HIGH.value == 2:
        return Settings().scale
    nested = [helper(part) for part in found]
    return CHECKER.check(response) + CHECKER.weight + sum(nested)
'''


def version_of(
    folder: Path, source: str, name: str = "evaluate", file: str = "reward.py", **fixed: Any
) -> str:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / file).write_text(source, encoding="utf-8")
    return RewardFunction(getattr(load_file(folder / file), name), **fixed).version


def changed(old: str, new: str) -> str:
    assert BASE.count(old) == 1, old
    return BASE.replace(old, new)


def count(response: str, step: Any = 1) -> float:
    return len(response) * step

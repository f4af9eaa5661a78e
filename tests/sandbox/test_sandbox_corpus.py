"""The corpus of attacks against every tier that this machine has, as root and as an ordinary user.

What each program tries and what must not happen is in its own first lines; ``outside.py`` has the canaries.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

import guerdon
from guerdon.sandbox.execution import Tier
from guerdon.sandbox.isolation import tiers
from support.sandbox_attacks import Attack, attacks
from support.unprivileged_users import readable_python

ORDINARY = 65534
TIERS: tuple[Tier, ...] = ("native", "bubblewrap", "landlock")
USERS = ("root", "user") if os.geteuid() == 0 else ("user",)
CONFIGURATIONS = [(tier, user) for user in USERS for tier in TIERS]
RUN_S = 300.0
SAMPLE_STEP = 25
# An attack that ends so never came to what it tries.
BROKEN = re.compile(r"^(NameError|SyntaxError|TypeError|AttributeError|KeyError|\w*ArgumentError)\b", re.M)
Rows = Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Person:
    """Somebody who runs the corpus: an interpreter, and copies of all that is needed where they can be read."""

    python: str
    folder: Path
    identity: Mapping[str, Any]

    def run(self, tier: str, which: str) -> Rows:
        results = self.folder / f"{tier}-{which}.jsonl"
        home = self.folder / "home"
        done = subprocess.run(
            [
                self.python,
                str(self.folder / "support" / "sandbox_corpus_runner.py"),
                tier,
                which,
                str(results),
            ],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(self.folder / "src"),
                "PYTHONDONTWRITEBYTECODE": "1",
                "HOME": str(home),
                "TMPDIR": str(home),
            },
            capture_output=True,
            text=True,
            timeout=RUN_S,
            start_new_session=True,
            **self.identity,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
        return {row["id"]: row for row in rows}


@functools.cache
def person(user: str) -> Person:
    # Not below pytest's own folder, which only its user may enter.
    folder = Path(tempfile.mkdtemp(prefix="guerdon-corpus-"))
    ordinary = user == "user" and os.geteuid() == 0
    python = readable_python() if ordinary else sys.executable
    if python is None:
        pytest.skip("no Python that an ordinary user may read")
    shutil.copytree(Path(guerdon.__file__).parent, folder / "src" / "guerdon")
    tests = Path(__file__).parents[1]
    for name in ("support", "sandbox/corpus"):
        shutil.copytree(tests / name, folder / name)
    (folder / "home").mkdir()
    if ordinary:
        for path in (folder, folder / "home"):
            os.chown(path, ORDINARY, ORDINARY)
    return Person(
        python, folder, {"user": ORDINARY, "group": ORDINARY, "extra_groups": []} if ordinary else {}
    )


@pytest.fixture(scope="session", autouse=True)
def _removed() -> Iterator[None]:
    yield
    for user in USERS if person.cache_info().currsize else ():
        shutil.rmtree(person(user).folder)


@functools.cache
def tried(tier: str, user: str, which: str) -> Rows | str:
    """What came of each attack, or why there is nothing; found out once."""
    try:
        return person(user).run(tier, which)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}: {error}"


def outcomes(tier: Tier | Literal["unconfined"], user: str, which: str) -> Rows:
    if tier != "unconfined" and not (report := tiers.examine(tier)).available:
        pytest.skip(f"no {tier} tier on this machine: {report.reason}")
    rows = tried(tier, user, which)
    assert not isinstance(rows, str), rows
    return rows


def cases(which: str, *marks: pytest.MarkDecorator) -> list[Any]:
    """Attack by configuration, one configuration after the other, so that each is run once."""
    return [
        pytest.param(which, tier, user, attack, id=f"{which}-{tier}-{user}-{attack.id}", marks=marks)
        for tier, user in CONFIGURATIONS
        for attack in attacks(which)
    ]


def whole_and_sample(which: str) -> list[Any]:
    """Every attack, which takes long, and a few of them."""
    whole = cases(which, pytest.mark.slow(seconds=0.1))
    return [*whole, *cases(f"{which}:{SAMPLE_STEP}")]


def known_to_leak(attack: Attack, tier: str, user: str) -> bool:
    places = {tier, f"{tier}-{user}"}
    return bool((places | {f"{place}-{attack.variant}" for place in places}) & {*attack.leaks})


@pytest.mark.parametrize(("which", "tier", "user", "attack"), whole_and_sample("host"))
def test_an_attack_on_the_host_gets_nothing(which: str, tier: Tier, user: str, attack: Attack) -> None:
    row = outcomes(tier, user, which)[attack.id]
    if not known_to_leak(attack, tier, user):
        assert row["findings"] == [], row
    assert not BROKEN.search(row.get("stderr", "")) or attack.name == "own_machinery", row


@pytest.mark.slow
@pytest.mark.parametrize(("tier", "user"), CONFIGURATIONS)
def test_nothing_is_left_after_all_attacks(tier: Tier, user: str) -> None:
    assert outcomes(tier, user, "host")["end"]["findings"] == []


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", sorted({a.name for a in attacks("host") if a.breaches_unconfined}))
def test_an_attack_would_succeed_without_a_sandbox(name: str) -> None:
    rows = outcomes("unconfined", USERS[0], "host")
    # Not in every variant: not every machine has all that they look for.
    assert any(row["findings"] for key, row in rows.items() if key.partition("-")[0] == name), rows


@pytest.mark.parametrize(("which", "tier", "user", "attack"), whole_and_sample("rewards"))
def test_a_reward_hack_is_not_paid(which: str, tier: Tier, user: str, attack: Attack) -> None:
    row = outcomes(tier, user, which)[attack.id]
    assert row["findings"] == []
    for form, results in row["results"].items():
        for passed, status, detail, tamper_resistant in results:
            assert not passed, (form, results)
            assert tamper_resistant, form
            # A program that could escape judgement would not have to be right.
            assert status not in ("worker_lost", "unavailable"), (form, detail)


@pytest.mark.parametrize(("which", "tier", "user", "attack"), cases("honest"))
def test_an_honest_program_is_judged_right(which: str, tier: Tier, user: str, attack: Attack) -> None:
    row = outcomes(tier, user, which)[attack.id]
    assert row["findings"] == []
    for form, results in row["results"].items():
        assert all(passed for passed, *_ in results), (form, results)


def test_the_corpus_is_as_large_as_it_claims() -> None:
    assert len({attack.name for attack in attacks("host")}) >= 60
    assert len({attack.name for attack in attacks("rewards")}) >= 30
    assert len(attacks("host")) >= 380
    assert len(attacks("rewards")) >= 220

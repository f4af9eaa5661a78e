"""The corpus of attacks as values: what each file of ``corpus/`` is, from its own first lines.

A file's docstring (of a file in another language: its first comment) says what the program tries and what must
not happen, and may hold these fields:

- ``Variants: a, b`` — the program is run once for each, with ``VARIANT`` set;
- ``Limits: cpu_s=0.5, processes=8`` — other limits than ``LIMITS``;
- ``Ends: timeout, killed`` — the statuses that it may end with; without it, all that say something of a program;
- ``Leaks: landlock, bubblewrap-root`` — tiers, or tiers as one user, that are known not to hold it;
- ``Unconfined: breaches`` — without a sandbox it succeeds, and does no harm, so it is known to be able to;
- ``Reach: outside`` — somebody outside tries to connect to it meanwhile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parents[1] / "sandbox" / "corpus"
LIMITS = {"cpu_s": 0.6, "wall_s": 2.0, "memory_mb": 128, "output_kb": 256, "processes": 1, "scratch_mb": 8}
ENDINGS = ("ok", "error", "timeout", "output_limit", "memory_limit", "killed")
LANGUAGES = {".py": "python", ".sh": "bash", ".c": "c"}
FIELDS = ("Variants", "Limits", "Ends", "Leaks", "Unconfined", "Reach")
SHARED = re.compile(r"^from attack import .*$", re.M)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One program of the corpus, in one variant."""

    name: str
    variant: str
    language: str
    source: str
    limits: dict[str, Any]
    ends: tuple[str, ...]
    leaks: tuple[str, ...]
    breaches_unconfined: bool
    reach: bool

    @property
    def id(self) -> str:
        return f"{self.name}-{self.variant}" if self.variant else self.name

    def program(self, targets: dict[str, Any]) -> str:
        """The text to run: what the attacks share stands in place of its import."""
        if self.language == "python":
            shared = (CORPUS / "attack.py").read_text(encoding="utf-8")
            shared = shared.replace("TARGETS: dict = {}", f"TARGETS = {targets!r}")
            text = SHARED.sub(lambda _: shared, self.source, count=1)
            return text.replace('VARIANT = ""', f"VARIANT = {self.variant!r}", 1)
        text = self.source.replace("@VARIANT@", self.variant)
        return re.sub(r"@(\w+)@", lambda found: str(targets.get(found[1], found[0])), text)


def attacks(which: str) -> list[Attack]:
    """All attacks of ``host``, ``rewards`` or ``honest``, in the order of their names; of ``host:25`` each 25th."""
    folder, _, step = which.partition(":")
    paths = sorted(path for path in (CORPUS / folder).iterdir() if path.suffix in LANGUAGES)
    return [attack for path in paths for attack in _of(path)][:: int(step or 1)]


def _of(path: Path) -> Iterator[Attack]:
    source = path.read_text(encoding="utf-8")
    head = re.search(r'"""(.*?)"""', source, re.S) or re.search(r"((?:^(?:#|//).*\n)+)", source, re.M)
    assert head, f"{path.name} does not say what it tries"
    about = " ".join(re.sub(r"^(#|//)", "", line).strip() for line in head[1].splitlines())
    found = {name: _field(name, about) for name in FIELDS}
    limits = dict(LIMITS)
    for part in found["Limits"]:
        name, _, value = part.partition("=")
        limits[name.strip()] = json.loads(value)
    for variant in found["Variants"] or ("",):
        yield Attack(
            name=path.stem,
            variant=variant,
            language=LANGUAGES[path.suffix],
            source=source,
            limits=limits,
            ends=found["Ends"] or ENDINGS,
            leaks=found["Leaks"],
            breaches_unconfined=bool(found["Unconfined"]),
            reach=bool(found["Reach"]),
        )


def _field(name: str, about: str) -> tuple[str, ...]:
    """A field's words: it ends at the next field or with the text."""
    found = re.search(rf"\b{name}: ([\w=., -]+?)(?=\s+(?:{'|'.join(FIELDS)}): |$)", about)
    return tuple(part.strip().rstrip(".") for part in found[1].split(",")) if found else ()

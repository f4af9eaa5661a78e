"""The folder of a benchmark: a result and its disagreements for each suite and verifier, and the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guerdon.accuracy.measurement import Measurement
from guerdon.accuracy.verifier import Verifier
from guerdon.atomic_files import atomic_write
from guerdon.errors import InputError

DISAGREEMENTS = ".disagreements.jsonl"


class Folder:
    """Where results are written as they come, and read again by a run that goes on."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.path} cannot be made a folder of results: {error.strerror}") from None

    def kept(self, suite: str, verifier: Verifier, data: str) -> Measurement | None:
        """The result of an earlier run; None unless it is of this very verifier and these very cases."""
        result, disagreements = self._files(suite, verifier.slug)
        try:
            stored = json.loads(result.read_text(encoding="utf-8"))
            lines = disagreements.read_text(encoding="utf-8").split("\n")
            found = Measurement.from_dict(stored, [json.loads(line) for line in lines if line])
        except (OSError, ValueError, KeyError, TypeError):
            return None  # none, or one that was written by another version of this
        same = (suite, verifier.label, verifier.version, data)
        return found if (found.suite, found.verifier, found.version, found.data) == same else None

    def keep(self, found: Measurement, verifier: Verifier) -> None:
        """Write a result; whole or not at all."""
        result, disagreements = self._files(found.suite, verifier.slug)
        result.parent.mkdir(parents=True, exist_ok=True)
        result.unlink(missing_ok=True)
        _write(disagreements, "".join(_line(row) for row in found.disagreements))
        _write(result, json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n")

    def write_table(self, table: Mapping[str, Any], markdown: str) -> None:
        """Write table.json and table.md."""
        _write(self.path / "table.json", json.dumps(table, indent=1, allow_nan=False) + "\n")
        _write(self.path / "table.md", markdown)

    def _files(self, suite: str, slug: str) -> tuple[Path, Path]:
        folder = self.path / suite
        return folder / f"{slug}.json", folder / f"{slug}{DISAGREEMENTS}"


def _line(row: Mapping[str, Any]) -> str:
    # Responses may hold lone surrogates, which only escapes can carry.
    return json.dumps(row, ensure_ascii=True, default=repr) + "\n"


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")

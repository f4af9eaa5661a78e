"""ARCHITECTURE.md and CONTRIBUTING.md name files that exist and the layers that pyproject.toml has."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "guerdon"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAMED = re.compile(r"(?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|md|toml|txt)\b")
"""A folder's or a file's path: with a slash, or with the ending of a file."""
PLACEHOLDERS = ("NAME", "/a/", "test_a", "test_b", "…", "FILE")


def sections() -> Iterator[tuple[str, Path, str]]:
    """The sections of ARCHITECTURE.md: heading, the folder that it names or the package, text."""
    for part in re.split(r"^## ", ARCHITECTURE, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        folder = re.search(r"`([\w/]+)`", heading)
        yield heading, PACKAGE / folder[1] if folder else PACKAGE, text


def paths_in(text: str) -> set[str]:
    """What is in back ticks and looks like a path."""
    spans = " ".join(re.findall(r"`([^`\n]+)`", text))
    return {path for path in NAMED.findall(spans) if not any(word in path for word in PLACEHOLDERS)}


def exists_below(folder: Path, path: str) -> bool:
    """Whether some file or folder below ends with this path."""
    path = path.rstrip("/")
    return any(found.as_posix().endswith(f"/{path}") for found in folder.rglob(Path(path).name))


@pytest.mark.parametrize(("heading", "folder", "text"), list(sections()), ids=lambda value: str(value)[:40])
def test_every_path_in_the_architecture_exists(heading: str, folder: Path, text: str) -> None:
    assert folder.is_dir()
    absent = [
        path
        for path in sorted(paths_in(text))
        if not ((PACKAGE / path).exists() or (ROOT / path).exists() or exists_below(folder, path))
    ]
    assert absent == [], heading


def test_every_path_in_contributing_exists() -> None:
    absent = [
        path
        for path in sorted(paths_in(CONTRIBUTING))
        if not ((PACKAGE / path).exists() or (ROOT / path).exists())
        and not any(exists_below(folder, path) for folder in (PACKAGE, ROOT / "tests"))
    ]
    assert [path for path in absent if not path.startswith("../shared")] == []


def contracts() -> Mapping[str, list[str]]:
    """The layers of each package, the modules of a layer sorted."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return {
        container.removeprefix("guerdon").lstrip(".").replace(".", "/"): [
            names(line) for line in each["layers"]
        ]
        for each in found
        if each["type"] == "layers"
        for container in each["containers"]
    }


def names(layer: str) -> str:
    """The modules of a layer, sorted; those in brackets are optional.

    >>> names("run | (audit) | evaluation")
    'evaluation, run'
    """
    return ", ".join(sorted(re.findall(r"(?<![\w(])\w+", layer)))


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=["ARCHITECTURE", "CONTRIBUTING"])
def test_the_layers_of_the_package_are_those_of_the_contract(page: str) -> None:
    (block,) = re.findall(r"```text\n(cli\b.*?)```", page, re.DOTALL)
    shown = [names(re.split(r" {3,}", line)[0]) for line in block.splitlines()]
    assert shown == [layer for layer in contracts()[""] if layer]


def test_the_layers_inside_packages_are_those_of_the_contracts() -> None:
    table = re.findall(r"^\| `([\w/]+)` \| (.+→.+) \|$", ARCHITECTURE, re.MULTILINE)
    shown = {package: [names(layer) for layer in layers.split(" → ")] for package, layers in table}
    assert shown == {package: layers for package, layers in contracts().items() if package}

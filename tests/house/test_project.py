"""Rules that hold for the project as a whole: its files, its imports, its dependencies."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import guerdon

ROOT = Path(__file__).resolve().parents[2]

# Written in two halves, so that this file does not contain them.
FORBIDDEN = [
    a + b
    for a, b in (
        ("pypi", ".org"),
        ("python", "hosted"),
        ("/wo", "rk/"),
        ("/ro", "ot/"),
        ("/fa", "rm/"),
        ("/tmp/", "bash_jobs"),
    )
]
FILE_BYTES = 300_000

HEAVY = {
    "antlr4", "click", "datasets", "fastapi", "httpx", "latex2sympy2_extended", "math_verify",
    "multiprocessing", "numpy", "pandas", "pyarrow", "pydantic", "ray", "requests", "rich", "sympy", "torch",
    "transformers", "uvicorn",
}  # fmt: skip


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git checkout, so there is no list of tracked files")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_machine_or_a_package_registry() -> None:
    words = re.compile("|".join(map(re.escape, FORBIDDEN)).encode())
    found = [
        f"{path.relative_to(ROOT)}: {match[0].decode()}"
        for path in tracked_files()
        for match in words.finditer(path.read_bytes())
    ]
    assert found == []


def test_no_file_is_large() -> None:
    large = [str(path.relative_to(ROOT)) for path in tracked_files() if path.stat().st_size > FILE_BYTES]
    assert large == []


def loaded_by(statement: str) -> set[str]:
    """The top-level names of the modules that a statement loads in a new interpreter."""
    code = (
        f"import json, sys; before = set(sys.modules); {statement}; "
        "print(json.dumps(sorted({m.partition('.')[0] for m in set(sys.modules) - before})))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_guerdon_loads_nothing_heavy() -> None:
    loaded = loaded_by("import guerdon")
    assert "guerdon" in loaded
    assert loaded & HEAVY == set()
    assert "multiprocessing" in loaded_by("import multiprocessing.pool")


def test_the_core_has_four_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=!~\[; ]", line)[0] for line in project["dependencies"]}
    assert names == {"click", "cloudpickle", "pydantic", "rich"}


def test_every_public_name_can_be_imported() -> None:
    assert len(guerdon.__all__) == len(set(guerdon.__all__)) > 0
    missing = [name for name in guerdon.__all__ if not hasattr(guerdon, name)]
    assert missing == []


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.+]+", pin) for pin in pins), pins
    return {re.sub("[-_.]+", "-", pin.partition("==")[0]).lower(): pin for pin in pins}


def test_constraints_pin_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[<>=!~\[; ]", line)[0].lower() for group in groups for line in group}
    assert names - {"guerdon"} - set(pinned()) == set()


def test_a_line_of_the_changelog_has_at_most_25_words() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = re.findall(r"^- (.+(?:\n  .+)*)", text, re.MULTILINE)
    assert entries
    assert [entry for entry in entries if len(entry.split()) > 25] == []

"""The help page is what the commands say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from guerdon.cli.data_options import LimitFlags
from guerdon.cli.help import page
from guerdon.cli.options import variable_of
from guerdon.scoring.run import DEFAULT_BATCH
from guerdon.settings import SETTINGS

ROOT = Path(__file__).resolve().parents[2]


def run(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "guerdon.cli.help", *args], capture_output=True, text=True, cwd=folder
    )


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == page(), "python -m guerdon.cli.help"


def test_the_page_fits_a_terminal_and_names_every_command() -> None:
    text = page()
    assert max(map(len, text.splitlines())) <= 80
    for command in ("", " preview", " score", " rewards", " rewards show", " test", " journal replay"):
        assert f"## `guerdon{command}`\n" in text


@pytest.mark.parametrize("columns", ["40", "200"])
def test_the_page_is_the_same_everywhere(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = page()
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("GUERDON_TIMEOUT", "77")
    monkeypatch.setenv("GUERDON_MAX_SAMPLES", "77")
    assert page() == before


def test_check(tmp_path: Path) -> None:
    assert run("--check", folder=tmp_path).returncode == 1
    assert run(folder=tmp_path).returncode == 0
    assert run("--check", folder=tmp_path).returncode == 0
    written = tmp_path / "docs" / "cli.md"
    written.write_text(written.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    done = run("--check", folder=tmp_path)
    assert done.returncode == 1
    assert "is out of date" in done.stderr


def test_flags_say_what_the_settings_say() -> None:
    text = " ".join(page().split())
    for name in LimitFlags.__dataclass_fields__:
        if name in SETTINGS:
            assert SETTINGS[name].help.rstrip(".") in text
            assert SETTINGS[name].variable == variable_of(f"--{name}")
            assert f"env var: {SETTINGS[name].variable}]" in text
    assert f"env var: GUERDON_BATCH_SIZE; default: {DEFAULT_BATCH}]" in text

"""The policy of conftest.py on skipped tests, on a pytest run of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MARKED = '@pytest.mark.skip(reason="no time")\ndef test_a(): pass'
CALLED = 'def test_a(): pytest.skip("no shared data: not today")'
FIXTURE = "def test_a(data_dir): assert data_dir.is_dir()"
REFERENCES = "def test_a(references_dir): assert references_dir.is_dir()"
MODULE = 'pytest.skip("no Windows", allow_module_level=True)'
EMPTY = '@pytest.mark.parametrize("x", [])\ndef test_a(x): pass'
XFAIL = "@pytest.mark.xfail(strict=True)\ndef test_a(): assert False"


@pytest.mark.parametrize(
    ("source", "ci", "has_data", "passes", "says"),
    [
        (MARKED, False, True, True, "1 skipped"),
        (MARKED, True, True, False, "this one was: no time"),
        (MODULE, True, True, False, "this one was: no Windows"),
        (MODULE, False, True, True, "1 skipped"),
        (EMPTY, True, True, False, "no test may be skipped"),
        (XFAIL, True, True, True, "1 xfailed"),
        (FIXTURE, True, True, True, "2 passed"),
        (FIXTURE, True, False, True, "no shared data"),
        (FIXTURE, False, False, True, "set GUERDON_DATA"),
        # The documents lie beside the data, so they are absent in this pytest run.
        (REFERENCES, True, True, True, "no reference documents"),
        # The reason is accepted only where it is true.
        (CALLED, True, False, True, "1 skipped"),
        (CALLED, True, True, False, "this one was: no shared data"),
    ],
)
def test_a_skip_counts_as_a_failure_in_ci(
    tmp_path: Path, source: str, ci: bool, has_data: bool, passes: bool, says: str
) -> None:
    done = run_pytest(tmp_path, source, ci, has_data)
    assert (done.returncode == 0) is passes, done.stdout
    assert says in done.stdout


@pytest.mark.parametrize(
    ("source", "passes", "says"),
    [(MARKED, False, "this one was: no time"), (FIXTURE, True, "no shared data")],
)
def test_it_does_so_in_the_processes_of_xdist(tmp_path: Path, source: str, passes: bool, says: str) -> None:
    done = run_pytest(tmp_path, source, True, False, "-p", "xdist", "-n", "2")
    assert (done.returncode == 0) is passes, done.stdout
    assert says in done.stdout


def run_pytest(
    tmp_path: Path, source: str, ci: bool, has_data: bool, *options: str
) -> subprocess.CompletedProcess[str]:
    conftest = Path(__file__).parents[1].joinpath("conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text(f"import pytest\n{source}\n", encoding="utf-8")
    (tmp_path / "test_other.py").write_text("def test_b(): pass\n", encoding="utf-8")
    data = tmp_path / "data"
    if has_data:
        data.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GUERDON_", "PYTEST_"))}
    environment |= {"GUERDON_DATA": str(data), "GUERDON_CI": "1" if ci else "", "COLUMNS": "200"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-rfEs", "-p", "no:cacheprovider", *options, str(tmp_path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

"""What shows a run of ``guerdon.score`` in Python: on a terminal, in a notebook, elsewhere."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.console.job_progress import ProgressBar, scoring_progress
from guerdon.errors import InputError
from guerdon.scoring.progress import Progress
from support.terminal import on_a_terminal

SCRIPT = """
import time, guerdon
def slow(response):
    time.sleep(0.02)
    return len(response) / 10
if __name__ == "__main__":
    guerdon.score(slow, ["abcd"] * 60, workers=1, {progress})
"""


@pytest.mark.parametrize(
    ("progress", "shown"), [("", True), ("progress=True", True), ("progress=False", False)]
)
def test_a_bar_on_a_terminal_unless_told(tmp_path: Path, progress: str, shown: bool) -> None:
    (tmp_path / "script.py").write_text(SCRIPT.format(progress=progress))
    written = on_a_terminal([sys.executable, "script.py"], tmp_path)
    assert ("scoring" in written and "/60" in written and "mean 0.400" in written) == shown


class Handle:
    def __init__(self, shown: list[str], first: Any) -> None:
        self.shown = shown
        self.update(first)

    def update(self, html: Any) -> None:
        self.shown.append(html)


def test_a_bar_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    display = types.ModuleType("IPython.display")
    display.__dict__.update(HTML=str, display=lambda html, display_id: Handle(shown, html))
    ipython = types.ModuleType("IPython")
    ipython.__dict__.update(get_ipython=lambda: types.SimpleNamespace(kernel=object()), display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with ProgressBar("<scoring>", patience=0.0) as bar:
        bar.count(20, 100, "1 failed")
        bar.count(30, None)
    assert shown[0].startswith('&lt;scoring&gt; <progress value="0.2000" max="1"></progress> 20/100')
    assert "1 failed" in shown[0]
    assert "<progress></progress> 30" in shown[1]
    assert shown[-1] == ""


def test_elsewhere_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    with scoring_progress(False) as nothing:
        assert nothing is None
    with scoring_progress(True) as show:
        assert show is not None
        show(Progress(1, 0, None, 0, None, 0.0))
    assert guerdon.score(lambda response: len(response), ["ab"], workers=0, progress=True).scores == [2.0]
    assert capsys.readouterr().err == ""
    with pytest.raises(InputError, match="progress must be True, False or a function, not 'yes'"):
        guerdon.score("exact_match", ["ab"], workers=0, progress="yes")  # type: ignore[arg-type]

"""Completion: what may stand where, and that bash, zsh and fish show it."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from guerdon.trainers.registry import trainers
from support.cli_work import Run


def found(guerdon: Run, line: str) -> list[str]:
    result = guerdon("completion", "--line", line)
    assert (result.exit_code, result.stderr) == (0, "")
    items = [item.split("\t") for item in result.stdout.splitlines()]
    return [f"<{kind}>" if kind != "plain" else value for kind, value, _ in items]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("guerdon sco", ["score"]),
        ("/usr/bin/guerdon sco", ["score"]),
        ("A=1 guerdon sco", ["score"]),
        ("guerdon judge cal", ["calibrate"]),
        ("guerdon score mat", ["math"]),
        ("guerdon score one", ["one.py", "one.py::brief", "one.py::late"]),
        ("guerdon score one.py::", ["one.py::brief", "one.py::late"]),
        ("guerdon score one.py:br", ["one.py::brief"]),
        ("guerdon score below/", ["below/two.py", "below/two.py::one"]),
        ("guerdon score bel", ["below/"]),
        ("guerdon score broken.py::", []),
        ("guerdon score nowhere.py::", []),
        ("guerdon score one.py sam", ["<file>"]),
        ("guerdon score one.py 'sam", ["<file>"]),
        ("guerdon preview --samples sam", ["<file>"]),
        ("guerdon score -o sco", ["<file>"]),
        ("guerdon inspect sco", ["<file>"]),
        ("guerdon adapt math -o ", ["<dir>"]),
        ("guerdon score --skip", ["--skip-bad-rows"]),
        ("guerdon score --skip-bad-rows one.py::b", ["one.py::brief"]),
        ("guerdon serve name=one.py::br", ["name=one.py::brief"]),
        ("guerdon rewards show one.py::br", ["one.py::brief"]),
        ("guerdon adapt math --for open", ["openenv", "openrlhf"]),
        ("guerdon serve --log-format j", ["json"]),
        ("guerdon train +experiment=ar", ["+experiment=arithmetic"]),
        ("guerdon train optimizer=m", ["optimizer=mine"]),
        ("guerdon train grpo.be", ["grpo.beta="]),
        (
            "guerdon train model=tiny training.reward_function=one.py::br",
            ["training.reward_function=one.py::brief"],
        ),
        ("guerdon train training.train_data_dir=", ["<file>"]),
        ("guerdon train insp", ["inspect"]),
        ("guerdon train inspect ru", ["<dir>"]),
        ("guerdon examples fir", ["first"]),
        ("guerdon config sco", ["score"]),
        ("guerdon completion z", ["zsh"]),
        ("guerdon nothing x", []),
    ],
)
def test_what_completes_a_line(guerdon: Run, work: Path, line: str, expected: list[str]) -> None:
    (work / "one.py").write_text(
        'raise SystemExit("never run")\ndef brief(response):\n    "Short."\n'
        "def _hidden(response): ...\nlate = make(brief)\n",
        encoding="utf-8",
    )
    (work / "below").mkdir()
    (work / "below" / "two.py").write_text("def one(response): ...\n", encoding="utf-8")
    (work / "broken.py").write_text("def (", encoding="utf-8")
    (work / "conf" / "optimizer").mkdir(parents=True)
    (work / "conf" / "optimizer" / "mine.yaml").write_text("# Mine.\n", encoding="utf-8")
    assert found(guerdon, line) == expected


def test_every_trainer_and_every_command(guerdon: Run) -> None:
    assert found(guerdon, "guerdon adapt math --for ") == sorted(trainers())
    assert {"score", "train", "completion", "rewards"} <= set(found(guerdon, "guerdon "))


def test_a_broken_configuration_does_not_matter(guerdon: Run, work: Path) -> None:
    (work / "guerdon.toml").write_text("reward =", encoding="utf-8")
    assert found(guerdon, "guerdon sco") == ["score"]


def test_nothing_large_is_imported(work: Path) -> None:
    code = (
        "import sys\nfrom guerdon.cli import main\n"
        "try:\n    main(['completion', '--line', 'guerdon score ma'])\n"
        "except SystemExit:\n    print(*sorted({n.partition('.')[0] for n in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "plain\tmath\t" in done.stdout
    assert not {"pydantic", "rich", "asyncio", "numpy", "torch"} & set(done.stderr.split())


class Terminal:
    """An interactive shell behind a pseudo-terminal."""

    def __init__(self, shell: str, home: Path, folder: Path) -> None:
        binaries = Path(sys.executable).parent
        environment = {
            "HOME": str(home),
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "TERM": "xterm",
            "PS1": "$ ",
        }
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(shell, [shell, "-i"], environment)
        self.seen = ""

    def type(self, text: str) -> None:
        self.seen = ""
        os.write(self.descriptor, text.encode())

    def shows(self, text: str, seconds: float = 20.0) -> bool:
        """Whether a text comes to be on the screen; answers what fish asks of a terminal."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and text not in self.plain:
            if select.select([self.descriptor], [], [], 0.2)[0]:
                part = os.read(self.descriptor, 65536)
                self.seen += part.decode(errors="replace")
                if b"\x1b[c" in part:
                    os.write(self.descriptor, b"\x1b[?62;c")
        return text in self.plain

    @property
    def plain(self) -> str:
        """What is shown, without the signs that move the cursor and colour the text."""
        return re.sub(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|[()][A-Z0-9]|[=>])|[\x07\x08]", "", self.seen)

    def close(self) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.descriptor)


SHELLS = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)]


@pytest.fixture(params=SHELLS)
def terminal(request: pytest.FixtureRequest, guerdon: Run, work: Path, tmp_path: Path) -> Iterator[Terminal]:
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        "HOME": str(home),
        "SHELL": f"/bin/{request.param}",
        "XDG_DATA_HOME": "",
        "XDG_CONFIG_HOME": "",
    }
    for _ in range(2):
        assert guerdon("completion", "--install", **environment).exit_code == 0
    for startup in (".bashrc", ".zshrc"):
        if (home / startup).exists():
            assert (home / startup).read_text(encoding="utf-8").count("source ") == 1
    opened = Terminal(request.param, home, work)
    yield opened
    opened.close()


@pytest.mark.slow(seconds=8)
def test_shells_complete(terminal: Terminal) -> None:
    time.sleep(1.5)  # until the prompt is there, whatever it looks like
    for typed, shown in (
        ("guerdon sco\t", "score "),
        ("my_rewards.py::nee\t", "needs_gold"),
        (" sampl\t", "samples.jsonl"),
    ):
        terminal.type(typed)
        assert terminal.shows(shown.strip()), (typed, terminal.plain)


def test_the_script_and_where_it_goes(guerdon: Run, tmp_path: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "completion --line" in guerdon("completion", shell).stdout
    result = guerdon("completion", "--install", HOME=str(tmp_path), SHELL="/bin/tcsh")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "$SHELL is tcsh; name one of bash, zsh, fish" in result.stderr
    assert "name the shell: guerdon completion bash" in guerdon("completion").stderr

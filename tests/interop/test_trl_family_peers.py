"""ms-swift and axolotl with rewards of ours: found by their own loaders, called by their own code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from guerdon.cli.app import app
from interop.conftest import Interpreter
from support.trainer_peers import run_peer
from support.trl_rewards import TIMEOUT, asynchronous_grade, levels

REWARDS = Path(__file__).resolve().parent.parent / "support" / "trl_rewards.py"
GRADES = [1.0, 0.5, None, None]


def adapted(name: str, trainer: str, folder: Path) -> tuple[str, list[str]]:
    """The lines of ``guerdon adapt``, and the thin files that it wrote."""
    arguments = [
        "adapt",
        f"{REWARDS}::{name}",
        "--for",
        trainer,
        "--timeout",
        str(TIMEOUT),
        "-o",
        str(folder),
    ]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    return told["lines"], told["written"]


@pytest.mark.parametrize("name", ["grade", "asynchronous_grade"])
def test_ms_swift(name: str, interpreter: Interpreter, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    lines, files = adapted(name, "ms-swift", first)
    assert lines.split()[-4:] == ["--external_plugins", "grade_swift.py", "--reward_funcs", "grade"]
    _, others = adapted("levels", "ms-swift", second)
    plugin = Path(others[0])
    plugin.write_text(plugin.read_text().replace("orms['grade']", "orms['levels']"))
    told = run_peer(
        interpreter("swift"), "swift_rewards.py", *files, *others, ",", "grade", "levels", folder=tmp_path
    )
    assert told["names"] == ["grade", f"grade_{levels.version[:6]}"]
    assert told["rewards"] == [[grade, 30.0 + i] for i, grade in enumerate(GRADES)] * 2
    assert told["threaded"] == [[grade, 40.0 + i] for i, grade in enumerate(GRADES)] * 2
    assert told["failures"] == {"exception": 4, "timeout": 4}
    assert told["pickle"] == told["cloudpickle"] == ["grade", [[grade] for grade in GRADES] * 2]


def test_a_name_of_ms_swift_s_own_is_left_to_it(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["adapt", "math", "--for", "swift", "--json"])
    told = json.loads(done.stdout)
    assert "orms['guerdon_math'] = get_reward_function('math').to_swift()" in told["files"]["math_swift.py"]
    assert told["lines"].endswith("--external_plugins math_swift.py --reward_funcs guerdon_math")


def test_axolotl(interpreter: Interpreter, tmp_path: Path) -> None:
    import yaml

    lines, _ = adapted("grade", "axolotl", tmp_path)
    (found,) = yaml.safe_load(lines)["trl"]["reward_funcs"]
    lines, (file,) = adapted("asynchronous_grade", "axolotl", tmp_path / "other")
    Path(file).rename(tmp_path / "awaited.py")
    told = run_peer(interpreter("axolotl"), "axolotl_rewards.py", found, "awaited.grade", folder=tmp_path)
    assert told["names"] == ["grade", f"grade_{asynchronous_grade.version[:6]}"]
    assert told["fork"] == told["spawn"] == [GRADES, GRADES]

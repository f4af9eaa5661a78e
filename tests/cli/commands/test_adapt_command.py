"""``guerdon adapt``: what it prints can be imported or pasted, what it cannot do is one line."""

from __future__ import annotations

import ast
import json
import runpy
import shutil
from pathlib import Path

import pytest

from guerdon import RewardFunction
from guerdon.reward.options import RewardOptions
from guerdon.trainers import Adapter, trainers
from guerdon.trainers.registry import SetupRequest
from support.cli_work import Run


@pytest.mark.parametrize("trainer", list(trainers()))
def test_every_trainer_has_a_recipe(guerdon: Run, work: Path, trainer: str) -> None:
    result = guerdon("adapt", "my_rewards.py::exact", "--for", trainer, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["trainer"] == trainer
    assert told["lines"]
    for name, text in told["files"].items():
        if name.endswith(".py"):
            compile(text, name, "exec")


def test_the_thin_file_is_written_once(guerdon: Run, work: Path) -> None:
    arguments = ("adapt", "my_rewards.py::exact", "--for", "trl", "-o", "thin")
    result = guerdon(*arguments)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("wrote thin/exact_trl.py\n")
    adapter = runpy.run_path(str(work / "thin" / "exact_trl.py"))["exact"]
    assert adapter(prompts=["?"] * 2, completions=["a", "b"], answer=["a", "a"]) == [1.0, 0.0]
    adapter.close()
    again = guerdon(*arguments)
    assert (again.exit_code, again.stdout) == (2, "")
    assert "--overwrite replaces it" in again.stderr
    assert guerdon(*arguments, "--overwrite").exit_code == 0


def test_options_and_parameters_reach_the_file(guerdon: Run, work: Path) -> None:
    flags = ("--param", "tolerance=0.5", "--on-failure", "-1", "--timeout", "2", "--components", "a, b")
    result = guerdon("adapt", "math", "--for", "trl", *flags)
    assert result.exit_code == 0, result.stderr
    for part in ("tolerance=0.5", "on_failure=-1.0", "timeout=2.0", "components=['a', 'b']"):
        assert part in result.stdout


def test_the_list(guerdon: Run, work: Path) -> None:
    lines = guerdon("adapt", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(trainers())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name a reward and a trainer"),
        (("math",), "name a reward and a trainer"),
        (("math", "--for", "trll"), "did you mean trl?"),
        (("no_such_reward", "--for", "trl"), "no_such_reward"),
        (("math", "--for", "trl", "--on-failure", "ignore"), "raise, skip or a number"),
        (("math", "--for", "trl", "--param", "no_such=1"), "no_such"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    guerdon: Run, work: Path, arguments: tuple[str, ...], says: str
) -> None:
    result = guerdon("adapt", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("trainer", list(trainers()))
def test_names_and_addresses_that_are_odd(trainer: str) -> None:
    def odd(response: str) -> float:
        return 1.0

    address = "http://[::1]:8000/evaluate"
    reward = RewardFunction(odd, options=RewardOptions(name='"""\nraise SystemExit("it ran")\n"""\\'))
    guide = trainers()[trainer].setup_guide(SetupRequest(spec=address, reward=reward))
    assert any(address in text for text in (guide.lines, *guide.files.values()))
    for name, text in guide.files.items():
        if name.endswith(".py"):
            tree = ast.parse(text)
            assert "it ran" not in ast.unparse(tree.body[1:])


@pytest.mark.parametrize("policy", ["nan", "inf", "true"])
def test_a_policy_that_is_no_number(guerdon: Run, work: Path, policy: str) -> None:
    result = guerdon("adapt", "math", "--for", "trl", "--on-failure", policy)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--on-failure is raise, skip or a number" in result.stderr


IMPORTABLE = sorted({"trl", "art", "axolotl", "unsloth", "openrlhf", "verifiers", "tunix"})
"""Trainers whose module imports nothing but Guerdon."""


@pytest.mark.parametrize("trainer", IMPORTABLE)
@pytest.mark.parametrize("output", [".", "plugged/in"])
def test_the_folder_can_be_copied(
    guerdon: Run, work: Path, tmp_path: Path, trainer: str, output: str
) -> None:
    result = guerdon("adapt", "my_rewards.py::exact", "--for", trainer, "-o", output, "--json")
    assert result.exit_code == 0, result.stderr
    (name,) = json.loads(result.stdout)["files"]
    elsewhere = tmp_path / "another {node}"
    shutil.copytree(work, elsewhere)
    (work / "my_rewards.py").rename(work / "gone.py")
    values = runpy.run_path(str(elsewhere / output / name))
    assert str(work) not in (elsewhere / output / name).read_text(encoding="utf-8")
    (adapter,) = (value for value in values.values() if isinstance(value, Adapter))
    assert adapter.reward.name == "exact"
    adapter.close()


@pytest.mark.parametrize("trainer", list(trainers()))
def test_no_file_has_a_path_of_this_machine(guerdon: Run, work: Path, trainer: str) -> None:
    (work / "rewards {x}").mkdir()
    shutil.copy(work / "my_rewards.py", work / "rewards {x}")
    for spec in (
        "my_rewards.py::exact",
        str(work / "my_rewards.py::exact"),
        "rewards {x}/my_rewards.py::exact",
    ):
        result = guerdon("adapt", spec, "--for", trainer, "--json")
        assert result.exit_code == 0, result.stderr
        guide = json.loads(result.stdout)
        if trainer not in ("verl", "nemo-rl") or "{" not in spec:  # a configuration needs a module's name
            assert str(work) not in json.dumps([guide["files"], guide["lines"]])


@pytest.mark.parametrize("trainer", ["verl", "nemo-rl"])
def test_a_configuration_names_a_module(guerdon: Run, work: Path, trainer: str) -> None:
    (work / "mine").mkdir()
    for name in ("mine/my_rewards.py", "math.py", "pydantic.py"):
        shutil.copy(work / "my_rewards.py", work / name)
    for spec, shown in (
        ("my_rewards.py::exact", "my_rewards:exact"),
        ("mine/my_rewards.py::exact", "mine.my_rewards:exact"),
        ("math.py::exact", str(work / "math.py::exact")),
        ("pydantic.py::exact", str(work / "pydantic.py::exact")),
    ):
        result = guerdon("adapt", spec, "--for", trainer)
        assert result.exit_code == 0, result.stderr
        assert shown in result.stdout

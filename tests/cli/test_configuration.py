"""guerdon.toml and [tool.guerdon]: what they set for every command, what comes before them, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from guerdon.cli.configuration import find_config
from support.cli_work import Run, row, write_rows

SHARED = 'reward = "my_rewards.py::brief"\ndata = "samples.jsonl"\n'


def configure(work: Path, text: str, name: str = "guerdon.toml") -> None:
    (work / name).write_text(text, encoding="utf-8")


def scored(guerdon: Run, *args: str, **environment: str) -> dict[str, Any]:
    result = guerdon("score", *args, "--json", "--workers", "0", **environment)
    assert result.exit_code == 0, result.stderr
    summary: dict[str, Any] = json.loads(result.stdout)
    return summary


def test_flag_before_environment_before_file_before_default(guerdon: Run, work: Path) -> None:
    def count(*args: str, **environment: str) -> int:
        return int(scored(guerdon, *args, **environment)["statistics"]["count"])

    configure(work, SHARED)
    assert count() == 3
    configure(work, SHARED + "[score]\nlimit = 2\n")
    assert count() == 2
    assert count(GUERDON_LIMIT="1") == 1
    assert count("--limit", "3", GUERDON_LIMIT="1") == 3


def test_the_settings_of_a_reward_and_of_the_file(guerdon: Run, work: Path) -> None:
    source = "import time\nfrom guerdon import reward_function\n"
    source += "\ndef slow(response):\n    time.sleep(0.5)\n    return 1\n"
    source += "\n@reward_function(timeout=20)\ndef own(response):\n    time.sleep(0.5)\n    return 1\n"
    (work / "slow.py").write_text(source, encoding="utf-8")
    configure(work, SHARED + '[score]\ntimeout = "100ms"\nlimit = 1\n')

    def failed(*args: str, **environment: str) -> int:
        result = guerdon("score", *args, "samples.jsonl", "--json", **environment)
        return int(json.loads(result.stdout)["statistics"]["failed"])

    assert failed("slow.py::slow") == 1
    assert failed("slow.py::slow", GUERDON_TIMEOUT="20") == 0
    assert failed("slow.py::slow", "--timeout", "20") == 0
    assert failed("slow.py::own") == 0  # what the reward says comes before the file
    assert "GUERDON_TIMEOUT" not in os.environ


def test_arguments_that_are_given_come_first(guerdon: Run, work: Path) -> None:
    configure(work, SHARED)
    write_rows(work / "others.jsonl", [row("b"), row("b")])
    assert scored(guerdon)["reward"] == "brief"
    assert scored(guerdon, "my_rewards.py::exact")["reward"] == "exact"
    alone = scored(guerdon, "others.jsonl")
    assert (alone["reward"], alone["data"], alone["statistics"]["count"]) == ("brief", "others.jsonl", 2)
    assert scored(guerdon, "my_rewards.py::exact", "samples.jsonl")["reward"] == "exact"


def test_from_the_folder_below_and_from_pyproject(
    guerdon: Run, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(work, '[project]\nname = "x"\n[tool.guerdon]\n' + SHARED, "pyproject.toml")
    below = work / "a" / "b"
    below.mkdir(parents=True)
    configure(below, '[project]\nname = "not about Guerdon"\n', "pyproject.toml")
    monkeypatch.chdir(below)
    assert scored(guerdon)["reward"] == "brief"
    shown = guerdon("config")
    assert "../../my_rewards.py::brief" in shown.stdout
    assert f"{work}/pyproject.toml, [tool.guerdon]" in shown.stdout
    configure(work, 'reward = "my_rewards.py::exact"\ndata = "samples.jsonl"\n')  # guerdon.toml comes first
    assert scored(guerdon)["reward"] == "exact"


COLUMNS = 'columns = { prompt = "q", response = "r", gold_standard = "g" }\n'


def test_columns(guerdon: Run, work: Path) -> None:
    write_rows(work / "table.jsonl", [{"q": "say", "r": "a", "g": "a"}])
    configure(work, 'reward = "my_rewards.py::needs_gold"\ndata = "table.jsonl"\n' + COLUMNS)
    assert scored(guerdon)["statistics"]["mean"] == 1.0
    assert guerdon("score", "--response-column", "none").exit_code == 2


CASES = json.dumps({**row("a"), "expected": 1}) + "\n"


@pytest.mark.parametrize(
    ("args", "shows"),
    [
        (("preview", "--workers", "0"), "brief"),
        (("adapt", "--for", "trl"), "my_rewards.py::brief"),
        (("test", "cases.jsonl", "--workers", "0"), "1 as expected"),
        (("judge", "calibrate", "--label", "right", "--workers", "0"), "brief"),
        (("train", "--cfg", "job"), "reward_function: my_rewards.py::brief"),
        (("train", "--cfg", "job"), "train_data_dir: samples.jsonl"),
        (("train", "--cfg", "job", "seed=3"), "seed: 3"),
    ],
)
def test_every_command_takes_it(guerdon: Run, work: Path, args: tuple[str, ...], shows: str) -> None:
    configure(work, SHARED)
    write_rows(work / "samples.jsonl", [row(r, right=r == "a") for r in "abc"])
    (work / "cases.jsonl").write_text(CASES, encoding="utf-8")
    result = guerdon(*args)
    assert result.exit_code == 0, result.stderr
    assert shows in result.stdout


def test_a_preset_of_training_comes_before_the_file(guerdon: Run, work: Path) -> None:
    configure(work, SHARED + '[train]\noverrides = ["seed=5", "grpo.beta=0.5"]\n')
    result = guerdon("train", "+experiment=arithmetic", "--cfg", "job", "seed=6")
    assert "reward_function: guerdon.train.data.arithmetic.sums" in result.stdout
    assert "train_data_dir: null" in result.stdout
    assert "seed: 6" in result.stdout
    assert "beta: 0.5" in result.stdout
    result = guerdon("train", "--cfg", "job", "training.reward_function=math")
    assert "reward_function: math" in result.stdout


def test_a_list_and_a_table_of_parameters(guerdon: Run, work: Path) -> None:
    configure(
        work,
        'reward = "my_rewards.py::length"\ndata = "samples.jsonl"\n[score.param]\nmost = 20\nunit = "5"\n',
    )
    assert scored(guerdon)["parameters"] == {"most": 20, "unit": "5"}
    configure(
        work, 'reward = "my_rewards.py::length"\ndata = "samples.jsonl"\n[score]\nparam = ["most=40"]\n'
    )
    assert scored(guerdon)["parameters"] == {"most": 40}


def test_the_server(guerdon: Run, work: Path) -> None:
    configure(work, 'server = "http://127.0.0.1:1"\n')
    source = "from guerdon import RewardFunction\nremote = RewardFunction(name='x', mode='remote')\n"
    (work / "far.py").write_text(source, encoding="utf-8")
    result = guerdon("rewards", "show", "far.py", GUERDON_DEBUG="0")
    assert result.exit_code == 0, result.stderr
    assert "GUERDON_BASE_URL" not in os.environ


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rewrd = 'x'", "there is no key 'rewrd'; did you mean reward?"),
        ("[scor]\nlimit = 1", "there is no key 'scor'; did you mean score?"),
        ("[score]\nlimt = 1", "guerdon.toml, [score]: there is no key 'limt'; did you mean limit?"),
        ("[score]\nprompt_colum = 'x'", "did you mean prompt-column?"),
        ("[score]\nlimit = 'many'", "guerdon.toml, [score]: limit: 'many' is not a count"),
        ("[score]\nlimit = [1, 2]", "[score]: limit takes one value, not a list"),
        ("[score]\nlimit = { a = 1 }", "[score]: limit takes one value, not a table"),
        ("[score]\nlimit = 2020-01-01", "limit takes text, numbers, true or false, not date"),
        ("[score]\nresume = 'yes'", "resume is true or false, not 'yes'"),
        ("[score]\ntimeout = nan", "'nan' is not a number of seconds"),
        ("[score]\nparam = { a = nan }", "param.a is not a value that JSON has"),
        ("[score]\nparam = ['novalue']", "'novalue' is not of the form name=value"),
        ("score = 5", "score is a command; write its options below [score]"),
        ("reward = 5", 'reward must be text, such as "my_rewards.py"'),
        ("data = ''", "data must be text"),
        ("columns = 'x'", "columns must be names"),
        ("columns = { prompt = 1 }", "columns must be names"),
        ("server = 'host:8000'", "server must be an address"),
        ("reward =", "guerdon.toml is not valid TOML"),
        ("a = " + "[" * 5000, "guerdon.toml is not valid TOML"),
        ("\0", "guerdon.toml is not valid TOML"),
    ],
)
def test_what_is_wrong_is_a_line(guerdon: Run, work: Path, text: str, says: str) -> None:
    configure(work, text)
    for command in (("score", "my_rewards.py::brief", "samples.jsonl"), ("config",)):
        result = guerdon(*command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("Error: guerdon.toml")
        assert says in result.stderr
        assert result.stderr.count("\n") == 1
    assert guerdon("score", "--help").exit_code == 0


def test_a_file_that_cannot_be_read(guerdon: Run, work: Path) -> None:
    (work / "guerdon.toml").write_bytes(b"reward = '\xff'")
    assert "guerdon.toml is not UTF-8 text" in guerdon("score").stderr
    (work / "guerdon.toml").write_bytes(b"#" * (2**20 + 1))
    assert "guerdon.toml is over 1 MiB" in guerdon("score").stderr


def test_config_shows_what_holds_and_from_where(guerdon: Run, work: Path) -> None:
    configure(work, SHARED + "[serve]\napi-key = ['hush']\nport = 9000\n")
    lines = [line.split() for line in guerdon("config", GUERDON_LIMIT="7").stdout.splitlines()]
    assert ["file", str(work / "guerdon.toml")] in lines
    assert ["reward", "my_rewards.py::brief", "guerdon.toml"] in lines
    assert ["score", "--limit", "7", "GUERDON_LIMIT"] in lines
    assert ["serve", "--port", "9000", "guerdon.toml,", "[serve]"] in lines
    assert ["serve", "--api-key", "(set)", "guerdon.toml,", "[serve]"] in lines
    of_score = [line.split() for line in guerdon("config", "score").stdout.splitlines()]
    assert ["score", "reward", "my_rewards.py::brief", "guerdon.toml"] in of_score
    assert ["score", "--batch-size", "32", "default"] in of_score
    values = json.loads(guerdon("config", "--json").stdout)["values"]
    assert {
        "command": "serve",
        "key": "port",
        "value": "9000",
        "source": "guerdon.toml, [serve]",
        "flag": "--port",
    } in values
    assert "hush" not in guerdon("config", "--json").stdout
    result = guerdon("config", "scor")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: there is no command 'scor'; did you mean score?\n",
    )


def test_config_without_a_file(guerdon: Run) -> None:
    assert "none: there is no guerdon.toml" in guerdon("config").stdout


def test_variables(guerdon: Run) -> None:
    result = guerdon("config", "--variables", GUERDON_TIMOUT="5")
    assert "GUERDON_TIMEOUT " in result.stdout
    assert result.stderr == "GUERDON_TIMOUT is set and has no meaning; did you mean GUERDON_TIMEOUT?\n"
    assert guerdon("config", "score", "--variables").exit_code == 2


def test_a_file_above_that_another_user_owns_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("no root, who alone can give files to other users")
    folder, file = tmp_path / "mine", tmp_path / "guerdon.toml"
    folder.mkdir()
    file.write_text('reward = "evil.py"', encoding="utf-8")
    assert find_config(folder) is not None
    os.chown(file, 12345, 12345)
    assert find_config(folder) is None
    assert "belongs to another user (uid 12345)" in capsys.readouterr().err
    assert find_config(tmp_path) is not None
    os.chown(folder, 12345, 12345)
    assert find_config(folder) is not None

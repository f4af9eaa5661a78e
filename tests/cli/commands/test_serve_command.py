"""``guerdon serve``: what a person sees, and how every mistake ends."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from guerdon.cli.commands.serve import ServerFlags
from guerdon.serve.options import ServeOptions
from support.cli_work import Run
from support.command_work import Serve, ask, sample


def test_a_person_sees_what_is_served_where_and_how_to_stop(serve: Serve) -> None:
    server = serve("rewards.py::length", "half=rewards.py::near", "--param", "half.tolerance=0.25")
    server.says("stop ")
    host, port = server.address
    assert re.fullmatch(
        rf"""Guerdon \S+ serves 2 rewards at http://{host}:{port}

  length  version [0-9a-f]{{12}}  http://{host}:{port}
  half    version [0-9a-f]{{12}}  http://{host}:{port}/rewards/half

formats  adaptive, v1, .*
page     http://{host}:{port}/ to try a reward in a browser; /docs documents every endpoint
key      none; only this machine can reach the server
stop     Ctrl-C; waits up to 30 s for requests in flight
""",
        server.said,
    )
    assert ask(server, "POST", "/v1/score", sample("abc"))[1]["score"] == 0.3
    status, body = ask(server, "POST", "/rewards/half/v1/score", sample("abc"))
    assert (status, body["score"], body["parameters"]) == (200, 0.25, {"tolerance": 0.25})
    assert [reward["name"] for reward in ask(server, "GET", "/rewards")[1]] == ["length", "half"]
    assert ask(server, "GET", "/openapi.json")[0] == 200
    before = server.said
    server.signal(signal.SIGINT)
    assert server.ended() == 0
    assert server.said.removeprefix(before) == "Stopped\n"
    assert server.process.stdout is not None
    assert server.process.stdout.read() == ""


def test_every_flag_has_a_variable(serve: Serve, tmp_path: Path) -> None:
    server = serve(
        "rewards.py::near",
        GUERDON_API_KEY="one two",
        GUERDON_PARAM="tolerance=0.125",
        GUERDON_DRAIN="2m",
        GUERDON_MAX_BODY="1KB",
        GUERDON_JOURNAL="j.db",
        GUERDON_ACCESS_LOG="1",
        GUERDON_REQUEST_TIMEOUT="30s",
    )
    server.says("waits up to 120 s for requests in flight")
    assert "key      required, as Authorization: Bearer KEY or X-Api-Key: KEY\njournal  j.db\n" in server.said
    key = {"Authorization": "Bearer two"}
    assert ask(server, "POST", "/v1/score", sample("abc"))[0] == 401
    assert ask(server, "POST", "/v1/score", sample("abc"), **key)[1]["score"] == 0.125
    assert ask(server, "POST", "/v1/score", sample("x" * 1000), **key)[0] == 413
    server.says("POST /v1/score 200")
    assert (tmp_path / "serve" / "j.db").exists()


def test_a_log_in_json_is_json_throughout(serve: Serve) -> None:
    server = serve("rewards.py::failing", "--log-format", "json")
    assert ask(server, "POST", "/v1/score", sample("abc"))[0] == 500
    server.signal()
    assert server.ended() == 0
    lines = [json.loads(line) for line in server.said.splitlines()]
    assert [line.get("message", line.get("path")) for line in lines] == ["serving", "/v1/score", "stopped"]
    assert lines[0]["url"] == server.url
    assert lines[0]["rewards"][0]["name"] == "failing"
    assert lines[2]["finished"] == 0
    assert all(line["time"] and line["level"] for line in lines)


def test_a_keys_file_and_another_address(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "serve" / "keys").write_text("s3cret\n", encoding="utf-8")
    server = serve("rewards.py::length", "--host", "0.0.0.0", "--api-keys-file", "keys")
    server.says("without --tls-cert it travels in clear, unless a proxy in front adds TLS")
    assert ask(server, "POST", "/v1/score", sample("abc"))[0] == 401
    assert ask(server, "POST", "/v1/score", sample("abc"), **{"X-Api-Key": "s3cret"})[0] == 200


def test_anonymous_where_it_is_said(serve: Serve) -> None:
    server = serve("rewards.py::length", "--host", "0.0.0.0", "--allow-anonymous")
    server.says("key      none; anyone who can reach the server can use it")
    assert ask(server, "POST", "/v1/score", sample("abc"))[0] == 200


MISTAKES = {
    "no reward": ((), "Missing argument 'REWARD...'"),
    "an unknown reward": (("maths",), "there is no reward 'maths'; did you mean math"),
    "no such function": (("my_rewards.py::exat",), "did you mean exact?"),
    "no such file": (("nowhere.py::f",), "nowhere.py"),
    "a file that does not load": (("broken.py::f",), "broken.py, line 1: "),
    "a class that cannot be made": (("my_rewards.py::Angry",), "cannot make a Angry: KeyError: 'temper'"),
    "two of one name": (("math", "my_rewards.py::exact", "math"), "two rewards are called 'math'"),
    "a parameter it lacks": (("math", "--param", "x=1"), "x"),
    "a parameter of none": (
        ("math", "--param", "strict.tolerance=1"),
        "--param strict.tolerance matches none of the rewards; serve one under that name: strict=REWARD",
    ),
    "a parameter of guerdon's": (("http://localhost:9", "--param", "mode=1"), "--param cannot set 'mode'"),
    "an address of others": (("math", "--host", "0.0.0.0"), "set an API key (--api-key, GUERDON_API_KEY)"),
    "a journal for everyone": (
        ("math", "--host", "0.0.0.0", "--allow-anonymous", "--journal", "j"),
        "everyone who reaches 0.0.0.0 could read the journal at /requests",
    ),
    "programs of everyone": (
        ("code", "--param", "isolation=none", "--host", "0.0.0.0", "--allow-anonymous"),
        "code runs programs with isolation='none', and without a key anyone",
    ),
    "an address that is none": (("math", "--host", "no.such.host.invalid", "--api-key", "k"), "cannot listen on"),
    "no port": (("math", "--port", "99999"), "Invalid value for '--port'"),
    "no workers": (("math", "--workers", "0"), "workers must be a whole number of 1 or more, not 0"),
    "a size in words": (("math", "--max-body", "large"), "write it as 512MB or 2GiB"),
    "a duration in words": (("math", "--drain", "soon"), "'soon' is not a number of seconds"),
    "a certificate without its key": (("math", "--tls-cert", "my_rewards.py"), "both a certificate and its key"),
    "a certificate nowhere": (("math", "--tls-cert", "a", "--tls-key", "b"), "tls_cert: there is no file a"),
    "a key of two words": (("math", "--api-key", "a b"), "an API key must be printable ASCII"),
    "no keys file": (("math", "--api-keys-file", "nowhere"), "cannot read the keys file nowhere"),
    "a journal that is none": (("math", "--journal", "my_rewards.py"), "my_rewards.py is not a journal"),
    "every request and none logged": (("math", "--access-log", "--quiet"), "give one of them"),
    "a small journal": (("math", "--journal", "j", "--journal-bytes", "1KB"), "a journal needs 1 MiB"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_a_line_and_status_2(mistake: str, guerdon: Run, work: Path) -> None:
    (work / "broken.py").write_text("def f(:\n", encoding="utf-8")
    args, fragment = MISTAKES[mistake]
    result = guerdon("serve", *args, GUERDON_PORT="0") if "--port" not in args else guerdon("serve", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert fragment in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_port_that_is_taken(guerdon: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = guerdon("serve", "my_rewards.py::exact", "--port", str(port))
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: cannot listen on 127.0.0.1 port {port}: Address already in use; choose another port\n"
    )


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("module", ["uvicorn", "fastapi", "httptools"])
def test_without_the_extra_it_says_what_to_install(work: Path, module: str) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None; from guerdon.cli import main; main(['serve', 'math'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=work, env=os.environ, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == 'Error: serving needs an extra: pip install "guerdon[serve]"\n'


def test_every_option_of_a_server_is_a_flag() -> None:
    assert {field.name for field in dataclasses.fields(ServerFlags)} == {
        field.name for field in dataclasses.fields(ServeOptions)
    }

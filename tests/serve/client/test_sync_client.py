"""RewardClient against a server on a real socket that misbehaves on demand."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from guerdon import RewardClient
from guerdon.errors import (
    DeadlineError,
    ExecutionError,
    InputError,
    InvalidResultError,
    RewardError,
)
from support.client_requests import request_of
from support.misbehaving import SCHEMA, Misbehaving


def test_info_and_schema(server: Misbehaving) -> None:
    with RewardClient(server.url) as client:
        info = client.info()
        assert (info.name, info.version, info.description) == ("scary", "v-1", "Letters that scare.")
        assert client.metadata_schema() == SCHEMA
        good, bad, none = client.batch_validate_metadata(
            [{"scary_letter": "a"}, {"scary_letter": "ab"}, None]
        ).responses
        assert good.is_valid
        assert good.error_message is None
        assert not bad.is_valid
        assert bad.error_message == "metadata.scary_letter: 'ab' is too long"
        assert "'scary_letter' is a required property" in str(none.error_message)
        assert client.validate_metadata({"scary_letter": "a"}).is_valid
    assert [path for _, path, _, _ in server.seen].count("/metadata_schema") == 1


FAILED = [
    ("raise", ExecutionError, "ValueError: no (scary.py, line 3)"),
    ("late", DeadlineError, "scary overran its deadline of 1 s and was ended"),
    ("nan", InvalidResultError, "scary returned an invalid result: score must be finite, not nan"),
]


@pytest.mark.parametrize("transport", ["http", "websocket", "auto"])
@pytest.mark.parametrize(("text", "error", "says"), FAILED)
def test_a_reward_that_fails_raises_the_error_of_its_kind_and_is_not_asked_again(
    server: Misbehaving, transport: Any, text: str, error: type[RewardError], says: str
) -> None:
    with RewardClient(server.url, transport=transport) as client, pytest.raises(error) as caught:
        client.score(request_of(text))
    assert str(caught.value) == says
    assert server.scored[text] == 1


def test_an_older_client_s_request_is_sent_as_theirs(server: Misbehaving) -> None:
    with RewardClient(server.url) as client:
        client.score(request_of("a", None))
    assert server.seen[-1][3] == {
        "turns": [{"role": "assistant", "content": "a"}],
        "metadata": None,
        "id": None,
    }
    with RewardClient(server.url) as client, pytest.raises(InputError, match=r"must be a guerdon\.Request"):
        client.score(json.loads("{}"))


def test_without_the_extra_the_error_says_what_to_install() -> None:
    script = (
        "import sys\nsys.modules['aiohttp'] = None\nimport guerdon\n"
        "reward = guerdon.RewardFunction(endpoint='http://127.0.0.1:9', mode='remote')\n"
        "print(reward('a').error_kind)\n"
        "guerdon.RewardClient('http://127.0.0.1:9').info()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "missing_extra\n"
    assert done.stderr.endswith('calling a reward server needs an extra: pip install "guerdon[client]"\n')

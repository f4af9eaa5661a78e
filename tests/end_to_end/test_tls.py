"""HTTPS and WSS, with a certificate made on the spot."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from guerdon import Request, RewardClient, RewardFunction, Turn
from guerdon.errors import RemoteError
from support.command_work import PATIENCE, Serve


def certificate(folder: Path, name: str, *more: str) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl, which makes the certificate")
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-out", str(certificate), "-keyout", str(key)),
            *(more or ("-nodes",)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


REQUEST = Request(turns=[Turn(role="assistant", content="abc")], metadata={})


def test_it_speaks_https_and_wss(serve: Serve, tmp_path: Path) -> None:
    file, key = certificate(tmp_path, "server", "-passout", "pass:s3cret")
    server = serve(
        "rewards.py::length",
        "--tls-cert",
        str(file),
        "--tls-key",
        str(key),
        GUERDON_TLS_KEY_PASSWORD="s3cret",
    )
    assert server.url.startswith("https://")
    assert f"{server.url}/ to try a reward in a browser" in server.said
    with urlopen(
        f"{server.url}/info", timeout=PATIENCE, context=ssl.create_default_context(cafile=file)
    ) as page:
        assert page.status == 200
    for transport in ("http", "websocket"):
        with RewardClient(server.url, ca_file=str(file), transport=transport) as client:
            assert client.score(REQUEST).reward == 0.3
    reward = RewardFunction(endpoint=server.url, mode="remote", ca_file=str(file))
    assert reward("abcd").score == 0.4
    with RewardClient(server.url, retries=0) as client, pytest.raises(RemoteError, match="certificate"):
        client.score(REQUEST)
    server.signal()
    assert server.ended() == 0


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("what", ["another key", "no certificate", "an encrypted key"])
def test_a_certificate_that_cannot_be_used_is_an_error_of_the_users(
    serve: Serve, tmp_path: Path, what: str
) -> None:
    file, key = certificate(tmp_path, "one")
    if what == "another key":
        key = certificate(tmp_path, "two")[1]
    elif what == "an encrypted key":
        file, key = certificate(tmp_path, "three", "-passout", "pass:s3cret")
    else:
        file = key
    with pytest.raises(AssertionError, match=r"^Error: cannot use the certificate \S+ with its key: .+\n$"):
        serve(
            *("rewards.py::length", "--tls-cert", str(file), "--tls-key", str(key)),
            GUERDON_TLS_KEY_PASSWORD="wrong" if what == "an encrypted key" else "",
        )

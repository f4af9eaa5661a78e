"""The transport of all providers, over real connections that go wrong in every way."""

from __future__ import annotations

import gc
import os
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from guerdon.errors import InputError
from guerdon.sandbox import providers
from guerdon.sandbox.providers import Retries, SandboxFusion
from guerdon.sandbox.providers.http import Http, parts_of
from guerdon.sandbox.providers.transport import ServiceError
from support.provider_services import (
    FusionService,
    Handler,
    Sent,
    Service,
    cut,
    drip,
    drop,
    garbage,
    hang,
    huge,
    served,
    status,
)

QUICK = Retries(attempts=3, first_wait_s=0.01, longest_wait_s=2.0)


class Echo(Service):
    def answer(self, handler: Handler, sent: Sent) -> None:
        handler.reply(200, {"echo": len(sent.body)})


@pytest.fixture
def echo() -> Iterator[Echo]:
    with served(Echo()) as service:
        yield service


@pytest.fixture
def http(echo: Echo) -> Iterator[Http]:
    client = Http(
        echo.address,
        name="Echo",
        headers={"Authorization": "Bearer s3cret"},
        secrets=("s3cret",),
        key_hint="set ECHO_KEY",
        retries=QUICK,
    )
    yield client
    client.close()


def test_one_connection_serves_many_requests(echo: Echo, http: Http) -> None:
    bodies = [http.request("POST", "/x", body=b"a" * n) for n in range(5)]
    assert bodies == [b'{"echo": %d}' % n for n in range(5)]
    assert len(set(echo.ports)) == 1


def test_threads_have_connections_of_their_own(echo: Echo, http: Http) -> None:
    answers: list[bytes] = []

    def ask() -> None:
        for _ in range(20):
            answers.append(http.request("POST", "/x", body=b"abc"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [b'{"echo": 3}'] * 80
    assert len(set(echo.ports)) <= 4


def test_a_kept_connection_that_the_service_closed_is_replaced_at_once(echo: Echo, http: Http) -> None:
    single = Http(echo.address, name="Echo", retries=Retries(attempts=1))
    single.request("GET", "/x")
    echo.faults.append(drop)  # closes the kept connection without an answer
    assert single.request("GET", "/x") == b'{"echo": 0}'
    single.close()


@pytest.mark.parametrize(
    "fault",
    [status(500), status(502), status(503), status(504), status(429), cut, drop],
    ids=["500", "502", "503", "504", "429", "cut", "drop"],
)
def test_what_may_pass_is_tried_again(echo: Echo, http: Http, fault: object) -> None:
    echo.faults.extend([fault, fault])  # type: ignore[list-item]
    assert http.request("POST", "/x", body=b"abcd") == b'{"echo": 4}'
    assert [sent.body for sent in echo.sent] == [b"abcd"] * 3


def test_attempts_are_bounded(echo: Echo, http: Http) -> None:
    echo.faults.extend([status(503, b"come back\nlater")] * 9)
    with pytest.raises(ServiceError, match=r"answered 503: come back later \(3 attempts\)$"):
        http.request("POST", "/x")
    assert len(echo.sent) == 3


def test_the_service_says_how_long_to_wait(echo: Echo, http: Http) -> None:
    echo.faults.append(status(429, Retry_After="1"))
    started = time.monotonic()
    http.request("POST", "/x")
    assert 1.0 <= time.monotonic() - started < 2.0


def test_a_wait_that_is_too_long_is_not_waited(echo: Echo, http: Http) -> None:
    echo.faults.append(status(429, Retry_After="3600"))
    started = time.monotonic()
    with pytest.raises(ServiceError, match="asked too often: use fewer workers"):
        http.request("POST", "/x")
    assert time.monotonic() - started < 1.0
    assert len(echo.sent) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (status(401, b"bad key s3cret"), r"refused access \(401\): set ECHO_KEY"),
        (status(403), r"refused access \(403\): set ECHO_KEY"),
        (status(404), r"has no POST /x \(404\): check the address"),
        (status(413), r"takes no request of 3 KiB \(413\)"),
        (status(400, b"your s3cret is odd"), r"answered 400: your … is odd"),
        (status(302, Location="https://elsewhere.example/x"), r"redirects \(302\) to elsewhere.example"),
        (
            status(307, Location="https://s3cret@elsewhere.example/x"),
            r"redirects \(307\) to …@elsewhere.example",
        ),
        (huge, "longer than 64 KiB"),
    ],
)
def test_what_stays_is_told_at_once_and_without_the_key(
    echo: Echo, http: Http, fault: object, message: str
) -> None:
    echo.faults.append(fault)  # type: ignore[arg-type]
    with pytest.raises(ServiceError, match=message) as caught:
        http.request("POST", "/x", body=b"x" * 2500, limit=64 << 10)
    assert "s3cret" not in str(caught.value)
    assert len(echo.sent) == 1
    assert http.request("POST", "/x") == b'{"echo": 0}'


@pytest.mark.parametrize("fault", [hang, drip], ids=["silent", "a byte now and then"])
def test_the_deadline_holds_however_the_service_is_slow(echo: Echo, http: Http, fault: object) -> None:
    echo.faults.append(fault)  # type: ignore[arg-type]
    started = time.monotonic()
    with pytest.raises(ServiceError, match=r"did not answer within 0.5 s"):
        http.request("POST", "/x", within_s=0.5)
    assert time.monotonic() - started < 1.5
    assert len(echo.sent) == 1


def test_nobody_listens() -> None:
    with served(Echo()) as service:
        address = service.address
    http = Http(address, name="Echo", retries=QUICK)
    with pytest.raises(
        ServiceError, match=r"Echo at http://127.0.0.1:\d+ cannot be reached: .*\(3 attempts\)"
    ):
        http.request("GET", "/x")


def test_plain_http_where_tls_is_expected_is_no_certificate() -> None:
    with served(Echo()) as service:
        http = Http(service.address.replace("http:", "https:"), name="Echo", retries=Retries(attempts=1))
        with pytest.raises(ServiceError, match=r"cannot be reached: .*SSL"):
            http.request("GET", "/x")


def test_certificates_are_verified(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl, which makes the certificate")
    file, key = tmp_path / "own.pem", tmp_path / "own.key"
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
    ]
    make += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(file), "-keyout", str(key)]
    subprocess.run(make, check=True, capture_output=True)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(file, key)
    service = Echo()
    service.socket = own.wrap_socket(service.socket, server_side=True)
    with served(service):
        address = service.address.replace("http:", "https:")
        stranger = Http(address, name="Echo", retries=QUICK)
        with pytest.raises(
            ServiceError, match=r"certificate of Echo at https://.* is not valid: self.signed"
        ):
            stranger.request("POST", "/x", body=b"secret")
        friend = Http(address, name="Echo", context=ssl.create_default_context(cafile=str(file)))
        assert [friend.request("POST", "/x", body=b"abc") for _ in range(3)] == [b'{"echo": 3}'] * 3
        friend.close()
    assert [sent.body for sent in service.sent] == [b"abc"] * 3
    assert len(set(service.ports)) == 1


def test_a_forked_process_leaves_its_parents_connections_alone(echo: Echo, http: Http) -> None:
    http.request("GET", "/x")
    pid = os.fork()
    if pid == 0:
        good = http.request("POST", "/x", body=b"12") == b'{"echo": 2}'
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    http.request("GET", "/x")
    first, forked, last = echo.ports
    assert first == last != forked


def test_no_descriptor_is_left(echo: Echo) -> None:
    def descriptors() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    for _ in range(5):
        http = Http(echo.address, name="Echo", retries=Retries(attempts=1))
        http.request("GET", "/x")
        echo.faults.extend([cut, garbage])
        with pytest.raises(ServiceError):
            http.request("GET", "/x")
        http.request("GET", "/x")
        http.close()
        with pytest.raises(ServiceError, match="was closed"):
            http.request("GET", "/x")
    for _ in range(50):  # the service's side goes with its threads
        if descriptors() <= before:
            break
        time.sleep(0.02)
    assert descriptors() <= before


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("http://host", ("http", "host", 80, "")),
        ("https://host/", ("https", "host", 443, "")),
        ("http://[::1]:8080/a/b/", ("http", "::1", 8080, "/a/b")),
    ],
)
def test_addresses(address: str, parts: tuple[object, ...]) -> None:
    assert parts_of(address) == parts


@pytest.mark.parametrize(
    "address",
    ["host:80", "ftp://host", "http://", "http://host:port", "https://key@host", "http://host?key=k", ""],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InputError) as caught:
        parts_of(address)
    assert "key@" not in str(caught.value)
    assert "key=k" not in str(caught.value)


@pytest.mark.parametrize("options", [{"attempts": 0}, {"first_wait_s": -1.0}, {"longest_wait_s": -1.0}])
def test_retries_that_cannot_be(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Retries(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("faults", "detail"),
    [
        ([status(500)] * 9, "answered 500 (3 attempts)"),
        ([cut] * 9, "broke in the middle of the answer (3 attempts)"),
        ([garbage], "something other than JSON: is the address right?"),
        ([status(200, b"[1]")], "JSON that is not an object"),
        ([huge], "longer than"),
        ([status(401)], "set SANDBOX_FUSION_API_KEY"),
    ],
    ids=["500", "cut", "garbage", "list", "huge", "401"],
)
def test_a_service_that_fails_makes_no_program_look_wrong(faults: list[object], detail: str) -> None:
    with served(FusionService()) as service, SandboxFusion(service.address, retries=QUICK) as provider:
        service.faults.extend(faults)  # type: ignore[arg-type]
        done = provider.run("print(1)")
        assert (done.status, done.tier) == ("unavailable", "remote")
        assert detail in done.detail
        service.faults.clear()
        assert provider.run("print(1)").stdout == "1\n"


def test_the_package_imports_nothing_but_the_sandbox_and_what_is_below_it() -> None:
    folder = Path(providers.__file__).parent
    below = tuple(f"from guerdon.{name}" for name in ("sandbox", "errors", "retry_timing"))
    for path in folder.glob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("from guerdon"):
                assert line.startswith(below), (path.name, line)

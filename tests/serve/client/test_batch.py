"""Batches: in chunks, in order, each failure in the place of its item."""

from __future__ import annotations

import pytest

from guerdon import Response, RewardClient
from guerdon.errors import (
    BindingError,
    ExecutionError,
    InputError,
    RemoteError,
)
from support.client_requests import request_of
from support.misbehaving import Misbehaving


def test_failures_of_a_batch(server: Misbehaving) -> None:
    requests = [request_of("a"), request_of("raise"), request_of("z"), request_of("nan")]
    with RewardClient(server.url) as client:
        responses = client.batch_score(requests, on_error="return")
        assert [r.reward if isinstance(r, Response) else r.kind for r in responses] == [
            1.0,
            "exception",
            0.0,
            "invalid_result",
        ]
        with pytest.raises(ExecutionError, match="ValueError: no"):
            client.batch_score(requests)
        with pytest.raises(BindingError, match="on_error must be"):
            client.batch_score(requests, on_error="ignore")  # type: ignore[call-overload]
        assert client.batch_score([]) == []


def test_one_item_that_does_not_fit_does_not_fail_the_batch(adaptive: Misbehaving) -> None:
    requests = [request_of("a"), request_of("b", None), request_of("z")]
    with RewardClient(adaptive.url) as client:
        first, second, third = client.batch_score(requests, on_error="return")
        assert (getattr(first, "reward", None), getattr(third, "reward", None)) == (1.0, 0.0)
        assert isinstance(second, InputError)
        assert str(second) == "metadata.scary_letter: Field required"
        with pytest.raises(InputError, match=r"requests\[1\].metadata.scary_letter: Field required"):
            client.batch_score(requests)


def test_one_item_that_raises_does_not_fail_the_batch_of_a_server_that_says_only_500(
    adaptive: Misbehaving,
) -> None:
    requests = [request_of("a"), request_of("raise"), request_of("z")]
    with RewardClient(adaptive.url, retries=1) as client:
        first, second, third = client.batch_score(requests, on_error="return")
        assert (getattr(first, "reward", None), getattr(third, "reward", None)) == (1.0, 0.0)
        assert isinstance(second, RemoteError)
        assert "answered 500: 'Internal Server Error' (2 tries)" in str(second)


def test_a_large_batch_goes_in_chunks_and_comes_in_order(server: Misbehaving) -> None:
    requests = [request_of("z" if i % 3 == 0 else "a") for i in range(1000)]
    big = [request_of("a" * 1_500_000) for _ in range(5)]
    with RewardClient(server.url) as client:
        assert [r.reward for r in client.batch_score(requests)] == [float(i % 3 != 0) for i in range(1000)]
        sizes = [len(body["requests"]) for method, _, _, body in server.seen if method == "POST"]
        assert (sorted(sizes), sum(sizes)) == ([232, 256, 256, 256], 1000)
        server.seen.clear()
        assert len(client.batch_score(big)) == 5
        assert sorted(len(body["requests"]) for _, _, _, body in server.seen) == [1, 2, 2]


def test_a_chunk_that_fails_fails_its_own_items_only(server: Misbehaving) -> None:
    server.faults.append("503")
    with RewardClient(server.url, retries=0, max_connections=1) as client:
        responses = client.batch_score([request_of("a") for _ in range(300)], on_error="return")
    assert [isinstance(r, RemoteError) for r in responses] == [True] * 256 + [False] * 44

"""Events of answered requests, for the tests of what records them."""

from __future__ import annotations

from guerdon.serve.http.recorders import RefusedRequest, RequestEvent
from guerdon.serve.http.replies import HeaderPairs
from guerdon.serve.messages import WorkerReply


def request_event(
    path: str = "/score",
    *,
    status: int = 200,
    seconds: float = 0.01,
    request_id: str = "r-1",
    reward: str = "",
    format: str = "",
    op: str = "",
    samples: int = 0,
    failures: int = 0,
    client: str = "",
    headers: HeaderPairs = (),
) -> RequestEvent:
    """A POST request, ``samples`` of which were scored and ``failures`` failed."""
    request = RefusedRequest("POST", request_id, client, headers)
    kinds = {"exception": failures} if failures else None
    reply = WorkerReply(1, seconds, status, scores=(1.0,) * samples, failures=kinds)
    return RequestEvent(request, path, reward, status, seconds, format, op, b"", reply)

"""One client after the other asks by another spelling of a path, and leaves: its requests fill the queue."""

import http.client
import json
import time

from support.server_attacks import Target, score_request


def in_flight(target: Target) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=20)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return next(float(line.split()[1]) for line in lines if line.startswith("guerdon_in_flight "))


def attack(target: Target) -> None:
    rows = json.dumps({"samples": [{"response": "a"}] * 3}).encode()
    lines = ["POST /rewards/nap/v1/batch_score HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += ["Accept: application/jsonl", f"Content-Length: {len(rows)}"]
    stream = "\r\n".join(lines).encode() + b"\r\n\r\n" + rows
    for number in range(60):
        with target.connect() as peer:
            peer.sendall(stream if number % 2 else score_request("a", path="/rewards/nap/v1/scor%65"))
            time.sleep(0.01)
    end = time.monotonic() + 5
    while (left := in_flight(target)) > 5 and time.monotonic() < end:
        time.sleep(0.1)
    assert left <= 5, left

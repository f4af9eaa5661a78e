"""A server in the background, started by a process that is not as most are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys, urllib.request
from guerdon import EmptyMetadata, Response, RewardServer, ServerInfo

class Length(RewardServer[EmptyMetadata]):
    def __init__(self, port: int = 8000, blocking: bool = True, **kwargs):
        super().__init__(port, EmptyMetadata, blocking, **kwargs)

    async def score(self, request):
        return Response(reward=float(len(request.turns[-1].content)), metadata={})

    async def info(self):
        return ServerInfo(version="1", name="length", description="Its length.")

workers = int(sys.argv[2]) or None
if __name__ == "__main__":
    with Length(port=0, blocking=False, workers=workers) as server:
        body = json.dumps({"turns": [{"role": "assistant", "content": "abc"}], "metadata": {}}).encode()
        request = urllib.request.Request(server.url + "/score", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as response, open(sys.argv[1], "wb") as file:
            file.write(response.read())
"""


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("closed", ["<&-", "<&- >&-", ">&- 2>&-"])
@pytest.mark.parametrize("workers", [0, 1], ids=["in place", "1 worker"])
def test_it_starts_in_a_process_without_standard_streams(closed: str, workers: int, tmp_path: Path) -> None:
    script, result = tmp_path / "script.py", tmp_path / "result"
    script.write_text(SCRIPT, encoding="utf-8")
    command = f"exec {closed}; exec {sys.executable} {script} {result} {workers}"
    subprocess.run(["sh", "-c", command], check=True, timeout=60)
    assert '"reward":3.0' in result.read_text(encoding="utf-8")

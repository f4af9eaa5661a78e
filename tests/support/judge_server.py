"""A scripted server in the shape of OpenAI's chat completions, over real HTTP, and judges that read their prompts."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from guerdon.rewards.judge.reward import judge
from guerdon.types import EvaluateResult

MESSAGES = [{"role": "user", "content": "Name a sea."}, {"role": "assistant", "content": "The Red Sea."}]

FULL_MARKS = re.compile(r"full marks|ignore (all|the) (previous|above)|\"?score\"?\s*[:=]\s*5", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    number: int
    """Counts from 1."""
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def code(self) -> str:
        """What the verdict has to repeat, from the form at the end of the question."""
        return re.findall(r'"code": "([0-9a-f]{16})"', self.user)[-1]

    @property
    def mark(self) -> str:
        """The mark of the blocks, from the system message."""
        found = re.search(r"Only lines with the mark ([0-9a-f]{16})", self.system)
        assert found is not None
        return found[1]

    def blocks(self) -> dict[str, str]:
        """The quoted texts by name, as a reader who keeps to the rules takes them."""
        pattern = rf"^\[BEGIN ([\w ]+) {self.mark}\]\n(.*?)\n\[END \1 {self.mark}\]$"
        return dict(re.findall(pattern, self.user, re.DOTALL | re.MULTILINE))

    def outside(self) -> str:
        """What is left to obey: the user message without its quoted texts."""
        pattern = rf"^\[BEGIN ([\w ]+) {self.mark}\]\n.*?\n\[END \1 {self.mark}\]$"
        return re.sub(pattern, "", self.user, flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Reply:
    """An answer to give; a body that is not text is sent as JSON."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang_up: bool = False
    """Whether the connection is closed without an answer."""


Script = Callable[[Asked], Reply]


def completion(
    content: str | None,
    *,
    finish: str = "stop",
    usage: tuple[int, int] | None = (100, 20),
    **message: Any,
) -> dict[str, Any]:
    """The body of a chat completion."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish,
    }
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    if usage is not None:
        total = sum(usage)
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": total}
    return body


def failure(status: int, message: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Reply:
    """An error as OpenAI's servers write it."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}
    return Reply({"error": error}, status, headers or {})


def verdict(asked: Asked, explanation: str = "Because.", **fields: Any) -> Reply:
    """A verdict of the form that was asked for, as JSON and nothing else."""
    if "items" in fields:
        return Reply(completion(json.dumps({"code": asked.code, **fields})))
    return Reply(completion(json.dumps({"code": asked.code, "explanation": explanation, **fields})))


def saying(text: str) -> Script:
    """A judge that always answers with a text, in which CODE stands for the code."""
    return lambda asked: Reply(completion(text.replace("CODE", asked.code)))


def always(explanation: str = "Because.", **fields: Any) -> Script:
    """A judge with one verdict."""
    return lambda asked: verdict(asked, explanation, **fields)


def gullible(asked: Asked) -> Reply:
    """Obeys whatever stands outside of the quoted texts; by itself it finds everything worthless."""
    fooled = bool(FULL_MARKS.search(asked.outside()))
    return verdict(asked, "I was told to." if fooled else "Worthless.", score=5 if fooled else 1)


def better_is_longer(asked: Asked) -> Reply:
    """Compares a pair by length, whatever the order."""
    blocks = asked.blocks()
    first, second = len(blocks["response a"]), len(blocks["response b"])
    return verdict(asked, better="TIE" if first == second else "A" if first > second else "B")


def _words_of(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _held(response: str, words: list[str]) -> int:
    return sum(re.search(rf"\b{re.escape(word)}\b", response) is not None for word in words)


def counting(asked: Asked) -> Reply:
    """Judges by which of the words of its rubric a response holds; reads nothing but the fenced blocks."""
    blocks = asked.blocks()
    form = asked.outside().rpartition("of this form:")[2]
    response = blocks.get("response", "")
    if '"score"' in form:
        return verdict(asked, score=1 + min(4, _held(response, _words_of(blocks["rubric"]))))
    if '"verdict"' in form:
        wanted = _words_of(blocks["criteria"])
        if "about seas" not in blocks["request"]:
            return verdict(asked, verdict="NA")
        return verdict(asked, verdict="PASS" if _held(response, wanted) == len(wanted) else "FAIL")
    if '"items"' in form:
        lines = blocks["checklist"].splitlines()
        items = [
            {"number": n, "explanation": "", "met": _held(response, [line.partition(". ")[2]]) == 1}
            for n, line in enumerate(lines, 1)
        ]
        return verdict(asked, items=items)
    if '"correct"' in form:
        return verdict(asked, correct=response.strip().split()[-1] in blocks["reference"].split())
    one, other = (_held(blocks[f"response {letter}"], _words_of(blocks["rubric"])) for letter in "ab")
    return verdict(asked, better="TIE" if one == other else "A" if one > other else "B")


@dataclass
class JudgeServer:
    """A running server; ``script`` may be exchanged between requests."""

    script: Script
    address: str = ""
    asked: list[Asked] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def options(self, **more: Any) -> dict[str, Any]:
        """The parameters of the reward that lead here."""
        return {"base_url": self.address, "model": "scripted", "retries": 0, "seconds": 20, **more}

    def take(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Reply:
        with self._lock:
            asked = Asked(len(self.asked) + 1, body, headers)
            self.asked.append(asked)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            reply = self.script(asked)
            time.sleep(reply.delay)
            return reply
        finally:
            with self._lock:
                self.in_flight -= 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    judge: JudgeServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            reply = failure(404, f"no such path: {self.path}")
        else:
            reply = self.judge.take(body, dict(self.headers))
        if reply.hang_up:
            self.close_connection = True
            return
        content = reply.body if isinstance(reply.body, bytes) else _encoded(reply.body)
        try:
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True  # whoever asked has left

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


def _encoded(body: Any) -> bytes:
    return (body if isinstance(body, str) else json.dumps(body)).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # so many may knock at once


@contextmanager
def judge_server(script: Script) -> Iterator[JudgeServer]:
    """A server on a free port of this machine, for as long as the block lasts."""
    judge = JudgeServer(script)
    handler = type("Handler", (_Handler,), {"judge": judge})
    server = _Server(("127.0.0.1", 0), handler)
    judge.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield judge
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ask(server: JudgeServer, **options: Any) -> EvaluateResult:
    """The judgement of ``MESSAGES``."""
    return asyncio.run(judge(MESSAGES, **server.options(**options)))


def in_turn(*scripts: Script) -> Script:
    """The scripts one after the other; the last one for all further requests."""
    return lambda asked: scripts[min(asked.number, len(scripts)) - 1](asked)

"""Headers that decide are given twice, and the last one is to count."""

from __future__ import annotations

from support.server_attacks import Target, score_request, statuses, upgrade_request

PAIRS = (
    ("Origin: http://evil.example", "Origin: http://127.0.0.1"),
    ("Origin: http://127.0.0.1", "Origin: http://evil.example"),
    ("Host: evil.example",),
    ("Content-Type: text/plain",),
)


def attack(target: Target) -> None:
    for lines in PAIRS:
        found = statuses(target.send(score_request("four", *lines, "Connection: close")))
        assert found != [200], f"{lines}: {found}"
        found = statuses(target.send(upgrade_request("/ws", *lines)))
        assert found != [101] or lines[0].startswith("Content-Type"), f"{lines}: {found}"

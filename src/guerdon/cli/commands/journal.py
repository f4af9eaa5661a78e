"""``guerdon journal``: what a server recorded, and what the present reward makes of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.completion import complete_files, complete_rewards
from guerdon.cli.options import POSITIVE, LineSeparated, ParsedValue, check_variables, debug_option, option
from guerdon.cli.reward_options import find_reward, reward_options
from guerdon.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from guerdon.reward.function import RewardFunction
    from guerdon.serve.journal.reader import JournalRecord
    from guerdon.serve.journal.replay import Replayed, ScoreChange

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_REASON = 200


def parse_since(value: str | float) -> float:
    """A moment, in seconds since 1970, from ``90s``, ``10m``, ``2h``, ``3d`` ago, or a date and time.

    >>> parse_since("1970-01-02T00:00:00+00:00")
    86400.0
    """
    if isinstance(value, float):
        return value
    text = str(value).strip()
    if match := re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smhdw])", text):
        return time.time() - float(match[1]) * _UNITS[match[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        pass
    raise InputError(
        f"{text!r} is not a time; write how long ago, such as 10m or 2d, or a date such as 2025-01-31"
    )


def parse_status(value: str | tuple[int, int]) -> tuple[int, int]:
    """The first and the last status that is meant by ``504`` or ``5xx``.

    >>> parse_status("504"), parse_status("5xx")
    ((504, 504), (500, 599))
    """
    if isinstance(value, tuple):
        return value
    if match := re.fullmatch(r"([1-5])xx", value.strip().lower()):
        return int(match[1]) * 100, int(match[1]) * 100 + 99
    if re.fullmatch(r"[1-5]\d\d", value.strip()):
        return int(value), int(value)
    raise InputError(f"{value!r} is not a status; write 504 or 5xx")


_SINCE = ParsedValue(parse_since, "when")
_since_option = option(
    "--since", type=_SINCE, help="Only requests since then: 10m, 2h or 3d ago, or a date and time."
)
_json_option = option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    invoke_without_command=True,
    short_help="Show and replay the requests that a server recorded.",
)
@debug_option
@click.pass_context
def journal(context: click.Context) -> None:
    """\b
    guerdon journal list requests.sqlite --failed
    guerdon journal replay requests.sqlite my_rewards.py --diff

    Show the requests that a server recorded with --journal, and score them again.

    No request is sent to a recorded address.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@journal.command("list", short_help="List recorded requests, the latest last.")
@click.argument("file", shell_complete=complete_files)
@option("--reward", metavar="NAME", help="Only requests to this reward.")
@option(
    "--status", type=ParsedValue(parse_status, "status"), help="Only requests with this status: 504 or 5xx."
)
@option("--failed", is_flag=True, help="Only requests that were refused or have a failed sample.")
@_since_option
@option("--limit", type=POSITIVE, default=20, show_default=True, help="Show at most this many, the latest.")
@_json_option
@debug_option
def list_(
    file: str,
    reward: str | None,
    status: tuple[int, int] | None,
    failed: bool,
    since: float | None,
    limit: int,
    as_json: bool,
) -> None:
    """\b
    guerdon journal list requests.sqlite
    guerdon journal list requests.sqlite --status 5xx --since 2h

    List the requests in the journal FILE, also while a server writes it."""
    from guerdon.cli.output import output
    from guerdon.serve.journal.reader import JournalQuery, read_journal

    query = JournalQuery(reward=reward, statuses=status, failed=failed, since=since, last=limit)
    rows = list(read_journal(file, query))
    if as_json:
        for row in rows:
            click.echo(json.dumps(_without_bodies(row)))
    elif rows:
        _print_rows(rows, output())
    else:
        click.echo("No such requests.")


@journal.command(short_help="Show one recorded request with its response.")
@click.argument("file", shell_complete=complete_files)
@click.argument("id")
@_json_option
@debug_option
def show(file: str, id: str, as_json: bool) -> None:
    """\b
    guerdon journal show requests.sqlite 12
    guerdon journal show requests.sqlite 12 --json

    Show the request ID of the journal FILE with its response.

    ID is the number in the list, or the request's own id from the header X-Request-Id of its response.
    """
    from guerdon.cli.output import output
    from guerdon.serve.journal.reader import JournalQuery, read_journal

    rows = list(read_journal(file, JournalQuery(ids=[id], last=1), bodies=True))
    if not rows:
        raise InputError(f"{file} holds no request {id!r}; see: guerdon journal list {file}")
    if as_json:
        bodies = {"request": _as_json(rows[0].request), "response": _as_json(rows[0].response)}
        click.echo(json.dumps({**_without_bodies(rows[0]), **bodies}))
    else:
        _print_request(rows[0], output())


@journal.command(short_help="Score recorded requests again with the current reward.")
@click.argument("file", shell_complete=complete_files)
@click.argument("reward", shell_complete=complete_rewards)
@option("--diff", is_flag=True, help="Show each changed sample, and exit with status 1 if there is one.")
@option("--last", type=POSITIVE, help="Only this many requests, the latest.")
@option(
    "--id",
    "ids",
    metavar="ID",
    type=LineSeparated(),
    multiple=True,
    help="Only this request. Repeatable.",
)
@option(
    "--as", "recorded_as", metavar="NAME", help="The name that the reward was served under, if it differs."
)
@_since_option
@_json_option
@reward_options
def replay(
    file: str,
    reward: str,
    diff: bool,
    last: int | None,
    ids: tuple[str, ...],
    recorded_as: str | None,
    since: float | None,
    parameters: dict[str, Any],
    timeout: float | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """\b
    guerdon journal replay requests.sqlite my_rewards.py
    guerdon journal replay requests.sqlite my_rewards.py::brief --diff --last 100

    Score the requests of the journal FILE again with REWARD, and show how many scores changed.

    The reward runs on this machine, with its time limit; no request is sent to a server. Redacted text stays
    redacted.
    """
    from guerdon.cli.output import output, prints_to_stderr
    from guerdon.console.working import Working
    from guerdon.serve.formats import FORMATS
    from guerdon.serve.journal.reader import JournalQuery, read_journal
    from guerdon.serve.journal.replay import as_dict
    from guerdon.serve.journal.replay import replay as replay_all
    from guerdon.serve.worker.handler import reward_info_of

    check_variables()
    with prints_to_stderr():
        found = find_reward(reward, parameters)
        name = recorded_as or found.name
        rows = read_journal(file, JournalQuery(reward=name, since=since, ids=ids, last=last), bodies=True)
        with Working(f"scoring the requests of {file}"):
            replayed = replay_all(
                rows, found, FORMATS, reward_info_of(found), timeout=timeout, workers=workers
            )
    if not replayed:
        raise InputError(_nothing_of(file, name))
    if as_json:
        click.echo(json.dumps([as_dict(request) for request in replayed]))
    else:
        _print_replay(replayed, found, output(), diff)
    if diff and any(request.changes for request in replayed):
        raise SystemExit(1)


def _nothing_of(file: str, name: str) -> str:
    from guerdon.serve.journal.reader import read_journal

    names = sorted({row.reward for row in read_journal(file) if row.reward})
    if name in names:
        return f"{file} holds no matching requests to {name}"
    there = f"there are some to {', '.join(names)}: give the name with --as" if names else "it is empty"
    return f"{file} holds no requests to {name}; {there}"


# For machines.


def _without_bodies(row: JournalRecord) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name not in ("request", "response")}


def _as_json(body: bytes | None) -> Any:
    """A body as the JSON that it is, else as text."""
    if body is None:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "backslashreplace")


# On the terminal.


def _print_rows(rows: Sequence[JournalRecord], console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from guerdon.console import clean, duration
    from guerdon.serve.journal.replay import shown_scores

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("id", justify="right", no_wrap=True)
    table.add_column("time", no_wrap=True)
    table.add_column("reward", overflow="fold")
    table.add_column("asked", no_wrap=True)
    table.add_column("status", justify="right", no_wrap=True)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("scores", overflow="fold")
    for row in rows:
        bad = row.status >= 400 or row.failed
        scores = shown_scores(row.scores) + (f" ({row.failed:,} failed)" if row.failed else "")
        table.add_row(
            str(row.id),
            _local(row.time, short=True),
            Text(clean(row.reward, console)),
            Text(clean(f"{row.format} {row.op}", console)),
            Text(str(row.status), style="red" if bad else ""),
            duration(row.ms / 1000),
            Text(clean(scores, console)),
        )
    console.print(table)


def _local(at: float, *, short: bool = False) -> str:
    """In local time; in the short form without the year where it is the present one."""
    moment = datetime.fromtimestamp(at)
    this_year = short and moment.year == datetime.now().year
    return moment.strftime("%m-%d %H:%M:%S" if this_year else "%Y-%m-%d %H:%M:%S")


def _print_request(row: JournalRecord, console: Console) -> None:
    from rich.text import Text

    from guerdon.console import clean, duration
    from guerdon.serve.journal.replay import shown_scores

    facts = {
        "id": f"{row.id}  {row.request_id}",
        "time": _local(row.time),
        "request": f"{row.method} {row.path}",
        "headers": "\n".join(f"{name}: {value}" for name, value in row.headers.items()),
        "reward": f"{row.reward}  version {row.version}" if row.reward else "",
        "format": f"{row.format} {row.op}".strip(),
        "answered": f"{row.status} after {duration(row.ms / 1000)}",
        "scores": shown_scores(row.scores, most=100),
        "failures": ", ".join(f"{count:,} {kind}" for kind, count in row.failures.items()),
    }
    for label, fact in facts.items():
        for number, line in enumerate(fact.splitlines()):
            head = Text(f"{'' if number else label:<12}", style="dim")
            console.print(head + Text(clean(line, console)), soft_wrap=True)
    for title, body in (("request", row.request), ("response", row.response)):
        console.print()
        console.print(Text(title, style="bold"))
        console.print(Text(clean(_pretty(body), console)), soft_wrap=True)


def _pretty(body: bytes | None) -> str:
    if body is None:
        return "(too large for the journal)"
    value = _as_json(body)
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _print_replay(replayed: Sequence[Replayed], reward: RewardFunction, console: Console, diff: bool) -> None:
    from rich.text import Text

    from guerdon.console import clean

    if diff:
        for request in replayed:
            for change in request.changes:
                line = _change_line(request, change)
                console.print(Text(clean(line, console)), soft_wrap=True)
    for reason in dict.fromkeys(request.skipped for request in replayed if request.skipped):
        which = [str(request.id) for request in replayed if request.skipped == reason]
        more = f" and {len(which) - 5:,} more" if len(which) > 5 else ""
        note = f"not scored again: {', '.join(which[:5])}{more}: {reason}"
        console.print(Text(clean(note, console), style="yellow"), soft_wrap=True)
    done = [request for request in replayed if request.skipped is None]
    samples, changed = sum(r.samples for r in done), sum(len(r.changes) for r in done)
    versions = sorted({request.version for request in done} - {reward.version})
    recorded = f", recorded with {', '.join(versions)}" if versions else ""
    console.print(
        Text(
            clean(
                f"{_count(len(done), 'request')}, {_count(samples, 'sample')} with {reward.name} "
                f"{reward.version}{recorded}: {samples - changed:,} as recorded, {changed:,} changed",
                console,
            )
        ),
        soft_wrap=True,
    )


def _change_line(request: Replayed, change: ScoreChange) -> str:
    from guerdon.console import cut
    from guerdon.serve.journal.replay import shown

    which = f"{request.id}" if request.samples == 1 else f"{request.id}[{change.index}]"
    reason = " ".join(cut(change.reason or "", _REASON).split())
    line = f"{which}  {shown(change.before)} -> {shown(change.after)}"
    return f"{line}  {reason}" if reason else line


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

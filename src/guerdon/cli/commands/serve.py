"""``guerdon serve``: rewards over HTTP."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from guerdon._version import __version__
from guerdon.cli.options import (
    POSITIVE,
    ParsedValue,
    check_variables,
    debug_option,
    option,
    option_group,
    setting_option,
    timeout_option,
)
from guerdon.cli.reward_options import RewardArgument, ScopedNameValueType, check_parameters, unique
from guerdon.errors import InputError, MissingExtraError
from guerdon.settings import parse_bytes, parse_seconds

if TYPE_CHECKING:
    from guerdon.serve.launch import RewardRef, RewardSpec
    from guerdon.serve.options import ServeOptions
    from guerdon.serve.shutdown_report import ShutdownReport

_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)


def parse_wait(value: str | float) -> float:
    """A number of seconds, also 0.

    >>> parse_wait("0"), parse_wait("1m")
    (0.0, 60.0)
    """
    return 0.0 if str(value).strip() in ("0", "0s", "0.0") else parse_seconds(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerFlags:
    """What the command line says of the server; the names are those of ServeOptions."""

    host: str
    port: int
    api_key: tuple[str, ...]
    api_keys_file: str | None
    allowed_host: tuple[str, ...]
    allow_anonymous: bool
    workers: int | None
    concurrency: int | None
    timeout: float | None
    request_timeout: float
    max_memory: int | None
    max_body: int
    max_queue: int
    max_connections: int
    max_buffered: int
    drain: float
    tls_cert: str | None
    tls_key: str | None
    tls_key_password: str | None
    journal: str | None
    journal_bytes: int
    access_log: bool
    quiet: bool
    log_format: str

    def options(self) -> ServeOptions:
        """Raises InputError for what does not go together."""
        from guerdon.serve.options import ServeOptions

        return ServeOptions.of({name: getattr(self, name) for name in self.__dataclass_fields__})


_DURATION = ParsedValue(parse_seconds, "duration")
_SIZE = ParsedValue(parse_bytes, "size")
_server_options = option_group(
    ServerFlags,
    "flags",
    [
        option("--host", default="127.0.0.1", show_default=True, help="The address to listen on."),
        option(
            "--port", type=click.IntRange(0, 65535), default=8000, show_default=True,
            help="The port to listen on; 0 takes a free one.",
        ),
        option(
            "--api-key", metavar="KEY", multiple=True,
            help="A key that callers must send. Repeatable.",
        ),
        option(
            "--api-keys-file", metavar="FILE",
            help="A file with one key per line; it is read again when it changes.",
        ),
        option(
            "--allowed-host", metavar="NAME", multiple=True,
            help="Another host name by which the server may be called, as behind a proxy. Repeatable.",
        ),
        option(
            "--allow-anonymous", is_flag=True,
            help="Serve without a key on an address that other machines can reach.",
        ),
        setting_option(
            "workers", "count", "one per processor for sync rewards, one for async rewards",
            "Worker processes for each reward.",
        ),
        setting_option("concurrency", "count", "the reward's own, or 64"),
        timeout_option,
        option(
            "--request-timeout", type=_DURATION, default="300s", show_default=True,
            help="How long a request may take, including the time it waits.",
        ),
        setting_option("max_memory", "bytes", "4GiB"),
        option(
            "--max-body", type=_SIZE, default="64MB", show_default=True,
            help="The largest request body.",
        ),
        option(
            "--max-queue", type=POSITIVE, default=1024, show_default=True,
            help="Requests that may wait or run, for each reward.",
        ),
        option(
            "--max-connections", type=POSITIVE, default=4096, show_default=True,
            help="The most connections that are open at once.",
        ),
        option(
            "--max-buffered", type=_SIZE, default="1GB", show_default=True,
            help="Bytes of requests, and of unread responses, that the server holds at once.",
        ),
        option(
            "--drain", type=ParsedValue(parse_wait, "duration"), default="30s", show_default=True,
            help="How long a stopping server waits for requests in flight.",
        ),
        option("--tls-cert", metavar="FILE", help="The certificate, with its chain, to serve HTTPS with."),
        option("--tls-key", metavar="FILE", help="The private key of the certificate."),
        option("--tls-key-password", metavar="TEXT", help="The password of the private key."),
        option("--journal", metavar="FILE", help="Record requests and their responses in a SQLite file."),
        option(
            "--journal-bytes", type=_SIZE, default="256MB", show_default=True,
            help="The largest size of the journal; the oldest requests are deleted.",
        ),
        option("--access-log", is_flag=True, help="Log every request, not only failed and slow ones."),
        option("--quiet", is_flag=True, help="Log no requests."),
        option(
            "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
            help="The format of the log.",
        ),
    ],
)  # fmt: skip


@click.command(short_help="Serve rewards over HTTP, in the wire formats of trainers.")
@click.argument("rewards", cls=RewardArgument, nargs=-1, required=True, metavar="REWARD...")
@option(
    "--param",
    "parameters",
    type=ScopedNameValueType(),
    multiple=True,
    callback=unique,
    help="A parameter of all rewards, or of one: strict.tolerance=0. Repeatable.",
)
@option("--reload", "reloads", is_flag=True, help="Reload the rewards when one of their files changes.")
@_server_options
@debug_option
def serve(rewards: tuple[str, ...], parameters: dict[str, Any], reloads: bool, flags: ServerFlags) -> None:
    """\b
    guerdon serve my_rewards.py
    guerdon serve math strict=my_rewards.py::exact --param strict.tolerance=0

    Serve each REWARD under /rewards/NAME/..., and the first one at the root too.

    NAME=REWARD serves a reward under another name. By default only this machine can reach the server; with another
    --host it requires a key.

    SIGTERM and Ctrl-C stop the server once the requests in flight are answered, with status 0. A second Ctrl-C
    stops it at once, with status 130.
    """
    from guerdon.cli.output import prints_to_stderr
    from guerdon.serve.launch import bind_socket

    check_variables()
    options = flags.options()
    refs = _reward_refs(rewards, parameters)
    _check_extra()
    messages = ServerMessages(options)
    # Before the rewards are loaded, which may take long: a port that is taken is known at once.
    with prints_to_stderr(), bind_socket(options.host, options.port) as listener, messages.loading:
        if reloads:
            from guerdon.serve.reload.reloader import ReloadCallbacks, serve_reloading

            callbacks = ReloadCallbacks(messages.ready, messages.reloaded, messages.failed, messages.stopping)
            report = serve_reloading(options, refs, callbacks, listener)
        else:
            from guerdon.serve.launch import load_specs
            from guerdon.serve.run import serve_forever

            specs = load_specs(refs, options)
            report = serve_forever(
                options, specs, listener, lambda url: messages.ready(url, specs), messages.stopping
            )
    messages.stopped(report)


def _check_extra() -> None:
    try:
        import fastapi  # noqa: F401
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("serve", "serving") from error


def _reward_refs(words: Sequence[str], parameters: Mapping[str, Any]) -> list[RewardRef]:
    """The rewards that the command line names, each with its own parameters."""
    from guerdon.serve.launch import RewardRef

    split = [(match[1], match[2]) if (match := _NAMED.fullmatch(word)) else (None, word) for word in words]
    scopes = {name or spec for name, spec in split}
    scoped = [(*name.rpartition("."), value) for name, value in parameters.items()]
    for scope, dot, name, _ in scoped:
        if dot and scope not in scopes:
            raise InputError(
                f"--param {scope}.{name} matches none of the rewards; serve one under that name: {scope}=REWARD"
            )
    found = []
    for given, spec in split:
        mine = {name: value for scope, _, name, value in scoped if scope in ("", given or spec)}
        check_parameters(spec, mine)
        found.append(RewardRef(spec, given, mine))
    return found


class ServerMessages:
    """What the server reports on standard error: text for people, or JSON with ``--log-format json``."""

    def __init__(self, options: ServeOptions) -> None:
        from guerdon.console.working import Working

        self._options = options
        self._versions: dict[str, str] = {}
        # A log in JSON has no lines of text.
        patience = None if options.log_format == "text" else math.inf
        self.loading = Working("loading the rewards and starting their workers", patience)

    def ready(self, url: str, specs: Sequence[RewardSpec]) -> None:
        """It answers."""
        self.loading.stop()
        self._versions = {spec.name: spec.version for spec in specs}
        rewards = [
            {"name": spec.name, "version": spec.version, "url": _url_of(url, number, spec)}
            for number, spec in enumerate(specs)
        ]
        self._say(_welcome(url, specs, self._options), "serving", url=url, rewards=rewards)

    def reloaded(self, specs: Sequence[RewardSpec]) -> None:
        """A change is served."""
        before, self._versions = self._versions, {spec.name: spec.version for spec in specs}
        changes = [
            f"{name} {before.get(name, 'new')} -> {version}"
            for name, version in self._versions.items()
            if before.get(name) != version
        ]
        text = f"Reloaded: {', '.join(changes) or 'no version has changed'}"
        self._say(text, text, rewards=[{"name": p.name, "version": p.version} for p in specs])

    def failed(self, reason: str) -> None:
        """A change cannot be served."""
        text = f"Not reloaded: {' '.join(reason.split())}; the previous version keeps serving"
        self._say(text, text, level="error")

    def stopping(self, in_flight: int) -> None:
        """It was asked to stop."""
        if in_flight:
            requests = f"{_count(in_flight, 'request')} in flight"
            text = f"Stopping: {requests}, waiting up to {self._options.drain:g} s; Ctrl-C stops at once"
            self._say(text, text, in_flight=in_flight)

    def stopped(self, report: ShutdownReport) -> None:
        """It has ended."""
        parts = []
        if report.finished or report.refused:
            parts.append(f"{_count(report.finished, 'request')} finished")
        if report.refused:
            parts.append(f"{report.refused:,} refused")
        if report.sockets:
            parts.append(f"{_count(report.sockets, 'socket')} closed")
        text = f"Stopped{': ' if parts else ''}{', '.join(parts)}"
        self._say(text, "stopped", finished=report.finished, refused=report.refused, sockets=report.sockets)

    def _say(self, text: str, message: str, *, level: str = "info", **fields: Any) -> None:
        from guerdon.cli.output import printable

        if self._options.log_format == "json":
            at = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
            text = json.dumps({"time": at, "level": level, "message": message, **fields})
        click.echo(printable(text), err=True)


def _welcome(url: str, specs: Sequence[RewardSpec], options: ServeOptions) -> str:
    from guerdon.serve.formats import FORMATS
    from guerdon.serve.options import is_loopback

    columns = [(spec.name, f"version {spec.version}", _url_of(url, i, spec)) for i, spec in enumerate(specs)]
    widths = [max(len(column[i]) for column in columns) for i in range(2)]
    lines = [f"Guerdon {__version__} serves {_count(len(specs), 'reward')} at {url}", ""]
    lines += [f"  {name:{widths[0]}}  {version:{widths[1]}}  {where}" for name, version, where in columns]
    clear = "; without --tls-cert it travels in clear, unless a proxy in front adds TLS"
    facts = {
        "formats": ", ".join(format.name for format in FORMATS),
        "page": f"{url}/ to try a reward in a browser; /docs documents every endpoint",
        "key": "required, as Authorization: Bearer KEY or X-Api-Key: KEY"
        + (clear if options.sends_keys_in_clear else ""),
        "journal": options.journal,
        "stop": f"Ctrl-C; waits up to {options.drain:g} s for requests in flight",
    }
    if not (options.keys or options.api_keys_file):
        facts["key"] = "none; " + (
            "only this machine can reach the server"
            if is_loopback(options.host)
            else "anyone who can reach the server can use it"
        )
    lines += ["", *(f"{name:<8} {fact}" for name, fact in facts.items() if fact)]
    return "\n".join(lines)


def _url_of(url: str, number: int, spec: RewardSpec) -> str:
    return url if number == 0 else f"{url}/rewards/{spec.name}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""The page at ``/``: the rewards that are served, a form to try one, and a curl line for each wire format.

It brings its own style and script, since a cluster may have no way to the internet. Names and descriptions are the
users' own and are escaped; the page's policy allows no script but its own, whatever is in them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from guerdon._version import __version__
from guerdon.serve.http.examples import (
    PROMPT,
    RESPONSE,
    columns_of,
    curl_lines,
    example_columns,
    is_json,
    reward_root,
)
from guerdon.serve.redaction import REDACTED, is_secret_name
from guerdon.serve.worker.describe import Description

_HOST = re.compile(r"[A-Za-z0-9._-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")
_OPEN = 3
"""Up to so many rewards are shown unfolded."""


def home_page(
    rewards: Sequence[tuple[str, Description | None]], url: str, *, needs_key: bool, shows: bool
) -> str:
    """The page for these rewards, each with its name; ``shows`` is whether the caller may see them."""
    listing = _listing(rewards, url, needs_key) if shows else _locked()
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Guerdon reward server</title>
<link rel="icon" href="data:,">
<style>{_asset("css")}</style>
</head>
<body>
<header>
<h1>Guerdon reward server</h1>
<p><a href="docs">Every endpoint</a> · <a href="health/ready">health</a> · Guerdon {escape(__version__)}</p>
</header>
<main>
{_key_form() if needs_key else ""}
<div id="listing">
{listing}
</div>
</main>
<script>{_asset("js")}</script>
</body>
</html>
"""


@cache
def page_headers() -> Mapping[str, str]:
    """The headers of the page: it may run its own script and call its own server, and nothing else."""
    style, script = (f"'sha256-{_digest(_asset(kind))}'" for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; script-src {script}; style-src {style}; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }


def url_of(scheme: str, host: str) -> str:
    """The server's address as its caller wrote it, where that is an address.

    >>> url_of("http", "gpu-3:8000"), url_of("http", "x; rm -rf /")
    ('http://gpu-3:8000', 'http://localhost')
    """
    return f"{scheme}://{host if _HOST.fullmatch(host) else 'localhost'}"


@cache
def _asset(kind: str) -> str:
    return Path(__file__).with_suffix(f".{kind}").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _key_form() -> str:
    return """<section aria-labelledby="key-title">
<h2 id="key-title">API key</h2>
<form id="key-form">
<label for="key">This server needs a key. It stays in this page and goes to this server only.</label>
<div class="line"><input id="key" type="password" autocomplete="off" required>
<button type="submit">Show the rewards</button></div>
<p id="key-status" role="status"></p>
</form>
</section>"""


def _locked() -> str:
    return "<p>The rewards are shown to callers with a key.</p>"


def _listing(rewards: Sequence[tuple[str, Description | None]], url: str, needs_key: bool) -> str:
    described = [(i, name, given) for i, (name, given) in enumerate(rewards) if given is not None]
    shown = "\n".join(
        _reward(name, given, url + reward_root(name, first=i == 0), needs_key, len(rewards) <= _OPEN)
        if given is not None
        else f"<article><h3>{escape(name)}</h3><p>It is still being loaded.</p></article>"
        for i, (name, given) in enumerate(rewards)
    )
    data = [_form_data(name, given, reward_root(name, first=i == 0)) for i, name, given in described]
    count = "1 reward is" if len(rewards) == 1 else f"{len(rewards)} rewards are"
    return f"""<section aria-labelledby="try-title" id="try" hidden>
<h2 id="try-title">Try a reward</h2>
<form id="try-form"></form>
<div id="result" role="status"></div>
</section>
<noscript><p>The form to try a reward needs JavaScript; the curl lines below do not.</p></noscript>
<section aria-labelledby="rewards-title">
<h2 id="rewards-title">{count} served</h2>
{shown}
</section>
<script type="application/json" id="data">{_script_json(data)}</script>"""


def _reward(name: str, given: Description, url: str, needs_key: bool, unfolded: bool) -> str:
    lines = "\n".join(
        f"<dt>{escape(format)}</dt><dd><pre>{escape(line)}</pre></dd>"
        for format, line in curl_lines(given, url, needs_key=needs_key).items()
    )
    text = given.info.get("description", "")
    return f"""<article><details{" open" if unfolded else ""}>
<summary><h3>{escape(name)}</h3> <span>{escape(text) if text != name else ""}</span></summary>
<dl class="facts">
<dt>Version</dt><dd><code>{escape(given.version)}</code></dd>
<dt>Address</dt><dd><code>{escape(url)}</code></dd>
{_facts(given)}
</dl>
<details class="curl"><summary>Call it with curl, in each wire format</summary>
<dl>{lines}</dl>
</details>
</details></article>"""


def _facts(given: Description) -> str:
    columns = ", ".join(
        f"<code>{escape(c['name'])}</code>"
        + (f" {escape(c['type'])}" if c["type"] else "")
        + ("" if c["required"] else " (optional)")
        for c in columns_of(given)
    )
    parameters = ", ".join(
        f"<code>{escape(name)} = {escape(_value(name, value))}</code>"
        for name, value in given.parameters.items()
    )
    facts = [
        ("Parameters", parameters or "as they are by default"),
        ("Reads", columns or "the response only"),
    ]
    return "\n".join(f"<dt>{title}</dt><dd>{text}</dd>" for title, text in facts)


def _value(name: str, value: Any) -> str:
    text = (
        REDACTED if is_secret_name(name) and isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= 200 else text[:200] + "…"


def _form_data(name: str, given: Description, root: str) -> dict[str, Any]:
    example = example_columns(given)
    columns = [column for column in columns_of(given) if column["name"] != "answer" or "answer" in example]
    if not any(column["name"] in ("ground_truth", "answer") for column in columns):
        columns.insert(0, {"name": "ground_truth", "required": False, "type": None})
    return {
        "name": name,
        "root": root.lstrip("/"),
        "prompt": PROMPT,
        "response": RESPONSE,
        "columns": [
            {
                "name": column["name"],
                "required": column["required"],
                "json": is_json(column["type"]),
                "value": _text(example[column["name"]]) if column["name"] in example else "",
            }
            for column in columns
        ],
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _script_json(value: Any) -> str:
    """JSON that cannot end the script element that it stands in."""
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

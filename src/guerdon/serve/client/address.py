"""Address: the URL of a reward server, or of one reward on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from guerdon.errors import InputError


@dataclass(frozen=True, slots=True)
class Address:
    """The URL of a server or of one reward on it, without a slash at its end.

    >>> Address.of("http://localhost:8000/rewards/math/") / "score"
    'http://localhost:8000/rewards/math/score'
    """

    url: str

    @classmethod
    def of(cls, url: str) -> Address:
        """Raises InputError that says how an address is written."""
        text = str(url).strip()
        try:
            parts = urlsplit(text)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is not a number, say
            good = False
        if not good or re.search(r"\s", text):
            hint = "" if "://" in text else f"; did you mean http://{text}?"
            raise InputError(f"{_shown(text)} is not an address; write it as http://host:8000{hint}")
        if "@" in parts.netloc:
            raise InputError("an address must not hold a user name or a password; give the key as api_key=")
        if parts.query or parts.fragment:
            raise InputError(f"{_shown(text)} is not an address of a server: leave out what follows ? or #")
        return cls(urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", "")))

    def __truediv__(self, path: str) -> str:
        return f"{self.url}/{path.lstrip('/')}" if path else self.url

    def socket(self, path: str) -> str:
        """The address of a WebSocket at this server: ws for http, wss for https."""
        return "ws" + (self / path).removeprefix("http")

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    def without(self, suffix: str) -> Address:
        """The address without a path at its end."""
        return Address(self.url.removesuffix(suffix).rstrip("/"))

    def __str__(self) -> str:
        return self.url


def _shown(text: str) -> str:
    # What stands before an @ may be a password.
    text = re.sub(r"//[^/]*@", "//…@", text)
    return repr(text if len(text) <= 80 else text[:77] + "…")

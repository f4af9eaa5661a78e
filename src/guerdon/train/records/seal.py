"""The seal of a run's folder: whether its reward is one that this user's own guerdon has run.

A configuration names a reward, which is code, and endpoints, which are sent data and keys. A folder that somebody
else has made may name any. The seal is a keyed hash of what names them; the key lies in the user's state folder.
It says nothing of the other files of a run.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from guerdon.train.records.folder import RunFolder

_KEY_BYTES = 32


def seal(folder: RunFolder, reward: str) -> None:
    """Mark a run's reward, as its configuration writes it, as this user's own, where that is possible."""
    if (digest := _digest_of(reward, may_create=True)) is not None:
        _seal_of(folder).write_text(digest + "\n", encoding="ascii")


def is_sealed(folder: RunFolder, reward: str) -> bool:
    """Whether a run's reward is as this user's guerdon has run it."""
    digest = _digest_of(reward, may_create=False)
    if digest is None:
        return False
    try:
        found = _seal_of(folder).read_bytes()[:200].strip()
    except OSError:
        return False
    return hmac.compare_digest(found, digest.encode("ascii"))


def _seal_of(folder: RunFolder) -> Path:
    return folder.path / ".seal"


def _digest_of(reward: str, *, may_create: bool) -> str | None:
    key = _key(may_create)
    return None if key is None else hmac.new(key, reward.encode(), hashlib.sha256).hexdigest()


def _key(may_create: bool) -> bytes | None:
    """The user's key; None where there is none and none can be made."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    path = Path(state, "guerdon", "key")
    with contextlib.suppress(OSError):
        if may_create and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f"key.{secrets.token_hex(8)}")
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            with contextlib.suppress(FileExistsError):
                os.link(fresh, path)  # which of two that begin at once comes first holds for both
            fresh.unlink()
        about = path.stat()
        if about.st_uid == os.geteuid() and not about.st_mode & 0o022:
            key = path.read_bytes()
            return key if len(key) == _KEY_BYTES else None
    return None

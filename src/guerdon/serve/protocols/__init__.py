"""The wire formats, one file each, in the order in which they are tried where several want a path."""

from __future__ import annotations

from guerdon.serve.format import Format
from guerdon.serve.protocols.adaptive import AdaptiveFormat

FORMATS: tuple[Format, ...] = (AdaptiveFormat(),)

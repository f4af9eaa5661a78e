"""Logs of Inspect: ``.eval`` archives and the same as JSON, a row for each sample."""

from __future__ import annotations

import importlib
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from guerdon.data.conversation import messages_in
from guerdon.data.files import ReadContext, ReadRow
from guerdon.data.strict_json import parse_json
from guerdon.errors import InputError, MissingExtraError

_ZSTANDARD = 93
"""The method of compression of newer logs, which Python's zipfile knows from 3.14 on."""

_LOCAL_HEADER = struct.Struct("<26xHH")
"""What stands before a member's bytes, of which the lengths of its name and its extra field are needed."""

MAX_SAMPLE = 256 * 2**20
"""The largest sample of a log in bytes."""


def is_eval_log(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is a log of Inspect."""
    return isinstance(document.get("eval"), Mapping) and "status" in document and "messages" not in document


def rows_of_log(document: Mapping[str, Any], context: ReadContext) -> Iterator[ReadRow]:
    """The samples of a log as rows. Raises InputError where the log holds none."""
    samples = document.get("samples")
    if not isinstance(samples, list) or not samples:
        raise InputError(f"{context.name} is a log of Inspect without samples")
    for number, sample in enumerate(samples, 1):
        yield _row(sample, number, context)


# What zipfile raises for archives that are damaged, encrypted or compressed in a way that it does not know.
_DAMAGE = (
    UnicodeDecodeError, json.JSONDecodeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError,
    NotImplementedError, RuntimeError, OverflowError,
)  # fmt: skip


def read_eval_log(path: Path, context: ReadContext) -> Iterator[ReadRow]:
    """The rows of an ``.eval`` log, one sample at a time.

    Raises InputError if it is none, MissingExtraError where its compression needs a package.
    """
    context.unit = "row"
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as raw:
            context.position = raw.tell
            members = [m for m in archive.infolist() if _is_sample(m.filename)]
            if not members:
                raise InputError(f"{context.name} is a log of Inspect without samples")
            for number, member in enumerate(members, 1):
                try:
                    text = _content(archive, member, raw, context).decode()
                    value, _ = parse_json(_without_constants(text))
                except (InputError, *_DAMAGE) as error:
                    yield context.bad(number, f"{member.filename}: {error}")
                    continue
                yield _row(value, number, context)
    except _DAMAGE:
        raise InputError(f"{context.name} is no log of Inspect: not a zip archive") from None


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _without_constants(text: str) -> str:
    """Text whose NaN and infinities, which Inspect writes for scores, are null."""
    if not any(word in text for word in ("NaN", "Infinity")):
        return text
    return json.dumps(json.loads(text, parse_constant=lambda _: None))


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, raw: Any, context: ReadContext) -> bytes:
    if member.file_size > MAX_SAMPLE:
        raise InputError(f"the sample is larger than {MAX_SAMPLE / 2**20:,.0f} MiB, the most that is read")
    if member.compress_type != _ZSTANDARD:
        return archive.read(member)
    raw.seek(member.header_offset)
    name, extra = _LOCAL_HEADER.unpack(raw.read(_LOCAL_HEADER.size))
    raw.seek(name + extra, 1)
    data = raw.read(member.compress_size)
    content = _decompressed(data, member.file_size, context)
    if zlib.crc32(content) != member.CRC:
        raise InputError("the archive is damaged here")
    return content


def _decompressed(data: bytes, size: int, context: ReadContext) -> bytes:
    try:
        pa: Any = importlib.import_module("pyarrow")
    except ImportError:
        raise MissingExtraError.of("data", f"reading {context.name}, which zstd compresses,") from None
    try:
        content: bytes = pa.decompress(data, decompressed_size=size, codec="zstd", asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"the archive is damaged here: {' '.join(str(error).split())[:100]}") from None
    return content


def _row(sample: Any, number: int, context: ReadContext) -> ReadRow:
    if not isinstance(sample, Mapping):
        return context.bad(number, "a sample of a log must be an object", row=sample)
    try:
        return number, _columns(sample)
    except InputError as error:
        return context.bad(number, str(error), row=dict(sample))


def _columns(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A sample in chat form: its messages, its target as the ground truth, and its metadata."""
    output = sample.get("output")
    completion = output.get("completion") if isinstance(output, Mapping) else None
    messages = [_message(m) for m in sample.get("messages") or []]
    if not messages:
        messages = list(messages_in(sample.get("input"), "user", "input"))
        messages.append({"role": "assistant", "content": completion or ""})
    row: dict[str, Any] = {"id": _identity(sample), "messages": messages}
    if (target := sample.get("target")) not in (None, "", []):
        row["ground_truth"] = target[0] if isinstance(target, list) and len(target) == 1 else target
    metadata = sample.get("metadata")
    row["metadata"] = dict(metadata) if isinstance(metadata, Mapping) else {}
    for name in ("choices", "epoch", "scores", "error"):
        if sample.get(name) not in (None, []):
            row["metadata"].setdefault(name, sample[name])
    row["metadata"].setdefault("group_id", str(sample.get("id")))
    return row


def _identity(sample: Mapping[str, Any]) -> str | int:
    identity, epoch = sample.get("id"), sample.get("epoch")
    known = identity if isinstance(identity, str | int) else str(identity)
    return known if epoch in (None, 1) else f"{known}-{epoch}"


def _message(message: Any) -> Any:
    """A message of Inspect in OpenAI's chat format."""
    if not isinstance(message, Mapping):
        return message
    kept = {k: v for k, v in message.items() if k in ("role", "content", "name", "tool_call_id")}
    if calls := message.get("tool_calls"):
        kept["tool_calls"] = [_call(call) for call in calls]
    return {key: value for key, value in kept.items() if value is not None or key == "content"}


def _call(call: Any) -> Any:
    if not isinstance(call, Mapping) or not isinstance(call.get("function"), str):
        return call
    function = {"name": call["function"], "arguments": call.get("arguments", {})}
    return {"id": call.get("id"), "type": "function", "function": function}

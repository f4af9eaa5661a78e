"""Inspect's logs: archives of any compression, damaged ones, and samples in every state."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from guerdon.data import BadRowsError, open_dataset
from guerdon.errors import InputError

USER, SAID = {"role": "user", "content": "p"}, {"role": "assistant", "content": "r"}
_METHOD, _CRC, _SIZE = "<H", "<I", "<I"


def sample(number: int = 1, **parts: Any) -> dict[str, Any]:
    """A sample as Inspect writes it."""
    return {"id": number, "epoch": 1, "input": "p", "target": "t", "messages": [USER, SAID], **parts}


def write(path: Path, *samples: Any, method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", "{}")
        for number, each in enumerate(samples):
            text = each if isinstance(each, str) else json.dumps(each)
            archive.writestr(f"samples/{number}_epoch_1.json", text)


def write_zstd(path: Path, text: str) -> None:
    """An archive of one sample that zstd compressed, which Python's zipfile writes from 3.14 on only."""
    pa: Any = pytest.importorskip("pyarrow", reason="zstd needs the extra data")
    packed = pa.compress(text.encode(), codec="zstd", asbytes=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("samples/1_epoch_1.json", packed)
    content = bytearray(path.read_bytes())
    central = content.index(b"PK\x01\x02")
    for start, method, crc, size in ((0, 8, 14, 22), (central, 10, 16, 24)):
        struct.pack_into("<H", content, start + method, 93)
        struct.pack_into("<I", content, start + crc, zlib.crc32(text.encode()))
        struct.pack_into("<I", content, start + size, len(text.encode()))
    path.write_bytes(content)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.eval"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_archives_of_every_compression(log: Path, method: int) -> None:
    write(log, sample(1), sample(2, epoch=2), method=method)
    found = [(s.id, s.prompt, s.response, s.ground_truth) for s in open_dataset(log)]
    assert found == [(1, "p", "r", "t"), ("2-2", "p", "r", "t")]


def test_archives_compressed_by_zstd(log: Path) -> None:
    write_zstd(log, json.dumps(sample(7, metadata={"level": "ü"})))
    (read,) = open_dataset(log)
    assert (read.id, read.response, read.metadata["level"]) == (7, "r", "ü")
    content = bytearray(log.read_bytes())
    content[60] ^= 0xFF
    log.write_bytes(content)
    with pytest.raises(BadRowsError, match="the archive is damaged here"):
        open_dataset(log).check()


CALL = {"id": "c", "function": "add", "arguments": {"a": 1}, "type": "function"}


@pytest.mark.parametrize(
    ("parts", "last"),
    [
        ({"messages": [], "output": {"completion": "said"}}, "said"),
        ({"messages": [], "output": None}, ""),
        ({"messages": [USER, {"role": "assistant", "content": [{"type": "text", "text": "part"}]}]}, "part"),
        ({"scores": {"x": {"value": float("nan")}}}, "r"),
        ({"messages": [USER, {**SAID, "tool_calls": [CALL]}]}, "r"),
    ],
)
def test_samples_in_every_state(log: Path, parts: dict[str, Any], last: str) -> None:
    write(log, sample(**parts))
    (read,) = open_dataset(log)
    assert (read.prompt, read.response) == ("p", last)
    for call in read.messages[-1].tool_calls or ():
        assert (call.function.name, call.function.arguments) == ("add", {"a": 1})


def test_what_is_no_log(log: Path) -> None:
    log.write_text("text", encoding="utf-8")
    with pytest.raises(InputError, match=r"log\.eval is no log of Inspect: not a zip archive"):
        open_dataset(log).check()
    write(log)
    with pytest.raises(InputError, match="a log of Inspect without samples"):
        open_dataset(log).check()
    write(log, sample(), "{bad", "[1]", sample(messages=[USER]))
    with pytest.raises(BadRowsError, match="3 of 4 rows are malformed") as caught:
        open_dataset(log).check()
    assert 'ends with a message of the role "user"' in str(caught.value)
    assert [s.response for s in open_dataset(log).samples()] == ["r"]

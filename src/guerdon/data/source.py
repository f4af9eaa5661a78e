"""Where rows come from: a file, a folder of files, standard input, a saved or a hub dataset."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from guerdon.data.arrow_rows import read_arrow, read_parquet
from guerdon.data.csv_rows import read_csv
from guerdon.data.eval_logs import read_eval_log
from guerdon.data.files import ReadContext, ReadRow
from guerdon.data.hub import HubSource, is_hub_id
from guerdon.data.json_rows import read_json, read_json_lines
from guerdon.data.run_folder import run_samples
from guerdon.errors import InputError

Reader = Callable[[Path, ReadContext], Iterator[ReadRow]]

READERS: dict[str, Reader] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".eval": read_eval_log,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
}
_TEXT = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
KNOWN = "known are .jsonl, .ndjson, .json, .csv and .tsv, each also as .gz, and .parquet, .arrow and .eval"

REJECTED = ".rejected.jsonl"
"""How the files end that malformed rows are written to; a folder's are not read back."""

# What `datasets` writes beside the rows.
_ABOUT = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}


class RowSource(Protocol):
    """One stretch of rows."""

    name: str
    """What to call it in messages."""
    size: int
    """Bytes, or rows where it is not a file: what a ReadContext's position counts up to."""

    def rows(self, context: ReadContext) -> Iterator[ReadRow]:
        """The rows from the first on; may be called again."""
        ...


class FileSource:
    """A file and the reader for it."""

    def __init__(self, path: Path, name: str, reader: Reader) -> None:
        self.path = path
        self.name = name
        self.size = path.stat().st_size
        self._reader = reader

    def rows(self, context: ReadContext) -> Iterator[ReadRow]:
        """The rows of the file; raises InputError where it cannot be read."""
        try:
            yield from self._reader(self.path, context)
        except OSError as error:
            raise _unreadable(self.name, error) from error


class SpooledSource(FileSource):
    """What came through a pipe, kept in a temporary file as long as this object lives."""

    def __init__(self, stream: BinaryIO, name: str, reader: Reader) -> None:
        handle, path = tempfile.mkstemp(prefix="guerdon-")
        # Not in a forked child: the file is still its parent's.
        weakref.finalize(self, _remove, path, os.getpid())
        with open(handle, "wb") as spool:
            shutil.copyfileobj(stream, spool, 2**20)
        super().__init__(Path(path), name, reader)


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:
        Path(path).unlink(missing_ok=True)


def find_sources(source: str | Path, split: str | None = None) -> list[RowSource]:
    """What ``source`` stands for, in the order in which it is read.

    Raises InputError that says what is there instead if there is nothing to read.
    """
    text = str(source)
    if not text or "\0" in text:
        raise InputError(
            "the name of the data is empty" if not text else "the name of the data has a NUL byte"
        )
    try:
        if text == "-":
            return [_no_split(_standard_input(), split)]
        path = Path(source)
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            if isinstance(source, str) and _means_hub(text):
                return [HubSource(text, split)]
            raise InputError(_missing(path)) from None
        if stat.S_ISDIR(mode):
            return _folder(path, text, split)
        if stat.S_ISFIFO(mode):
            with path.open("rb") as stream:
                return [_no_split(SpooledSource(stream, text, _reader_of(path) or read_json_lines), split)]
        if not stat.S_ISREG(mode):
            raise InputError(f"{text} is neither a file nor a folder")
        return [_no_split(FileSource(path, text, _known_reader(path)), split)]
    except OSError as error:
        raise _unreadable(text, error) from error


def _standard_input() -> RowSource:
    if sys.stdin is None:
        raise InputError("there is no standard input to read rows from")
    return SpooledSource(sys.stdin.buffer, "standard input", read_json_lines)


def _no_split(source: RowSource, split: str | None) -> RowSource:
    if split is not None:
        raise InputError(f"{source.name} is one file and has no splits; leave out --split {split}")
    return source


def _reader_of(path: Path) -> Reader | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        return READERS[suffixes[-2]] if len(suffixes) > 1 and suffixes[-2] in _TEXT else None
    return READERS.get(suffixes[-1]) if suffixes else None


def _known_reader(path: Path) -> Reader:
    if (reader := _reader_of(path)) is None:
        kind = f'the unknown extension "{path.suffix}"' if path.suffix else "no extension"
        raise InputError(f"{path} has {kind}; {KNOWN}")
    return reader


def _means_hub(text: str) -> bool:
    """Whether text that is not a path here is an id; not if it begins like a path or ends like a file."""
    return is_hub_id(text) and not Path(text).parent.is_dir() and _reader_of(Path(text)) is None


def _missing(path: Path) -> str:
    above = path.parent
    if not above.is_dir():
        return f"there is no file {path}: there is no folder {above}"
    names = [entry.name for entry in above.iterdir()]
    close = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(str(above / name) for name in close)}?" if close else ""
    return f"there is no file or folder {path}{hint}"


def _unreadable(name: str, error: OSError) -> InputError:
    # Arrow's errors have a number too, but its own text in place of the system's.
    reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
    return InputError(f"cannot read {name[:200]}: {reason[:1].lower()}{reason[1:]}")


def _folder(folder: Path, name: str, split: str | None) -> list[RowSource]:
    if (folder / "dataset_dict.json").is_file():
        folder = _saved_split(folder, name, split)
        split = None
    if (files := _saved_files(folder)) is not None:
        if split is not None:
            raise InputError(f"{name} is one saved split; leave out --split {split}")
        return [FileSource(file, str(file), read_arrow) for file in files]
    if split is None and (of_run := run_samples(folder)) is not None:
        return [FileSource(of_run[0], str(of_run[0]), of_run[1])]
    found = [(path, reader) for path in _walk(folder) if (reader := _reader_of(path)) is not None]
    if not found:
        raise InputError(f"{name} holds no data files; {KNOWN}")
    chosen = [(path, r) for path, r in found if split is None or _is_of(path.relative_to(folder), split)]
    if not chosen:
        shown = ", ".join(str(path.relative_to(folder)) for path, _ in found[:8])
        raise InputError(f'{name} holds no files of the split "{split}"; there are: {shown}')
    return [FileSource(path, str(path), reader) for path, reader in chosen]


def _walk(folder: Path) -> Iterator[Path]:
    """The files to look at, in the order of their paths; hidden ones and what is no row left out."""

    def refuse(error: OSError) -> None:
        raise error

    paths = []
    for above, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith(".") and name not in _ABOUT and not name.endswith(REJECTED):
                paths.append(Path(above, name))
    return iter(sorted(path for path in paths if path.is_file()))


def _is_of(path: Path, split: str) -> bool:
    """Whether a file belongs to a split: ``train/…``, ``train.jsonl``, ``train-00000-of-00002.parquet``."""
    stem = path.name.partition(".")[0]
    return split in (*path.parts[:-1], stem) or stem.startswith((f"{split}-", f"{split}_"))


def _saved_split(folder: Path, name: str, split: str | None) -> Path:
    splits = _strings(folder / "dataset_dict.json", "splits")
    if split is None and len(splits) == 1:
        split = splits[0]
    if split not in splits:
        asked = f'no split "{split}"' if split else "several splits"
        raise InputError(f"{name} has {asked}; choose one: {', '.join(f'--split {s}' for s in splits)}")
    return folder / split


def _saved_files(folder: Path) -> list[Path] | None:
    """The Arrow files of a dataset that ``Dataset.save_to_disk`` wrote; None if the folder is none."""
    if not (folder / "state.json").is_file():
        return None
    files = _strings(folder / "state.json", "_data_files", "filename")
    return [folder / Path(file).name for file in files] or None


def _strings(path: Path, key: str, inner: str | None = None) -> list[str]:
    """The strings that a file of ``datasets`` lists under a key; none if it is some other file."""
    try:
        listed = json.loads(path.read_bytes())[key]
        items = [item if inner is None else item[inner] for item in listed]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    return [item for item in items if isinstance(item, str)]

"""Loading a Python file by its path, so that worker processes can load the very same source.

A file becomes a module whose name carries a hash of its path and source. Pickles refer to that name; a
process that unpickles them asks the finder below, which loads the file again and refuses one that has
changed in the meantime.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType

from guerdon.checks import text_of
from guerdon.errors import ResolutionError, RewardError

_PREFIX = "_guerdon_file_"
_files: dict[str, str] = {}
_lock = threading.RLock()


class _FileLoader(importlib.machinery.SourceFileLoader):
    """Always compiles the source: a file that is edited twice in a second would get stale bytecode."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _FileFinder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_PREFIX) or fullname not in _files:
            return None
        source = Path(_files[fullname])
        if _module_name(source, source.read_bytes()) != fullname:
            raise ImportError(f"{source.name} changed on disk while it was in use; start again")
        loader = _FileLoader(fullname, str(source))
        return importlib.util.spec_from_file_location(fullname, source, loader=loader)


def _module_name(path: Path, source: bytes) -> str:
    digest = hashlib.sha256(str(path).encode() + b"\0" + source).hexdigest()[:16]
    return f"{_PREFIX}{digest}_{path.stem if path.stem.isidentifier() else 'module'}"


def is_file_module(name: str) -> bool:
    """Whether a module's name is one that ``load_file`` gave."""
    return name.startswith(_PREFIX)


def loaded_files() -> dict[str, str]:
    """Module name to file path of every file loaded so far: what another process needs to know."""
    return dict(_files)


def know_files(files: Mapping[str, str]) -> None:
    """Learn the files that another process loaded, so that its pickles can be read here."""
    with _lock:
        _files.update(files)
        if not any(isinstance(finder, _FileFinder) for finder in sys.meta_path):
            sys.meta_path.append(_FileFinder())


def load_file(path: str | Path) -> ModuleType:
    """The module of a Python file; a file that changed since the last call is reloaded.

    The file's folder joins ``sys.path`` (at its end), so that the file can import its neighbours.
    Raises ResolutionError where the file is missing, has a syntax error or raises on import.
    """
    file = Path(path).resolve()
    try:
        source = file.read_bytes()
    except OSError as error:
        raise ResolutionError(f"cannot read {path}: {error.strerror}", path=str(path)) from None
    name = _module_name(file, source)
    with _lock:
        know_files({name: str(file)})
        if name in sys.modules:
            return sys.modules[name]
        if str(file.parent) not in sys.path:
            sys.path.append(str(file.parent))
        try:
            return importlib.import_module(name)
        except (Exception, SystemExit) as error:
            raise failed_import(error, str(path)) from error


def failed_import(error: BaseException, path: str) -> RewardError:
    """What to raise where importing ``path`` raised: our own errors as they are, others in a sentence."""
    if isinstance(error, RewardError):
        return error
    if isinstance(error, SyntaxError):
        line = f", line {error.lineno}" if error.lineno else ""
        return ResolutionError(f"{Path(error.filename or path).name}{line}: {error.msg}", path=path)
    hint = ""
    if isinstance(error, ImportError) and "relative import" in str(error):
        hint = "; a module of a package is written as pkg.mod:name"
    return ResolutionError(f"importing {path} raised {text_of(error)}{hint}", path=path)

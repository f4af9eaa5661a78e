"""A project's own configuration: where it lies, what its main file says, how Hydra reads its files."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.errors import InputError
from guerdon.train.config.config_errors import nearest, one_line

if TYPE_CHECKING:
    from hydra.plugins.config_source import ConfigResult

PROJECT = Path("conf")
"""Where a project's configuration lies, from its working directory."""

_SCHEME = "guerdon-project"


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A folder whose files add options to the groups or replace those of the same name."""

    folder: Path | None = None
    """None takes ``conf/`` in the working directory, where there is one."""
    name: str | None = None
    """The file in it that is composed over the defaults; None takes ``config.yaml``, where there is one."""

    def found(self) -> Path | None:
        """The folder. Raises InputError if the given path is not a folder."""
        if self.folder is None:
            return PROJECT if PROJECT.is_dir() else None
        if not self.folder.is_dir():
            raise InputError(f"there is no folder {self.folder} with a configuration")
        return self.folder

    def main(self) -> Path | None:
        """The file that is composed over the defaults. Raises InputError where one is named that is not there."""
        folder, name = self.found(), (self.name or "config").removesuffix(".yaml")
        if folder is not None and (path := folder / f"{name}.yaml").is_file():
            return path
        if self.name is None:
            return None
        there = sorted(path.stem for path in folder.glob("*.yaml")) if folder is not None else []
        raise InputError(f"there is no {name}.yaml in {folder or PROJECT}{nearest(name, there)}")


@dataclass(frozen=True, slots=True)
class MainFile:
    """What of a main file has to be known before it is composed."""

    name: str
    groups: frozenset[str]
    """The groups for which its list of defaults has an option of its own."""
    searchpath: tuple[str, ...]
    """What it has for ``hydra.searchpath``, which Hydra takes from the very first file only."""


def read_main(path: Path) -> MainFile:
    """Raises InputError where the file cannot be read."""
    from omegaconf import OmegaConf

    try:
        written = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except Exception as error:  # YAML's errors have no common root with OmegaConf's
        raise InputError(f"{path} cannot be read: {one_line(error)}") from error
    if not isinstance(written, Mapping):
        raise InputError(f"{path} holds no keys with values")
    defaults, hydra = written.get("defaults"), written.get("hydra")
    searched = hydra.get("searchpath") if isinstance(hydra, Mapping) else None
    return MainFile(
        path.stem,
        frozenset(_groups_named(defaults if isinstance(defaults, list) else [])),
        tuple(map(str, searched)) if isinstance(searched, list) else (),
    )


def _groups_named(defaults: Iterable[Any]) -> Iterable[str]:
    keys = [str(key) for entry in defaults if isinstance(entry, Mapping) for key in entry]
    for words in (key.split(" ") for key in keys):
        if "override" not in words:  # which changes what is there already
            yield words[-1].partition("@")[0].lstrip("/")


def address_of(folder: Path) -> str:
    """The folder as an element of Hydra's search path."""
    _register()
    return f"{_SCHEME}://{folder.absolute()}"


@functools.cache
def _register() -> None:
    """Register with Hydra how a project's files are read, once Hydra is imported."""
    from hydra._internal.core_plugins.file_config_source import FileConfigSource
    from hydra._internal.sources_registry import SourcesRegistry
    from omegaconf import DictConfig

    class ProjectSource(FileConfigSource):  # type: ignore[misc]
        """A group's file may have its keys below the group's name, as agent-tunix's guide writes them."""

        @staticmethod
        def scheme() -> str:
            return _SCHEME

        def load_config(self, config_path: str) -> ConfigResult:
            result = super().load_config(config_path)
            group, written = config_path.rpartition("/")[0], result.config
            is_plain = isinstance(written, DictConfig) and result.header["package"] is None
            if is_plain and group and set(written) - {"defaults"} == {group}:
                written.merge_with(written.pop(group) or {})
            return result

    SourcesRegistry.instance().register(ProjectSource)

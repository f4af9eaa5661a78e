"""Composing a configuration: Guerdon's groups, a project's own ``conf/`` over them, the command line last.

Hydra composes; what is here says where it looks, holds every key to ``Config``, and turns what goes wrong into
one line that names the nearest key or option there is.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin, get_type_hints

from guerdon.errors import InputError, MissingExtraError
from guerdon.serve.redaction import redacted_value
from guerdon.train.config.config_errors import in_words, nearest, no_such_key, one_line
from guerdon.train.config.project import MainFile, Project, address_of, read_main
from guerdon.train.config.schema import Config
from guerdon.train.config.validation import check

if TYPE_CHECKING:
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.override_parser.types import Override

OURS = Path(__file__).parent / "conf"
DEFAULTS: Mapping[str, str] = {
    "model": "tiny",
    "optimizer": "adamw",
    "scheduler": "warmup_cosine",
    "grpo": "default",
    "generation": "default",
    "training": "default",
    "evaluation": "default",
}
"""The groups that every configuration has, each with the option that is taken unless another is."""

_SCHEMA, _PRIMARY = "guerdon_schema", "guerdon_primary"


def compose(overrides: Sequence[str] = (), project: Project | None = None) -> Config:
    """The configuration of a command line's overrides, such as ``["model=tiny", "grpo.beta=0.04"]``.

    Raises InputError for an unknown key or option, naming the nearest there is, and for a value of the wrong
    type; MissingExtraError without Hydra.

    >>> config = compose(["training.data_source=arithmetic", "grpo.num_generations=8"])
    >>> config.training.data_source, config.grpo.num_generations, config.model.model_family
    ('arithmetic', 8, 'tiny')
    """
    composer = _Composer(project or Project())
    return composer.config(composer.checked(overrides))


def combinations(overrides: Sequence[str], project: Project | None = None) -> list[list[str]]:
    """The overrides of each run of a sweep: ``a=1,2 b=3,4`` are four, each composed to see that it can be.

    Ranges and the like are written as Hydra's grammar has them: ``seed=range(0,5)``. Raises as ``compose``.

    >>> combinations(["seed=1,2", "grpo.beta=0.0"])
    [['seed=1', 'grpo.beta=0.0'], ['seed=2', 'grpo.beta=0.0']]
    """
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.errors import HydraException

    composer = _Composer(project or Project())
    parsed = composer.checked(overrides, sweep=True)
    try:
        runs: list[list[str]] = BasicSweeper.split_arguments(composer.parse(parsed), max_batch_size=None)[0]
    except HydraException as error:
        raise InputError(one_line(error)) from error
    for run in runs:
        composer.config(run)
    return runs


def options(project: Project | None = None) -> dict[str, list[str]]:
    """The groups there are and their options, the project's own among them.

    >>> options()["scheduler"]
    ['warmup_cosine']
    """
    return _Composer(project or Project()).groups


def to_yaml(config: Config, *, redacted: bool = False) -> str:
    """The configuration as YAML, all keys, which ``read`` reads back; on request without secrets."""
    from omegaconf import OmegaConf

    whole = OmegaConf.structured(config)
    if redacted:
        whole = OmegaConf.create(redacted_value(OmegaConf.to_container(whole, resolve=True)))
    text: str = OmegaConf.to_yaml(whole, resolve=True)
    return text


def read(path: Path) -> Config:
    """The configuration that ``to_yaml`` wrote. Raises InputError where the file holds none."""
    omegaconf = _hydra_there()
    try:
        merged = omegaconf.OmegaConf.merge(
            omegaconf.OmegaConf.structured(Config), omegaconf.OmegaConf.load(path)
        )
        config = omegaconf.OmegaConf.to_object(merged)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except Exception as error:  # YAML's and OmegaConf's errors have no common root
        raise InputError(f"{path} holds no configuration: {in_words(error, KEYS)}") from error
    assert isinstance(config, Config)
    return config


def _hydra_there() -> Any:
    try:
        import hydra  # noqa: F401
        import omegaconf
    except ImportError:
        raise MissingExtraError.of("train,trl", "guerdon train") from None
    return omegaconf


def _keys(cls: type, prefix: str = "") -> dict[str, Any]:
    """Every key with its type, groups included."""
    found: dict[str, Any] = {}
    hints = get_type_hints(cls)
    for part in fields(cls):
        found[prefix + part.name] = hints[part.name]
        if is_dataclass(hints[part.name]):
            found.update(_keys(hints[part.name], f"{prefix}{part.name}."))
    return found


KEYS: Mapping[str, Any] = _keys(Config)
"""Every key of a configuration with its type."""


def _is_open(key: str) -> bool:
    """Whether a key is, or lies below, one that holds whatever keys it is given."""
    up = itertools.accumulate(key.split("."), lambda a, b: f"{a}.{b}")
    return any(get_origin(KEYS.get(one)) is dict for one in up)


class _Composer:
    """Hydra's loader over our folder and the project's."""

    def __init__(self, project: Project) -> None:
        _hydra_there()
        from hydra import version
        from hydra.core.utils import setup_globals

        if version.getbase() is None:  # else the Hydra program that runs this has set it
            version.setbase("1.3")
        setup_globals()
        self.folder = project.found()
        main = project.main()
        self.loader = self._loader(None if main is None else read_main(main))

    def _loader(self, main: MainFile | None) -> ConfigLoaderImpl:
        from hydra._internal.config_loader_impl import ConfigLoaderImpl
        from hydra._internal.utils import create_config_search_path
        from hydra.core.config_search_path import SearchPathQuery
        from hydra.core.config_store import ConfigStore

        # Between Hydra's own and the structured ones, what comes first wins.
        places = [("guerdon", f"file://{OURS}")]
        defaults: list[Any] = [_SCHEMA, "_self_"]
        defaults += [
            {name: chosen} for name, chosen in DEFAULTS.items() if not main or name not in main.groups
        ]
        if self.folder is not None:
            places.insert(0, ("project", address_of(self.folder)))
        if main is not None:
            places[1:1] = [("hydra.searchpath", place) for place in main.searchpath]
            defaults.append(main.name)
        path = create_config_search_path(None)
        for provider, place in places:
            path.prepend(provider, place, anchor=SearchPathQuery(provider="schema"))
        store = ConfigStore.instance()
        store.store(_SCHEMA, Config)
        store.store(_PRIMARY, {"defaults": defaults, "hydra": {"run": {"dir": ""}}})
        return ConfigLoaderImpl(path)

    @functools.cached_property
    def groups(self) -> dict[str, list[str]]:
        from hydra.core.object_type import ObjectType

        files = self.loader.repository
        names = [name for name in files.get_group_options("", ObjectType.GROUP) if name != "hydra"]
        found = {name: files.get_group_options(name) for name in names}
        return {name: options for name, options in found.items() if options}

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """What the overrides mean in Hydra's grammar. Raises InputError where one means nothing."""
        from hydra.core.override_parser.overrides_parser import OverridesParser
        from hydra.errors import HydraException

        parser = OverridesParser.create(config_loader=self.loader)
        parsed = []
        for override in overrides:
            try:
                parsed += parser.parse_overrides([override])
            except HydraException as error:
                raise InputError(_unreadable(override, error)) from error
        return parsed

    def checked(self, overrides: Sequence[str], *, sweep: bool = False) -> list[str]:
        """The overrides, once every key and option is known to be there."""
        checked = []
        for text, override in zip(overrides, self.parse(overrides), strict=True):
            self._check(override)
            if override.is_sweep_override() and not sweep:
                raise InputError(
                    f"{text} has several values: --multirun does a run for each; a list is written "
                    f"{override.key_or_group}=[…], text with a comma in quotes"
                )
            checked.append(text if override.is_delete() else _prefix(override) + text.lstrip("+"))
        return checked

    def _check(self, override: Override) -> None:
        key = override.key_or_group
        if override.is_hydra_override():
            return
        if key in self.groups:
            values = override.value() if not override.is_sweep_override() else None
            chosen = values if isinstance(values, list) else [values]
            for option in chosen:
                if isinstance(option, str) and option not in self.groups[key]:
                    raise InputError(_no_such_option(key, option, self.groups[key]))
            return
        if key not in KEYS and not _is_open(key):
            raise InputError(no_such_key(key, KEYS, self.groups))
        if override.is_delete():
            raise InputError(f"~{key} removes a key, and a configuration needs all keys; set it: {key}=…")

    def config(self, overrides: Sequence[str]) -> Config:
        """The configuration; raises InputError for what is wrong with it."""
        from hydra.types import RunMode
        from omegaconf import OmegaConf, open_dict

        try:
            composed = self.loader.load_configuration(
                _PRIMARY, list(overrides), RunMode.RUN, from_shell=False
            )
            folder = composed.hydra.run.dir
            with open_dict(composed):
                del composed["hydra"]
            config = OmegaConf.to_object(composed)
        except Exception as error:  # Hydra's, OmegaConf's and YAML's errors have no common root
            raise InputError(in_words(error, KEYS, self.groups, self.folder)) from error
        assert isinstance(config, Config)
        if config.run_dir is None and folder:
            config.run_dir = folder
        check(config)
        return config


def _prefix(override: Override) -> str:
    """The sign that Hydra wants before an override: it separates existing keys from new ones."""
    if override.key_or_group == "experiment":
        return "+"
    if override.key_or_group in DEFAULTS:
        return ""
    if _is_open(override.key_or_group):
        return "++"
    return "++" if override.is_force_add() else "+" if override.is_add() else ""


def _no_such_option(group: str, option: str, there: Sequence[str]) -> str:
    if group == "model" and ("/" in option or Path(option).exists()):
        return (
            f"there is no model={option}; a Hugging Face id or a folder is written "
            f"model=huggingface model.path={option}"
        )
    return f"there is no {group}={option}{nearest(option, there)}"


def _unreadable(override: str, error: Exception) -> str:
    if override.startswith("-"):
        return f"there is no option {override}; see: guerdon train --help"
    if "=" not in override and not override.startswith("~"):
        return f"{override!r} is not of the form key=value, such as seed=1 or model=tiny"
    key, _, value = override.partition("=")
    return f"{key}: {value!r} cannot be read; a value with signs such as = or , goes in quotes: \"{key}='…'\""

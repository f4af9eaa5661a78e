"""Datasets of the Hugging Face hub; needs the package datasets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from guerdon.data.arrow_rows import optional, table_rows
from guerdon.data.files import ReadContext, ReadRow
from guerdon.errors import InputError, RewardError

_ID = re.compile(r"(?P<id>[A-Za-z0-9][\w.-]*/[\w.-]+)(?::(?P<config>[\w.-]+))?")


def is_hub_id(source: str) -> bool:
    """Whether text has the form of a dataset's id, ``owner/name`` or ``owner/name:configuration``.

    >>> is_hub_id("openai/gsm8k"), is_hub_id("openai/gsm8k:main"), is_hub_id("./a/b")
    (True, True, False)
    """
    return _ID.fullmatch(source) is not None


class HubSource:
    """One split of a dataset of the hub, downloaded to the cache of ``datasets`` and read from there.

    Raises InputError if it cannot be had or has several configurations or splits and none is named,
    MissingExtraError without the package.
    """

    def __init__(self, source: str, split: str | None) -> None:
        self.name = source
        self._dataset = _load(source, split)
        self.size: int = self._dataset.num_rows

    def rows(self, context: ReadContext) -> Iterator[ReadRow]:
        """The rows of the split."""
        plain = self._dataset.with_format("arrow")
        batches = plain.iter(batch_size=512)
        yield from table_rows(batches, self._dataset.features.arrow_schema, context, scale=1)


def _load(source: str, split: str | None) -> Any:
    datasets = optional("datasets", f'the Hugging Face dataset "{source}" (there is no such file or folder)')
    match = _ID.fullmatch(source)
    if match is None:
        raise InputError(f"{source} is not the id of a Hugging Face dataset, which is written owner/name")
    name, config = match["id"], match["config"]
    try:
        if config is None and len(configs := datasets.get_dataset_config_names(name)) > 1:
            raise InputError(
                f"{name} has several configurations; choose one: {_choices(name + ':', configs)}"
            )
        if split is None:
            splits = datasets.get_dataset_split_names(name, config)
            if len(splits) > 1:
                raise InputError(f"{source} has several splits; choose one: {_choices('--split ', splits)}")
            split = splits[0]
        return datasets.load_dataset(name, config, split=split)
    except RewardError:
        raise
    except Exception as error:  # what the network, the hub and datasets raise has no common root
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(
            f"{source} is neither a local file or folder nor available from the Hugging Face hub: {reason}"
        ) from error


def _choices(prefix: str, names: list[str]) -> str:
    more = ", …" if len(names) > 8 else ""
    return ", ".join(prefix + name for name in names[:8]) + more

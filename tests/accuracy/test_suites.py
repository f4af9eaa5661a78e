"""The suites that ship: found by name, with cases that can be told apart and rewards that are there."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import guerdon
from guerdon.accuracy.discovery import absent_files, choose, data_folder, find_suites
from guerdon.accuracy.suite import Suite
from guerdon.accuracy.verifier import digest_of_cases, slug
from guerdon.errors import InputError
from guerdon.types import Sample

SUITES = {suite.name: suite for suite in find_suites()}


@pytest.mark.parametrize("name", sorted(SUITES))
def test_a_suite(name: str, data_dir: Path) -> None:
    suite = SUITES[name]
    assert slug(name) == name, "it is also the name of a folder"
    assert suite.title
    assert absent_files(suite, data_dir) == []
    for given in suite.catalogue:
        assert guerdon.get_reward_function(given.reward, **given.parameters).name
    for external in suite.external:
        assert pickle.loads(pickle.dumps(external.verdict)) is external.verdict
    cases = list(suite.cases(data_dir))
    assert cases
    assert len({case.id for case in cases}) == len(cases)
    assert all(isinstance(case.right, bool) for case in cases)
    assert digest_of_cases(cases) == digest_of_cases(list(suite.cases(data_dir)))
    assert all(Sample.from_row(case.row).messages for case in cases[:200])


def suite(name: str) -> Suite:
    return Suite(name, name, (), lambda folder: [], ())


def test_names_are_unique() -> None:
    assert len(SUITES) == len(find_suites())


def test_choosing() -> None:
    three = [suite(name) for name in ("one", "two", "three")]
    assert choose([], three) == three
    assert [s.name for s in choose(["three", "one", "three"], three)] == ["three", "one"]
    with pytest.raises(InputError, match="there is no suite 'thre'; did you mean three"):
        choose(["thre"], three)
    with pytest.raises(InputError, match="there is no suite 'x'; there are one, two, three"):
        choose(["x"], three)


def test_where_the_data_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.delenv("GUERDON_DATA", raising=False)
    assert data_folder().resolve() == (tmp_path / "shared" / "data").resolve()
    monkeypatch.setenv("GUERDON_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder(tmp_path / "project") == tmp_path / "project"
    monkeypatch.setenv("GUERDON_DATA", str(tmp_path / "gone"))
    with pytest.raises(
        InputError, match=r"no folder of labelled data at .*gone: set GUERDON_DATA .* --data DIR"
    ):
        data_folder()

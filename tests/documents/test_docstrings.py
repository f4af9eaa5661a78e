"""Every example in a docstring of the package runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import types
from pathlib import Path

import pytest

import guerdon
from guerdon.errors import MissingExtraError

PACKAGE = Path(guerdon.__file__).parent


def module_names() -> list[str]:
    """Every module of the package but ``__main__``, which runs when it is imported."""
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("guerdon", *path.relative_to(PACKAGE).with_suffix("").parts)
        if parts[-1] != "__main__":
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def examples(module: types.ModuleType) -> list[doctest.DocTest]:
    """The examples of a module, also those of objects that stand where a function stood, as rewards do."""
    found = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    names = {test.name for test in found}
    for name, value in vars(module).items():
        text = getattr(value, "__dict__", {}).get("__doc__")
        own = getattr(value, "__module__", None) == module.__name__
        where = f"{module.__name__}.{name}"
        if own and isinstance(text, str) and not inspect.isclass(value) and where not in names:
            test = doctest.DocTestParser().get_doctest(text, vars(module).copy(), where, module.__file__, 0)
            found += [test] if test.examples else []
    return found


class _Runner(doctest.DocTestRunner):
    """Notes an absent extra, which is no fault of the example's."""

    absent: str | None = None

    def report_unexpected_exception(self, out, test, example, exc_info):  # type: ignore[no-untyped-def]
        if isinstance(exc_info[1], MissingExtraError):
            self.absent = str(exc_info[1])
        super().report_unexpected_exception(out, test, example, exc_info)


def run(module: types.ModuleType) -> None:
    """Runs the examples of a module; fails with what they printed, skips where an extra is absent."""
    absent = None
    for test in examples(module):
        output = io.StringIO()
        runner = _Runner(optionflags=doctest.ELLIPSIS, verbose=False)
        failed = runner.run(test, out=output.write).failed
        absent = absent or runner.absent
        if failed and not runner.absent:
            pytest.fail(f"{test.name}: an example is wrong\n{output.getvalue()}", pytrace=False)
    if absent:
        pytest.skip(f"an extra is absent: {absent}")


# Its examples make a model and need PyTorch.
TORCH = "guerdon.train.backends.tiny"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.torch if name == TORCH else ()) for name in module_names()],
)
def test_the_examples_of_a_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except MissingExtraError as error:
        pytest.skip(f"an extra is absent: {error}")
    run(module)


def module_of(source: str) -> types.ModuleType:
    module = types.ModuleType("sample")
    module.__file__ = "sample.py"
    exec(source, vars(module))
    return module


RIGHT = 'def f():\n    """A\n\n    >>> f()\n    1\n    """\n    return 1\n'
WRAPPED = (
    f"class Reward:\n    pass\n{RIGHT}r = Reward()\nr.__doc__, r.__module__ = f.__doc__, __name__\ndel f\n"
)
ABSENT = (
    "from guerdon.errors import MissingExtraError\n"
    'def f():\n    """A\n\n    >>> f()\n    1\n    """\n    raise MissingExtraError.of("x", "f")\n'
)


def test_examples_are_found_in_functions_and_in_what_replaces_them() -> None:
    assert [test.name for test in examples(module_of(RIGHT))] == ["sample.f"]
    assert [test.name for test in examples(module_of(WRAPPED))] == ["sample.r"]


def test_a_wrong_example_fails_and_an_absent_extra_skips() -> None:
    run(module_of(RIGHT))
    with pytest.raises(pytest.fail.Exception, match="Expected:\n    1\nGot:\n    2"):
        run(module_of(RIGHT.replace("return 1", "return 2")))
    with pytest.raises(pytest.skip.Exception, match=r"guerdon\[x\]"):
        run(module_of(ABSENT))


def test_the_package_has_modules() -> None:
    assert {"guerdon", "guerdon.types", "guerdon.cli"} <= set(module_names())

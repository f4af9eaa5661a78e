"""The forms in which the field's data sets keep the tests of a programming problem."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.code.asserts import assert_suite, assertion_tests
from guerdon.rewards.code.private import decompressed
from guerdon.rewards.code.suite import SampleTests, joined
from guerdon.rewards.code.values import (
    call_test,
    list_of,
    loaded,
    mapping_of,
    megabytes,
    numbered,
    pairs,
    plain,
    seconds,
    stdin_test,
    text_of,
)
from guerdon.rewards.common.parameters import shown
from guerdon.sandbox.grading.cases import AssertTest, CallTest, StdinTest, Test

Row = Mapping[str, Any]
_APPS_SECONDS, _LIVE_SECONDS, _PRIME_SECONDS = 4.0, 6.0, 5.0
_INPUTS = ("input", "stdin", "inputs")
_OUTPUTS = ("output", "expected", "expected_output", "stdout", "outputs")
_FUNCTIONS = ("fn_name", "function", "func_name", "function_name")


def suite_of(row: Row, stub: str = "") -> SampleTests | None:
    """The tests in a row's columns, in the first form that they fit; None where there are none.

    ``stub`` is the code in the prompt. Raises InputError that says what is malformed.

    >>> suite_of({"inputs": ["1 2"], "outputs": ["3"]}).tests
    (StdinTest(stdin='1 2', expected='3'),)
    """
    for names, read in _FORMS:
        if any(row.get(name) is not None for name in names):
            return _checked(read(row, stub))
    return None


def suite_in(value: Any, row: Row, stub: str = "", what: str = "tests") -> SampleTests:
    """The tests in one value: a list, an object in one of the forms, or JSON or assertions in text.

    ``row`` holds what may stand beside it, such as the ``entry_point``. Raises InputError.
    """
    value = plain(value)
    if isinstance(value, str):
        value = _read(value, what)
    if isinstance(value, str):
        return _checked(assert_suite({**row, "test": value}, stub))
    if isinstance(value, Mapping):
        found = suite_of({**_beside(row), **value}, stub)
        if found is None and any(value.get(name) is not None for name in _INPUTS):
            return _checked(_listed([value], row, stub, what))
        if found is None:
            keys = ", ".join(sorted(map(str, value))[:12]) or "none"
            raise InputError(f"{what} is an object in no known form (its keys: {keys}); see docs/code.md")
        return found
    return _checked(_listed(list_of(value, what), row, stub, what))


def _beside(row: Row) -> Row:
    """What of a row may hold for tests that are given as a value of their own."""
    names = ("entry_point", "language", "time_limit", "memory_limit", "memory_limit_bytes", *_FUNCTIONS)
    return {name: row[name] for name in names if row.get(name) is not None}


def _read(text: str, what: str) -> Any:
    """JSON in a text, or the text itself where it is Python."""
    if text.lstrip()[:1] in ("{", "["):
        return loaded(text, what)
    if "assert" in text or "def check" in text:
        return text
    raise InputError(f"{what} must be a list of tests, JSON, or Python with assertions, not {shown(text)}")


def _checked(suite: SampleTests) -> SampleTests:
    if not suite.tests:
        raise InputError(f"there are no tests (form {suite.form}); leave the row out")
    return suite


def _live(row: Row, _: str) -> SampleTests:
    """LiveCodeBench."""
    about = row
    if isinstance(row.get("metadata"), str):  # a column of JSON, as the data set has it
        about = {**row, **mapping_of(loaded(row["metadata"], "metadata"), "metadata")}
    function = about.get("func_name") or None
    found: list[SampleTests] = []
    for name in ("public_test_cases", "private_test_cases"):
        value = plain(row.get(name))
        if isinstance(value, str):
            found.append(_live_text(value, function, name))
        elif value is not None:
            found.append(_live_cases(list_of(value, name), function, name))
    return joined(found)


@functools.lru_cache(maxsize=4)
def _live_text(text: str, function: str | None, what: str) -> SampleTests:
    """Tests in text. The private ones may have many MiB, and all completions of a prompt ask for the same."""
    if text.lstrip()[:1] not in ("[", ""):
        text = decompressed(text)
    return _live_cases(list_of(loaded(text or "[]", what), what), function, what)


def _live_cases(cases: Sequence[Any], function: str | None, what: str) -> SampleTests:
    tests: list[Test] = []
    for i, item in enumerate(cases):
        here = f"{what}[{i}]"
        case = mapping_of(item, here)
        if not {"input", "output"} <= set(case):
            raise InputError(f"{here} must have input and output; its keys: {_keys(case)}")
        kind = case.get("testtype", "functional" if function else "stdin")
        if kind not in ("stdin", "functional"):
            raise InputError(f"{here} has the testtype {shown(kind)}, not stdin or functional")
        if kind == "functional" and not function:
            raise InputError(f"{here} is functional, and metadata has no func_name")
        if kind == "functional":
            tests.append(call_test(str(function), case["input"], case["output"], here))
        else:
            tests.append(stdin_test(case["input"], case["output"], here))
    return SampleTests(
        form="livecodebench",
        tests=tuple(tests),
        entry_point=function,
        lends_imports=True,
        tuples_as_lists=True,
        cpu_s=_LIVE_SECONDS,
    )


def _apps(row: Row, _: str) -> SampleTests:
    """APPS, TACO and Reward Kit's sample of APPS: a JSON text of inputs and outputs."""
    cases = mapping_of(loaded(row["input_output"], "input_output"), "input_output")
    return _columns(cases, row, "apps", "input_output", _APPS_SECONDS)


def _prime(row: Row, _: str) -> SampleTests:
    """verl's prime_code, NeMo Gym's unit_tests: an object of inputs and outputs."""
    return _columns(row, row, "prime", "tests", _PRIME_SECONDS)


def _columns(cases: Row, row: Row, form: str, what: str, cpu_s: float) -> SampleTests:
    for name in ("inputs", "outputs"):
        if cases.get(name) is None:
            raise InputError(f"{what} has no {name}; its keys: {_keys(cases)}")
    found = pairs(cases["inputs"], cases["outputs"], what)
    function = _function(cases)
    limits = _limits(row)
    if function is None:
        tests = tuple(stdin_test(given, wanted, f"{what}[{i}]") for i, (given, wanted) in enumerate(found))
        return SampleTests(form=form, tests=tests, compare="tokens", cpu_s=cpu_s, **limits)
    calls = [call_test(function, given, wanted, f"{what}[{i}]") for i, (given, wanted) in enumerate(found)]
    calls = [_with_numbers(call) for call in calls]
    # Part of APPS has each output in a list of one, and nothing says in which rows.
    wrapped = all(isinstance(call.expected, list) and len(call.expected) == 1 for call in calls)
    other = tuple(_expecting(call, numbered(call.expected[0])) for call in calls) if wrapped else ()
    return SampleTests(
        form=form,
        tests=tuple(calls),
        other=other,
        entry_point=function,
        lends_imports=True,
        tuples_as_lists=True,
        cpu_s=cpu_s,
        **limits,
    )


def _with_numbers(call: CallTest) -> CallTest:
    arguments = [numbered(argument) for argument in call.arguments]
    return CallTest(call.function, arguments, call.keyword_arguments, numbered(call.expected))


def _expecting(call: CallTest, expected: Any) -> CallTest:
    return CallTest(call.function, call.arguments, call.keyword_arguments, expected)


def _function(cases: Row) -> str | None:
    name = next((plain(cases[key]) for key in _FUNCTIONS if cases.get(key)), None)
    return None if name is None else text_of(name, "the function's name")


def _codeforces(row: Row, _: str) -> SampleTests:
    """Problems as in open-r1/codeforces: official tests, a checker, limits."""
    if row.get("input_mode", "stdio") not in ("stdio", None):
        raise InputError(f"input_mode is {shown(row['input_mode'])}; only stdio is run, so leave the row out")
    if row.get("interaction_format"):
        raise InputError("the problem is interactive (interaction_format); leave the row out")
    tests: list[StdinTest] = []
    for name in ("official_tests", "generated_tests"):
        value = plain(row.get(name))
        if name == "generated_tests" and not isinstance(value, list):
            continue  # in part of the versions, their number
        for i, item in enumerate(list_of(loaded(value, name), name)):
            case = mapping_of(item, f"{name}[{i}]")
            if not {"input", "output"} <= set(case):
                raise InputError(f"{name}[{i}] must have input and output; its keys: {_keys(case)}")
            tests.append(stdin_test(case["input"], case["output"], f"{name}[{i}]"))
    checker = plain(row.get("generated_checker")) or None
    checker = None if checker is None else text_of(checker, "generated_checker")
    return SampleTests(
        form="codeforces", tests=tuple(tests), compare="tokens", checker=checker, **_limits(row)
    )


def _contests(row: Row, _: str) -> SampleTests:
    """CodeContests: objects of a list of inputs and a list of outputs."""
    tests: list[Test] = []
    for name in ("public_tests", "private_tests", "generated_tests"):
        if row.get(name) is None:
            continue
        cases = mapping_of(loaded(row[name], name), name)
        if not {"input", "output"} <= set(cases):
            raise InputError(f"{name} must have input and output; its keys: {_keys(cases)}")
        for i, (given, wanted) in enumerate(pairs(cases["input"], cases["output"], name)):
            tests.append(stdin_test(given, wanted, f"{name}[{i}]"))
    return SampleTests(form="codecontests", tests=tuple(tests), compare="tokens", **_limits(row))


def _limits(row: Row) -> dict[str, Any]:
    """The limits that a problem states."""
    memory = megabytes(row.get("memory_limit"), "memory_limit")
    if memory is None and row.get("memory_limit_bytes"):
        memory = int(row["memory_limit_bytes"]) >> 20 or None
    return {"time_limit_s": seconds(row.get("time_limit"), "time_limit"), "memory_mb": memory}


def _verification(row: Row, stub: str) -> SampleTests:
    """``verification_info`` as in open-r1/verifiable-coding-problems-python: a language and test cases."""
    info = mapping_of(loaded(row["verification_info"], "verification_info"), "verification_info")
    if info.get("test_cases") is None:
        raise InputError(f"verification_info has no test_cases; its keys: {_keys(info)}")
    return suite_in(info["test_cases"], {**row, **info}, stub, "verification_info.test_cases")


def _named(row: Row, stub: str) -> SampleTests:
    name = next(name for name in ("tests", "test_cases", "unit_tests") if row.get(name) is not None)
    rest = {key: value for key, value in row.items() if key != name}
    return suite_in(row[name], rest, stub, name)


_FORMS: Sequence[tuple[tuple[str, ...], Callable[[Row, str], SampleTests]]] = (
    (("official_tests",), _codeforces),
    (("public_test_cases", "private_test_cases"), _live),
    (("input_output",), _apps),
    (("public_tests", "private_tests"), _contests),
    (("verification_info",), _verification),
    (("test_list", "test"), assert_suite),
    (("tests", "test_cases", "unit_tests"), _named),
    (("inputs", "outputs"), _prime),
)
"""The columns that tell a form, in the order in which they are looked for, and what reads it."""


def _listed(items: Sequence[Any], row: Row, stub: str, what: str) -> SampleTests:
    """A list of tests: assertions in text, objects, or a sandbox's own tests."""
    items = [plain(item) for item in items]
    if items and all(isinstance(item, str) for item in items):
        return assertion_tests(items, row, stub)
    tests: list[Test] = []
    weights: list[float] = []
    for i, item in enumerate(items):
        here = f"{what}[{i}]"
        if isinstance(item, StdinTest | CallTest | AssertTest):
            tests.append(item)
            continue
        case = mapping_of(item, here)
        tests.append(_case(case, _function(row), here))
        if case.get("weight") is not None:
            weights.append(case["weight"])
    if weights and len(weights) != len(tests):
        raise InputError(f"{what} gives a weight to {len(weights)} of {len(tests)} tests; give one to each")
    language = row.get("language")
    calls = [test.function for test in tests if isinstance(test, CallTest)]
    named = [test.entry_point for test in tests if isinstance(test, AssertTest)]
    return SampleTests(
        form="list",
        tests=tuple(tests),
        weights=tuple(weights),
        entry_point=next(iter([*calls, *filter(None, named)]), None),
        tuples_as_lists=not any(isinstance(item, CallTest) for item in items),
        language=None if language is None else text_of(language, "language"),
        **_limits(row),
    )


def _case(case: Row, function: str | None, what: str) -> Test:
    """One test of a list."""
    code = next((case[key] for key in ("code", "assert", "assertion") if case.get(key) is not None), None)
    if code is not None:
        name = case.get("entry_point") or None
        return AssertTest(text_of(code, f"{what}: the code"), name, text_of(case.get("setup", ""), what))
    kind = str(case.get("type") or case.get("testtype") or "")
    own = _function(case) or (None if kind.startswith("std") else function)
    given = _first(case, (*_INPUTS, *(("arguments", "args") if own else ())), what)
    wanted = _first(case, _OUTPUTS, what)
    if own is None:
        return stdin_test(given, wanted, what)
    keywords = case.get("keyword_arguments") or case.get("kwargs") or {}
    if "arguments" in case or "args" in case:  # values as they are, no JSON in text
        return CallTest(own, list_of(given, what), dict(mapping_of(keywords, what)), plain(wanted))
    return call_test(own, given, wanted, what)


def _first(case: Row, names: Sequence[str], what: str) -> Any:
    name = next((name for name in names if case.get(name) is not None), None)
    if name is None and (null := next((name for name in names if name in case), None)) is not None:
        return case[null]
    if name is None:
        raise InputError(f"{what} has none of {', '.join(names)}; its keys: {_keys(case)}")
    return case[name]


def _keys(row: Row) -> str:
    return json.dumps(sorted(map(str, row))[:12], ensure_ascii=True)[1:-1].replace('"', "") or "none"

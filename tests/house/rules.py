"""The rules of the house, read from the source: sizes, names, and tests that mirror modules.

``python tests/house/rules.py [PART-OF-A-PATH]`` prints what breaks them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import guerdon

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "guerdon"
TESTS = ROOT / "tests"

MODULE_LINES = 400
FUNCTION_LINES = 50
CLASS_LINES = 250
PARAMETERS = 10

# A function under one of these is called by name only, with the parameters that its users configure.
CONFIGURED = {"reward_function", "composition_factory", "command", "option"}

# Words of our own where the field has a word: as a name, or as a part of one.
BANNED_PARTS = {
    "bury", "desk", "flights", "freight", "hire", "hired", "parked", "resigned", "seam", "seams", "servant", "servants",
    "spoken", "stall", "told",
}  # fmt: skip
BANNED_CLASSES = {
    "Flight", "Resident", "RewardResident", "Wanted",
    "About", "Adapted", "Against", "Ahead", "Asked", "Asking", "Dialogue", "Ending", "Exchange", "Explicit", "Form",
    "Front", "Gate", "Gauge", "Generation", "Lane", "LinkHost", "LinkPeer", "Manner", "Matter", "Memory", "Ours",
    "Party", "Peer", "Post", "Pump", "Rated", "Recipe", "Recorded", "RunningServer", "Served", "Slot", "Standing",
    "Station", "Tally", "Teller", "Ticket", "Watch", "Work", "Writing",
}  # fmt: skip
BANNED_FUNCTIONS = {
    "adopt", "bound", "careful", "collect_less", "ends_itself", "fast_loop", "fly", "is_awaited",
    "is_elsewhere", "made", "named", "overran", "picture", "read_only", "right_paid", "right_refused", "serve_here",
    "taken_down", "wrong_paid", "wrong_refused",
}  # fmt: skip
BANNED_MODULES = {
    "about", "adapted", "adopted", "adopting", "ahead", "artefacts", "beside", "completing", "front", "gate", "golds",
    "hostile", "job", "keeper", "lane", "link", "manner", "material", "matter", "order", "outbound", "peer", "pieces",
    "preparing", "pump", "recipe", "recorded", "rivals", "rubrics", "running", "sanity", "standing", "stance",
    "surroundings", "tally", "targets", "thin", "travel", "trials", "ways", "wire", "withdrawn", "workplaces", "wrongs",
}  # fmt: skip

# Folders of tests that belong to no folder of the package.
BESIDE_MODULES = {"documents", "end_to_end", "fuzz", "house", "interop"}


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """Each module of the package with its syntax tree."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path, line: int = 0) -> str:
    """A path as a reader of a report can open it."""
    shown = path.relative_to(ROOT).as_posix()
    return f"{shown}:{line}" if line else shown


def size(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """The lines of a definition, docstrings and decorators left out."""
    lines = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for inner in ast.walk(node):
        for child in ast.iter_child_nodes(inner):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                lines -= set(range(child.lineno, (child.end_lineno or child.lineno) + 1))
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and inner is not node:
            for decorator in inner.decorator_list:
                lines -= set(range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1))
    return len(lines)


def too_large() -> Iterator[str]:
    """Modules, functions and classes over their lines."""
    for path, tree in modules():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MODULE_LINES:
            yield f"{place(path)}: {lines} lines, {MODULE_LINES} at most"
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                limit = CLASS_LINES if isinstance(node, ast.ClassDef) else FUNCTION_LINES
                if (lines := size(node)) > limit:
                    yield f"{place(path, node.lineno)}: {node.name} has {lines} lines, {limit} at most"


def too_many_parameters() -> Iterator[str]:
    """Functions with more parameters than a reader can hold.

    Rewards, commands and the functions of ``guerdon`` itself are called by keyword, as their users configure them.
    """
    for path, tree in modules():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name in guerdon.__all__ or any(_name_of(d) in CONFIGURED for d in node.decorator_list):
                continue
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = sum(parameter.arg not in ("self", "cls") for parameter in given)
            if count > PARAMETERS:
                yield f"{place(path, node.lineno)}: {node.name} has {count} parameters, {PARAMETERS} at most"


def _name_of(decorator: ast.expr) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (
        target.attr
        if isinstance(target, ast.Attribute)
        else target.id
        if isinstance(target, ast.Name)
        else ""
    )


def repeated_classes() -> Iterator[str]:
    """Class names that stand more than once in the package."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(place(path, node.lineno))
    for name, places in sorted(found.items()):
        if len(places) > 1:
            yield f"{name}: {', '.join(places)}"


def words(name: str) -> list[str]:
    """The words that an identifier is made of.

    >>> words("_ServeWorker"), words("spawn_worker")
    (['serve', 'worker'], ['spawn', 'worker'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def banned_names() -> Iterator[str]:
    """Identifiers that a newcomer would not guess."""
    for path, tree in modules():
        if path.stem in BANNED_MODULES or set(words(path.stem)) & BANNED_PARTS:
            yield f"{place(path)}: the module's name"
        for node in ast.walk(tree):
            for kind, name, line in _identifiers(node):
                # A type variable or an alias of a type is called like a class.
                if kind == "variable" and _is_class_name(name):
                    kind = "class"
                bare = name.lstrip("_") if kind == "class" else name
                banned = BANNED_CLASSES if kind == "class" else BANNED_FUNCTIONS
                if kind not in ("class", "function"):
                    banned = banned - {"bound", "made", "named", "picture"}
                if bare in banned or set(words(name)) & BANNED_PARTS:
                    yield f"{place(path, line)}: {kind} {name}"


def _is_class_name(name: str) -> bool:
    """Whether a variable is called like a class, ``EncodedResponse`` unlike ``_PART_SECONDS``."""
    return re.match(r"_?[A-Z][A-Za-z0-9]*[a-z]", name) is not None


def _identifiers(node: ast.AST) -> Iterator[tuple[str, str, int]]:
    if isinstance(node, ast.ClassDef):
        yield "class", node.name, node.lineno
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield "function", node.name, node.lineno
    elif isinstance(node, ast.arg):
        yield "parameter", node.arg, node.lineno
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield "variable", node.id, node.lineno
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield "attribute", node.attr, node.lineno


def tests_out_of_place() -> Iterator[str]:
    """Tests that mirror no module: ``tests/a/test_b_more.py`` stands for ``a/b.py`` or ``a/b/``."""
    for path in sorted(TESTS.rglob("test_*.py")):
        folder = path.parent.relative_to(TESTS)
        if folder.parts and folder.parts[0] in BESIDE_MODULES:
            continue
        source = PACKAGE / folder
        if not source.is_dir():
            yield f"{place(path)}: there is no {place(source)}"
            continue
        names = {entry.stem.lstrip("_") for entry in source.iterdir()} | {folder.name or "guerdon"}
        tested = path.stem.removeprefix("test_")
        if not any(tested == name or tested.startswith(f"{name}_") for name in names if name):
            yield f"{place(path)}: no module of {place(source)} is called {tested} or begins that name"


Rule = Callable[[], Iterator[str]]
RULES: tuple[Rule, ...] = (too_large, too_many_parameters, repeated_classes, banned_names, tests_out_of_place)

if __name__ == "__main__":
    for rule in RULES:
        for line in rule():
            if all(part in line for part in sys.argv[1:]):
                print(f"{rule.__name__}: {line}")

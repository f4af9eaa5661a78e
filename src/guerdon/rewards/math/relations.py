"""Whether relations are equal: equations, inequalities, chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from guerdon.rewards.math.expressions import is_name
from guerdon.rewards.math.normal_form import (
    ONE,
    NormalForm,
    UnknownError,
    atoms,
    minus,
    negative,
    symbol,
    variables,
)
from guerdon.rewards.math.quantities import (
    STRICT,
    Rules,
    every,
    proportional,
)
from guerdon.rewards.math.values import (
    Collection,
    Interval,
    Quantity,
    Relation,
    Value,
    Word,
)

Same = Callable[[Value, Value, Rules], "bool | None"]
"""How any two values are compared."""


_CHAIN = frozenset({"=", "≈"})
_LESS, _MORE = frozenset({"<", "<="}), frozenset({">", ">="})
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def equal_relations(same: Same, mine: Value, gold: Value, rules: Rules) -> bool | None:
    mine, gold = _member(mine), _member(gold)
    if not isinstance(gold, Relation):
        return _equal_to_value(same, mine, gold, rules)
    if isinstance(mine, Relation):
        return _equal_as_relations(same, mine, gold, rules)
    if set(gold.signs) == {"="} and len(gold.sides) == 2:
        named = _assigned(gold)
        return False if named is None else same(mine, named[1], rules)
    return same(mine, solved, rules) if (solved := solutions(gold)) is not None else False


def _member(value: Value) -> Value:
    """x ∈ S stands for S."""
    if isinstance(value, Relation) and value.signs == ("∈",):
        return value.sides[1]
    return value


def is_named(value: Value) -> bool:
    return isinstance(value, Word) or (isinstance(value, Quantity) and is_name(value.form))


def spelled(value: Value) -> str | None:
    """The name that one side of an assignment is, where it is a variable."""
    if not isinstance(value, Quantity) or not is_name(value.form):
        return None
    name = next(iter(variables(value.form)), None)
    return name if name is not None and value.form.key() == symbol(name).key() else None


def _assigned(relation: Relation) -> tuple[Value, Value] | None:
    """Name and value of what a relation such as x = 7 or 7 = x assigns."""
    first, last = relation.sides[0], relation.sides[-1]
    if is_named(first) and not (
        is_named(last) and not isinstance(last, Word) and not isinstance(first, Word)
    ):
        return first, last
    if is_named(last) and not is_named(first):
        return last, first
    return (first, last) if is_named(first) else None


def _equal_to_value(same: Same, mine: Value, gold: Value, rules: Rules) -> bool | None:
    """A relation as the answer where the ground truth is a value: each link of a chain has to hold."""
    if not isinstance(mine, Relation):
        return same(mine, gold, rules)
    if not set(mine.signs) <= _CHAIN:
        solved = solutions(mine)
        return False if solved is None else same(solved, gold, rules)
    sides = list(mine.sides)
    if "≈" in mine.signs:
        at = mine.signs.index("≈") + 1
        exact, rough = sides[:at], sides[at:]
        if all(_gives_name(side, gold) for side in exact):
            sides = [*exact, *rough]
        elif _agree(same, exact[-1], rough):
            sides = exact
        else:
            return False
    if len(sides) == 2 and _is_in(sides[0], sides[1]):
        return False
    if len(sides) == 2 and is_named(sides[1]) and not _gives_name(sides[0], gold) and not _has_name(gold):
        sides.reverse()
    links = [side for at, side in enumerate(sides[:-1]) if not _is_named(sides, at, gold)]
    return every(same(side, gold, rules) for side in [sides[-1], *links])


def _is_in(name: Value, value: Value) -> bool:
    """Whether a side that is a name occurs in the other, which makes an equation to solve: x = 2x + 1."""
    word = spelled(name)
    return (
        word is not None
        and isinstance(value, Quantity)
        and word in variables(value.form)
        and not is_name(value.form)
    )


def _is_named(sides: Sequence[Value], at: int, gold: Value) -> bool:
    """Whether a side of a chain need not equal the ground truth, since it only says what it is that has it."""
    if at:
        return is_named(sides[at])
    return _gives_name(sides[0], gold) and (len(sides) > 2 or not _is_equation(sides[0], gold))


def _has_name(gold: Value) -> bool:
    return isinstance(gold, Word) or (isinstance(gold, Quantity) and bool(variables(gold.form)))


def _gives_name(side: Value, gold: Value) -> bool:
    """Whether a side only says what it is that has the value: it has a variable that the value has not."""
    if isinstance(side, Word):
        return True
    if not isinstance(side, Quantity):
        # (x, y) = (1, 2) gives names to both.
        return isinstance(side, Collection) and all(_gives_name(item, gold) for item in side.items)
    names = variables(side.form)
    if not isinstance(gold, Quantity) or not variables(gold.form):
        return is_name(side.form) or bool(names)
    is_short = len(side.form.over) == 1 and len(side.form.under) == 1
    return is_name(side.form) if names <= variables(gold.form) else is_short


def _is_equation(side: Value, gold: Value) -> bool:
    """Whether a side that is equal to the ground truth makes an equation to solve: 2x + 3 = 5, x - y = 0."""
    if not isinstance(side, Quantity) or not isinstance(gold, Quantity):
        return False
    return ONE in side.form.over or (not gold.form.over and len(side.form.over) > 1)


def _agree(same: Same, exact: Value, rough: Sequence[Value]) -> bool:
    """Whether what follows ≈ is near to what stands before it."""
    near = Rules(relative=Fraction(1, 100))
    return all(same(side, exact, near) for side in rough)


def _equal_as_relations(same: Same, mine: Relation, gold: Relation, rules: Rules) -> bool | None:
    if set(gold.signs) == {"="}:
        if set(mine.signs) != {"="}:
            return False
        if len(gold.sides) > 2 or len(mine.sides) > 2:
            return _equal_chains(same, mine, gold, rules)
        return _equal_equations(same, mine, gold, rules)
    first, second = _ascending(mine), _ascending(gold)
    if first.signs == second.signs:
        result = _pairwise(same, first.sides, second.sides, rules)
        if result is not False:
            return result
        if len(first.sides) == 2 and first.signs[0] in _LESS | {"!="}:
            forms = [_difference(each) for each in (first, second)]
            if forms[0] is not None and forms[1] is not None:
                is_proportional = proportional(forms[0], forms[1], positive=first.signs[0] != "!=")
                if is_proportional:
                    return True
    one, other = solutions(mine), solutions(gold)
    if one is None or other is None or subject(mine) != subject(gold):
        return False
    return same(one, other, rules)


def _equal_chains(same: Same, mine: Relation, gold: Relation, rules: Rules) -> bool | None:
    """x = 3 + 4 = 7 against x = 7."""
    first, second = mine.sides[0], gold.sides[0]
    if len(gold.sides) == 2 and is_named(second):
        if same(first, second, STRICT) is not True:
            return False
        return _equal_to_value(same, mine, gold.sides[1], rules)
    return _pairwise(same, mine.sides, gold.sides, rules)


def _equal_equations(same: Same, mine: Relation, gold: Relation, rules: Rules) -> bool | None:
    """Two equations: of one name and one value, or one a multiple of the other."""
    first, second = _assigned(mine), _assigned(gold)
    if first is not None and second is not None and same(first[0], second[0], STRICT) is True:
        result = same(first[1], second[1], rules)
        if result is not False:
            return result
    if first is not None and second is not None and _are_functions(first[0], second[0]):
        return same(first[1], second[1], rules)
    forms = _difference(mine), _difference(gold)
    if forms[0] is None or forms[1] is None:
        return mine.sides == gold.sides
    return proportional(forms[0], forms[1], positive=False)


def _are_functions(first: Value, second: Value) -> bool:
    """Whether two names are y and a function such as f(x), which stand for each other."""
    if not isinstance(first, Quantity) or not isinstance(second, Quantity):
        return False
    ordinate = symbol("y").key()
    others = [side.form for side in (first, second) if side.form.key() != ordinate]
    return len(others) == 1 and any(isinstance(atom, tuple) for atom in atoms(others[0]))


def _difference(relation: Relation) -> NormalForm | None:
    """The left side minus the right one, without what it is divided by."""
    left, right = relation.sides
    if not isinstance(left, Quantity) or not isinstance(right, Quantity):
        return None
    if left.is_percent or right.is_percent:
        return None
    try:
        return minus(left.form, right.form)
    except UnknownError:
        return None


def _ascending(relation: Relation) -> Relation:
    """A chain of inequalities from the smaller to the larger side."""
    if all(sign in _MORE for sign in relation.signs):
        signs = tuple(_TURNED[sign] for sign in reversed(relation.signs))
        return Relation(signs, tuple(reversed(relation.sides)))
    return relation


def subject(relation: Relation) -> Value | None:
    """The variable that inequalities are about."""
    names = [side for side in relation.sides if is_named(side)]
    return names[0] if len(names) == 1 else None


def solutions(relation: Relation) -> Interval | None:
    """The interval that inequalities about one variable describe."""
    relation = _ascending(relation)
    sides = relation.sides
    if not all(sign in _LESS for sign in relation.signs) or len(sides) > 3:
        return None
    if (
        not all(isinstance(side, Quantity) and side.unit is None for side in sides)
        or subject(relation) is None
    ):
        return None
    forms = [side.form for side in sides if isinstance(side, Quantity)]
    at = next(number for number, side in enumerate(sides) if is_named(side))
    if len(forms) == 3:
        if at != 1:
            return None
        closed = (relation.signs[0] == "<=", relation.signs[1] == "<=")
        return Interval(forms[0], forms[2], closed)
    is_closed = relation.signs[0] == "<="
    if at == 0:
        return Interval(negative(symbol("oo")), forms[1], (False, is_closed))
    return Interval(forms[0], symbol("oo"), (is_closed, False))


def _pairwise(same: Same, mine: Sequence[Value], gold: Sequence[Value], rules: Rules) -> bool | None:
    if len(mine) != len(gold):
        return False
    return every(same(one, other, rules) for one, other in zip(mine, gold, strict=True))

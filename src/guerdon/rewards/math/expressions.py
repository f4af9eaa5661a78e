"""A parser of expressions: from tokens to the normal form."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from guerdon.rewards.math.functions import (
    FUNCTIONS,
    UNKNOWN_FUNCTIONS,
    absolute,
    binomial,
    double_factorial,
    factorial,
    logarithm,
    power,
    root,
    rounded,
)
from guerdon.rewards.math.normal_form import (
    CONSTANTS,
    ExpressionTooLargeError,
    NormalForm,
    UndefinedError,
    UnknownError,
    call,
    constant,
    divided,
    minus,
    negative,
    plus,
    symbol,
    times,
)
from guerdon.rewards.math.tokens import Token

_END = Token("end", "")
_MAX_DEPTH = 40
_MAX_TOWER = 20
_ANGLES = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan"}
_STARTS = frozenset({"number", "letter", "call"})
_DEGREE = NormalForm({frozenset({("pi", 1)}): Fraction(1, 180)}, {frozenset(): 1})


class Expression:
    """One expression, read from tokens from left to right."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.is_decimal = False
        self.has_degrees = False
        self._in_angle = 0
        self._depth = 0

    def read(self) -> NormalForm:
        """The whole expression. Raises UnknownError where the tokens are none."""
        form = self._sum()
        if self.at < len(self.tokens):
            raise UnknownError(f"what is {self.tokens[self.at].text} doing here")
        return form

    def _peek(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else _END

    def _next(self) -> Token:
        token = self._peek()
        self.at += 1
        return token

    def _takes(self, kind: str, *texts: str) -> Token | None:
        token = self._peek()
        if token.kind != kind or (texts and token.text not in texts):
            return None
        self.at += 1
        return token

    def _expect(self, kind: str, text: str) -> None:
        if self._takes(kind, text) is None:
            raise UnknownError(f"{text} is missing")

    def _sum(self) -> NormalForm:
        sign = self._takes("sign", "+", "-")
        form = self._product()
        if sign is not None and sign.text == "-":
            form = negative(form)
        while (sign := self._takes("sign", "+", "-")) is not None:
            other = self._product()
            form = plus(form, other) if sign.text == "+" else minus(form, other)
        return form

    def _product(self) -> NormalForm:
        form = self._signed_factor()
        while True:
            if (sign := self._takes("sign", "*", "/")) is not None:
                other = self._signed_factor()
                form = times(form, other) if sign.text == "*" else divided(form, other)
            elif self._starts():
                if self.tokens[self.at - 1].kind == "number" and self._peek().kind == "number":
                    raise UndefinedError("two numbers side by side")
                form = times(form, self._factor())
            else:
                return form

    def _starts(self) -> bool:
        """Whether a factor follows without a sign."""
        token = self._peek()
        return token.kind in _STARTS or (
            token.kind == "open" and token.text in ("(", "[", "{", "floor", "ceil")
        )

    def _signed_factor(self) -> NormalForm:
        if self._takes("sign", "-"):
            return negative(self._factor())
        self._takes("sign", "+")
        return self._factor()

    def _factor(self) -> NormalForm:
        mixed = self._mixed_number()
        return self._powers(self._atom() if mixed is None else mixed)

    def _mixed_number(self) -> NormalForm | None:
        r"""3\frac{1}{2} and 3 1/2 are sums."""
        whole = self._peek()
        if whole.kind != "number" or whole.value is None or "." in whole.text or whole.value.denominator != 1:
            return None
        if (part := _plain_fraction(self.tokens, self.at + 1)) is None:
            return None
        over, under, end = part
        after = self.tokens[end] if end < len(self.tokens) else _END
        if not under or (after.kind == "sign" and after.text in ("^", "!", "/")):
            return None
        self.at = end
        return constant(whole.value + Fraction(over, under))

    def _powers(self, base: NormalForm) -> NormalForm:
        """What stands behind a factor: powers, factorials, degrees."""
        while True:
            token = self._peek()
            if token.kind != "sign" or token.text not in ("^", "!", "!!", "°"):
                return base
            self.at += 1
            if token.text in ("!", "!!"):
                base = factorial(base) if token.text == "!" else double_factorial(base)
            elif token.text == "°":
                self.has_degrees = True
                base = times(base, _DEGREE) if self._in_angle else base
            else:
                exponent = self._exponent()
                base = power(base, exponent)
                follows = self._peek()
                if follows.kind == "sign" and follows.text == "^":
                    raise UnknownError("two powers in a row")

    def _exponent(self, height: int = 1) -> NormalForm:
        if height > _MAX_TOWER:
            raise ExpressionTooLargeError("a tower of powers")
        sign = self._takes("sign", "-", "+")
        form = self._atom()
        # In plain text powers go from right to left: 9^9^9.
        if self._takes("sign", "^"):
            form = power(form, self._exponent(height + 1))
        return negative(form) if sign is not None and sign.text == "-" else form

    def _atom(self) -> NormalForm:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise UnknownError("an expression that is nested too deep")
        form = self._simple()
        self._depth -= 1
        return form

    def _simple(self) -> NormalForm:
        token = self._next()
        if token.kind == "number" and token.value is not None:
            self.is_decimal = self.is_decimal or "." in token.text
            return constant(token.value)
        if token.kind == "letter":
            return self._name(token.text)
        if token.kind == "open":
            return self._group(token.text)
        if token.kind == "call":
            return self._call(token.text)
        if token.kind == "sign" and token.text == "|":
            form = self._sum()
            self._expect("sign", "|")
            return absolute(form)
        raise UnknownError(f"what is {token.text or 'the end'} doing here")

    def _group(self, bracket: str) -> NormalForm:
        if bracket not in ("(", "[", "{", "floor", "ceil"):
            raise UnknownError("a bracket that holds no expression")
        form = self._sum()
        self._expect("close", bracket)
        return rounded(form, bracket) if bracket in ("floor", "ceil") else form

    def _name(self, name: str) -> NormalForm:
        if name in UNKNOWN_FUNCTIONS and self._peek() == Token("open", "("):
            return call(name, *self._arguments())
        if self._takes("sign", "_"):
            return symbol(f"{name}_{self._subscript()}")
        if self._peek().kind == "sign" and self._peek().text == "'":
            raise UnknownError("a derivative")
        return symbol(name)

    def _subscript(self) -> str:
        token = self._next()
        if token.kind in ("number", "letter", "text"):
            return token.text
        if token != Token("open", "{"):
            raise UnknownError("a subscript")
        parts = []
        while (token := self._next()).kind != "close":
            if token.kind in ("end", "open"):
                raise UnknownError("a subscript")
            parts.append(token.text)
        return " ".join(parts)

    def _arguments(self) -> list[NormalForm]:
        self._expect("open", "(")
        found = [self._sum()]
        while self._takes("comma"):
            found.append(self._sum())
        self._expect("close", "(")
        return found

    def _argument(self) -> NormalForm:
        """What a command such as ``frac`` takes: a group, or one digit, or one other token."""
        token = self._peek()
        if token.kind == "number" and len(token.text) > 1 and token.text.isdigit():
            self.tokens = list(self.tokens)
            self.tokens[self.at] = Token("number", token.text[1:], Fraction(int(token.text[1:])))
            return constant(int(token.text[0]))
        return self._atom()

    def _call(self, name: str) -> NormalForm:
        if name == "frac":
            over = self._argument()
            return divided(over, self._argument())
        if name == "binom":
            above = self._argument()
            return binomial(above, self._argument())
        if name == "sqrt":
            return self._root()
        if name in ("log", "ln", "lg"):
            return self._logarithm(name)
        if name in FUNCTIONS:
            return self._function(name)
        raise UnknownError(f"the function {name}")

    def _root(self) -> NormalForm:
        degree = constant(2)
        if self._takes("open", "["):
            degree = self._sum()
            self._expect("close", "[")
        return root(self._atom(), degree)

    def _logarithm(self, name: str) -> NormalForm:
        base = symbol("e") if name == "ln" else None
        if name == "lg":
            base = constant(10)
        if self._takes("sign", "_"):
            base = self._argument() if self._peek().kind == "open" else self._atom()
        exponent = self._exponent() if self._takes("sign", "^") else None
        form = logarithm(self._operand(), base)
        return form if exponent is None else power(form, exponent)

    def _function(self, name: str) -> NormalForm:
        exponent = self._exponent() if self._takes("sign", "^") else None
        if exponent is not None and exponent.rational == -1 and name in _INVERSE:
            name, exponent = _INVERSE[name], None
        outside, self._in_angle = self._in_angle, int(name in _ANGLES)
        degrees = self.has_degrees
        form = FUNCTIONS[name](self._operand())
        self._in_angle = outside
        if name in _ANGLES:
            self.has_degrees = degrees
        return form if exponent is None else power(form, exponent)

    def _operand(self) -> NormalForm:
        """What a function is applied to: a group, or the factors up to the next sign or function."""
        if self._peek().kind == "open":
            return self._powers(self._atom())
        form = self._signed_factor()
        while self._peek().kind in ("number", "letter") or self._peek() == Token("call", "frac"):
            form = times(form, self._factor())
        if self._takes("sign", "/"):
            form = divided(form, self._factor())
        return form


def _plain_fraction(tokens: Sequence[Token], at: int) -> tuple[int, int, int] | None:
    """A fraction of two whole numbers at a place, and where it ends."""
    kinds = [token.kind for token in tokens[at : at + 7]]
    texts = [token.text for token in tokens[at : at + 7]]
    if kinds[:3] == ["number", "sign", "number"] and texts[1] == "/" and (texts[0] + texts[2]).isdigit():
        return int(texts[0]), int(texts[2]), at + 3
    if not kinds or kinds[0] != "call" or texts[0] != "frac":
        return None
    if kinds[1:] == ["open", "number", "close"] * 2 and (texts[2] + texts[5]).isdigit() and texts[1] == "{":
        return int(texts[2]), int(texts[5]), at + 7
    if kinds[1:2] == ["number"] and len(texts[1]) == 2 and texts[1].isdigit():
        return int(texts[1][0]), int(texts[1][1]), at + 2
    return None


def is_name(form: NormalForm) -> bool:
    """Whether an expression is only a name: a variable, or a function of what stands in brackets."""
    if len(form.over) != 1 or len(form.under) != 1:
        return False
    ((product, value),) = form.over.items()
    if value != 1 or len(product) != 1:
        return False
    ((atom, exponent),) = product
    if exponent != 1:
        return False
    if isinstance(atom, str):
        return atom not in CONSTANTS or atom in ("e", "i")
    return isinstance(atom, tuple) and atom[0] == "call" and atom[1] in UNKNOWN_FUNCTIONS

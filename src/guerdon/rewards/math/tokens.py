"""The tokens of an answer that is written in LaTeX, in plain text, or in a mixture of both."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from guerdon.rewards.math.normal_form import UnknownError
from guerdon.rewards.math.units import PERCENT, SCALES, known


class Token(NamedTuple):
    """One token: ``number``, ``letter``, ``text``, ``call``, ``open``, ``close``, ``sign`` or a name of its own."""

    kind: str
    text: str
    value: Fraction | None = None


_PER = Token("sign", "/")
_THOUSANDS = re.compile(r"(?<=\d)(?:,\\!|\\!,|\{,\}|\\[,!:; ]|~)(?=\d{3}(?!\d))", re.ASCII)
_SPACED = re.compile(r"\s*[-+]?\d{1,3}(?: \d{3})+(?:\.\d+)?\s*", re.ASCII)
_COMMAS = re.compile(r"\d+(?:,\d+)+")
_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+")
_LAYOUT = re.compile(
    r"(\\\\)(?:\s*\[[\d.]+(?:pt|em|ex|mm|cm)\])?|\\(?:left|right)(?![A-Za-z])\s*\.?"
    r"|\\(?:[bB]ig{1,2}[lrm]?|displaystyle|textstyle|limits|nolimits|quad|qquad|rm|it|bf)(?![A-Za-z])"
    r"|\\(?:text)?color\s*\{[^{}]*\}|\\underline(?![A-Za-z])"
    r"|\\[,!:; >]|\\hspace\s*\{[^{}]*\}"
)
_WRAPPERS = (
    "text|textbf|textit|textrm|textnormal|mathrm|mathbf|mathit|mathsf|mbox|hbox|operatorname|bm|boldsymbol"
)
_TOKEN = re.compile(
    rf"""
    (?P<space>[\s~]+)
  | (?P<repeating>(?P<before>\d*\.\d*)\\(?:overline|bar|dot)\s*(?:\{{\s*(?P<period>\d+)\s*\}}|(?P<digit>\d)))
  | (?P<number>(?:\d{{1,3}}(?:,\d{{3}})+(?![\d])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{{1,6}}(?![\d.A-Za-z]))?)
  | (?P<degree>\^\s*(?:\{{\s*\\circ\s*\}}|\\circ(?![A-Za-z]))|\\degree(?![A-Za-z])|\\textdegree(?![A-Za-z]))
  | \\(?P<wrapper>{_WRAPPERS})\s*\{{(?P<content>[^{{}}]*)\}}
  | \\(?P<edge>begin|end)\s*\{{(?P<name>[a-z]+\*?|[bpBvV]matrix)\}}(?:\s*\{{[lcr|\s]+\}})?
  | \\mathbb\s*\{{?\s*(?P<field>[RZNQC])\s*\}}?
  | (?P<command>\\(?:[A-Za-z]+|.))
  | (?P<dots>\.\.\.|…)
  | (?P<word>[A-Za-z]{{2,}}(?:'[a-z]+)?)
  | (?P<letter>[A-Za-z])
  | (?P<sign><=|>=|!=|==|!!|\*\*|[-+*/^_=<>!|%&:,;$€£¥¢()\[\]{{}}'])
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
FUNCTIONS = frozenset(
    {
        *("sin", "cos", "tan", "cot", "sec", "csc", "ln", "log", "exp", "arcsin", "arccos", "arctan"),
        *("sinh", "cosh", "tanh", "sqrt", "frac", "binom", "abs", "floor", "ceil"),
    }
)
_PLAIN_WORDS = {"pi": "pi", "infinity": "oo", "infty": "oo", "inf": "oo", "theta": "theta", "alpha": "alpha"}
_SIGNS = {
    **dict.fromkeys(("times", "cdot", "ast", "bullet"), "*"),
    "div": "/",
    **dict.fromkeys(("le", "leq", "leqslant", "leqq"), "<="),
    **dict.fromkeys(("ge", "geq", "geqslant", "geqq"), ">="),
    **dict.fromkeys(("ne", "neq"), "!="),
    "lt": "<",
    "gt": ">",
    "pm": "±",
    "mp": "∓",
    "cup": "∪",
    "bigcup": "∪",
    "cap": "∩",
    "in": "∈",
    **dict.fromkeys(("setminus", "backslash", "smallsetminus"), "∖"),
    **dict.fromkeys(("approx", "simeq", "thickapprox"), "≈"),
    "%": "%",
    "colon": ":",
    "&": "&",
    "\\": "row",
    "mid": "|",
    "vert": "|",
    "lvert": "|",
    "rvert": "|",
    **dict.fromkeys(("ldots", "dots", "cdots", "dotsc", "dotsb"), "dots"),
    **dict.fromkeys(("lor", "vee", "land"), ","),
    "circ": "°",
}
_OPEN = {"(": "(", "[": "[", "{": "{", "\\{": "set", "\\lbrace": "set", "\\langle": "<", "\\lfloor": "floor",
         "\\lceil": "ceil", "\\lbrack": "[", "\\lparen": "("}  # fmt: skip
_CLOSE = {")": "(", "]": "[", "}": "{", "\\}": "set", "\\rbrace": "set", "\\rangle": "<", "\\rfloor": "floor",
          "\\rceil": "ceil", "\\rbrack": "[", "\\rparen": "("}  # fmt: skip
_GREEK = frozenset(
    {
        *("alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "vartheta"),
        *("iota", "kappa", "lambda", "mu", "nu", "xi", "rho", "sigma", "tau", "upsilon", "phi", "varphi"),
        *("chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi"),
        *("Psi", "Omega", "ell", "hbar"),
    }
)
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "GBP", "¥": "yen", "¢": "cent"}
MAX_EXPONENT = 100_000


def tokens(text: str, grouped: bool = True) -> list[Token]:
    """The tokens of a text; ``grouped`` says whether a comma may stand between thousands, where it can.

    Raises UnknownError where something in the text is no token.
    """
    text = _LAYOUT.sub(lambda match: match[1] or " ", _THOUSANDS.sub("", text))
    text = text.replace("{:}", ":")
    if _SPACED.fullmatch(text):
        text = text.replace(" ", "")
    dollars = _dollars(text)
    # In 27,54,108 one comma separates, so that each of them does.
    grouped = grouped and all(_GROUPS.fullmatch(run) for run in _COMMAS.findall(text))
    found: list[Token] = []
    at, depth = 0, 0
    was_space = False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise UnknownError(f"the character {text[at]!r}")
        at = match.end()
        if match["space"]:
            was_space = True
            continue
        if (
            match["number"]
            and "," in match["number"]
            and not (grouped and (not depth or ",0" in match["number"]))
        ):
            # Between brackets a comma separates: (1,200) is a pair; only 1,050 cannot be two numbers.
            at = match.start() + match["number"].index(",")
            found.append(_number(match["number"].partition(",")[0]))
        elif match["sign"] == "$" and dollars == "none":
            continue
        else:
            made = _made(match, found, was_space)
            depth += sum(
                (token.kind == "open") - (token.kind == "close") for token in made if token.text != "{"
            )
            found.extend(made)
        was_space = False
    return found


def _dollars(text: str) -> str:
    """Whether dollar signs are money, or the marks around formulas."""
    plain = re.sub(r"\\\$", "", text)
    return "none" if re.search(r"\$(?!\s*[-+]?\s*[\d.])", plain) else "money"


def _made(match: re.Match[str], before: list[Token], was_space: bool) -> list[Token]:
    if match["number"]:
        return [_number(match["number"])]
    if match["letter"]:
        is_unit = (
            len(before) > 1 and before[-1] == _PER and before[-2].kind == "text" and known(match["letter"])
        )
        return [Token("text" if is_unit else "letter", match["letter"])]
    if match["sign"]:
        return [_sign(match["sign"])]
    if match["command"]:
        return [_command(match["command"])]
    if match["word"]:
        return _word(match["word"], before, was_space)
    if match["content"] is not None:
        return _content(match["wrapper"], match["content"])
    if match["degree"]:
        return [Token("sign", "°")]
    if match["repeating"]:
        return [_repeating(match["before"], match["period"] or match["digit"])]
    if match["edge"]:
        return [Token("open" if match["edge"] == "begin" else "close", match["name"])]
    if match["field"]:
        return [Token("field", match["field"])]
    return [Token("dots", "...")]


def _number(text: str) -> Token:
    digits, _, exponent = text.replace(",", "").lower().partition("e")
    power = int(exponent or 0)
    if abs(power) > MAX_EXPONENT:
        raise UnknownError("an exponent out of range")
    value = Fraction(digits)
    return Token("number", text, value * Fraction(10) ** power if power else value)


def _repeating(before: str, period: str) -> Token:
    whole, _, digits = before.partition(".")
    value = Fraction(int(whole or 0)) + (Fraction(int(digits), 10 ** len(digits)) if digits else 0)
    return Token("number", "", value + Fraction(int(period), 10 ** len(digits) * (10 ** len(period) - 1)))


def _sign(text: str) -> Token:
    if text in _OPEN:
        return Token("open", _OPEN[text])
    if text in _CLOSE:
        return Token("close", _CLOSE[text])
    if text in _CURRENCIES:
        return Token("money", _CURRENCIES[text])
    if text in (",", ";"):
        return Token("comma", text)
    return Token("sign", {"**": "^", "==": "="}.get(text, text))


def _command(text: str) -> Token:
    name = text[1:]
    if text in _OPEN:
        return Token("open", _OPEN[text])
    if text in _CLOSE:
        return Token("close", _CLOSE[text])
    if name in _SIGNS:
        sign = _SIGNS[name]
        kinds = {"dots": "dots", "row": "row", ",": "comma"}
        return Token(kinds.get(sign, "sign"), sign)
    if name in FUNCTIONS or name in ("dfrac", "tfrac", "cfrac", "dbinom", "tbinom", "lg", "overline", "bar"):
        return Token("call", {"dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom",
                              "tbinom": "binom"}.get(name, name))  # fmt: skip
    if name == "$":
        return Token("money", "dollar")
    if name in ("pi", "infty"):
        return Token("letter", _PLAIN_WORDS[name])
    if name in ("emptyset", "varnothing"):
        return Token("text", "emptyset")
    if name in ("max", "min"):
        return Token("text", name)
    if name in ("angle", "triangle"):
        return Token("letter", name)
    if name in _GREEK:
        return Token("letter", name)
    raise UnknownError(f"the command {text}")


def _content(wrapper: str, content: str) -> list[Token]:
    """What stands in ``\\text{…}``: a separator, words, or else mathematics after all."""
    plain = content.strip()
    if plain.lower() in ("or", "and", ", and", ", or"):
        return [Token("comma", "or" if "or" in plain.lower() else "and")]
    if not plain:
        return []
    if not re.search(r"[A-Za-z]", plain) or re.fullmatch(
        r"\(?[A-Z]\)?(?:\s*,\s*\(?[A-Z]\)?)+|\([A-Za-z]\)", plain
    ):
        return tokens(plain)
    if plain in FUNCTIONS and wrapper in ("operatorname", "mathrm", "text"):
        return [Token("call", plain)]
    if len(plain) == 1 and (plain in "ie" or wrapper not in ("text", "mbox", "mathrm")):
        return [Token("letter", plain)]
    return [Token("text", plain)]


def _word(word: str, before: list[Token], was_space: bool) -> list[Token]:
    """A run of letters: a function, a separator, a word, or a product of variables."""
    if word in FUNCTIONS:
        return [Token("call", word)]
    if word in _PLAIN_WORDS:
        return [Token("letter", _PLAIN_WORDS[word])]
    lower = word.lower()
    if lower in ("or", "and"):
        return [Token("comma", lower)]
    follows = bool(before) and before[-1].kind in ("number", "letter", "close", "text", "sign")
    if lower in SCALES or lower in PERCENT or is_word(word):
        return [Token("text", word)]
    if follows and known(word) and (was_space or before[-1].kind == "number"):
        return [Token("text", word)]
    if before and before[-1].kind == "text" and lower in ("in", "of", "to", "sq", "cu", "per", "an"):
        return [Token("text", word)]
    if was_space and before and before[-1].kind == "number" and lower in ("sq", "cu", "cubic"):
        return [Token("text", word)]
    if "'" in word:
        raise UnknownError("a word")
    # "sinx" and the like are products in no one's hand; they are not read.
    if any(name in word for name in ("sin", "cos", "tan", "log", "sqrt", "pi")) or len(word) > 6:
        raise UnknownError("a word")
    return [Token("letter", letter) for letter in word]


def is_word(word: str) -> bool:
    """Whether a run of letters is a word and no product of variables: it has a pronunciation.

    >>> is_word("eggs"), is_word("men"), is_word("abc"), is_word("xyz")
    (True, True, False, False)
    """
    if len(word) == 3:
        return bool(re.fullmatch(r"[B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z][aeiou][b-df-hj-np-tv-z]", word))
    return len(word) > 3 and bool(re.search(r"[aeiouyAEIOUY]", word)) and not re.search(r"[a-z][A-Z]", word)

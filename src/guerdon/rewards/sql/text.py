"""SQL as text: the query in a response, and whether and by what a query orders its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})")
_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT = r"(?:think|thinking|thought|reasoning|scratchpad)"
_THOUGHT_ENDS = re.compile(rf"</{_THOUGHT}>", re.IGNORECASE)
_THOUGHT_STARTS = re.compile(rf"<{_THOUGHT}>", re.IGNORECASE)
_STATEMENTS = (
    "SELECT|WITH|VALUES|INSERT|UPDATE|DELETE|REPLACE|MERGE|CREATE|DROP|ALTER|TRUNCATE|ATTACH|DETACH|PRAGMA|VACUUM|REINDEX"
    "|ANALYZE|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|EXPLAIN|COPY|INSTALL|LOAD|SET|CALL|EXPORT|IMPORT|USE|FROM"
)
_PROSE = re.compile(
    rf";[ \t]*\n\s*(?!(?i:{_STATEMENTS})\b)[A-Z][A-Za-z']*,?[ \t]+[a-z`]"
    r"|\n[ \t]*\n[ \t]*(?:This|The|It|Here|Explanation|Note)\b"
)
"""Where a text goes on in words behind a query: a sentence, as no clause and no statement starts."""
_LANGUAGES = frozenset({"sql", "sqlite", "sqlite3", "duckdb", "mysql", "postgresql", "postgres", "tsql"})
_BARE = re.compile(
    r"^[ \t>*]*(?:\w[\w ]{0,30}:[ \t]*)?`?(?P<query>(?:SELECT\b|VALUES\s*\(|WITH\s+(?:RECURSIVE\s+)?[\w\"`\[\]]+\s*"
    r"(?:\([^)]{0,2000}\)\s*)?AS\b))",
    re.MULTILINE | re.IGNORECASE,
)
_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)|`[^`]*(?:`|\Z)"
    r"|[A-Za-z_]\w*|\d[\w.]*|\s+|.",
    re.DOTALL,
)
_AFTER_ORDER = frozenset({"LIMIT", "OFFSET", "FETCH", "FOR", "USING", "UNION", "EXCEPT", "INTERSECT"})


def query_in(response: str) -> str | None:
    """The query that a response gives, without a semicolon at its end; None where there is none.

    Text before ``</think>`` is ignored. Of ``<answer>…</answer>`` the last one counts; in it, or
    in the whole response, the last block that is marked as SQL, else the last block, else a bare SELECT.

    >>> query_in("So:\\n```sql\\nSELECT 1;\\n```"), query_in("I do not know.")
    ('SELECT 1', None)
    """
    said = _THOUGHT_STARTS.split(_THOUGHT_ENDS.split(response)[-1], maxsplit=1)[0]
    answers = _ANSWER.findall(said)
    scope = answers[-1] if answers else said
    blocks = list(_blocks(scope))
    marked = [body for language, body in blocks if language in _LANGUAGES]
    found = marked[-1] if marked else blocks[-1][1] if blocks else _bare(scope)
    return without_semicolon(found) or None if found else None


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Language and content of each block; one that is never closed goes to the end."""
    at = 0
    while opening := _FENCE.search(text, at):
        end = text.find(opening["fence"], opening.end())
        body = text[opening.end() : end if end >= 0 else len(text)]
        first, _, rest = body.partition("\n")
        word, _, more = first.strip().partition(" ")
        if word.lower() in _LANGUAGES:
            yield word.lower(), f"{more}\n{rest}"
        elif re.fullmatch(r"[\w+-]*", first.strip()) and rest:
            yield word.lower(), rest
        else:
            yield "", body
        if end < 0:
            return
        at = end + len(opening["fence"])


def _bare(text: str) -> str | None:
    found = _BARE.search(text)
    if found is None:
        return None
    rest = text[found.start("query") :]
    ends_alone = not text[: found.start("query")].strip(" \t\n`>*")
    # A text that is nothing but a query is taken as a whole: a second statement in it is not overlooked.
    if ends_alone:
        return _PROSE.split(rest, maxsplit=1)[0].rstrip("` \t\n")
    rest = re.split(r"\n[ \t]*\n", rest, maxsplit=1)[0]
    kept = []
    for token in _tokens(rest):
        if token in (";", "`"):
            break
        kept.append(token)
    return "".join(kept)


def without_semicolon(query: str) -> str:
    """A query without semicolons, comments and white space at its end.

    >>> without_semicolon("SELECT ';' ; -- done")
    "SELECT ';'"
    """
    tokens = list(_tokens(query.strip()))
    while tokens and (tokens[-1] == ";" or tokens[-1].isspace() or tokens[-1].startswith(("--", "/*"))):
        tokens.pop()
    return "".join(tokens)


def ordering(query: str) -> list[str] | None:
    """The terms of the ORDER BY at the top of a query, None where it has none.

    Enough of SQL is read to skip texts, names, comments and what stands in brackets, which holds for every
    dialect here; a parser would add a dependency for the same answer.

    >>> ordering("SELECT a FROM (SELECT a FROM t ORDER BY b) ORDER BY a DESC, 2 LIMIT 3")
    ['a DESC', '2']
    """
    terms: list[str] | None = None
    depth, previous = 0, ""
    for token in _tokens(query):
        if token.isspace() or token.startswith(("--", "/*")):
            if terms:
                terms[-1] += " "
            continue
        word = token.upper()
        depth += (token in "([{") - (token in ")]}")
        if depth == 0 and previous == "ORDER" and word == "BY":
            terms = [""]
        elif depth == 0 and terms is not None and word in _AFTER_ORDER:
            if word in ("UNION", "EXCEPT", "INTERSECT"):
                terms = None
            else:
                break
        elif terms is not None and depth == 0 and token == ",":
            terms.append("")
        elif terms is not None:
            terms[-1] += token
        previous = word
    return [term.strip() for term in terms] if terms else None


def ordering_columns(terms: Sequence[str], columns: Sequence[str]) -> list[int] | None:
    """The positions of the result's columns that it is ordered by; None where it is ordered by anything else.

    >>> ordering_columns(["t.a DESC", "2"], ["A", "b"]), ordering_columns(["length(a)"], ["a"])
    ([0, 1], None)
    """
    names = [column.casefold() for column in columns]
    found = []
    for term in terms:
        bare = re.sub(
            r"(?<!\s)\s+(?:ASC|DESC)\b|(?<!\s)\s+NULLS\s+(?:FIRST|LAST)\b", "", term, flags=re.IGNORECASE
        ).strip()
        name = bare.rpartition(".")[2].strip('"`[]').casefold()
        if bare.isdigit() and 1 <= int(bare) <= len(names):
            found.append(int(bare) - 1)
        elif names.count(name) == 1:
            found.append(names.index(name))
        else:
            return None
    return found


def _tokens(text: str) -> Iterator[str]:
    return (match[0] for match in _TOKEN.finditer(text))

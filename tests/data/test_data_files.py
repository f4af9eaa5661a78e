"""Files that are broken, odd or meant to hurt, and what the loader says of them."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from guerdon.data import BadRowsError, Columns, open_dataset
from guerdon.data.csv_rows import read_csv
from guerdon.data.files import ReadContext
from guerdon.data.json_rows import read_json, read_json_lines
from guerdon.data.rows import BadRow
from guerdon.data.strict_json import MAX_DEPTH
from guerdon.errors import InputError

GOOD = b'{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}'
LISTED = b"[" + GOOD + b", " + GOOD + b"]"
COLUMNS = Columns(prompt="p", response="r", answer="a")


def deep(levels: int) -> bytes:
    """A good row whose column ``x`` brings it to so many levels."""
    return GOOD[:-1] + b', "x": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


# One bad row each: the file's name, its bytes, where the row is and a part of the reason.
BAD_ROWS = [
    ("no json", "d.jsonl", GOOD + b"\n{role: 1}\n", ":2: ", "not JSON: Expecting property name"),
    ("cut off row", "d.jsonl", GOOD + b"\n" + GOOD[:-9], ":2: ", "Unterminated string starting at column"),
    ("ends early", "d.jsonl", b'{"messages": [\n' + GOOD, ":1: ", "not JSON: it ends too early, at column"),
    ("two rows on a line", "d.jsonl", GOOD + GOOD, ":1: ", "more after the end of the row, from column"),
    ("after empty lines", "d.jsonl", b"\n \t\n\r\n" + GOOD + b"\n\n?\n", ":6: ", "not JSON: Expecting value"),
    ("pretty-printed", "d.jsonl", b"[\n" + GOOD + b"\n", ":1: ", "give it the extension .json"),
    ("list", "d.jsonl", b"[1]\n" + GOOD, ":1: ", "a row must be an object, not a list"),
    ("list of rows", "d.jsonl", b"[" + GOOD + b"]\n", ":1: ", "not a list; if the file is one JSON document"),
    ("string", "d.jsonl", b'"x"\n' + GOOD, ":1: ", "a row must be an object, not a string"),
    ("number", "d.jsonl", b"3\n" + GOOD, ":1: ", "a row must be an object, not a number"),
    ("true", "d.jsonl", b"true\n" + GOOD, ":1: ", "a row must be an object, not true or false"),
    ("null", "d.jsonl", b"null\n" + GOOD, ":1: ", "a row must be an object, not null"),
    ("NaN", "d.jsonl", GOOD[:-1] + b', "x": NaN}', ":1: ", "NaN is not JSON"),
    ("infinity", "d.jsonl", GOOD[:-1] + b', "x": -Infinity}', ":1: ", "-Infinity is not JSON"),
    ("huge float", "d.jsonl", GOOD[:-1] + b', "x": 1e999}', ":1: ", "1e999 is too large"),
    ("huge integer", "d.jsonl", GOOD[:-1] + b', "x": ' + b"9" * 5000 + b"}", ":1: ", "too many digits"),
    ("key twice", "d.jsonl", GOOD[:-1] + b', "x": {"k": 1, "k": 1}}', ":1: ", 'has the key "k" twice'),
    ("too deep", "d.jsonl", deep(MAX_DEPTH + 1), ":1: ", "nested deeper than 200 levels"),
    ("far too deep", "d.jsonl", deep(100_000), ":1: ", "nested deeper than 200 levels"),
    ("lone high surrogate", "d.jsonl", GOOD[:-1] + b', "x": "\\ud83d"}', ":1: ", r"lone surrogate \ud83d"),
    ("lone low surrogate", "d.jsonl", GOOD[:-1] + b', "\\uDE00": 1}', ":1: ", r"lone surrogate \ude00"),
    ("surrogate in UTF-8", "d.jsonl", b'{"x": "\xed\xa0\x80"}', ":1: ", "not UTF-8: byte 0xed at byte 8"),
    (
        "Latin-1",
        "d.jsonl",
        GOOD + b'\n{"x": "caf\xe9"}',
        ":2: ",
        "not UTF-8: byte 0xe9 at byte 11 of the line",
    ),
    ("NUL in a string", "d.jsonl", b'{"x": "\x00"}', ":1: ", "a NUL byte at column 8"),
    ("NUL bytes", "d.jsonl", GOOD + b"\n\x00\x00\x00", ":2: ", "a NUL byte at column 1"),
    ("raw tab", "d.jsonl", b'{"x": "a\tb"}', ":1: ", "Invalid control character"),
    ("mark inside", "d.jsonl", GOOD + b"\n\xef\xbb\xbf" + GOOD, ":2: ", "a byte order mark at column 1"),
    ("carriage returns", "d.jsonl", GOOD + b"\r" + GOOD, ":1: ", "more after the end of the row"),
    ("cut off gzip", "d.jsonl.gz", gzip.compress(GOOD + b"\n")[:-8], ":2: ", "the gzip data is cut off"),
    ("only gzip's mark", "d.jsonl.gz", b"\x1f\x8b", ":1: ", "the gzip data is cut off"),
    (
        "corrupt gzip",
        "d.jsonl.gz",
        gzip.compress(GOOD + b"\n")[:-8] + b"12345678",
        ":2: ",
        "the gzip data is corrupt",
    ),
    (
        "tail after gzip",
        "d.jsonl.gz",
        gzip.compress(GOOD + b"\n") + b"tail",
        ":2: ",
        "the gzip data is corrupt",
    ),
    (
        "no messages",
        "d.jsonl",
        b'{"messages": 1}\n{"x": 1}',
        ":2: ",
        'no column "messages"; the columns are: x',
    ),
    ("nothing in it", "d.jsonl", b'{"messages": 1}\n{}', ":2: ", "there are no columns"),
    ("no conversation", "d.jsonl", b'{"messages": []}', ":1: ", '"messages" is empty'),
    ("messages null", "d.jsonl", b'{"messages": null}', ":1: ", '"messages" is empty'),
    ("messages a text", "d.jsonl", b'{"messages": "hi"}', ":1: ", 'column "messages": not JSON'),
    ("messages an object", "d.jsonl", b'{"messages": {"a": 1}}', ":1: ", "must be a list of messages"),
    ("message a text", "d.jsonl", b'{"messages": ["hi"]}', ":1: ", "messages[0] must be an object"),
    ("no role", "d.jsonl", b'{"messages": [{"content": "x"}]}', ":1: ", "messages[0].role: Field required"),
    (
        "content a number",
        "d.jsonl",
        b'{"messages": [{"role": "u", "content": 1}]}',
        ":1: ",
        "messages[0].content",
    ),
    ("metadata a list", "d.jsonl", GOOD[:-1] + b', "metadata": [1]}', ":1: ", '"metadata" must be an object'),
    ("id a list", "d.jsonl", GOOD[:-1] + b', "id": [1]}', ":1: ", '"id" must be a string or a whole number'),
    ("json cut off", "d.json", LISTED[:-20], ", row 2: ", "the rest of the file cannot be read"),
    ("json no end", "d.json", LISTED[:-1], ", row 3: ", "the end of the file in line 1, where a comma or ]"),
    ("json no comma", "d.json", b"[" + GOOD + b"\n" + GOOD + b"]", ", row 2: ", "in line 2, where a comma"),
    ("json comma at end", "d.json", b"[" + GOOD + b",]", ", row 2: ", "not JSON: Expecting value"),
    (
        "json and more",
        "d.json",
        LISTED + b"\n{}",
        ", row 3: ",
        "more after the end of the document, in line 2",
    ),
    ("json in two lines", "d.json", b"[\n" + GOOD + b',\n{"x": nan}]', ", row 2: ", "at line 3, column 7"),
    (
        "json of numbers",
        "d.json",
        b"[7, " + GOOD + b"]",
        ", row 1: ",
        "a row must be an object, not a number",
    ),
    ("json a number", "d.json", b"7", ", row 1: ", "a row must be an object, not a number"),
    ("json too deep", "d.json", b"[" * 100_000, ", row 1: ", "nested deeper than 200 levels"),
    ("json Latin-1", "d.json", b'[\n{"x": "\xe9"}]', ", row 1: ", "not UTF-8: byte 0xe9 in line 2"),
    ("json gzip cut off", "d.json.gz", gzip.compress(LISTED)[:-9], ", row 1: ", "the gzip data is cut off"),
]


@pytest.mark.parametrize(
    ("name", "content", "where", "reason"), [row[1:] for row in BAD_ROWS], ids=[row[0] for row in BAD_ROWS]
)
def test_a_bad_row_is_placed_and_explained(
    tmp_path: Path, name: str, content: bytes, where: str, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadRowsError) as caught:
        open_dataset(path).check()
    listed = str(caught.value).split("\n", 1)[1]
    assert f"  {path}{where}" in listed
    assert reason in listed
    assert len(str(caught.value)) < 3000
    # Reading without a check stops at the same row.
    with pytest.raises(InputError) as stopped:
        list(open_dataset(path))
    assert str(stopped.value) == str(caught.value.rejected[0])


BAD_CSV_ROWS = [
    ("too few fields", b"p,r,a\n1,2\n", 2, "2 fields, where the first row names 3 columns"),
    ("too many fields", b"p,r,a\n1,2,3\n1,2,3,4\n", 3, "4 fields, where the first row names 3 columns"),
    ("after a quoted line end", b'p,r,a\n"1\n\n2",2,3\n1\n', 5, "1 fields"),
    ("quote never closed", b'p,r,a\n1,2,3\n1,"2,3\n4,5,6\n', 3, "a quote is opened in this row"),
    ("text after a quote", b'p,r,a\n1,"2"x,3\n', 2, "text after a closing quote"),
    ("Latin-1", b"p,r,a\n1,caf\xe9,3\n", 2, "not UTF-8: byte 0xe9 at byte 6 of the line"),
    ("NUL", b"p,r,a\n1,\x00,3\n", 2, "the row holds a NUL byte"),
    ("carriage returns", b"p,r,a\n1,2,3\r4,5,6\n", 2, "a carriage return outside quotes"),
    ("field over the limit", b'p,r,a\n1,2,"' + b"x" * (2**26 + 1) + b'"\n', 2, "a field has over 67,108,864"),
]


@pytest.mark.parametrize(
    ("content", "line", "reason"), [row[1:] for row in BAD_CSV_ROWS], ids=[row[0] for row in BAD_CSV_ROWS]
)
def test_a_bad_csv_row_is_placed_and_explained(
    tmp_path: Path, content: bytes, line: int, reason: str
) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(content)
    survey = open_dataset(path, columns=COLUMNS).survey()
    assert [(bad.line, bad.unit) for bad in survey.rejected] == [(line, "line")]
    assert reason in survey.rejected[0].reason


# Files of which no row can be used: nothing to skip, so always an error.
BAD_FILES = [
    ("empty", "d.jsonl", b"", "d.jsonl holds no rows"),
    ("blank", "d.jsonl", b"\n \r\n\n", "d.jsonl holds no rows"),
    ("only a mark", "d.jsonl", b"\xef\xbb\xbf", "d.jsonl holds no rows"),
    ("empty gzip", "d.jsonl.gz", gzip.compress(b""), "d.jsonl.gz holds no rows"),
    ("empty list", "d.json", b" [ ] \n", "d.json holds no rows"),
    ("empty json", "d.json", b"", "d.json holds no rows"),
    ("empty csv", "d.csv", b"", "d.csv holds no rows"),
    ("csv of a header", "d.csv", b"p,r,a\n", "d.csv holds no rows"),
    ("csv without a header", "d.csv", b"1,2,3\n4,5,6\n", 'd.csv:1: no column "p" (--prompt-column)'),
    ("csv of blanks", "d.csv", b",,\n1,2,3\n", "d.csv:1: the first row must name the columns"),
    ("csv names twice", "d.csv", b"p,r,a,p\n1,2,3,4\n", 'd.csv:1: two columns are named "p"'),
    ("csv quote in header", "d.csv", b'p,"r,a\n1,2,3', "the names of the columns cannot be read"),
    ("csv UTF-16", "d.csv", "p,r,a\n".encode("utf-16"), "d.csv is UTF-16; convert it to UTF-8"),
    ("jsonl UTF-16", "d.jsonl", GOOD.decode().encode("utf-16-be").join([b"\xfe\xff", b""]), "is UTF-16"),
    ("parquet empty", "d.parquet", b"", "d.parquet is not a Parquet file"),
    ("parquet of text", "d.parquet", GOOD, "d.parquet is not a Parquet file"),
    ("arrow empty", "d.arrow", b"", "d.arrow is not an Arrow file"),
    ("arrow of text", "d.arrow", GOOD, "d.arrow is not an Arrow file"),
    ("text", "d.txt", GOOD, 'unknown extension ".txt"; known are .jsonl'),
    ("no extension", "d", GOOD, "no extension; known are .jsonl"),
    ("gzip of what", "d.gz", GOOD, 'unknown extension ".gz"; known are .jsonl'),
    ("gzip of parquet", "d.parquet.gz", GOOD, 'unknown extension ".gz"; known are .jsonl'),
]


@pytest.mark.parametrize(
    ("name", "content", "message"), [row[1:] for row in BAD_FILES], ids=[row[0] for row in BAD_FILES]
)
def test_a_bad_file_is_one_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    if name.endswith((".parquet", ".arrow")):
        pytest.importorskip("pyarrow", reason="Parquet and Arrow need the extra data")
    path = tmp_path / name
    path.write_bytes(content)
    for use in (lambda d: d.check(), list, lambda d: list(d.samples())):
        with pytest.raises(InputError) as caught:
            use(open_dataset(path, columns=COLUMNS))
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


# Odd, and right: the number of rows.
FINE = [
    ("mark", "d.jsonl", b"\xef\xbb\xbf" + GOOD, 1),
    ("CRLF", "d.jsonl", GOOD + b"\r\n\r\n" + GOOD + b"\r\n", 2),
    ("blanks around", "d.jsonl", b"  \t" + GOOD + b" \n", 1),
    ("no line end", "d.jsonl", GOOD + b"\n" + GOOD, 2),
    ("upper case", "D.JSONL", GOOD, 1),
    ("ndjson", "d.ndjson", GOOD, 1),
    (
        "line separators",
        "d.jsonl",
        b'{"messages": "[]", "x": "a\xe2\x80\xa8b\xc2\x85"}'.replace(b'"[]"', GOOD[13:-1]),
        1,
    ),
    ("paired surrogates", "d.jsonl", GOOD[:-1] + b', "x": "\\ud83d\\ude00"}', 1),
    ("escaped backslash", "d.jsonl", GOOD[:-1] + b', "x": "\\\\ud800"}', 1),
    ("escaped NUL", "d.jsonl", GOOD[:-1] + b', "x": "\\u0000"}', 1),
    ("deep enough", "d.jsonl", deep(MAX_DEPTH), 1),
    ("wide, not deep", "d.jsonl", GOOD[:-1] + b', "x": [' + b"[], " * 5000 + b"[]]}", 1),
    ("large integer", "d.jsonl", GOOD[:-1] + b', "x": ' + b"9" * 4000 + b"}", 1),
    ("messages as text", "d.jsonl", json.dumps({"messages": GOOD[13:-1].decode()}).encode(), 1),
    ("gzip", "d.jsonl.gz", gzip.compress(GOOD + b"\n" + GOOD), 2),
    ("gzip in two members", "d.jsonl.gz", gzip.compress(GOOD + b"\n") + gzip.compress(GOOD), 2),
    ("gzip with a mark", "d.jsonl.gz", gzip.compress(b"\xef\xbb\xbf" + GOOD), 1),
    ("gzip by content", "d.jsonl", gzip.compress(GOOD), 1),
    ("gzip by name only", "d.jsonl.gz", GOOD, 1),
    ("json list", "d.json", b" \n[\n" + GOOD + b" ,\n" + GOOD + b"\r\n] \n", 2),
    ("json object", "d.json", json.dumps(json.loads(GOOD), indent=2).encode(), 1),
    ("json of lines", "d.json", GOOD + b"\n\n" + GOOD + b"\n", 2),
    ("json gzip with a mark", "d.json.gz", gzip.compress(b"\xef\xbb\xbf" + LISTED), 2),
]


@pytest.mark.parametrize(("name", "content", "rows"), [row[1:] for row in FINE], ids=[row[0] for row in FINE])
def test_odd_files_that_are_right(tmp_path: Path, name: str, content: bytes, rows: int) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    data = open_dataset(path)
    assert data.check() == rows
    assert [sample.response for sample in data] == ["a"] * rows


FINE_CSV = [
    ("quoted line ends", b'p,r,a\r\n"1\r\n2","x\ny",3\r\n', [("1\r\n2", "x\ny", "3")]),
    ("doubled quotes", b'p,r,a\n"""1""",2,3\n', [('"1"', "2", "3")]),
    ("mark and blank lines", b"\xef\xbb\xbfp,r,a\n\n1,2,3\n   \n", [("1", "2", "3")]),
    ("line separator", "p,r,a\n1,2\u2028,\x0b\n".encode(), [("1", "2\u2028", "\x0b")]),
    ("field of 200,000", b"p,r,a\n1," + b"x" * 200_000 + b",3\n", [("1", "x" * 200_000, "3")]),
    ("index of pandas", b",p,r,a\n0,1,2,3\n", [("1", "2", "3")]),
    ("empty fields", b"p,r,a\n,,\n", [("", "", "")]),
]


@pytest.mark.parametrize(("content", "rows"), [row[1:] for row in FINE_CSV], ids=[row[0] for row in FINE_CSV])
def test_odd_csv_that_is_right(tmp_path: Path, content: bytes, rows: list[tuple[str, ...]]) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(content)
    data = open_dataset(path, columns=COLUMNS)
    assert [(s.messages[0].text, s.response, s.ground_truth) for s in data] == rows


def reading_of(path: Path) -> ReadContext:
    return ReadContext(path.name, lambda names: None)


def test_a_line_over_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(GOOD + b"\n" + b"x" * 900_000 + b"\n" + GOOD + b"\n" + b"y" * 2000)
    items = list(read_json_lines(path, reading_of(path), max_line=1000))
    assert [(i.line, "longer than" in i.reason) if isinstance(i, BadRow) else i[0] for i in items] == [
        1,
        (2, True),
        3,
        (4, True),
    ]


def test_a_csv_line_over_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"p,r\n1,2\n3," + b"x" * 2000 + b"\n5,6\n")
    items = list(read_csv(path, reading_of(path), max_line=1000))
    assert [i.line if isinstance(i, BadRow) else i[1] for i in items] == [
        {"p": "1", "r": "2"},
        3,
        {"p": "5", "r": "6"},
    ]


def test_a_json_document_over_the_limit_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_bytes(LISTED)
    with pytest.raises(InputError, match=r"over 0 MiB.*convert it to JSON Lines"):
        list(read_json(path, reading_of(path), max_bytes=len(LISTED) - 1))
    assert len(list(read_json(path, reading_of(path), max_bytes=len(LISTED)))) == 2


def test_rows_before_the_cut_in_gzip_are_read(tmp_path: Path) -> None:
    rows = b"".join(b'%s, "n": %d}\n' % (GOOD[:-1], n) for n in range(1000))
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress(rows)[:-100])
    survey = open_dataset(path).survey()
    assert survey.bad == 1
    assert 500 < survey.good < 1000
    assert survey.rejected[0].line == survey.good + 1


def test_a_line_of_50_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    big = "x" * 50_000_000
    path.write_text(json.dumps({"messages": [{"role": "assistant", "content": "q"}], "big": big}) + "\n")
    (sample,) = open_dataset(path)
    assert sample.metadata["big"] == big


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user who may not read what belongs to root, where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("name", ["d.jsonl", "d.json", "d.csv", "d.parquet", "d.arrow"])
def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name.endswith((".parquet", ".arrow")):
        pytest.importorskip("pyarrow", reason="Parquet and Arrow need the extra data")
    path = tmp_path / name
    path.write_bytes(GOOD)
    path.chmod(0)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)  # another user may not pass through the folders above
    with without_rights(), pytest.raises(InputError) as caught:
        open_dataset(name).check()
    assert str(caught.value) == f"cannot read {name}: permission denied"


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "rows"
    folder.mkdir(mode=0)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with without_rights(), pytest.raises(InputError, match=r"^cannot read rows: permission denied$"):
        open_dataset("rows")

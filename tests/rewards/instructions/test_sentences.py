"""Sentences and words as checkers of instructions count them."""

from __future__ import annotations

import pytest

from guerdon.rewards.instructions.sentences import sentences, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \n ", []),
        ("No mark", ["No mark"]),
        ("One. Two.", ["One.", "Two."]),
        ("  One.\n\nTwo! ", ["  One.", "Two!"]),
        (
            "Dr. Smith met J. R. Jones at 5 p.m. in St. Louis.",
            ["Dr. Smith met J. R. Jones at 5 p.m. in St. Louis."],
        ),
        ("It cost 3.50. He paid.", ["It cost 3.50.", "He paid."]),
        ('"Go." She went.', ['"Go."', "She went."]),
        ("(One.) [Two.] Three.", ["(One.)", "[Two.]", "Three."]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        # The last mark of a run at the end stands alone.
        ("Wow!!!", ["Wow!!", "!"]),
        # A mark right before a typographic quotation mark ends nothing.
        ("“Go.” She went.", ["“Go.” She went."]),
        ("1. First\n2. Second", ["1.", "First\n2.", "Second"]),
        ("www.example.org is a site. Go", ["www.example.org is a site.", "Go"]),
    ],
)
def test_sentences(text: str, found: list[str]) -> None:
    assert list(sentences(text)) == found


def test_sentences_come_one_by_one() -> None:
    assert next(iter(sentences("Yes. No. " * 100_000))) == "Yes."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Hello, world!", ["Hello", "world"]),
        ("well-known and/or 3,5 at 5:30", ["well-known", "and/or", "3,5", "at", "5:30"]),
        ("a,b a:b", ["a", "b", "a", "b"]),
        ("Don't; it's John's. We'll", ["Do", "n't", "it", "'s", "John", "'s", "We", "'ll"]),
        ("I can't.", ["I", "ca", "n't"]),
        ("cannot GONNA", ["can", "not", "GON", "NA"]),
        ("**bold** (x) [y] <z> $5", ["bold", "x", "y", "z", "5"]),
        ('“a” ‘b’ «c» "d"', ["a", "b", "c", "d"]),
        ("wait... what—now--here", ["wait", "what", "now", "here"]),
        ("the U.S. army.", ["the", "U.S.", "army"]),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found

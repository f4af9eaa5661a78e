"""Each kind of instruction on texts that follow it and texts that do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from guerdon.rewards.instructions.reward import instructions

TRAIN = "The train leaves at nine and stops in every village along the way."
ZUG = "Der Zug fährt um neun Uhr ab und hält dann in jedem Dorf an der Strecke."
POEM = "Write a poem."

# (kind, its arguments, what follows it, what does not)
TABLE: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    (
        "keywords:existence",
        {"keywords": ["sea", "Salt"]},
        ["salt sea", "The SEAside is salty.", "sea\nsalt", "unsalted, overseas"],
        ["sea", "salt", "s e a salt", "seá Sált"],
    ),
    (
        "keywords:frequency",
        {"keyword": " sea ", "frequency": 2, "relation": "at least"},
        ["sea sea", "Sea, SEA, sea", "overseas nausea"],
        ["sea", "se a sea", "no such word"],
    ),
    (
        "keywords:frequency",
        {"keyword": "aa", "frequency": 2, "relation": "less than"},
        ["aaa", "aa", "a a a a"],  # occurrences do not overlap
        ["aaaa", "aa aa", "AAaa"],
    ),
    (
        "keywords:frequency",
        {"keyword": "what?", "frequency": 1, "relation": "at least"},
        ["What?", "So what?", "whatwhat?"],
        ["what", "wha", "what ?"],
    ),
    (
        "keywords:forbidden_words",
        {"forbidden_words": ["can", "of course", "e.g."]},
        ["candid scan", "of coursework", "eggs", "can_not"],
        ["I can.", "CAN!", "Of course, yes", "fruit, e.g. apples", "can-do"],
    ),
    (
        "keywords:letter_frequency",
        {"letter": "S", "let_frequency": 2, "let_relation": "at least"},
        ["ss", "Sus", "success"],
        ["s", "", "ßtz", "5 $"],
    ),
    (
        "keywords:letter_frequency",
        {"letter": "#", "let_frequency": 2, "let_relation": "less than"},
        ["#", "no tag", "a # b"],
        ["##", "#a #b", "#" * 1000],
    ),
    (
        "language:response_language",
        {"language": "de"},
        [ZUG, ZUG.upper().lower(), f"{ZUG} {ZUG} Train."],
        [TRAIN, "Le train part à neuf heures et s'arrête dans tous les villages.", "42", "!?", "***"],
    ),
    (
        "language:response_language",
        {"language": "zh"},
        ["火车九点出发，每个村子都停。", "火車九點出發，每個村子都停。", "首先我们计算三角形的面积。"],
        ["電車は九時に出発し、どの村にも止まります。", "기차는 아홉 시에 출발합니다.", TRAIN],
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "less than"},
        ["One.", "One", "Mr. and Mrs. Smith", "At 3.5 percent", "1.5 and v. 2", "See p. 5 of it"],
        ["One. Two.", "What?! Really", "Oh! oh", "One.\n\nTwo.", 'He said "Go." She went.'],
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 3, "relation": "at least"},
        ["One came. Two left. Three stayed.", "Is it? It is! Good", "One. Two. Three. Four.", "(One.) [Two.] Three."],
        ["One came. Two left.", "No mark\nat\nall", "Dr. J. R. Smith, Ph.D."],
    ),
    (
        "length_constraints:number_words",
        {"num_words": 3, "relation": "at least"},
        ["one two three", "it's two", "a-b-c", "été déjà là", "1 2 3", "日 本 語"],
        ["one two", "snake_case words", "... --- !!!", "日本語"],
    ),
    (
        "length_constraints:number_words",
        {"num_words": 3, "relation": "less than"},
        ["one two", "word", "-- !"],
        ["one two three", "don't go", "a.b.c"],
    ),
    (
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 2},
        ["a\n\n***\n\nb", "a***b", "*** a *** b", "a\n***\nb\n***\n"],
        ["a\n\nb", "a *** b *** c", "a\n* * *\nb", "a\n******\nb", "***"],
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 3, "nth_paragraph": 2, "first_word": "Then"},
        ["a\n\nthen b\n\nc", "a\n\n'\"Then, b\n\nc", "a\n\n  THEN! b\n\nc", "a\n\nthen's b\n\nc"],
        ["a\n\nthenb\n\nc", "a\n\nthen b", "a\nthen b\n\nc\n\nd", "then a\n\nb\n\nc", "a\n\n\n\nthen b\n\nc"],
    ),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
        ["[a] [b]", "[a][b]", "[] []", "[a [b] [c]", "x [a]\n[b]"],
        ["[a]", "[a\nb] [c", "]a[ ]b[", "(a) (b)", "[" * 5000],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.S."},
        ["a\nP.S. b", "p.s.", "a p. s. b", "P.P.S. b p.s."],
        ["PS: b", "P S b", "P.S b", "ps."],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.P.S"},
        ["a\nP.P.S b", "p.p.s.", "P. P. S. b"],
        ["P.S. b", "PPS", "P.P. b"],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "N.B."},
        ["N.B. b", "a n.b. b", "n.b."],
        ["NB b", "nxbx", "N. B. b"],
    ),
    (
        "detectable_format:number_bullet_lists",
        {"num_bullets": 2},
        ["* a\n* b", "- a\n  - b", "*a\n-b", "text\n\n\n* a\n\n* b\ntext", "*\n* a\n- b"],
        ["* a", "* a\n** b", "• a\n• b", "1. a\n2. b", "* a\n* b\n* c", "a * b\na - b"],
    ),
    ("detectable_format:number_bullet_lists", {"num_bullets": 0}, ["a", "**a**", "a - b"], ["* a", "-", "---"]),
    (
        "detectable_format:constrained_response",
        {},
        ["My answer is yes.", " My answer is no.\n", "I think: My answer is maybe. Sorry."],
        ["My answer is yes", "my answer is no.", "Yes.", "My answer is perhaps."],
    ),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
        ["*a* *b*", "**a** **b**", "*a* **b**", "**a b** and *c d*"],
        ["*a*", "**a**", "****", "* a\nb *", "_a_ _b_", "*\n*\n*"],
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "Section", "num_sections": 2},
        ["Section 1\na\nSection 2\nb", "Section1 a Section2 b", "**Section 1** a **Section 2** b"],
        ["Section 1\na", "SECTION 1\na\nSECTION 2", "Section one\na\nSection two", "Section  1 Section  2"],
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "Part (a)", "num_sections": 1},
        ["Part (a) 1", "x Part (a)2", "Part (a)\n3"],
        ["Part a 1", "Part (a)", "Part (a) one"],
    ),
    (
        "detectable_format:json_format",
        {},
        ['{"a": 1}', "[1, 2]", "```\n{}\n```", '```JSON\n"a"\n```', " 7 ", "\n```json[]```"],
        ["{'a': 1}", '{"a": 1,}', "```yaml\n{}\n```", "a", '{"a": 1} b', '{"a": ' * 5000],
    ),
    (
        "detectable_format:title",
        {},
        ["<<a>>", "x <<a b>> y", "a\n<<<b>>>", "<<a>> <<b>>", "<< a"[:2] + "a>>"],
        ["<a>", "<<>>", "<< >>", "<<a\n>>", ">>a<<", "<<<>>>", "<<" * 5000],
    ),
    (
        "combination:two_responses",
        {},
        ["a\n******\nb", "******a******b******", "a******A"],
        ["a", "a\n***\nb", "a******a", "a******b******c", "a************b", "******"],
    ),
    (
        "combination:repeat_prompt",
        {"prompt_to_repeat": POEM},
        [POEM, f"{POEM} Roses", f"\n{POEM.upper()}\nRoses"],
        ["Roses", f"Sure. {POEM}", "Write  a poem. Roses", "Write a poem", f'"{POEM}" Roses'],
    ),
    (
        "startend:end_checker",
        {"end_phrase": "The end."},
        ["The end.", 'a "The end."', "a\nTHE END.\n", "a the end."],
        ["The end", "The end.)", "The end. a", "*The end.*"],
    ),
    (
        "startend:quotation",
        {},
        ['"a"', ' "a"\n', '"a" and "b"', '""'],
        ["a", '"a', 'a"', "'a'", "«a»", '"', '"a".'],
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "at least"},
        ["A B", "TWO WORDS here", "HELLO, I am", "I'M", "JOHN'S", "CANNOT", "A/B C", "(A) [B]", "YES!NO"],
        ["A", "STATE-OF-THE-ART", "Title Case", "A1b B2c", "U.S.A.", "AND/OR", "1 2 3"],
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "less than"},
        ["one", "ONE", "One-TWO", "iPHONE"],
        ["ONE TWO", "DON'T", "A **B**", "HAVEN'T."],
    ),
    (
        "change_case:english_capital",
        {},
        [TRAIN.upper(), "I AM HERE, AND YOU ARE THERE.", f"1. {TRAIN.upper()}"],
        [TRAIN, TRAIN.upper() + "x", TRAIN.title(), "123"],
    ),
    (
        "change_case:english_lowercase",
        {},
        [TRAIN.lower(), f"1. {TRAIN.lower()} 2!", TRAIN.lower() + "\n\n" + TRAIN.lower()],
        [TRAIN, ZUG.lower(), TRAIN.lower() + "X", "123"],
    ),
    ("punctuation:no_comma", {}, ["a", "a; b", "a、b", "a‚b"], ["a,b", ",", "1,000", "a\n,"]),
    # The further kinds of trainers' data sets.
    ("copy:copy", {"prompt_to_repeat": POEM}, [POEM, f" {POEM}\n", POEM.upper()], ["", f"{POEM} a", "Write"]),
    (
        "copy:copying_simple",
        {"prompt_to_repeat": POEM},
        [POEM, POEM.lower(), f"\n{POEM}"],
        ["a", f"{POEM}{POEM}", f'"{POEM}"'],
    ),
    (
        "copy:copying_multiple",
        {"prompt_to_repeat": POEM, "N": 2},
        [f"{POEM}******{POEM}", f"{POEM}\n******\n{POEM}", f"{POEM.upper()}******{POEM}"],
        [POEM, f"{POEM}{POEM}", f"{POEM}******{POEM}******{POEM}", f"{POEM}******a", f"{POEM}******"],
    ),
    (
        "new:copy_span_idx",
        {"prompt_to_repeat": POEM, "n_start": 6, "n_end": 12},
        ["a poem", " A POEM ", "a poem\n"],
        ["a poem.", "poem", POEM, "a  poem"],
    ),
    (
        "copy:repeat_phrase",
        {"phrase": "the old sea", "small_n": 2},
        ["the new sea the red sea", "the new sea, the red sea", "the\nnew sea and the red\nsea"],
        ["the new sea", "the old sea the red sea", "the sea the sea", "the a sea the b sea the c sea"],
    ),
    (
        "keywords:word_once",
        {"keyword": "sea"},
        ["sea", "The SEA.", "season"],
        ["", "se a", "sea sea", "Sea and season"],
    ),
    (
        "keywords:word_count_different_numbers",
        {"keyword": "sea", "frequency": 2, "relation": "at least"},
        ["sea sea", "Sea SEA", "sea sea sea"],
        ["sea", "", "see"],
    ),
    (
        "keywords:exclude_word_harder",
        {"keyword": "sea"},
        ["season", "see", "overseas"],
        ["the sea is", "sea", "The Sea.", "sea-side"],
    ),
    (
        "keywords:no_adjacent_consecutive",
        {},
        ["a c e", "b a", "zebra apple", "1 2 3", "a a"],
        ["a b", "Cat dog", "the united", "x b c"],
    ),
    (
        "keywords:palindrome",
        {},
        ["A level road", "Anna.", "x (Noon) y", "kayak"],
        ["a I", "aa", "road", "ab ba", "!!!"],
    ),
    (
        "keywords:keyword_specific_position",
        {"keyword": "sea", "n": 2, "m": 3},
        ["One. To the sea we go.", "One! By, the sea.", "One. A (blue) sea"],
        ["One. The sea.", "To the sea.", "One. To the Sea.", "One. To the seas."],
    ),
    (
        "keywords:start_end",
        {},
        ["Sea is the sea", '"Sea, my sea', "sea sea"],
        ["sea", "Sea is the sea.", "sea and land", ""],
    ),
    ("count:count_unique", {}, ["One two.", "a; b; c!", "one"], ["The sea, the land", "no no", "a A"]),
    (
        "count:count_increment_word",
        {"keyword1": "sea", "keyword2": "land"},
        ["sea land land", "Land, SEA, land", "land landsea"],
        ["sea land", "sea sea land land", "land land", "season sea land land"],
    ),
    (
        "count:lowercase_counting",
        {"N": 2},
        ["One two three", "ALL CAPS", "it's"],
        ["one two three", "don't go", "a-b-c"],
    ),
    (
        "letters:letter_counting",
        {"N": 3, "relation": "at least"},
        ["abc", "A1B2C3", "a b c d"],
        ["ab", "123", "éàü ab"],
    ),
    (
        "letters:letter_counting2",
        {"letter": "s", "let_frequency": 2, "let_relation": "at least"},
        ["ss", "Sos", "s S"],
        ["s", "z", "5"],
    ),
    (
        "count:counting_composition",
        {"n_sent": 2, "n_words": 2},
        ["One two. Three four.\n***\nOne two. Three four.\n***\nOne two! Three four?"],
        ["One two. Three four.", "One two.\n***\nOne two.\n***\nOne two.", "***"],
    ),
    (
        "first_word:first_word_sent",
        {"first_word": "sea"},
        ["Sea is. Sea was.", "sea", '"Sea," he said. SEA!'],
        ["Sea is. Land was.", "The sea.", "Seas are."],
    ),
    (
        "first_word:first_word_answer",
        {"first_word": "Sea"},
        ["sea is. Land was.", "SEA", "Sea, land"],
        ["The sea", "Seas", "1 sea"],
    ),
    (
        "last_word:last_word_sent",
        {"last_word": "sea"},
        ["The sea. A SEA!", "sea", "By the sea? (To sea.)"],
        ["The sea. A land.", "sea is", "overseas"],
    ),
    (
        "last_word:last_word_answer",
        {"last_word": "don't"},
        ["I don't.", "DON'T!!", "they don't"],
        ["I don't know.", "dont", "do n't"],
    ),
    (
        "detectable_format:sentence_hyphens",
        {},
        ["One came.-Two went.", "One came.", "Who?-You!-Me."],
        ["One came. Two went.", "One came. -Two went.", "One came.- Two went.", "a--b"],
    ),
    (
        "detectable_format:square_brackets",
        {},
        ["[a] [b]", "[a]\n[b]", "[a.]"],
        ["[a b]", "a [b]", "[a].", "(a)"],
    ),
    (
        "detectable_format:bigram_wrapping",
        {},
        ["<<I am>> <<at home>>", "<<I am>> here", "<<I am>>\n<<at home>>"],
        ["I am", "<<I am at>> <<home now>>", "<<I am>> at home", "<I am>"],
    ),
    ("paragraphs:paragraphs", {}, ["a***b", "a\n***\nb", "***a***b***"], ["a", "a\n\nb", "a***b***c", "a******b"]),
    ("paragraphs:paragraphs2", {}, ["a\n\nb", "a\nb\n\nc", "\n\na\n\nb"], ["a", "a\nb", "a\n\nb\n\nc", "a\n\n\n\nb"]),
    ("punctuation:punctuation_dot", {}, ["a", "a!", "a。"], ["a.", "...", "3.5"]),
    ("punctuation:punctuation_exclamation", {}, ["a", "a.", "a！"], ["a!", "!", "a != b"]),
    # The functions of the training data of Tülu 3.
    ("verify_keywords", {"keyword_list": ["sea"]}, ["Sea", "season", "a sea"], ["land", "", "se a"]),
    (
        "verify_keyword_frequency",
        {"word": "sea", "N": 2},
        ["sea SEA", "Sea, sea and season", "sea-sea"],
        ["sea", "sea sea sea", "seasea"],
    ),
    (
        "validate_forbidden_words",
        {"forbidden_words": ["sea"]},
        ["land", "season", "s e a"],
        ["sea", "The SEA.", "sea-side"],
    ),
    ("verify_letter_frequency", {"letter": "s", "N": 2}, ["ss", "Sos", "a s s"], ["s", "sss", "z"]),
    ("validate_response_language", {"language": "en"}, [TRAIN, TRAIN * 2, f"{TRAIN} 1!"], [ZUG, "42", "***"]),
    ("verify_paragraph_count", {"N": 2}, ["a\n* * *\nb", "a* * *b", "* * * a * * * b"], ["a", "a***b", "a\n\nb"]),
    (
        "validate_word_constraint",
        {"N": 20, "quantifier": "around"},
        ["a " * 18, "a " * 20, "a-b " * 22],
        ["a " * 17, "a " * 23, "a"],
    ),
    (
        "validate_word_constraint",
        {"N": 2, "quantifier": "at most"},
        ["a", "a b", "a-b c,d"],
        ["a b c", "a b c d", "a - b"],
    ),
    (
        "verify_sentence_constraint",
        {"N": 2, "quantifier": "around"},
        ["One.", "One came. Two went.", "One came. Two went. Three stayed."],
        ["One came. Two went. Three stayed. Four hid."],
    ),
    (
        "verify_sentence_constraint",
        {"N": 2, "quantifier": "at least"},
        ["One came. Two went.", "One! Two! Three!", "Who? Me."],
        ["One.", "Dr. Smith", "no mark"],
    ),
    (
        "validate_paragraphs",
        {"N": 2, "first_word": "Then", "i": 2},
        ["a\n\nThen b", "a\n\n Then b", "a\n\nThen b\n\n"],
        ["a\n\nthen b", "Then a\n\nb", "a\n\nThen b\n\nc", "Then"],
    ),
    (
        "verify_postscript",
        {"postscript_marker": "P.S."},
        ["a\nP.S. b", "P.S.b", "a P.S. P.S."],
        ["a\nP.S.", "p.s. b", "PS b"],
    ),
    ("validate_placeholders", {"N": 1}, ["[a]", "x [a] [b]", "[]"], ["a", "(a)", "[a\n]"]),
    ("verify_bullet_points", {"N": 1}, ["* a", "- a", "text\n* a"], ["a", "* a\n* b", "1. a"]),
    ("validate_title", {}, ["<<a>>", "x <<a b>>", "<<a>>\nb"], ["<a>", "<<>>", "a"]),
    (
        "validate_choice",
        {"options": ["My answer is yes.", "My answer is no."]},
        ["My answer is yes.", "So: My answer is no.", "My answer is no. Sorry."],
        ["yes", "My answer is maybe.", "my answer is no."],
    ),
    ("validate_highlighted_sections", {"N": 1}, ["*a*", "**a**", "x *a b* y"], ["a", "* a", "**"]),
    (
        "validate_sections",
        {"N": 2, "section_splitter": "Part"},
        ["Part 1 a Part 2 b", "Part1Part2", "Part 1\nPart 2\nPart 3"],
        ["Part 1", "Part a Part b", "PART 1 PART 2"],
    ),
    ("validate_json_format", {}, ["{}", "[1]", '"a"'], ["{", "a", "{'a': 1}"]),
    (
        "validate_repeat_prompt",
        {"original_prompt": POEM},
        [POEM, f"{POEM} Roses", f" {POEM}"],
        ["Roses", f"Sure. {POEM}", "Write"],
    ),
    ("validate_two_responses", {}, ["a******b", "a\n******\nb", "b ****** a"], ["a", "a******a", "a***b"]),
    ("validate_uppercase", {}, ["A B", "A 1!", "ÄÖ"], ["a", "A b", "12"]),
    ("validate_lowercase", {}, ["a b", "a 1!", "äö"], ["A", "A b", "12"]),
    (
        "validate_frequency_capital_words",
        {"N": 2, "quantifier": "at least"},
        ["A B", "NO-ONE here", "I am HERE"],
        ["A b", "Title Case", "12"],
    ),
    ("validate_end", {"end_phrase": "The end."}, ["The end.", "a the end.", '"The end."'], ["The end", "The end. a"]),
    ("validate_quotation", {}, ['"a"', ' "a b" ', '"a" "b"'], ["a", "'a'", '"a']),
    ("validate_no_commas", {}, ["a", "a; b", "1.5"], ["a,", ",", "1,000"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "arguments", "response", "followed"),
    [
        (kind, arguments, response, followed)
        for kind, arguments, right, wrong in TABLE
        for responses, followed in ((right, 1.0), (wrong, 0.0))
        for response in responses
    ],
)
def test_verdict(kind: str, arguments: dict[str, Any], response: str, followed: float) -> None:
    result = instructions(response, instruction_id_list=[kind], kwargs=[arguments])
    assert result.unwrap() == followed, result.reason


def test_every_kind_is_in_the_table() -> None:
    from guerdon.rewards.instructions.reward import KINDS

    assert {kind for kind, *_ in TABLE} == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        ("keywords:existence", {}, "keywords:existence needs keywords: give it in kwargs"),
        (
            "keywords:existence",
            {"keywords": []},
            "keywords of keywords:existence must be a list of one or more",
        ),
        ("keywords:existence", {"keywords": "sea"}, 'must be a list of texts, not "sea"'),
        (
            "keywords:existence",
            {"keywords": [" "]},
            "must be a list of one or more texts, none of them empty",
        ),
        ("keywords:frequency", {"keyword": "a"}, "keywords:frequency needs frequency and relation"),
        (
            "keywords:frequency",
            {"keyword": "", "frequency": 1, "relation": "at least"},
            "keyword of keywords:frequency must be a text that is not empty",
        ),
        (
            "length_constraints:number_words",
            {"num_words": 2.5, "relation": "at least"},
            "num_words of length_constraints:number_words must be a whole number of 0 or more, not 2.5",
        ),
        (
            "detectable_format:number_bullet_lists",
            {"num_bullets": True},
            "must be a whole number of 0 or more",
        ),
        (
            "detectable_format:number_bullet_lists",
            {"num_bullets": "many"},
            "must be a whole number of 0 or more",
        ),
        (
            "keywords:letter_frequency",
            {"letter": "ab", "let_frequency": 1, "let_relation": "at least"},
            "letter of keywords:letter_frequency must be a single character",
        ),
        (
            "copy:copying_multiple",
            {"prompt_to_repeat": "a", "N": 0},
            "N of copy:copying_multiple must be a whole",
        ),
        ("copy:repeat_phrase", {"phrase": "old sea", "small_n": 2}, "has no word in its middle to replace"),
        ("new:copy_span_idx", {"prompt_to_repeat": "a", "n_start": 3, "n_end": 5}, "nothing from 3 to 5"),
        ("language:response_language", {"language": "deu"}, "must be a language code such as de"),
        ("language:response_language", {"language": 7}, "must be a language code such as en or de, not 7"),
        (
            "punctuation:no_comma",
            {"relation": "at least"},
            "punctuation:no_comma takes no arguments, not relation",
        ),
        (
            "detectable_format:title",
            {"title": "a", "b": 1},
            "detectable_format:title takes no arguments, not title, b",
        ),
    ],
)
def test_arguments_that_make_no_sense(kind: str, arguments: dict[str, Any], says: str) -> None:
    for response in ("some text", ""):
        result = instructions(response, instruction_id_list=[kind], kwargs=json.dumps([arguments]))
        assert (result.score, result.error_kind) == (None, "input")
        assert says in str(result.error)

"""JSON from others is read only where it has a bounded number of values."""

from __future__ import annotations

import pytest

from guerdon.serve.client.codecs import AdaptiveCodec, InvalidFrameError
from guerdon.serve.json_reading import TooManyValuesError, has_more_values, read_bounded_json
from guerdon.serve.redaction import redacted_body


def test_commas_of_a_short_text_are_not_counted() -> None:
    assert read_bounded_json(b'"' + b"," * 100 + b'"', 200) == "," * 100


@pytest.mark.parametrize("text", [b"[" + b"{}," * 50 + b"{}]", "[" + '{"a":[]},' * 50 + "{}]"])
def test_more_values_than_may_be_read_are_refused(text: bytes | str) -> None:
    assert has_more_values(text, 50)
    with pytest.raises(TooManyValuesError):
        read_bounded_json(text, 50)


def test_a_body_of_a_million_values_that_may_hold_a_secret_is_left_out_of_the_journal() -> None:
    body = b'{"api_key":"abc","a":[' + b"{}," * 1_000_000 + b"{}]}"
    assert redacted_body(body) == b'{"unreadable":%d}' % len(body)


def test_answers_in_chunks_that_never_end_are_refused() -> None:
    codec = AdaptiveCodec(max_response=1000)
    codec.decode('{"id": 1, "total_num_chunks": 1000000000}')
    replies = [codec.decode('{"id": 1, "chunk": ""}') for _ in range(1001)]
    assert replies[-1] is not None
    assert "more than 1000 characters" in str(replies[-1].value)
    for n in range(2, 4_098):
        codec.decode(f'{{"id": {n}, "total_num_chunks": 2}}')
    with pytest.raises(InvalidFrameError):
        codec.decode('{"id": 5000, "total_num_chunks": 2}')

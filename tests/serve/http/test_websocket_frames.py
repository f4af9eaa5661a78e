"""Frames against the websockets library as the other end: any messages, in any fragments, in any pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import CLIENT, Protocol

from guerdon.serve.http.websocket_frames import (
    CLOSE,
    PING,
    PONG,
    TEXT,
    FrameError,
    FrameReader,
    accept_of,
    close_frame,
    pong_frame,
    text_frame,
)

MAX = 100_000
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from([125, 126, 127, 65_535, 65_536, 90_000]).map(lambda n: "é" * (n // 2)),
)
SIZES = st.lists(st.integers(1, 70_000) | st.integers(1, 5), max_size=30)


def in_pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(data[start : start + size])
        start += size
    return [piece for piece in [*pieces, data[start:]] if piece]


def received(reader: FrameReader, pieces: list[bytes]) -> list[tuple[int, bytes]]:
    return [message for piece in pieces for message in reader.feed(piece)]


def fragments(payload: bytes, cuts: list[int]) -> list[Frame]:
    """A text message as a first frame and continuations."""
    places = sorted({cut % (len(payload) + 1) for cut in cuts})
    parts = [payload[a:b] for a, b in zip([0, *places], [*places, len(payload)], strict=True)]
    return [
        Frame(Opcode.TEXT if i == 0 else Opcode.CONT, part, fin=i == len(parts) - 1)
        for i, part in enumerate(parts)
    ]


def written(frames: list[Frame]) -> bytes:
    return b"".join(frame.serialize(mask=True) for frame in frames)


@given(
    st.lists(
        st.tuples(TEXTS, st.lists(st.integers(0, 99_999), max_size=4), st.binary(max_size=125)), max_size=6
    ),
    SIZES,
)
def test_what_a_client_sends_is_read(messages: list[tuple[str, list[int], bytes]], sizes: list[int]) -> None:
    frames: list[Frame] = []
    expected: list[tuple[int, bytes]] = []
    for text, cuts, ping in messages:
        parts = fragments(text.encode(), cuts)
        # A ping may come between the fragments of a message.
        frames += [parts[0], Frame(Opcode.PING, ping), *parts[1:], Frame(Opcode.PONG, ping)]
        order = [(TEXT, text.encode()), (PING, ping)]
        expected += [*(order if len(parts) == 1 else reversed(order)), (PONG, ping)]
    frames.append(Frame(Opcode.CLOSE, Close(1000, "bye").serialize()))
    expected.append((CLOSE, Close(1000, "bye").serialize()))
    assert received(FrameReader(MAX), in_pieces(written(frames), sizes)) == expected


@given(
    st.lists(TEXTS, max_size=6), st.binary(max_size=125), st.integers(3000, 4999), st.text(max_size=20), SIZES
)
def test_what_we_write_is_read(
    texts: list[str], ping: bytes, code: int, reason: str, sizes: list[int]
) -> None:
    client = Protocol(CLIENT, max_size=None)
    data = (
        b"".join(text_frame(text.encode()) for text in texts) + pong_frame(ping) + close_frame(code, reason)
    )
    for piece in in_pieces(data, sizes):
        client.receive_data(piece)
    assert client.parser_exc is None
    events = [event for event in client.events_received() if isinstance(event, Frame)]
    assert [event.data for event in events if event.opcode is Opcode.TEXT] == [
        text.encode() for text in texts
    ]
    assert [event.data for event in events if event.opcode is Opcode.PONG] == [ping]
    assert client.close_rcvd == Close(code, reason)


@given(st.binary(max_size=300), SIZES)
def test_any_bytes_are_messages_or_an_error(data: bytes, sizes: list[int]) -> None:
    reader = FrameReader(200)
    messages: list[tuple[int, bytes]] = []
    code = None
    try:
        for piece in in_pieces(data, sizes):
            messages += reader.feed(piece)
    except FrameError as error:
        code = error.code
    assert code in (None, 1002, 1003, 1009)
    assert all(kind in (TEXT, CLOSE, PING, PONG) and len(payload) <= 200 for kind, payload in messages)


def frame(first: int, payload: bytes = b"", mask: int = 0x80) -> bytes:
    return bytes((first, mask | len(payload))) + (bytes(4) if mask else b"") + payload


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(0x81, b"a", mask=0), 1002),
        (frame(0xC1, b"a"), 1002),
        (frame(0xA1, b"a"), 1002),
        (frame(0x91, b"a"), 1002),
        (frame(0x83), 1002),
        (frame(0x87), 1002),
        (frame(0x8B), 1002),
        (frame(0x8F), 1002),
        (frame(0x82, b"a"), 1003),
        (frame(0x02, b"a"), 1003),
        (frame(0x80, b"a"), 1002),
        (frame(0x01, b"a") + frame(0x81, b"b"), 1002),
        (frame(0x09, b"a"), 1002),
        (bytes((0x89, 0x80 | 126, 0, 126)) + bytes(4 + 126), 1002),
        (bytes((0x81, 0x80 | 127)) + (MAX + 1).to_bytes(8, "big") + bytes(4), 1009),
        (bytes((0x81, 0x80 | 127)) + (1 << 63).to_bytes(8, "big") + bytes(4), 1009),
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_what_breaks_the_protocol(data: bytes, code: int, size: int) -> None:
    with pytest.raises(FrameError) as caught:
        received(FrameReader(MAX), in_pieces(data, [size] * len(data)))
    assert caught.value.code == code


def test_fragments_count_together() -> None:
    reader = FrameReader(MAX)
    half = written([Frame(Opcode.TEXT, b"x" * 60_000, fin=False)])
    assert received(reader, [half]) == []
    with pytest.raises(FrameError) as caught:
        received(reader, [written([Frame(Opcode.CONT, b"x" * 60_000)])])
    assert caught.value.code == 1009


@pytest.mark.parametrize(("size", "count", "good"), [(0, 4000, True), (0, 5000, False), (1024, 90, True)])
def test_a_message_has_fragments_in_proportion(size: int, count: int, good: bool) -> None:
    reader = FrameReader(MAX)
    part = Frame(Opcode.CONT, b"x" * size, fin=False)
    data = written([Frame(Opcode.TEXT, b"a", fin=False), *[part] * count, Frame(Opcode.CONT, b"z")])
    if good:
        assert received(reader, [data]) == [(TEXT, b"a" + b"x" * size * count + b"z")]
        return
    with pytest.raises(FrameError) as caught:
        received(reader, in_pieces(data, [1000] * len(data)))
    assert caught.value.code == 1008


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"", None),
        (b"\x03\xe8", None),
        (b"\x03\xe8bye", None),
        (b"\x0b\xb8", None),
        (b"\x13\x87", None),
        (b"\x03", 1002),
        (b"\x00\x00", 1002),
        (b"\x03\xe7", 1002),
        *[(number.to_bytes(2, "big"), 1002) for number in (1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535)],
        (b"\x03\xe8\xff", 1007),
        (b"\x03\xe8\xed\xa0\x80", 1007),
    ],
)
def test_close_frames(payload: bytes, code: int | None) -> None:
    data = written([Frame(Opcode.CLOSE, payload)])
    if code is None:
        assert received(FrameReader(MAX), [data]) == [(CLOSE, payload)]
        return
    with pytest.raises(FrameError) as caught:
        received(FrameReader(MAX), [data])
    assert caught.value.code == code


@pytest.mark.parametrize("text", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xc3"])
@pytest.mark.parametrize("fragments", [1, 2])
def test_text_that_is_none(text: bytes, fragments: int) -> None:
    parts = [Frame(Opcode.TEXT, text)] if fragments == 1 else [
        Frame(Opcode.TEXT, text[:1], fin=False), Frame(Opcode.CONT, text[1:])
    ]  # fmt: skip
    with pytest.raises(FrameError) as caught:
        received(FrameReader(MAX), [written(parts)])
    assert caught.value.code == 1007


@pytest.mark.parametrize(
    ("key", "accept"),
    [
        (b"dGhlIHNhbXBsZSBub25jZQ==", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),  # RFC 6455, section 1.3
        (b"", None),
        (b"short", None),
        (b"dGhlIHNhbXBsZSBub25jZQ", None),
        (b"\xff" * 24, None),
        (b"dGhlIHNhbXBsZSBub25jZQ==\r\n", None),
    ],
)
def test_the_handshakes_key(key: bytes, accept: bytes | None) -> None:
    assert accept_of(key) == accept


def test_a_reason_is_cut_to_what_a_control_frame_holds() -> None:
    client = Protocol(CLIENT)
    client.receive_data(close_frame(1001, "é" * 200))
    assert client.parser_exc is None
    assert client.close_rcvd is not None
    assert client.close_rcvd.reason == "é" * 61

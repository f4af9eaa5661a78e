"""Private tests of LiveCodeBench: text in base64 of zlib of a pickle of one string, read without unpickling."""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib

from guerdon.errors import InputError

MAX_BYTES = 1 << 29
"""Bytes that the tests of one problem may unfold to."""

_TEXT = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
_HARMLESS = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})


def decompressed(text: str) -> str:
    """The JSON text in a ``private_test_cases`` column.

    A pickle may hold code that runs when it is loaded, so this one is not loaded: its instructions are read,
    and only those are accepted that make a single string. Raises InputError for anything else.

    >>> import pickle
    >>> decompressed(base64.b64encode(zlib.compress(pickle.dumps("[]"))).decode())
    '[]'
    """
    try:
        packed = base64.b64decode(text, validate=True)
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, MAX_BYTES)
    except (binascii.Error, ValueError, zlib.error):
        raise InputError("private_test_cases is neither JSON nor base64 of compressed data") from None
    if not unpacker.eof:
        raise InputError(f"private_test_cases is cut off, or decompresses to more than {MAX_BYTES >> 20} MiB")
    return _only_text(data)


def _only_text(data: bytes) -> str:
    found: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in _TEXT and isinstance(argument, str):
                found.append(argument)
            elif opcode.name not in _HARMLESS:
                raise InputError(
                    f"private_test_cases holds a pickle of more than one text ({opcode.name}); "
                    "it is not loaded, since that could run code"
                )
    except InputError:
        raise
    except (ValueError, KeyError, IndexError):  # what pickletools raises for bytes that are not a pickle
        raise InputError("private_test_cases decompresses to something that is not a pickle") from None
    if len(found) != 1:
        raise InputError(f"private_test_cases holds {len(found)} texts, not one")
    return found[0]

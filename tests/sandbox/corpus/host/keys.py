"""Reads the host's keyring, and puts a key into it. Neither must be."""

from attack import TARGETS, breach, ctypes, say, syscall

name, kind = ctypes.c_char_p(TARGETS["key_name"].encode()), ctypes.c_char_p(b"user")
buffer = ctypes.create_string_buffer(200)
for ring in (-1, -2, -3, -4, -5):
    number = syscall("keyctl", 10, ring, kind, name, 0)
    say(f"ring {ring}: {number}")
    if number >= 0:
        breach(f"key {number}: {syscall('keyctl', 11, number, buffer, 200, 0)} {buffer.value!r}")
number = syscall("request_key", kind, name, 0, 0)
if number >= 0:
    breach(f"requested key {number}")
if syscall("add_key", kind, ctypes.c_char_p(b"left"), ctypes.c_char_p(b"x"), 1, -4) >= 0:
    breach("a key left behind")

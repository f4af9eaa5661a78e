"""Seeks far and writes a byte, so that what is read back is far longer than what was written.

What comes back must be within the limit. Limits: output_kb=64
Ends: output_limit, error, killed, ok
"""

from attack import os

os.lseek(1, 1 << 33, os.SEEK_SET)
os.write(1, b"x")
os.lseek(2, 1 << 33, os.SEEK_SET)
os.write(2, b"x")

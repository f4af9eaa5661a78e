"""What a child process is given where its parent was started without standard streams."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from guerdon.scoring.process.descriptors import child_fds


def test_a_child_keeps_a_descriptor_whose_number_is_that_of_a_standard_stream() -> None:
    script = """
        import os, subprocess, sys
        from guerdon.scoring.process.descriptors import child_fds
        read, write = os.pipe()
        assert read == 0
        os.write(write, b"text")
        reads = "import os, sys; assert os.read(int(sys.argv[1]), 9) == b'text'"
        with child_fds([read]) as (passed,):
            command = [sys.executable, "-c", reads, str(passed)]
            subprocess.run(command, stdin=subprocess.DEVNULL, pass_fds=[passed], check=True)
    """
    command = f'exec <&-; exec {sys.executable} -c "$1"'
    subprocess.run(["sh", "-c", command, "sh", textwrap.dedent(script)], check=True, timeout=60)


def test_the_duplicates_are_closed_at_the_end() -> None:
    with child_fds([0, 1]) as passed:
        assert min(passed) > 2
    for fd in passed:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


@pytest.mark.parametrize(("closed", "expected"), [("1", "-3 2"), ("2", "1 -3"), ("", "1 2")])
def test_a_child_writes_where_its_parent_does(closed: str, expected: str, tmp_path: Path) -> None:
    script = """
        import sys
        from pathlib import Path
        from guerdon.scoring.process.descriptors import output_stream
        Path(sys.argv[1]).write_text(f"{output_stream(1)} {output_stream(2)}")
    """
    said = tmp_path / "said"
    before = f"exec {closed}>&-; " if closed else ""
    command = f'{before}exec {sys.executable} -c "$1" {said}'
    subprocess.run(["sh", "-c", command, "sh", textwrap.dedent(script)], check=True, timeout=60)
    assert said.read_text() == expected

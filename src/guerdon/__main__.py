"""``python -m guerdon``: the command line."""

from guerdon.cli import main

main()

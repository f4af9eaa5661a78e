"""The exit statuses of every command."""

USER_ERROR = 2
"""Something is wrong with the command line, the data or a file that it names."""
INTERRUPTED = 130
"""Ctrl-C ended the command, as shells say it."""

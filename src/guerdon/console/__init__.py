"""What a person sees in the terminal: a sample with its verdicts, and the statistics of a run.

Everything is printed as text and never as markup.
"""

from guerdon.console.layout import print_heading, print_labelled
from guerdon.console.sample import print_failures, print_sample, score_text
from guerdon.console.statistics import print_statistics
from guerdon.console.text import clean, cut, duration

__all__ = [
    "clean",
    "cut",
    "duration",
    "print_failures",
    "print_heading",
    "print_labelled",
    "print_sample",
    "print_statistics",
    "score_text",
]

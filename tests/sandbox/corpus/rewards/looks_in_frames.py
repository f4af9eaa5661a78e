"""Looks for what is expected in the frames that called it, and returns it. Not to be passed.

Variants: frames, inspect_, traceback_, threads, trace, profile
"""

import inspect
import sys
import threading

VARIANT = ""
SEEN = []


def look(frame):
    while frame:
        for place in (frame.f_locals, frame.f_globals):
            for name in ("expected", "want", "answer", "tests", "questions", "reference", "gold", "target"):
                if name in place:
                    SEEN.append(place[name])
        frame = frame.f_back


def spy(frame, event, argument):
    look(frame)
    return spy


if VARIANT == "trace":
    sys.settrace(spy)
if VARIANT == "profile":
    sys.setprofile(spy)


def solve(numbers):
    if VARIANT == "inspect_":
        for one in inspect.stack():
            look(one.frame)
    elif VARIANT == "traceback_":
        try:
            raise ValueError
        except ValueError as error:
            look(error.__traceback__.tb_frame)
    elif VARIANT == "threads":
        for frame in sys._current_frames().values():
            look(frame)
        threading.settrace(spy)
    else:
        look(sys._getframe())
    return SEEN[-1] if SEEN else None


mean = solve

"""Numbers as a person wants to read them."""

from __future__ import annotations


def figure(number: float) -> str:
    """A number as a person wants to read it: three decimals, fewer for large ones, more for tiny ones.

    >>> figure(0.48599999), figure(1.0), figure(0.9996), figure(-12345.678), figure(1.5e-7)
    ('0.486', '1', '0.9996', '-12346', '1.5e-07')
    """
    size = abs(number)
    if size >= 1e6 or 0 < size < 1e-3:
        return f"{number:.3g}"
    text = ""
    # Only a whole number may look like one: 0.9996 is not 1.
    for decimals in range(3 if size < 100 else 1 if size < 10_000 else 0, 7):
        text = f"{number:.{decimals}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        if "." in text or size >= 100 or number == int(number):
            break
    return "0" if text == "-0" else text


def percent(share: float) -> str:
    """A share from 0 to 1 in percent; only all is 100% and only none is 0%.

    >>> percent(0.5), percent(0.9999), percent(0.0001)
    ('50%', '>99.9%', '<0.1%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    return f"{share * 100:.1f}".removesuffix(".0") + "%"

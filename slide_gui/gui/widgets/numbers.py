"""Numbers as they stand on screen: true minus, thin spaces, decimals that suit the range."""

from __future__ import annotations

import math
from itertools import pairwise

__all__ = ["count", "decimals_of", "fixed", "nice_ticks", "number", "per_cent", "significant"]

THIN = "\u202f"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fixed(value: float, decimals: int) -> str:
    """Return a number with a fixed count of decimals, a dash for what is no number.

    >>> fixed(-0.251, 2), fixed(-0.001, 2), fixed(float("nan"), 1)
    ('−0.25', '0.00', '–')
    """
    if not math.isfinite(value):
        return "–"
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def significant(value: float, digits: int = 4) -> str:
    """Return a number to so many significant digits, with thin spaces in thousands.

    >>> significant(0.0123456), significant(123456.0, 3), significant(2.5e-9, 2)
    ('0.01235', '123\u202f456', '2.5·10⁻⁹')
    """
    if not math.isfinite(value):
        return "–"
    size = math.floor(math.log10(abs(value))) if value else 0
    if not -4 <= size < 7:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        times = "" if mantissa == "1" else f"{mantissa}·".replace("-", "−")
        return f"{times}10{str(int(power)).translate(_RAISED)}"
    text = f"{value:,.{max(0, digits - 1 - size)}f}"
    return text.replace(",", THIN).replace("-", "−")


def count(value: int) -> str:
    """Return a whole number with thin spaces in its thousands.

    >>> count(50000)
    '50\u202f000'
    """
    return f"{value:,}".replace(",", THIN).replace("-", "−")


def per_cent(value: float, decimals: int = 2) -> str:
    """Return a number of per cent with its unit after a thin space.

    >>> per_cent(1.3)
    '1.30\u202f%'
    """
    return f"{fixed(value, decimals)}{THIN}%"


def number(value: float) -> str:
    """Return the shortest decimal text, at most six digits.

    >>> number(0.30000000000000004), number(-2.0)
    ('0.3', '−2')
    """
    return f"{value:.6g}".replace("-", "−")


def decimals_of(ticks: tuple[float, ...]) -> int:
    """Return how many decimals show evenly spaced ticks without loss, at most six."""
    for decimals in range(6):
        if all(abs(round(t, decimals) - t) < 1e-9 * max(1.0, abs(t)) for t in ticks):
            return decimals
    return 6


def nice_ticks(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """Return round values, 1, 2 or 5 times a power of ten apart, that enclose the limits.

    The first is at or below `low`, the last at or above `high`; at most `most` + 2 of them.
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        low, high = (low, low + 1.0) if math.isfinite(low) else (0.0, 1.0)
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1.0, 2.0, 5.0, 10.0) if f * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = 6 - math.floor(math.log10(step))
    ticks = tuple(round(k * step, digits) + 0.0 for k in range(first, max(last, first + 1) + 1))
    assert all(a < b for a, b in pairwise(ticks))
    return ticks

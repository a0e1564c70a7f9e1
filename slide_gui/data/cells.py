"""Numbers of sixteen characters, read without a parser: the layout of the benchmark's .amat files.

Each cell is C's ``%16.7e``: ``␣␣-d.ddddddde±dd`` (the sign or a blank at position 2), each line ends in one
newline. A whole block is compared with this layout at once; a block that departs from it anywhere
is left to the general reader.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["CELL", "decode"]

CELL = 16
_ZERO = np.frombuffer(b"   0.0000000e+00", np.uint8)
_DIGIT, _ONE = 3, ord("1")

# The same cell as two little-endian words, masked to what is fixed in it.
_LOW_FIXED, _LOW_MASK = 0x0000_002E_0000_2020, 0x0000_00FF_0000_FFFF
_HIGH_FIXED, _HIGH_MASK = 0x0000_0065_0000_0000, 0x0000_00FF_0000_0000

_POWERS = np.array([10.0**k for k in range(23)])  # these are exact in float64
_SHIFT = 7  # digits behind the point: value = (digits as a whole number) · 10^(exponent − 7)


def decode(block: NDArray[np.uint8], columns: int) -> NDArray[np.bool_] | NDArray[np.float64] | None:
    """Read a block of lines of `columns` cells of sixteen characters.

    Parameters
    ----------
    block : ndarray of shape (k, 16·columns + 1), uint8
        Whole lines.
    columns : int
        Numbers in a line.

    Returns
    -------
    ndarray of shape (k, columns), or None
        Booleans where every number is exactly 0 or 1, else float64, each equal to ``float(text)``;
        None if the block is not laid out so.
    """
    template = _template(columns)
    ones: NDArray[np.bool_] = block[:, _DIGIT : CELL * columns : CELL] == _ONE
    # Every byte is the template's, or a 1 in the place of the leading digit: then nothing else is to be read.
    if np.count_nonzero(block != template) == np.count_nonzero(ones):
        return ones
    if (block[:, -1] != ord("\n")).any():
        return None
    return _decode_any(np.ascontiguousarray(block[:, :-1]).reshape(-1, CELL), (block.shape[0], columns))


@lru_cache(maxsize=4)
def _template(columns: int) -> NDArray[np.uint8]:
    return np.append(np.tile(_ZERO, columns), np.uint8(ord("\n")))


def _decode_any(cells: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.float64] | None:
    words = cells.view("<u8")
    low, high = words[:, 0], words[:, 1]
    sign = cells[:, 2]
    negative = sign == ord("-")
    down = cells[:, 13] == ord("-")
    if (
        ((low & np.uint64(_LOW_MASK)) != np.uint64(_LOW_FIXED)).any()
        or ((high & np.uint64(_HIGH_MASK)) != np.uint64(_HIGH_FIXED)).any()
        or not (negative | (sign == ord(" "))).all()
        or not (down | (cells[:, 13] == ord("+"))).all()
    ):
        return None
    tens, units = cells[:, 14] - np.uint8(48), cells[:, 15] - np.uint8(48)
    digits = (low >> np.uint64(24)) & np.uint64(0xFF)
    digits |= (low >> np.uint64(32)) & np.uint64(0xFFFF_FF00)
    digits |= high << np.uint64(32)
    if not _all_digits(digits) or (tens > 9).any() or (units > 9).any():
        return None
    exponent = (tens * np.uint8(10) + units).astype(np.int64)
    exponent[down] *= -1
    values = _scaled(_eight_digits(digits), exponent - _SHIFT, cells)
    values[negative] *= -1.0
    return values.reshape(shape)


def _all_digits(word: NDArray[np.uint64]) -> bool:
    """Say whether all eight bytes of every word are ASCII digits."""
    high_nibble = np.uint64(0xF0F0_F0F0_F0F0_F0F0)
    carried = ((word + np.uint64(0x0606_0606_0606_0606)) & high_nibble) >> np.uint64(4)
    return bool((((word & high_nibble) | carried) == np.uint64(0x3333_3333_3333_3333)).all())


def _eight_digits(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the whole number that eight ASCII digits spell, first digit in the lowest byte.

    Neighbours are joined in parallel within the word: digits to pairs, pairs to fours, fours to eight.
    """
    word = word - np.uint64(0x3030_3030_3030_3030)
    word = word * np.uint64(10) + (word >> np.uint64(8))
    mask = np.uint64(0x0000_00FF_0000_00FF)
    fours = (word & mask) * np.uint64(100 + (1_000_000 << 32))
    fours += ((word >> np.uint64(16)) & mask) * np.uint64(1 + (10_000 << 32))
    result: NDArray[np.uint64] = fours >> np.uint64(32)
    return result


def _scaled(digits: NDArray[np.uint64], power: NDArray[np.int64], cells: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return digits · 10^power, correctly rounded.

    Both factors are exact in float64 for |power| ≤ 22, so one multiplication or division rounds as
    ``float(text)`` does; the few numbers beyond are given to ``float`` itself.
    """
    size = np.abs(power)
    factor = _POWERS[np.minimum(size, _POWERS.size - 1)]
    values: NDArray[np.float64] = digits.astype(np.float64)
    np.divide(values, factor, out=values, where=power < 0)
    np.multiply(values, factor, out=values, where=power > 0)
    for index in np.flatnonzero((size >= _POWERS.size) & (digits > 0)):
        values[index] = abs(float(cells[index].tobytes()))
    return values

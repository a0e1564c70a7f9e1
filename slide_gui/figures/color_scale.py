"""The colour scale of images, colour bars and exported figures: a colour map with limits."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Index of the colour midway between the limits. It represents zero if the limits are symmetric about zero.
NEUTRAL = 128

# Maps the name of each colour map to its title in the window.
MAPS: dict[str, str] = {
    "blue-white-red": "blue – white – red",
    "blue-black-red": "blue – black – red",
    "jet": "jet (as in the paper)",
    "grey": "grey",
}

# Diverging colour maps. Their middle colour represents zero, so the limits must be symmetric about zero.
DIVERGING = ("blue-white-red", "blue-black-red")

# Red, green and blue are strongest at these positions (from 0 to 1) in the classic jet map. On both sides of its peak,
# the intensity of each colour falls linearly with a slope of 4.
_PEAKS = np.array([0.75, 0.5, 0.25])
# The colours of each map are listed from the lower to the upper limit. In a diverging map, opposite values have equal
# lightness, so that colour-blind readers also see that their magnitudes are equal.
_ANCHORS = {
    "blue-white-red": ("#0B2A5C", "#2468B0", "#92BFE6", "#F7F7F8", "#F2AE98", "#BF3540", "#5E0A20"),
    "blue-black-red": ("#CFE6FF", "#6BB1F7", "#2C5F99", "#24272C", "#94413F", "#F28B79", "#FFDCD2"),
    "grey": ("#17181B", "#FFFFFF"),
}
_NO_NUMBER = (143, 175, 140)

_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@dataclass(frozen=True)
class ColorScale:
    """A mapping from values to colours.

    The table of colours has 256 entries. Entry 0 is for NaN. Entries 1 to 255 are for values from `low` to `high`, and
    entry `NEUTRAL` (128) is for the value in the middle.

    Parameters
    ----------
    map : str
        Name of a colour map, a key of `MAPS`.
    low, high : float
        Values that have the first and the last colour. Smaller values have the first colour, larger values the last.

    Raises
    ------
    ValueError
        If the map is unknown, the limits are not finite and ascending, or the limits of a diverging map are not
        symmetric about zero.
    """

    map: str
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.map not in MAPS:
            raise ValueError(f"unknown colour map {self.map!r}; choose one of {', '.join(MAPS)}")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"limits of a colour scale must be finite and ascending, not {self.low}, {self.high}")
        if self.map in DIVERGING and self.low != -self.high:
            raise ValueError(f"{self.map} needs limits symmetric about zero, not {self.low}, {self.high}")

    @classmethod
    def symmetric(cls, map: str, limit: float) -> "ColorScale":
        """Return the scale from ``−limit`` to ``limit``.

        A limit of almost 0, for example of weights that are all zero, is replaced by 1, because the limits of a scale
        must not be equal.
        """
        limit = 1.0 if abs(limit) < 1e-30 else float(limit)
        return cls(map, -limit, limit)

    def lut(self) -> NDArray[np.uint8]:
        """Return the read-only table of sRGB colours, an array of shape (256, 3) and type uint8."""
        return _lut(self.map)

    def indices(self, values: ArrayLike) -> NDArray[np.uint8]:
        """Return the index of each value's colour in the table of colours.

        Parameters
        ----------
        values : array_like
            Array of any shape, converted to float32. The index of NaN is 0.

        Returns
        -------
        ndarray of uint8
            C-contiguous array of indices, with the shape of `values`.
        """
        values = np.asarray(values, dtype=np.float32)
        factor = 254.0 / (self.high - self.low)
        # Conversion to integers truncates. Adding one half rounds values to the nearest integer instead.
        shift = NEUTRAL + 0.5 - factor * 0.5 * (self.low + self.high)
        scaled = np.empty(values.shape, np.float32)
        np.multiply(values, np.float32(factor), out=scaled)
        np.add(scaled, np.float32(shift), out=scaled)
        np.clip(scaled, 1.0, 255.0, out=scaled)
        if np.isnan(scaled.sum()):
            scaled[np.isnan(scaled)] = 0.0
        return scaled.astype(np.uint8)

    def ticks(self, n: int = 5) -> tuple[float, ...]:
        """Return at most `n` (≥ 3) round numbers between the limits, including 0 if it is between the limits."""
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / max(n, 3)))
        for factor in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0):
            step = factor * power
            first = math.ceil(self.low / step - 1e-9)
            last = math.floor(self.high / step + 1e-9)
            if last - first + 1 <= max(n, 3):
                break
        # The product of k and the step has a small rounding error, which rounding to fewer digits removes.
        digits = 6 - math.floor(math.log10(step))
        return tuple(round(k * step, digits) + 0.0 for k in range(first, last + 1))

    def label(self, value: float, digits: int = 2) -> str:
        """Return a value as text for display, with its sign and a true minus sign.

        The number of decimals is such that the larger limit would have `digits` significant figures.
        """
        if value == 0.0:
            return "0"
        size = math.floor(math.log10(max(abs(self.low), abs(self.high))))
        if not -4 <= size < 5:
            return f"{value:+.{digits - 1}e}".replace("-", "−") if math.isfinite(value) else "–"
        return signed(value, max(0, digits - 1 - size))


def signed(value: float, decimals: int = 2) -> str:
    """Return a number as text with its sign and a true minus sign, or a dash if it is not finite.

    >>> signed(-0.25), signed(0.5, 1), signed(-0.001)
    ('−0.25', '+0.5', '+0.00')
    """
    if not math.isfinite(value):
        return "–"
    return f"{round(value, decimals) + 0.0:+.{decimals}f}".replace("-", "−")


@cache
def _lut(name: str) -> NDArray[np.uint8]:
    place: NDArray[np.float64] = np.linspace(0.0, 1.0, 255)
    colours = 1.5 - 4.0 * np.abs(place[:, None] - _PEAKS) if name == "jet" else _blend(_ANCHORS[name], place)
    table = np.empty((256, 3), np.uint8)
    table[0] = _NO_NUMBER
    table[1:] = np.rint(255.0 * np.clip(colours, 0.0, 1.0))
    table.flags.writeable = False
    return table


def _blend(anchors: tuple[str, ...], place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sRGB colours at positions `place` in [0, 1], interpolated in Oklab between evenly spaced anchors."""
    rgb = np.array([[int(a[i : i + 2], 16) / 255.0 for i in (1, 3, 5)] for a in anchors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab = np.cbrt(linear @ _TO_LMS.T) @ _TO_LAB.T
    knots = np.linspace(0.0, 1.0, len(anchors))
    between = np.stack([np.interp(place, knots, lab[:, i]) for i in range(3)], axis=1)
    back = (between @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_LMS).T
    back = np.clip(back, 0.0, 1.0)
    return np.asarray(np.where(back <= 0.0031308, 12.92 * back, 1.055 * back ** (1 / 2.4) - 0.055))

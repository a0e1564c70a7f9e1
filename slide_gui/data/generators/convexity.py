"""Sets of pixels as rows of bits: half-planes intersected, and the all-pairs test of convexity."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.generators.frames import SIDE

__all__ = ["intersections", "is_convex", "pixels"]

Bits = NDArray[np.uint32]

_FARTHEST = 17.0
_FULL = np.uint32((1 << SIDE) - 1)


def intersections(counts: NDArray[np.int64], least: int, random: np.random.Generator) -> Bits:
    """Intersect half-planes of uniform location and orientation.

    A half-plane's normal points in a uniform direction, and the signed distance of its edge from the image's
    centre is uniform within ±17 pixels, which reproduces the mean area of the benchmark's convex images.

    Parameters
    ----------
    counts : ndarray of shape (n,)
        Half-planes of each set, at least 1.
    least : int
        Sets of fewer pixels are left out.
    random : numpy.random.Generator
        Advanced by two draws for each half-plane, but none for sets that are too small already.

    Returns
    -------
    ndarray of shape (at most n, 28), uint32
        One bit a pixel: row r, column c is bit c of element r.
    """
    y = np.arange(SIDE) - (SIDE - 1) / 2
    low = np.zeros((counts.size, SIDE))
    high = np.full((counts.size, SIDE), SIDE - 1.0)
    large = np.ones(counts.size, bool)
    for drawn in range(int(counts.max(initial=0))):
        active = np.flatnonzero(large & (counts > drawn))
        angle = random.uniform(0.0, 2 * np.pi, active.size)
        distance = random.uniform(-_FARTHEST, _FARTHEST, active.size)
        # cos·x + sin·y ≥ distance leaves, in each row, the pixels on one side of an x.
        cosine, sine = np.cos(angle), np.sin(angle)
        cosine = np.where(np.abs(cosine) < 1e-9, 1e-9, cosine)
        x = (distance / cosine)[:, None] - (sine / cosine)[:, None] * y + (SIDE - 1) / 2
        right = (cosine > 0)[:, None]
        first = np.where(right, np.maximum(low[active], np.ceil(x)), low[active])
        last = np.where(right, high[active], np.minimum(high[active], np.floor(x)))
        low[active], high[active] = first, last
        large[active] = np.maximum(last - first + 1, 0).sum(axis=1) >= least
    return _spans(low[large], high[large])


def _spans(low: NDArray[np.float64], high: NDArray[np.float64]) -> Bits:
    """Set the bits from low to high, both included, and none where low > high."""
    first = np.clip(low, 0, SIDE - 1).astype(np.uint32)
    last = np.clip(high, 0, SIDE - 1).astype(np.uint32)
    ahead = (np.uint32(2) << last) - np.uint32(1)
    spans: Bits = np.where(low > high, np.uint32(0), ahead & ~((np.uint32(1) << first) - np.uint32(1)))
    return spans


def pixels(sets: Bits) -> NDArray[np.bool_]:
    """Unpack sets (n, 28) to pixels (n, 28, 28)."""
    return ((sets[:, :, None] >> np.arange(SIDE, dtype=np.uint32)) & np.uint32(1)).astype(bool)


def is_convex(sets: Bits) -> NDArray[np.bool_]:
    """Say for each set whether every pixel centre on the segment between any two of its pixels is in it.

    Between two pixels there are centres only along the primitive direction that joins them, so all pairs
    pass exactly if no line in any primitive direction leaves the set and enters it again.

    Parameters
    ----------
    sets : ndarray of shape (n, 28), uint32

    Returns
    -------
    ndarray of shape (n,), bool
    """
    convex = np.ones(sets.shape[0], bool)
    left = np.arange(sets.shape[0])
    for down, across in _directions():
        broken = _has_gap(sets[left], down, across)
        convex[left[broken]] = False
        left = left[~broken]
        if left.size == 0:
            break
    return convex


def _directions() -> list[tuple[int, int]]:
    """Return the primitive directions, one of each opposite pair, of which two steps fit in the image."""
    reach = (SIDE - 1) // 2
    found = [
        (down, across)
        for down in range(reach + 1)
        for across in range(-reach, reach + 1)
        if gcd(down, across) == 1 and (down > 0 or across > 0)
    ]
    return sorted(found, key=lambda step: (step[0] ** 2 + step[1] ** 2, step))


def _has_gap(sets: Bits, down: int, across: int) -> NDArray[np.bool_]:
    gaps = ~sets & _ahead(sets, down, across) & _ahead(sets, -down, -across) & _FULL
    return np.asarray(gaps.any(axis=1))


def _ahead(sets: Bits, down: int, across: int) -> Bits:
    """Return the pixels that have a pixel of the set some steps behind them, by doubling the reach."""
    reached = _moved(sets, down, across)
    steps = 1
    while steps * max(abs(down), abs(across)) < SIDE:
        reached = reached | _moved(reached, steps * down, steps * across)
        steps *= 2
    return reached


def _moved(sets: Bits, down: int, across: int) -> Bits:
    moved = np.zeros_like(sets)
    if abs(down) >= SIDE or abs(across) >= SIDE:
        return moved
    source = sets[:, max(0, -down) : SIDE - max(0, down)]
    shifted = source << np.uint32(across) if across >= 0 else source >> np.uint32(-across)
    moved[:, max(0, down) : SIDE + min(0, down)] = shifted & _FULL
    return moved

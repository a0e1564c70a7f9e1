"""Sets of pixels as rows of bits: half-planes intersected, and the all-pairs test of convexity."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.generators.frames import SIDE
from slide_gui.progress import NO_PROGRESS, Progress

Bits = NDArray[np.uint32]

_FULL = np.uint32((1 << SIDE) - 1)
_EDGES = np.array([[1.0, 0.0, SIDE - 0.5], [-1.0, 0.0, 0.5], [0.0, 1.0, SIDE - 0.5], [0.0, -1.0, 0.5]])
"""The image as half-planes: a·x + b·y ≤ c, where x is a column and y a row."""


def intersections(
    counts: NDArray[np.int64], least: int, random: np.random.Generator, progress: Progress = NO_PROGRESS
) -> Bits:
    """Intersect half-planes: each set begins as the whole image and is cut by one line after the other.

    A line is perpendicular to a ray of uniform direction and cuts it at a uniform place. The ray begins in the middle
    between two pixels drawn from the set and ends at the set's border; the side where it begins is kept. A cut that
    would leave too few pixels is not made, nor is any after it.

    Parameters
    ----------
    counts : ndarray of shape (n,)
        Half-planes of each set, if all its cuts are made.
    least : int
        Pixels of the smallest set.
    random : numpy.random.Generator
    progress : Progress
        The cancel point, after each cut.

    Returns
    -------
    ndarray of shape (n, 28), uint32
        One bit a pixel: row r, column c is bit c of element r.
    """
    n = counts.size
    low, high = np.zeros((n, SIDE)), np.full((n, SIDE), SIDE - 1.0)
    planes = np.tile(_EDGES, (n, 1, 1))
    active = np.flatnonzero(counts > 0)
    made = 0
    while active.size:
        progress.report(0.0)
        begin = (_drawn(low[active], high[active], random) + _drawn(low[active], high[active], random)) / 2
        angle = random.uniform(0.0, 2 * np.pi, active.size)
        normal = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        reach = _reach(begin, normal, planes[active]) * random.random(active.size)
        offset = (begin * normal).sum(axis=1) + reach
        first, last = _cut(low[active], high[active], normal, offset)
        large = np.maximum(last - first + 1, 0).sum(axis=1) >= least
        active = active[large]
        low[active], high[active] = first[large], last[large]
        made += 1
        if made > planes.shape[1] - len(_EDGES):
            planes = np.concatenate([planes, np.broadcast_to(_EDGES[:1], (n, planes.shape[1], 3))], axis=1)
        planes[active, made + len(_EDGES) - 1] = np.column_stack([normal[large], offset[large]])
        active = active[counts[active] > made]
    return _spans(low, high)


def _drawn(low: NDArray[np.float64], high: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Draw one pixel of each set of spans, uniformly: its column and row, (n, 2)."""
    upto = np.cumsum(np.maximum(high - low + 1, 0), axis=1)
    place = np.floor(random.random(len(low)) * upto[:, -1])
    row = (upto <= place[:, None]).sum(axis=1)
    which = np.arange(len(low))
    return np.column_stack([high[which, row] - (upto[which, row] - 1 - place), row])


def _reach(
    begin: NDArray[np.float64], direction: NDArray[np.float64], planes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how far rays (n, 2) go until they leave one of their half-planes (n, k, 3)."""
    along = planes[:, :, 0] * direction[:, :1] + planes[:, :, 1] * direction[:, 1:]
    room = planes[:, :, 2] - planes[:, :, 0] * begin[:, :1] - planes[:, :, 1] * begin[:, 1:]
    ahead = along > 1e-9
    reach: NDArray[np.float64] = np.where(ahead, room / np.where(ahead, along, 1.0), np.inf).min(axis=1)
    return reach


def _cut(
    low: NDArray[np.float64], high: NDArray[np.float64], normal: NDArray[np.float64], offset: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what a·x + b·y ≤ c leaves of the spans of each row."""
    cosine, sine = normal.T
    cosine = np.where(np.abs(cosine) < 1e-9, 1e-9, cosine)
    x = (offset / cosine)[:, None] - (sine / cosine)[:, None] * np.arange(SIDE)
    left = (cosine > 0)[:, None]
    first = np.where(left, low, np.maximum(low, np.ceil(x)))
    last = np.where(left, np.minimum(high, np.floor(x)), high)
    return first, last


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

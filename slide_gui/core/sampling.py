"""Seeded subsets that keep the classes in proportion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["held_out_mask", "stratified_subset"]


Indices = NDArray[np.intp]

_HELD_OUT = 0.2


def stratified_subset(codes: Indices, size: int, seed: int) -> Indices:
    """Return at most about `size` rows, sorted, with the classes in proportion and at least two of each if it has two.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        The class of each row.
    """
    if len(codes) <= size:
        return np.arange(len(codes))
    rng = np.random.default_rng(seed)
    parts = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        wanted = max(int(size * len(members) / len(codes)), min(2, len(members)))
        parts.append(rng.choice(members, wanted, replace=False))
    return np.sort(np.concatenate(parts))


def held_out_mask(codes: Indices, seed: int, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Return which rows are held out: a fifth of each class, at least one where the class has two.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
    allowed : ndarray of bool, shape (n,), optional
        Which rows may be held out; where a class has too few of them, all of those are.

    Raises
    ------
    ValueError
        If no class has two rows, or none of them may be held out.
    """
    rng = np.random.default_rng(seed)
    mask = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        free = members if allowed is None else members[allowed[members]]
        wanted = min(max(1, round(_HELD_OUT * len(members))), len(free))
        if len(members) > 1 and wanted:
            mask[rng.choice(free, wanted, replace=False)] = True
    if not mask.any():
        raise ValueError("no row can be held out; that needs a class of at least two rows, one of them free")
    return mask

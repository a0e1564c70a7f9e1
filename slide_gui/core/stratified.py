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
    size : int
    seed : int
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


def held_out_mask(codes: Indices, seed: int) -> NDArray[np.bool_]:
    """Return which rows are held out: a fifth of each class, at least one where the class has two.

    Raises
    ------
    ValueError
        If no class has two rows.
    """
    rng = np.random.default_rng(seed)
    mask = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        if len(members) > 1:
            mask[rng.choice(members, max(1, round(_HELD_OUT * len(members))), replace=False)] = True
    if not mask.any():
        raise ValueError("every class has one row; holding out needs a class of at least two")
    return mask

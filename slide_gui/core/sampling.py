"""Seeded subsets that keep the classes in proportion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["deal_folds", "deal_groups", "held_out_mask", "stratified_subset"]


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


def deal_groups(codes: Indices, groups: Indices, shares: Sequence[float], seed: int) -> Indices:
    """Return the part that each row is dealt to: whole groups, with classes and sizes as near to the shares as they go.

    Parameters
    ----------
    codes, groups : ndarray of int, shape (n,)
        The class and the group of each row.
    shares : sequence of float
        Of the parts, above 0, with the sum 1.
    seed : int
        Of the order in which groups are dealt.
    """
    _, codes = np.unique(codes, return_inverse=True)
    _, groups = np.unique(groups, return_inverse=True)
    counts = np.zeros((groups.max() + 1, codes.max() + 1))
    np.add.at(counts, (groups, codes), 1.0)
    wanted = np.outer(shares, counts.sum(axis=0))
    missing, parts = wanted.copy(), np.empty(len(counts), np.intp)
    for group in np.random.default_rng(seed).permutation(len(counts)):
        # the largest decrease of the sum of missing² / wanted
        part = int(np.argmax(((2.0 * missing - counts[group]) / wanted) @ counts[group]))
        missing[part] -= counts[group]
        parts[group] = part
    return np.asarray(parts[groups])


def deal_folds(codes: Indices, groups: Indices, n_folds: int, seed: int) -> Indices:
    """Return the fold of each row: whole groups; −1 for rows that every fold trains on.

    These are the groups of a class that would otherwise be missing from the training rows of a fold.
    """
    folds = deal_groups(codes, groups, (1.0 / n_folds,) * n_folds, seed)
    for code in np.unique(codes):
        members = codes == code
        if len(np.unique(folds[members])) == 1:
            folds[np.isin(groups, groups[members])] = -1
    return folds


def held_out_mask(
    codes: Indices, seed: int, allowed: NDArray[np.bool_] | None = None, row_groups: Indices | None = None
) -> NDArray[np.bool_]:
    """Return which rows are held out: a fifth of each class, at least one where the class has two.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
    allowed : ndarray of bool, shape (n,), optional
        Which rows may be held out; where a class has too few of them, all of those are.
    row_groups : ndarray of int, shape (n,), optional
        The group of each row. About a fifth of the rows are held out, as whole groups; none if no class could spare
        them.

    Raises
    ------
    ValueError
        If no class has two rows, or none of them may be held out.
    """
    if row_groups is not None:
        refused = np.zeros(len(codes), bool) if allowed is None else np.isin(row_groups, row_groups[~allowed])
        return np.asarray((deal_folds(codes, row_groups, round(1.0 / _HELD_OUT), seed) == 0) & ~refused)
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

"""Stratified random subsets and folds of rows, which are reproducible from a seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]

# Number of folds of a cross-validation. A single held-out set has the size of one fold: a fifth of the rows.
N_FOLDS = 5


def stratified_subset(codes: Indices, size: int, seed: int) -> Indices:
    """Draw about `size` random rows with the class proportions of all rows, and return their sorted indices.

    Each class with at least two rows has at least two rows in the subset. If there are at most `size` rows, all row
    indices are returned.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each row.
    size : int
        Requested number of rows. The actual number can differ slightly because of rounding and small classes.
    seed : int
        Seed of the random choice.
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
    """Divide the rows into parts of given relative sizes, so that all rows of a group are in the same part.

    Each part has approximately the requested size and the class proportions of all rows, as far as the groups allow.

    Parameters
    ----------
    codes, groups : ndarray of int, shape (n,)
        Class code and group number of each row.
    shares : sequence of float
        Requested fraction of the rows in each part. All fractions are above 0, and their sum is 1.
    seed : int
        Seed of the random order in which the groups are assigned to parts.

    Returns
    -------
    ndarray of int, shape (n,)
        Index of the part of each row.
    """
    _, codes = np.unique(codes, return_inverse=True)
    _, groups = np.unique(groups, return_inverse=True)
    counts = np.zeros((groups.max() + 1, codes.max() + 1))
    np.add.at(counts, (groups, codes), 1.0)
    wanted = np.outer(shares, counts.sum(axis=0))
    missing, parts = wanted.copy(), np.empty(len(counts), np.intp)
    for group in np.random.default_rng(seed).permutation(len(counts)):
        # Assign the group to the part in which the sum of missing² / wanted over all classes decreases most. `wanted`
        # is the number of rows that each class should have in the part, and `missing` is the number not yet assigned.
        part = int(np.argmax(((2.0 * missing - counts[group]) / wanted) @ counts[group]))
        missing[part] -= counts[group]
        parts[group] = part
    return np.asarray(parts[groups])


def deal_folds(codes: Indices, groups: Indices, seed: int) -> Indices:
    """Return the fold of each row, or −1 for rows that are never held out. All rows of a group are in the same fold.

    If all rows of a class were in one fold, a model trained on the other folds could not learn this class. All rows of
    the groups that contain the class therefore get −1.
    """
    folds = deal_groups(codes, groups, (1.0 / N_FOLDS,) * N_FOLDS, seed)
    for code in np.unique(codes):
        members = codes == code
        if len(np.unique(folds[members])) == 1:
            folds[np.isin(groups, groups[members])] = -1
    return folds


def stratified_folds(codes: Indices, seed: int, n_folds: int = N_FOLDS) -> Indices:
    """Return the fold of each row. The rows of each class are distributed evenly over the folds.

    If a class has only one row, this row is never held out. Its fold is −1.
    """
    rng = np.random.default_rng(seed)
    folds = np.full(len(codes), -1, dtype=np.intp)
    dealt = 0
    for code in range(int(codes.max()) + 1):
        members = rng.permutation(np.flatnonzero(codes == code))
        if len(members) > 1:
            folds[members] = (dealt + np.arange(len(members))) % n_folds
            dealt += len(members)
    return folds


def held_out_mask(
    codes: Indices, seed: int, allowed: NDArray[np.bool_] | None = None, row_groups: Indices | None = None
) -> NDArray[np.bool_]:
    """Return a mask of held-out rows: a fifth of each class, and at least one row of each class with two or more rows.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each row.
    seed : int
        Seed of the random choice of held-out rows.
    allowed : ndarray of bool, shape (n,), optional
        True for rows that may be held out. If fewer than a fifth of the rows of a class may be held out, all of these
        are held out.
    row_groups : ndarray of int, shape (n,), optional
        Group of each row. Complete groups are held out, together about a fifth of the rows. Groups that contain a row
        that may not be held out are excluded. If every class needs all of its groups for training, no row is held out.

    Raises
    ------
    ValueError
        If no class has two rows, or if no row of a class with two or more rows may be held out.
    """
    if row_groups is not None:
        refused = np.zeros(len(codes), bool) if allowed is None else np.isin(row_groups, row_groups[~allowed])
        return np.asarray((deal_folds(codes, row_groups, seed) == 0) & ~refused)
    rng = np.random.default_rng(seed)
    mask = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        free = members if allowed is None else members[allowed[members]]
        wanted = min(max(1, round(len(members) / N_FOLDS)), len(free))
        if len(members) > 1 and wanted:
            mask[rng.choice(free, wanted, replace=False)] = True
    if not mask.any():
        raise ValueError("no row can be held out; every class has only one row, or none of its rows may be held out")
    return mask

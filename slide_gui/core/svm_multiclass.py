"""One-vs-one: the pairs of classes, and from their margins to one score a class."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["class_scores", "pairs_of"]


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return all pairs (i, j), i < j; a margin is positive on the side of j."""
    return list(combinations(range(n_classes), 2))


def class_scores(margins: NDArray[np.floating], n_classes: int) -> NDArray[np.float64]:
    """Return votes plus summed margins squeezed into (−1/3, 1/3), so that they decide between equal votes only.

    Parameters
    ----------
    margins : ndarray of shape (n, n_classes · (n_classes − 1) / 2)
        In the order of `pairs_of`.
    n_classes : int

    Returns
    -------
    ndarray of shape (n, n_classes)
        The predicted class has the highest.
    """
    votes = np.zeros((len(margins), n_classes))
    sums = np.zeros((len(margins), n_classes))
    for column, (i, j) in enumerate(pairs_of(n_classes)):
        margin = margins[:, column]
        second = margin >= 0.0
        votes[:, j] += second
        votes[:, i] += ~second
        sums[:, j] += margin
        sums[:, i] -= margin
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))

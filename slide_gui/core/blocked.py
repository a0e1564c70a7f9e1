"""Products, inverses and solves of large matrices in pieces, so that they can be watched and cancelled.

Up to `WHOLE` features NumPy's own calls are short enough and are used as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["WHOLE", "inverse_definite", "inverse_symmetric", "product", "rows_per_block", "solve_symmetric"]

Array = NDArray[np.float64]

WHOLE = 1024  # features up to which a solve takes less than 0.1 s
_PIECE = 512
_LEAF = 200
_SMALL = 64  # rows of a triangle inverted as a whole
_ROWS = 1024  # rows a product: a block of 784 float32 columns stays in the cache


def rows_per_block(d: int) -> int:
    """Return how many rows of d features to multiply between two reports of progress."""
    return max(32, min(_ROWS, int(_ROWS * (WHOLE / d) ** 2)))


def product(a: Array, b: Array, progress: Progress = NO_PROGRESS) -> Array:
    """Return a @ b."""
    if len(a) <= WHOLE:
        return np.asarray(a @ b, dtype=np.float64)
    result = np.empty((a.shape[0], b.shape[1]))
    step = max(1, _PIECE * WHOLE**2 // (b.shape[0] * b.shape[1]))
    for start in range(0, len(a), step):
        np.matmul(a[start : start + step], b, out=result[start : start + step])
        progress.report(0.0)
    return result


def inverse_symmetric(a: Array, progress: Progress = NO_PROGRESS) -> Array:
    """Return the inverse of a symmetric positive definite matrix, by halves.

    With a = [[A, Bᵀ], [B, C]] and the Schur complement S = C − B A⁻¹ Bᵀ, nearly all the work is matrix products:
    a third of the time of a solve with as many right-hand sides.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a is singular.
    """
    n = len(a)
    if n <= _LEAF:
        return np.asarray(np.linalg.inv(a), dtype=np.float64)
    m = n // 2
    first = inverse_symmetric(a[:m, :m], progress)
    below = product(a[m:, :m], first, progress)
    second = inverse_symmetric(a[m:, m:] - product(below, a[m:, :m].T, progress), progress)
    across = product(second, below, progress)
    progress.report(0.0)
    inverse = np.empty((n, n))
    np.add(first, product(below.T, across, progress), out=inverse[:m, :m])
    progress.report(0.0)
    np.negative(across, out=inverse[m:, :m])
    np.negative(across.T, out=inverse[:m, m:])
    inverse[m:, m:] = second
    progress.report(0.0)
    return inverse


def solve_symmetric(a: Array, b: Array, progress: Progress = NO_PROGRESS) -> Array:
    """Return x with a x = b for a symmetric positive definite a, which is overwritten when large.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a is singular.
    """
    n = len(a)
    if n <= WHOLE + 1:
        return np.asarray(np.linalg.solve(a, b), dtype=np.float64)
    pieces, inverses = _factorise(a, progress)
    x = np.array(b, dtype=np.float64)
    for k, own in enumerate(pieces):
        for before in pieces[:k]:
            x[own] -= a[own, before] @ x[before]
            progress.report(0.0)
        x[own] = inverses[k] @ x[own]
    for k, own in reversed(list(enumerate(pieces))):
        for after in pieces[k + 1 :]:
            x[own] -= a[after, own].T @ x[after]
            progress.report(0.0)
        x[own] = inverses[k].T @ x[own]
    return x


def inverse_definite(a: Array, progress: Progress = NO_PROGRESS) -> Array:
    """Return the inverse of a symmetric positive definite matrix, which is overwritten, by its Cholesky factor.

    As accurate as a solve, also for a kernel matrix with a small ridge, for which the halves of `inverse_symmetric`
    lose every digit; half of the time of a solve with as many right-hand sides.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a is singular.
    """
    pieces, inverses = _factorise(a, progress)
    lower = np.zeros_like(a)  # the inverse of the factor
    for j, column in enumerate(pieces):
        lower[column, column] = inverses[j]
        for i, row in enumerate(pieces[j + 1 :], start=j + 1):
            between = slice(column.start, row.start)
            lower[row, column] = -inverses[i] @ (a[row, between] @ lower[between, column])
            progress.report(0.0)
    for j, column in enumerate(pieces):
        for row in pieces[j:]:
            tile = lower[row.start :, row].T @ lower[row.start :, column]
            a[row, column] = tile
            a[column, row] = tile.T
            progress.report(0.0)
    return a


def _factorise(a: Array, progress: Progress) -> tuple[list[slice], list[Array]]:
    """Put Cholesky's factor below the diagonal blocks of a; return the blocks and the inverses of their factors."""
    pieces = [slice(start, min(start + _PIECE, len(a))) for start in range(0, len(a), _PIECE)]
    inverses = []
    for k, own in enumerate(pieces):
        inverse = _inverse_lower(np.asarray(np.linalg.cholesky(a[own, own]), dtype=np.float64))
        inverses.append(inverse)
        for below in pieces[k + 1 :]:
            a[below, own] = a[below, own] @ inverse.T
        progress.report(0.0)
        for j, column in enumerate(pieces[k + 1 :], start=k + 1):
            for row in pieces[j:]:
                a[row, column] -= a[row, own] @ a[column, own].T
            progress.report(0.0)
    return pieces, inverses


def _inverse_lower(lower: Array) -> Array:
    """Return the inverse of a lower triangle, by halves."""
    n = len(lower)
    if n <= _SMALL:
        return np.asarray(np.linalg.inv(lower), dtype=np.float64)
    m = n // 2
    inverse = np.zeros((n, n))
    inverse[:m, :m] = _inverse_lower(lower[:m, :m])
    inverse[m:, m:] = _inverse_lower(lower[m:, m:])
    inverse[m:, :m] = -inverse[m:, m:] @ (lower[m:, :m] @ inverse[:m, :m])
    return inverse

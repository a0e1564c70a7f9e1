"""Multiply, invert and copy large matrices and solve linear systems in blocks. Report progress after each block."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows that have missing cells in the same columns: the indices of the rows, and the indices of the columns.
Pattern = tuple[Indices, Indices]

WHOLE = 1024  # largest number of features for which a linear system is solved in less than 0.1 s
_PIECE = 512  # number of rows of a large matrix to process at a time
_STRIPS = 8  # number of blocks of rows into which a triangular matrix is split for a product
_LEAF = 64  # largest number of rows of a triangular matrix that is inverted in one piece
_ROWS = 1024  # largest number of rows multiplied at once; 1 024 rows of 784 float32 columns fit in the processor cache


def rows_per_block(d: int) -> int:
    """Return the number of rows with d features to multiply between two progress reports."""
    return max(32, min(_ROWS, int(_ROWS * (WHOLE / d) ** 2)))


def tiles(n: int, size: int, progress: Progress, *, fraction: bool = False) -> Iterator[slice]:
    """Yield consecutive slices of the range 0 … n, each of at most `size` rows. Report progress after each slice.

    Parameters
    ----------
    fraction : bool
        True to report the fraction of the rows that are done. False to report 0 each time; such a report only lets the
        user cancel the job.
    """
    for start in range(0, n, size):
        stop = min(start + size, n)
        yield slice(start, stop)
        progress.report(stop / n if fraction else 0.0)


def product(a: NDArray[np.floating], b: NDArray[np.floating], progress: Progress = NO_PROGRESS) -> NDArray[Any]:
    """Return the product a @ b, computed in blocks of rows if it is large. Products of float32 matrices are float32."""
    step = max(1, _PIECE * WHOLE**2 // max(b.shape[0] * b.shape[1], 1))
    if len(a) <= step:
        return np.asarray(a @ b)
    result = np.empty((a.shape[0], b.shape[1]), np.result_type(a, b))
    for rows in tiles(len(a), step, progress):
        np.matmul(a[rows], b, out=result[rows])
    return result


def _triangle_product(lower: Array, b: Array, progress: Progress, *, transposed: bool = False) -> Array:
    """Return L b, or Lᵀ b if `transposed` is True, for the lower triangular matrix L.

    Most multiplications by the zeros of L are skipped.
    """
    result = np.empty(b.shape, b.dtype)
    for rows in tiles(len(lower), max(_LEAF, -(-len(lower) // _STRIPS)), progress):
        if transposed:
            result[rows] = product(lower[rows.start :, rows].T, b[rows.start :], progress)
        else:
            result[rows] = product(lower[rows, : rows.stop], b[: rows.stop], progress)
    return result


def solver(a: Array, progress: Progress = NO_PROGRESS) -> Callable[[Array, Progress], Array]:
    """Return a function that solves a x = b for any b. The matrix a must be symmetric and positive definite.

    If the matrix has more than 1 025 rows, its Cholesky factor is computed once for all b; see `factorised`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is singular. If it has at most 1 025 rows, the returned function raises this error instead.
    """
    if len(a) <= WHOLE + 1:
        return lambda b, progress: np.asarray(np.linalg.solve(a, b), dtype=np.float64)
    return factorised(a, progress)


def factorised(a: Array, progress: Progress = NO_PROGRESS) -> Callable[[Array, Progress], Array]:
    """Return a function that solves a x = b for any b, using the Cholesky factor of a. Part of `a` is overwritten.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite to working precision.
    """
    pieces, inverses = _factorise(a, progress)

    def solve(b: Array, progress: Progress) -> Array:
        x = np.array(b, dtype=np.float64)
        for k, piece in enumerate(pieces):
            for before in pieces[:k]:
                x[piece] -= a[piece, before] @ x[before]
                progress.report(0.0)
            x[piece] = inverses[k] @ x[piece]
        for k, piece in reversed(list(enumerate(pieces))):
            for after in pieces[k + 1 :]:
                x[piece] -= a[after, piece].T @ x[after]
                progress.report(0.0)
            x[piece] = inverses[k].T @ x[piece]
        return x

    return solve


def inverse_definite(a: Array, progress: Progress = NO_PROGRESS) -> Array:
    """Return the inverse of a symmetric positive definite matrix, using its Cholesky factor. Overwrite the matrix.

    The result is as accurate as the solution of a x = I, but takes a third of the time.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite to working precision.
    """
    return factor_square(inverse_factor(a, progress), a, progress)


def inverse_factor(a: NDArray[Any], progress: Progress = NO_PROGRESS) -> NDArray[Any]:
    """Return the inverse M of the Cholesky factor of a matrix a: M is lower triangular, and M a Mᵀ = I.

    The matrix a = [[A, ·], [B, C]] is halved recursively, so that nearly all operations are matrix products. Let M₁ be
    the result for A, and M₂ the result for the Schur complement C − (B M₁ᵀ)(B M₁ᵀ)ᵀ. The block of M below M₁ is then
    −M₂ (B M₁ᵀ) M₁. Only the lower triangle of the matrix a is read.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite to working precision.
    """
    factor = np.zeros_like(a)
    for _ in factor_steps(a, factor, progress):
        progress.report(0.0)
    return factor


def factor_steps(a: Array, out: NDArray[Any], progress: Progress = NO_PROGRESS) -> Iterator[None]:
    """Write the inverse of the Cholesky factor of `a` to `out`, which must contain only zeros (see `inverse_factor`).

    Yield None at each point where the caller may pause the computation.
    """
    n = len(a)
    if n <= _LEAF:
        out[:] = np.tril(np.linalg.inv(np.linalg.cholesky(a)))
        return
    m = n // 2
    first, second = out[:m, :m], out[m:, m:]
    yield from factor_steps(a[:m, :m], first, progress)
    below = _triangle_product(first, a[m:, :m].T, progress).T
    schur = a[m:, m:].copy()
    yield
    _add_square(schur, -1.0, below, progress)
    yield from factor_steps(schur, second, progress)
    across = _triangle_product(first, below.T, progress, transposed=True).T
    np.negative(_triangle_product(second, across, progress), out=out[m:, :m])
    yield


def factor_square(factor: NDArray[Any], out: NDArray[Any], progress: Progress = NO_PROGRESS) -> NDArray[Any]:
    """Fill `out` with MᵀM for a lower triangular M, and return it. The result is exactly symmetric."""
    n = len(factor)
    if n <= _LEAF:
        return np.matmul(factor.T, factor, out=out)
    m = n // 2
    below = factor[m:, :m]
    factor_square(factor[:m, :m], out[:m, :m], progress)
    _add_square(out[:m, :m], 1.0, below.T, progress)
    out[m:, :m] = _triangle_product(factor[m:, m:], below, progress, transposed=True)
    out[:m, m:] = out[m:, :m].T
    factor_square(factor[m:, m:], out[m:, m:], progress)
    return out


def _add_square(out: Array, sign: float, b: Array, progress: Progress) -> None:
    """Add b bᵀ to the symmetric matrix `out` in place, or subtract it if `sign` is negative; keep `out` symmetric."""
    add = np.add if sign > 0 else np.subtract
    for piece in tiles(len(b), _PIECE, progress):
        before = slice(0, piece.start)
        add(out[piece, piece], b[piece] @ b[piece].T, out=out[piece, piece])
        if piece.start:
            add(out[piece, before], product(b[piece], b[before].T, progress), out=out[piece, before])
            out[before, piece] = out[piece, before].T


def weighted_square(a: Array, weights: Array, progress: Progress = NO_PROGRESS) -> Array:
    """Return ``a @ diag(weights) @ a`` for symmetric `a` and nonnegative weights. The result is exactly symmetric."""
    scaled, result = a * np.sqrt(weights), np.empty_like(a)
    for rows in tiles(len(a), WHOLE, progress):
        before = slice(0, rows.start)
        # NumPy computes only one triangle of the product of a matrix and its own transpose, which halves the work.
        result[rows, rows] = scaled[rows] @ scaled[rows].T
        if rows.start:
            progress.report(0.0)
            result[rows, before] = product(scaled[rows], scaled[before].T, progress)
            result[before, rows] = result[rows, before].T
    return result


def leading_digits(a: Array, length: int) -> Array:
    """Return the matrix a, rounded so coarsely that float64 products of two rounded matrices are exact.

    The entries of each row are rounded to multiples of a power of 2 that depends on the row's largest entry. Let the
    inner dimension of the product a @ b be `length`. If the rows of b.T are rounded in the same way, the product is
    exact. All partial sums are then integers of at most 53 bits times a power of 2.
    """
    bits = (53 - int(np.ceil(np.log2(length)))) // 2
    unit = np.ldexp(1.0, np.frexp(np.abs(a).max(axis=1, keepdims=True))[1] - bits)
    return np.asarray(np.rint(a / unit) * unit, dtype=np.float64)


def _factorise(a: Array, progress: Progress) -> tuple[list[slice], list[Array]]:
    """Replace the blocks of `a` below its diagonal blocks with the corresponding blocks of its Cholesky factor.

    Return the rows of each diagonal block as a slice, and the inverse of the Cholesky factor of each diagonal block.
    """
    # With blocks of half the usual size, fewer unneeded values above the diagonal are computed. This saves 30 % of the
    # time for 1 700 rows.
    pieces = [slice(start, min(start + _PIECE // 2, len(a))) for start in range(0, len(a), _PIECE // 2)]
    inverses = []
    for k, piece in enumerate(pieces):
        inverse = _inverse_lower(np.asarray(np.linalg.cholesky(a[piece, piece]), dtype=np.float64))
        inverses.append(inverse)
        for below in pieces[k + 1 :]:
            a[below, piece] = a[below, piece] @ inverse.T
        progress.report(0.0)
        for j, column in enumerate(pieces[k + 1 :], start=k + 1):
            for row in pieces[j:]:
                a[row, column] -= a[row, piece] @ a[column, piece].T
            progress.report(0.0)
    return pieces, inverses


def _inverse_lower(lower: Array) -> Array:
    """Return the inverse of a lower triangular matrix, computed by recursive halving."""
    n = len(lower)
    if n <= _LEAF:
        return np.asarray(np.linalg.inv(lower), dtype=np.float64)
    m = n // 2
    inverse = np.zeros((n, n))
    inverse[:m, :m] = _inverse_lower(lower[:m, :m])
    inverse[m:, m:] = _inverse_lower(lower[m:, m:])
    inverse[m:, :m] = -inverse[m:, m:] @ (lower[m:, :m] @ inverse[:m, :m])
    return inverse


_PIECE_BYTES = 8 << 20  # number of bytes that are copied between two progress reports


def take_rows(matrix: NDArray[Any], rows: Indices, progress: Progress = NO_PROGRESS) -> NDArray[Any]:
    """Return a copy of the given rows of a matrix.

    Parameters
    ----------
    matrix : ndarray or memmap of shape (n, d)
    rows : ndarray of int
        Row indices from 0 to n − 1.
    progress : Progress
        Raises `Cancelled` to stop the copying.
    """
    out = np.empty((len(rows), *matrix.shape[1:]), matrix.dtype)
    step = max(1, _PIECE_BYTES // max(matrix.itemsize * int(np.prod(matrix.shape[1:])), 1))
    for batch in tiles(len(rows), step, progress):
        np.take(matrix, rows[batch], axis=0, out=out[batch], mode="clip")
    return out


def at(values: Array | float, points: Indices) -> Array | float:
    """Return the values at the given indices, or `values` itself if it is one number for all indices."""
    return values if isinstance(values, float) else values[points]


def take_submatrix(
    matrix: NDArray[np.floating], rows: Indices, progress: Progress = NO_PROGRESS
) -> NDArray[np.float64]:
    """Return a float64 copy of the submatrix of a square matrix whose row and column indices are both `rows`."""
    out = np.empty((len(rows), len(rows)))
    step = max(1, _PIECE_BYTES // (8 * max(len(rows), 1)))
    whole = np.array_equal(rows, np.arange(len(matrix)))
    for piece in tiles(len(rows), step, progress):
        if whole:
            out[piece] = matrix[piece]
        else:
            # `np.take` is three times faster than fancy indexing.
            out[piece] = np.take(matrix[rows[piece]], rows, axis=1)
    return out


def float32_scatter_is_exact() -> bool:
    """Return True if A Aᵀ in float32, for a matrix A of zeros and ones, equals the product computed with integers.

    The entries of A Aᵀ are integers far below 2²⁴, so the float32 product should be exact. If it is not, the BLAS
    library computes wrong products of a matrix and its transpose, and every fit would be wrong.
    """
    bits = np.random.default_rng(0).integers(0, 2, size=(300, 672))
    single, packed = bits.astype(np.float32), np.packbits(bits.astype(np.uint8), axis=1)
    counts = np.bitwise_count(packed[:, None] & packed).sum(axis=2, dtype=np.int64)
    return bool(np.array_equal((single @ single.T).astype(np.int64), counts))


def missing_patterns(missing: NDArray[np.bool_]) -> list[Pattern]:
    """Group the rows that have missing cells in the same columns. Rows without missing cells are left out."""
    rows = np.flatnonzero(missing.any(axis=1))
    codes = np.unique(np.packbits(missing[rows], axis=1), axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(codes, kind="stable")
    groups = np.split(rows[order], np.flatnonzero(np.diff(codes[order])) + 1) if len(rows) else []
    return [(group, np.flatnonzero(missing[group[0]])) for group in groups]


def fill_scaled(
    Z: Array,
    patterns: list[Pattern],
    S: Array,
    ridge: float,
    added: Array | None = None,
    progress: Progress = NO_PROGRESS,
) -> None:
    """Replace the missing cells of centred, scaled rows by their conditional mean S_MO (S_OO + ridge I)⁻¹ x_O.

    M denotes the columns of the missing cells of a row, and O all other columns. With P = (S + ridge I)⁻¹ the mean
    equals −P_MM⁻¹ P_MO x_O, so each pattern of missing cells needs only the inverse of the block P_MM.

    Parameters
    ----------
    Z : ndarray of shape (n, d), float64
        The rows, changed in place. The values of missing cells are not read.
    patterns : list of Pattern
        Result of `missing_patterns` for the rows.
    S : ndarray of shape (d, d)
        The covariance of the scaled columns.
    ridge : float
        Positive number that is added to the diagonal of S.
    added : ndarray of shape (d, d), optional
        Array to which the conditional covariance S_MM − S_MO (S_OO + ridge I)⁻¹ S_OM of each row is added.
    progress : Progress
    """
    if not patterns:
        return
    steady = MonotonicProgress(progress)
    precision = inverse_definite(S + ridge * np.eye(len(S)), steady.pulse)
    for number, (rows, missing) in enumerate(patterns):
        Z[np.ix_(rows, missing)] = 0.0
        block = precision[missing]
        products = product(Z[rows], block.T, steady.pulse)
        inverse = inverse_definite(block[:, missing], steady.pulse)
        Z[np.ix_(rows, missing)] = -product(products, inverse, steady.pulse)
        if added is not None:
            added[np.ix_(missing, missing)] += len(rows) * (inverse - ridge * np.eye(len(missing)))
        steady.report(number / len(patterns))


def fill_row(row: Array, scatter: Array, ridge: float, progress: Progress = NO_PROGRESS) -> Array:
    """Replace the missing values M of a row by μ_M + S_MO S_OO⁻¹ (x_O − μ_O), their mean given the known values O.

    Parameters
    ----------
    row : ndarray of shape (d,)
        Missing values are NaN.
    scatter : ndarray of shape (d + 1, d + 1)
        Scatter matrix of rows without missing values, with a constant 1 appended to each row. It gives the mean μ and
        the covariance S.
    ridge : float
        Positive number that is added to the diagonal of the covariance of the scaled columns.
    progress : Progress
    """
    mean, squares = scatter[-1, :-1] / scatter[-1, -1], scatter[:-1, :-1] / scatter[-1, -1]
    S = squares - np.outer(mean, mean)
    # A variance below this limit is only the rounding error of a constant column.
    varies = np.diag(S) > 1e-12 * np.diag(squares)
    scale = np.sqrt(np.where(varies, np.diag(S), 1.0))
    Z = ((row - mean) / scale)[None]
    fill_scaled(Z, missing_patterns(np.isnan(Z)), S * np.outer(varies / scale, varies / scale), ridge, None, progress)
    return np.where(np.isnan(row), mean + scale * Z[0], row)

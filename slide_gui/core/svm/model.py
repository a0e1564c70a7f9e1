"""A trained multi-width SVM as an immutable object, and one-vs-one classification."""

from dataclasses import dataclass
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import Array, Indices, tiles
from slide_gui.core.svm.kernel import COARSE, Embedding, kernel_tiles, squared_norms
from slide_gui.core.svm.parameters import ChosenBy, GridPoint, WidthsStep
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress

_BLOCK_VALUES = 8_000_000  # largest number of kernel values that are computed at once for predictions


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return all pairs (i, j) of class codes with i < j. If the margin of a pair is positive, class j is predicted."""
    return list(combinations(range(n_classes), 2))


def predicted_codes(margins: NDArray[np.floating], n_classes: int) -> Indices:
    """Return the predicted class codes, given the margins of each pair of classes."""
    if n_classes == 2:
        return (margins[:, 0] > 0.0).astype(np.intp)
    return np.asarray(np.argmax(class_scores(margins, n_classes), axis=1))


def class_scores(margins: NDArray[np.floating], n_classes: int) -> NDArray[np.float64]:
    """Return one score per row and class: the number of one-vs-one votes, plus a term that breaks ties.

    The term is the sum of the margins of the class, scaled to (−1/3, 1/3).

    Parameters
    ----------
    margins : ndarray of shape (n, n_classes · (n_classes − 1) / 2)
        Margins of the pairs of classes, in the order of `pairs_of`.

    Returns
    -------
    ndarray of shape (n, n_classes)
        The predicted class has the highest score.
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


@dataclass(frozen=True, eq=False)
class TrainedSvm:
    """A trained multi-width SVM as stored with a run. It contains the indices of the support vectors, not the vectors.

    Attributes
    ----------
    widths, shares, medians : tuple of float
        Width σ_t, fraction of the kernel's exponent, and median squared distance D_t of each layer.
    C : float
        Penalty for errors.
    history : tuple of WidthsStep
        Iterations of learning the widths; empty if the widths were not learned.
    grid : tuple of GridPoint
        Evaluated points of the grid search over σ and C; empty if there was no grid search.
    gap : float
        Largest violation of the optimality conditions over all pairs of classes.
    converged : bool
        True if the solver converged for every pair of classes.
    dtype : str
        Data type of the support vectors in `SvmModel`, "float32" or "float64".
    support : ndarray of int, shape (n_support,)
        Indices of the support vectors in the training set.
    coefficients : ndarray of shape (n_pairs, n_support)
        Signed dual coefficients y α.
    biases : ndarray of shape (n_pairs,)
        Bias of each pair of classes.
    chosen : ChosenBy or None
        Record of how the learned widths were selected. None if the widths were not learned, or if the run has no
        record.
    """

    widths: tuple[float, ...]
    shares: tuple[float, ...]
    medians: tuple[float, ...]
    C: float
    history: tuple[WidthsStep, ...]
    grid: tuple[GridPoint, ...]
    gap: float
    converged: bool
    dtype: str
    support: Indices
    coefficients: Array
    biases: Array
    chosen: ChosenBy | None = None

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.support)

    @property
    def n_classes(self) -> int:
        """Number of classes k, which follows from the k (k − 1) / 2 pairs of classes."""
        return (1 + isqrt(1 + 8 * len(self.biases))) // 2


@dataclass(frozen=True, eq=False)
class SvmModel:
    """A trained multi-width SVM with its support vectors, which predicts classes.

    Attributes
    ----------
    trained : TrainedSvm
    embedding : Embedding
        Map from rows to vectors z, for which the kernel is exp(−‖z − z'‖²).
    vectors : ndarray of shape (n_support, d)
        The vectors z of the support vectors, in float64 if float32 would change the margins noticeably.
    steps : int
        Number of SMO steps of the training, summed over all pairs of classes; 0 for an SVM read from a stored run.
    """

    trained: TrainedSvm
    embedding: Embedding
    vectors: NDArray[np.floating]
    steps: int = 0

    def margins(self, Z: NDArray[np.floating], *, progress: Progress = NO_PROGRESS) -> Array:
        """Return the margin of each row for each pair (i, j) of classes, of shape (n, n_pairs).

        If the margin of the pair is positive, class j is predicted.
        """
        steady = MonotonicProgress(progress)
        n, dtype = len(self.vectors), self.vectors.dtype
        # Columns in which all support vectors are 0 contribute nothing to the matrix products, so they are left out.
        used = np.flatnonzero(self.vectors.any(axis=0))
        vectors, squares = np.take(self.vectors, used, axis=1), squared_norms(self.vectors)
        # For support vectors far from the centre, a matrix product would give inaccurate squared distances. The
        # distances from these vectors are computed from differences instead.
        far = np.flatnonzero(np.finfo(dtype).eps * squares > COARSE)
        by_pair = np.ascontiguousarray(self.trained.coefficients.T, dtype=dtype)
        margins = np.empty((len(Z), len(self.trained.biases)))
        step = int(np.clip(_BLOCK_VALUES // max(n, 1), 64, 1024))
        values = np.empty((min(step, len(Z)), n), dtype)
        for some in tiles(len(Z), step, steady, fraction=True):
            embedded = self.embedding(Z[some], None, dtype, steady.pulse)
            block = np.take(embedded, used, axis=1), squared_norms(embedded)
            kernel = kernel_tiles(block, (vectors, squares), values[: len(embedded)], steady.pulse)
            for k in far:
                steady.report(0.0)
                kernel[:, k] = np.exp(-np.square(embedded - self.vectors[k]).sum(axis=1))
            margins[some] = kernel @ by_pair
        return margins + self.trained.biases

    def scores(self, Z: NDArray[np.floating], *, progress: Progress = NO_PROGRESS) -> Array:
        """Return the `class_scores` of rows or, for two classes, their margins, of shape (n,).

        The margin of a row is positive if class 1 is predicted.
        """
        margins = self.margins(Z, progress=progress)
        return margins[:, 0] if margins.shape[1] == 1 else class_scores(margins, self.trained.n_classes)

    def predict(self, Z: NDArray[np.floating], *, progress: Progress = NO_PROGRESS) -> Indices:
        """Return the class code of each row, 0 … n_classes − 1."""
        return predicted_codes(self.margins(Z, progress=progress), self.trained.n_classes)

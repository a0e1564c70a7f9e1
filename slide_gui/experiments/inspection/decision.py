"""Explain the predicted class of an image: votes, nearest support vectors, and changes that alter the class."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import Array, Indices
from slide_gui.core.svm.kernel import blocks_of, squared_norms
from slide_gui.core.svm.model import class_scores, pairs_of, predicted_codes
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.run import Restored
from slide_gui.progress import NO_PROGRESS, Progress

_NEAREST = 3  # Number of nearest support vectors reported for the predicted class, and for the second-best class.
# Maximum number of features that `Decider.flip` may change to alter the predicted class.
MOST_CHANGES = 48
# `Decider.flip` searches in steps, each of which changes one more feature. The first step tries all features. Later
# steps try only the features that `Decider._apart` returns, and the `_PROMISING` best features of the first step. The
# changes of these features lowered the margin of the predicted class most.
_PROMISING = 64
_BATCH = 64  # Number of images that are classified at once. The search can be cancelled between two batches.


@dataclass(frozen=True)
class SupportVector:
    """A support vector with its contribution to a prediction.

    Attributes
    ----------
    row : int
        Index of the support vector in the training set.
    code : int
        Class of the support vector.
    kernel : float
        Value K(h, h_s) of the kernel for the representations h of the image and h_s of the support vector. K is 1 for
        identical images, and close to 0 for very different images.
    pull : float
        Contribution of the support vector to the margin of the predicted class over the second-best class. This
        contribution is negative if the support vector favours the second-best class.
    shares : tuple of float
        Fraction that each layer t contributes to −ln K = Σ_t ‖h^t − h_s^t‖² / σ_t², where σ_t is the kernel width.
    """

    row: int
    code: int
    kernel: float
    pull: float
    shares: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Decision:
    """The prediction of an SVM for one image, with the quantities that explain it.

    Attributes
    ----------
    first, second : int
        The predicted class, and the second-best class.
    votes : tuple of int
        Number of pairwise classifiers won by each class.
    margins : tuple of float
        Margin of the predicted class over each class. 0 for the predicted class itself.
    nearest : tuple of SupportVector
        The nearest support vectors of the predicted class and of the second-best class. The two classes alternate, and
        each class is sorted by increasing distance from the image.
    shares : tuple of float
        Fraction that each layer contributes to the sum of −ln K over the support vectors in `nearest`.
    """

    first: int
    second: int
    votes: tuple[int, ...]
    margins: tuple[float, ...]
    nearest: tuple[SupportVector, ...]
    shares: tuple[float, ...]

    @property
    def margin(self) -> float:
        """Margin of the predicted class over the second-best class."""
        return self.margins[self.second]


@dataclass(frozen=True, eq=False)
class Flip:
    """Changes of individual features that together alter the predicted class of an image.

    Attributes
    ----------
    image : ndarray of shape (d,)
        The changed image.
    features : tuple of int
        Indices of the changed features. A changed feature is set to the lowest or the highest value of its range,
        whichever is farther from its original value. Empty if the search failed.
    code : int
        The predicted class of the changed image.
    fewest : bool
        True if no smaller set of such changes can alter the class. This is certain for one or two changed features,
        because the change of each feature alone is tried first. Three or more features are found by a greedy search. It
        tries the features whose individual changes lower the margin of the predicted class most. It also tries the
        features whose changes bring the image closer to the nearest support vector of the second-best class.
        Unnecessary changes are undone at the end.
    """

    image: NDArray[np.floating]
    features: tuple[int, ...]
    code: int
    fewest: bool


class Decider:
    """Explains the predictions of a trained SVM for individual images.

    Parameters
    ----------
    restored : Restored
        The representation, the SVM, and the rows on which the SVM was trained.
    dataset : Dataset
        Data set of the run.
    """

    def __init__(self, restored: Restored, dataset: Dataset) -> None:
        self.representation, model = restored.representation, restored.model
        self.model, self.rows = model, restored.rows[model.trained.support]
        self._codes = restored.codes[self.rows]
        self.labels = restored.labels[: model.trained.n_classes]
        vectors = np.asarray(model.vectors, dtype=np.float32)
        self._columns = blocks_of(model.embedding.sizes)
        self._blocks = [np.ascontiguousarray(vectors[:, columns]) for columns in self._columns]
        self._squares = [squared_norms(block) for block in self._blocks]
        self._train, self._images = dataset.train, dataset.image_shape is not None

    @property
    def products(self) -> int:
        """Number of multiplications for one prediction if the representations of the image are already known."""
        return sum(block.size for block in self._blocks)

    @cached_property
    def _range(self) -> tuple[Array, Array]:
        """Lowest and highest value of each feature in the training set. For images, all pixels share one range."""
        axis, rows = None if self._images else 0, self._train
        low, high = np.float64(rows.min(axis=axis)), np.float64(rows.max(axis=axis))
        return np.broadcast_to(low, rows.shape[1]), np.broadcast_to(high, rows.shape[1])

    def decide(self, representations: NDArray[np.floating]) -> Decision:
        """Predict and explain the class of one image. BLAS is avoided, because another thread may be using it.

        Parameters
        ----------
        representations : ndarray of shape ((l + 1)·d,)
            Representations [h⁰, h¹, …, hˡ] of the image, where h⁰ is the input and l is the number of layers.
        """
        exponents = self._exponents(representations)
        kernel = np.exp(-exponents.sum(axis=0))
        margins = np.einsum("ps,s->p", self.model.trained.coefficients, kernel) + self.model.trained.biases
        first, second, towards = _duels(margins, self.model.trained.n_classes)
        number, sign = towards[second]
        coefficients = sign * self.model.trained.coefficients[number]
        order = _in_turn(kernel, coefficients > 0.0, coefficients < 0.0)
        nearest = tuple(
            SupportVector(
                int(self.rows[s]),
                int(self._codes[s]),
                float(kernel[s]),
                float(coefficients[s] * kernel[s]),
                _shares(exponents[:, s]),
            )
            for s in order
        )
        by_class = [0.0] * (len(towards) + 1)
        for other, (pair, direction) in towards.items():
            by_class[other] = direction * float(margins[pair])
        return Decision(
            first,
            second,
            tuple(map(round, class_scores(margins[None], self.model.trained.n_classes)[0])),
            tuple(by_class),
            nearest,
            _shares(exponents[:, order].sum(axis=1)),
        )

    def _exponents(self, representations: NDArray[np.floating]) -> Array:
        """Return the terms ‖h^t − h_s^t‖² / σ_t² of −ln K, whose symbols are explained in `SupportVector`.

        The result has one row for each layer t and one column for each support vector.
        """
        row = self.model.embedding(representations[None], None, np.float32)[0]
        exponents = np.empty((len(self._blocks), len(self.rows)))
        for number, (block, squares) in enumerate(zip(self._blocks, self._squares, strict=True)):
            part = row[self._columns[number]]
            products = np.einsum("ij,j->i", block, part)
            exponents[number] = np.maximum(squares + np.float64(part @ part) - 2.0 * products, 0.0)
        return exponents

    def flip(self, image: NDArray[Any], progress: Progress = NO_PROGRESS) -> Flip:
        """Search for the smallest set of features whose changes, as described in `Flip`, alter the predicted class.

        Parameters
        ----------
        image : ndarray of shape (d,)
            The image to change.
        progress : Progress
            Receives progress reports, and can cancel the search.
        """
        low, high = self._range
        # In `far`, each feature has the lowest or the highest value of its range, whichever is farther from its value
        # in `image`. To change a feature means to replace its value in `image` by its value in `far`.
        far = np.where(image > 0.5 * (low + high), low, high).astype(image.dtype)
        pursued = np.flatnonzero(far != image)
        margins = self._margins(image[None], progress)[0]
        first, second, towards = _duels(margins, self.model.trained.n_classes)
        number, sign = towards[second]
        changed: list[int] = []
        now = image.copy()
        while len(pursued) and len(changed) < MOST_CHANGES:
            margins = self._with_one_more(now, far, pursued, progress)
            left = sign * margins[:, number]
            flips = predicted_codes(margins, self.model.trained.n_classes) != first
            best = int(np.argmin(np.where(flips, left - np.ptp(left) - 1.0, left)))
            now[pursued[best]] = far[pursued[best]]
            changed.append(int(pursued[best]))
            if flips[best]:
                return self._without_needless(image, far, changed, first, progress)
            if len(changed) == 1:
                promising = pursued[np.argsort(left, kind="stable")[:_PROMISING]]
                pursued = np.union1d(promising, self._apart(image, far, second))
            pursued = pursued[pursued != changed[-1]]
        return Flip(image, (), first, False)

    def _apart(self, image: NDArray[Any], far: NDArray[Any], code: int) -> Indices:
        """Return the features whose changes bring the image closer to the nearest support vector of class `code`.

        A change replaces the value of a feature in `image` by its value in `far`, as in `flip`.
        """
        others = self._train[self.rows[self._codes == code]]
        nearest = others[np.argmin(np.square(others - image).sum(axis=1))]
        return np.flatnonzero(np.abs(far - nearest) < np.abs(image - nearest))

    def _with_one_more(self, image: NDArray[Any], far: NDArray[Any], features: Indices, progress: Progress) -> Array:
        """Return the margins of all pairwise classifiers for copies of an image, each with one changed feature.

        Row i contains the margins for the copy in which ``features[i]`` is set to its value in `far`.
        """
        margins = np.empty((len(features), len(self.model.trained.biases)))
        for start in range(0, len(features), _BATCH):
            some = features[start : start + _BATCH]
            images = np.repeat(image[None], len(some), axis=0)
            images[np.arange(len(some)), some] = far[some]
            margins[start : start + len(some)] = self._margins(images, progress)
        return margins

    def _without_needless(
        self, image: NDArray[Any], far: NDArray[Any], changed: list[int], first: int, progress: Progress
    ) -> Flip:
        """Undo each change that is not needed to make the predicted class differ from the class `first`."""
        needed = list(changed)
        for feature in changed[:-1]:
            fewer = [each for each in needed if each != feature]
            if self._class_of(image, far, fewer, progress) != first:
                needed = fewer
        flipped = image.copy()
        flipped[needed] = far[needed]
        return Flip(flipped, tuple(needed), self._class_of(image, far, needed, progress), len(needed) <= 2)

    def _class_of(self, image: NDArray[Any], far: NDArray[Any], features: list[int], progress: Progress) -> int:
        changed = image.copy()
        changed[features] = far[features]
        return int(predicted_codes(self._margins(changed[None], progress), self.model.trained.n_classes)[0])

    def _margins(self, images: NDArray[Any], progress: Progress) -> Array:
        progress.report(0.0)
        return self.model.margins(self.representation.transform(images))


def _duels(margins: Array, n_classes: int) -> tuple[int, int, dict[int, tuple[int, float]]]:
    """Return the predicted class, the second-best class, and the pairwise classifiers of the predicted class.

    The pairwise classifiers are returned as a dictionary, whose keys are the other classes. Each value contains the
    index of the classifier that separates this class from the predicted class, and a sign. The margin of the classifier
    times the sign is positive if the classifier favours the predicted class.
    """
    scores = class_scores(margins[None], n_classes)[0]
    first = int(predicted_codes(margins[None], n_classes)[0])
    scores[first] = np.inf
    second = int(np.argsort(scores)[-2])
    towards = {}
    for number, (i, j) in enumerate(pairs_of(n_classes)):
        if first in (i, j):
            towards[i if first == j else j] = (number, 1.0 if first == j else -1.0)
    return first, second, towards


def _in_turn(kernel: Array, *sides: NDArray[np.bool_]) -> Indices:
    """Return the indices of the nearest support vectors of several classes, alternating between the classes.

    Each mask in `sides` selects the support vectors of one class.
    """
    ranked: list[tuple[int, int]] = []
    for side in sides:
        members = np.flatnonzero(side)
        ranked += enumerate(members[np.argsort(-kernel[members], kind="stable")[:_NEAREST]].tolist())
    return np.array([number for _, number in sorted(ranked, key=lambda each: each[0])], dtype=np.intp)


def _shares(exponents: Array) -> tuple[float, ...]:
    total = float(exponents.sum())
    return tuple((exponents / total).tolist() if total > 0.0 else [0.0] * len(exponents))

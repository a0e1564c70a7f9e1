"""The criteria by name, for two classes and for more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.criteria.evaluation import Evaluation
from slide_gui.core.criteria.hold_out import hold_out
from slide_gui.core.criteria.press import press
from slide_gui.core.criteria.radius_margin import radius_margin
from slide_gui.core.criteria.span import span
from slide_gui.core.svm_multiclass import pairs_of
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["CRITERIA", "evaluate"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

CRITERIA = ("radius-margin", "span", "hold-out", "press")


def evaluate(
    criterion: str,
    kernel: Array,
    codes: Indices,
    ridge: float,
    held_out: NDArray[np.bool_],
    starts: dict[tuple[int, int], Array] | None = None,
    progress: Progress = NO_PROGRESS,
) -> Evaluation:
    """Evaluate a criterion on any number of classes.

    "press" has one column a class (one for two classes). The others are criteria of two classes: with more, J is the
    mean over the one-vs-one problems, each on its own points.

    Parameters
    ----------
    criterion : {"radius-margin", "span", "hold-out", "press"}
    kernel : ndarray of shape (n, n)
        K without the ridge.
    codes : ndarray of int, shape (n,)
        Classes 0 … k − 1.
    ridge : float
        1/C.
    held_out : ndarray of bool, shape (n,)
        For "hold-out".
    starts : dict, optional
        Coefficients of each pair at a neighbouring kernel; filled with those found.
    progress : Progress
        The cancel point.
    """
    n_classes = int(codes.max()) + 1
    if criterion == "press":
        columns = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
        return press(kernel, columns[:, 1:] if n_classes == 2 else columns, ridge, progress=progress)
    starts = {} if starts is None else starts
    pairs = pairs_of(n_classes)
    value, support = 0.0, 0
    gradient = np.zeros_like(kernel) if len(pairs) > 1 else None
    beta = np.zeros(len(codes))
    for pair in pairs:
        members = np.flatnonzero((codes == pair[0]) | (codes == pair[1]))
        alone = len(members) == len(codes)
        part = kernel if alone else kernel[np.ix_(members, members)]
        y = np.where(codes[members] == pair[1], 1.0, -1.0)
        found = _two_classes(criterion, part, y, ridge, held_out[members], starts.get(pair), progress)
        starts[pair] = beta = found.beta
        value += found.value / len(pairs)
        support += found.n_support
        if gradient is None:
            gradient = found.gradient
        else:
            gradient[np.ix_(members, members)] += found.gradient / len(pairs)
    assert gradient is not None
    return Evaluation(value, gradient, beta, support)


def _two_classes(
    criterion: str,
    kernel: Array,
    y: Array,
    ridge: float,
    held_out: NDArray[np.bool_],
    start: Array | None,
    progress: Progress,
) -> Evaluation:
    if criterion == "radius-margin":
        return radius_margin(kernel, y, ridge, start=start, progress=progress)
    if criterion == "span":
        return span(kernel, y, ridge, start=start, progress=progress)
    if criterion == "hold-out":
        if not held_out.any():
            raise ValueError("two classes of one row each; the hold-out criterion needs a class of at least two")
        return hold_out(kernel, y, ridge, held_out, start=start, progress=progress)
    raise ValueError(f"criterion is {criterion!r}; it must be one of {', '.join(CRITERIA)}")

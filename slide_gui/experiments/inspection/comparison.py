"""Compare two runs: McNemar's test of their errors, and the difference between their weights W."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import error_matrix
from slide_gui.experiments.files.model_file import FittedModel
from slide_gui.experiments.inspection.rows import weight_rows
from slide_gui.experiments.runs.fitting import Reuse, stack_of
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.runs.splits import RunData
from slide_gui.experiments.statistics import McNemar, mcnemar
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.progress import NO_PROGRESS, Progress

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Rows of the weights W of two runs, A and B, that reconstruct the same pixels.

    Attributes
    ----------
    pixels : tuple of int, length k
        Indices of the reconstructed features.
    first, second : ndarray of shape (k, depth, d + 1), float64
        ``first[i, j]`` contains the weights of layer j + 1 of run A that reconstruct pixel i. The last element is the
        bias. `second` contains the weights and biases of run B in the same form.
    difference : ndarray of shape (k, smaller depth, d + 1), float64
        Weights of run A minus weights of run B, for the layers that both runs have.
    contributions : bool
        True if each weight is multiplied by the root mean square of its input feature. This is done if a few weights of
        a layer are so large that all others would be invisible in a picture (`drowns`).
    """

    pixels: tuple[int, ...]
    first: Array
    second: Array
    difference: Array
    contributions: bool = False


@dataclass(frozen=True, eq=False)
class RunComparison:
    """Two runs, and rows of their weights W or the reason why these rows are missing.

    Attributes
    ----------
    first, second : RunResult or StoredRun
        The two runs. A run that was shipped with the program is a `StoredRun`, because its complete result is not
        available.
    rows : ComparedRows or None
        Rows of the weights of both runs. None if the rows cannot be compared.
    why_not : str
        The reason why `rows` is None, as a sentence. Empty if `rows` is given.
    label_names, feature_names : tuple of str
        Names of the classes and of the features in the data set of both runs. If this data set is not open, the classes
        are named by their labels, for example "class 0", and `feature_names` is empty.
    """

    first: RunResult | StoredRun
    second: RunResult | StoredRun
    rows: ComparedRows | None
    why_not: str
    image_shape: tuple[int, int] | None
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...] = ()


def compare_errors(first: RunResult | StoredRun, second: RunResult | StoredRun) -> McNemar | None:
    """Return McNemar's test of two runs on the same test rows, or None if their test rows differ or are unknown."""
    if first.row_errors is None or second.row_errors is None:
        return None
    errors = error_matrix((first.row_errors, second.row_errors))
    return None if errors is None else mcnemar(*errors)


def compare_rows(
    dataset: Dataset, first: RunSpec, second: RunSpec, pixels: Sequence[int], *, progress: Progress = NO_PROGRESS
) -> ComparedRows:
    """Fit the stacks of two runs again, and return the rows of their weights W that reconstruct the given features.

    Parameters
    ----------
    dataset : Dataset
        Data set of both runs.
    pixels : sequence of int, length k
        Indices of features, from 0 to d − 1.

    Raises
    ------
    DataError
        If one of the runs was computed on another data set.
    """
    reuse = Reuse()
    parts = progress.each((first, second))
    stacks = [stack_of(RunData.of(dataset, spec.checked()), reuse, part) for spec, part in parts]
    both = [weight_rows(FittedModel.of(dataset, stack), pixels) for stack in stacks]
    drowned = any(rows.drowned for rows in both)
    shown = (rows.rows * rows.rms if drowned else rows.rows for rows in both)
    biases = (rows.biases[:, :, None] for rows in both)
    first_rows, second_rows = (np.concatenate(pair, axis=2) for pair in zip(shown, biases, strict=True))
    least = min(rows.depth for rows in both)
    difference = first_rows[:, :least] - second_rows[:, :least]
    return ComparedRows(tuple(pixels), first_rows, second_rows, difference, drowned)

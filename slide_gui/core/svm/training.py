"""Train a multi-width SVM: select widths and C, then train all pairs of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.svm.decomposition import largest_store
from slide_gui.core.svm.kernel import (
    block_sizes,
    median_distances,
    refuse_large,
    widths_from,
)
from slide_gui.core.svm.model import Solve, SvmModel, one_after_the_other, train
from slide_gui.core.svm.parameters import ChosenBy, SvmParameters
from slide_gui.core.svm.selection import (
    C_GRID,
    GLOBAL_SCALES,
    MOST_ROWS,
    NEAR_CS,
    NEAR_SCALES,
    choose_widths,
    enough_fresh,
    tune,
)
from slide_gui.core.svm.widths import WidthOptions, WidthsSample, WidthsStep
from slide_gui.memory import check_free
from slide_gui.progress import NO_PROGRESS, Progress

_MEDIAN_ROWS = 1000
_LEARNING = 5  # n × n matrices that a criterion needs in addition to the distances in each layer
_SHARES_ROWS = 500  # rows for the medians if widths are given, since they only determine `shares`

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


def fit_svm(
    Z: NDArray[np.floating],
    codes: Indices,
    parameters: SvmParameters,
    *,
    weights: Array | None = None,
    row_groups: Indices | None = None,
    start: SvmModel | None = None,
    progress: Progress = NO_PROGRESS,
    solve_pairs: Solve = one_after_the_other,
) -> SvmModel:
    """Select widths and C by the parameters, then train on all rows.

    Parameters
    ----------
    Z : ndarray or memmap of shape (n, d), float32 or float64
        Rows [h⁰, h¹, …], which are read in blocks.
    codes : ndarray of int, shape (n,)
        Class codes 0 … k − 1, each present, with k ≥ 2.
    weights : ndarray of shape (n,), optional
        Positive weights of the rows. At the final widths, the C of a row is C times its weight. If widths and C are
        selected, errors are weighted. The subset, the held-out rows and the median distances ignore weights.
    row_groups : ndarray of int, shape (n,), optional
        Group of each row, such as the patient. Splits for selecting widths and C keep the rows of a group together.
    start : SvmModel, optional
        Model of the same rows in a neighbouring representation; the solver starts from its coefficients.
    progress : Progress
        Receives a `WidthsStep` at each step of learning, then a `TrainingStep` at each step of the solver.
    solve_pairs : callable
        Function that solves the problems of all pairs of classes.

    Raises
    ------
    ValueError
        If parameters are out of range, if widths do not fit the blocks, if there are fewer than two classes, or if the
        criterion is not defined with weights.
    MemoryError
        If `parameters.memory` is too small, or if too little memory is free. The message gives the required memory.
    Cancelled
        If the progress cancels.
    """
    parameters = parameters.checked()
    codes = np.asarray(codes)
    n_classes = int(codes.max()) + 1
    if n_classes < 2:
        raise ValueError("all rows belong to one class; training needs at least two classes")
    sizes = block_sizes(Z.shape[1], parameters.groups)
    most = _SHARES_ROWS if not isinstance(parameters.widths, str) else _MEDIAN_ROWS
    needed = svm_bytes(np.bincount(codes).tolist(), Z.shape[1], len(sizes), parameters, grouped=row_groups is not None)
    check_free(
        needed,
        f"training on {len(codes)} rows of {Z.shape[1]} columns",
        "use fewer rows or less memory for it",
    )
    pulse = progress.part(0.0, 0.0)
    refuse_large(Z, pulse)
    medians = median_distances(Z, sizes, max_rows=most, seed=parameters.seed, progress=pulse)
    # For each pair of rows, learning takes about 13 times as long as training, but it uses the subset only.
    learning = 13 * min(len(codes), parameters.subset_size) ** 2 if parameters.widths == "learn" else 0
    chosen_by = 0.1 + 0.85 * learning / (learning + min(len(codes), MOST_ROWS) ** 2)
    part = progress.part(0.0, chosen_by)
    widths, C, history, chosen = _choose(Z, codes, sizes, medians, weights, row_groups, parameters, part)
    return train(
        Z,
        codes,
        sizes,
        widths,
        C,
        parameters,
        history=history,
        chosen=chosen,
        medians=medians,
        weights=weights,
        start=start,
        progress=progress.part(chosen_by, 1.0),
        solve_pairs=solve_pairs,
    )


def svm_bytes(
    counts: Sequence[int], columns: int, layers: int, parameters: SvmParameters, *, grouped: bool = False
) -> int:
    """Return the approximate peak memory, in bytes, of selecting widths and C and training, without the input.

    The memory depends on the number of support vectors. The estimate assumes that many rows are support vectors.

    Parameters
    ----------
    counts : sequence of int
        Number of rows in each class.
    columns, layers : int
        Number of columns and of blocks of columns.
    grouped : bool
        True if rows have groups.
    """
    n = sum(counts)
    needs: list[int] = [_solved(counts, columns, parameters.memory)]
    if parameters.widths == "learn":
        learned = min(n, parameters.subset_size)
        matrices: float = layers + _LEARNING
        # Learning on four fifths of the subset needs all its distances as well.
        if grouped or not enough_fresh(learned, n):
            matrices = max(matrices, layers + 0.64 * matrices)
        needs.append(int(8 * learned**2 * matrices) + 4 * learned * columns)
    elif parameters.C is None:
        share = 0.8 * min(1.0, MOST_ROWS / n)
        inside = [math.ceil(share * count) for count in counts]
        needs.append(4 * int(1.25 * sum(inside)) * columns + _solved(inside, columns, parameters.memory))
    return max(needs)


def _solved(counts: Sequence[int], columns: int, memory: int) -> int:
    """Return the memory, in bytes, of training at given widths and C: embedded rows, kernel rows, support vectors."""
    n, pair = sum(counts), sum(sorted(counts)[-2:])
    rows, left = 4 * n * columns, max(memory - 4 * n * columns, 0)
    if len(counts) == 2:
        return 2 * rows + largest_store(pair, left)
    shared = left // 3
    cached = sum(4 * count * min(count, shared // max(4 * n, 1)) for count in counts)
    return 2 * rows + cached + largest_store(pair, left - shared)


def _choose(
    Z: NDArray[np.floating],
    codes: Indices,
    sizes: tuple[int, ...],
    medians: Array,
    weights: Array | None,
    row_groups: Indices | None,
    parameters: SvmParameters,
    progress: Progress,
) -> tuple[Array, float, tuple[WidthsStep, ...], ChosenBy | None]:
    """Return the widths, C, the history of learning, and how learned widths were selected."""
    given = parameters.C
    if not isinstance(parameters.widths, str):
        widths = np.asarray(parameters.widths, dtype=np.float64)
        if len(widths) != len(sizes):
            raise ValueError(
                f"widths is {parameters.widths!r}; it must contain {len(sizes)} positive numbers, one per block"
            )
        if given is None:
            given = tune(
                Z, codes, sizes, widths, (1.0,), C_GRID, parameters, progress, weights=weights, row_groups=row_groups
            )[1]
        return widths, given, (), None
    if parameters.widths == "median":
        widths = widths_from(medians, float(len(sizes)))
        if given is not None:
            return widths, given, (), None
        scale, C = tune(
            Z, codes, sizes, widths, GLOBAL_SCALES, C_GRID, parameters, progress, weights=weights, row_groups=row_groups
        )
        return widths * scale, C, (), None
    options = WidthOptions(
        parameters.criterion,
        given,
        parameters.subset_size,
        parameters.starts,
        seed=parameters.seed,
        memory=parameters.memory,
        near=() if parameters.near is None else (parameters.near,),
    )
    sample = WidthsSample.of(Z, codes, sizes, options, progress.part(0.0, 0.0), weights, row_groups)
    part, seen = progress.part(0.0, 0.9), sample.rows
    selected = choose_widths(Z, codes, sizes, sample, options, parameters, weights=weights, progress=part)
    widths, C = selected.widths, selected.C
    del sample
    if parameters.retune and enough_fresh(len(seen), len(codes)):
        Cs = tuple(C * factor for factor in (NEAR_CS if given is None else (1.0,)))
        part = progress.part(0.9, 1.0)
        scale, C = tune(
            Z,
            codes,
            sizes,
            widths,
            NEAR_SCALES,
            Cs,
            parameters,
            part,
            learned_on=seen,
            weights=weights,
            row_groups=row_groups,
        )
        widths = widths * scale
    return widths, C, selected.history, selected.chosen

"""How far the evaluation is: one cell a method and data set, filling in split by split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from statistics import median

import numpy as np
from numpy.typing import NDArray

from slide_gui.error_rate import LEVEL, ErrorRate
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.paper import Published, published
from slide_gui.experiments.run_progress import RunProgress
from slide_gui.experiments.statistics import McNemar, holm, mcnemar, resampled_t

__all__ = ["REFERENCE", "BenchmarkState", "Cell", "Comparison", "DataInfo", "SplitAnswer", "compare"]

REFERENCE = "slide-svm"
"""The method that the others are compared with."""


@dataclass(frozen=True)
class DataInfo:
    """A data set of the evaluation.

    Attributes
    ----------
    key : str
        Of the catalogue.
    title : str
        Name of the data, without the mark that they are generated.
    generated : bool
        Whether it is the generated stand-in.
    fingerprint : str
    n_train, n_test : int
    """

    key: str
    title: str
    generated: bool
    fingerprint: str
    n_train: int
    n_test: int

    @property
    def reduced(self) -> str:
        """A sentence on how many rows there are, where they are not the benchmark's; else empty."""
        from slide_gui.data.entries import entry

        own, theirs = (self.n_train, self.n_test), (entry(self.key).n_train, entry(self.key).n_test)
        if own == theirs:
            return ""
        counts = [f"{n:,}".replace(",", "\u202f") for n in (*own, *theirs)]
        return "{}: {} training and {} test rows, the benchmark has {} and {}.".format(self.title, *counts)


@dataclass(frozen=True, eq=False)
class SplitAnswer:
    """What came out of one split.

    Attributes
    ----------
    split : int
    spec_hash : str
        Of the run on test rows.
    chosen : str
        What was chosen on validation, or the one candidate, for people; empty if the method has no parameters.
    error : float
        On the test rows.
    n_train, n_test : int
        Rows trained on and judged.
    wrong : ndarray of int
        The test rows that were wrong.
    validation_error : float or None
        Of the candidate that was chosen; None if there was one candidate only.
    features : float or None
        Seconds of feature generation, as in `Timings`.
    seconds : float
        That the run on test rows took.
    """

    split: int
    spec_hash: str
    chosen: str
    error: float
    n_train: int
    n_test: int
    wrong: NDArray[np.int64]
    validation_error: float | None
    features: float | None
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """How a method compares with SLIDE-SVM on the same splits.

    Over several splits it is the corrected resampled t-test; on one split, or where all splits differ by the same and
    so repeat one another, McNemar's exact test on the same test rows.

    Attributes
    ----------
    p : float
        Two-sided, of this comparison alone.
    adjusted : float
        Holm's, over all comparisons of the table.
    difference : float
        Mean error of this method less that of SLIDE-SVM, over these splits.
    n_splits : int
    rows : McNemar or None
        Where it is McNemar's test: the test.
    """

    p: float
    adjusted: float
    difference: float
    n_splits: int
    rows: McNemar | None

    @property
    def significant(self) -> bool:
        """Whether the adjusted p is below 0.05."""
        return self.adjusted < LEVEL

    @property
    def test(self) -> str:
        """Name of the test."""
        return "McNemar" if self.rows is not None else f"corrected resampled t-test, {self.n_splits} splits"


@dataclass(frozen=True, eq=False)
class Cell:
    """One method on one data set.

    Attributes
    ----------
    data, method : str
        Keys.
    asked : int
        Splits asked for.
    answers : tuple of SplitAnswer
        Those that are there, by split.
    """

    data: str
    method: str
    asked: int
    answers: tuple[SplitAnswer, ...] = ()

    @property
    def name(self) -> str:
        """Name of the method, as in the paper."""
        return METHODS[self.method].text

    @property
    def rate(self) -> ErrorRate | None:
        """Mean test error over the splits that are there, with its 95 % interval; None if there is none."""
        if not self.answers:
            return None
        return ErrorRate.of_splits([answer.error for answer in self.answers], self.answers[0].n_test)

    @property
    def complete(self) -> bool:
        """Whether all splits are there."""
        return len(self.answers) >= self.asked

    @property
    def features(self) -> float | None:
        """Median seconds of feature generation, of the runs where all of it was done; None if there are none."""
        known = [answer.features for answer in self.answers if answer.features is not None]
        return float(median(known)) if known else None

    @property
    def chosen(self) -> str:
        """What was chosen most often, and in how many of the splits."""
        words = [answer.chosen for answer in self.answers if answer.chosen]
        if not words:
            return ""
        most = max(words, key=words.count)
        return most if len(words) == 1 else f"{most} ({words.count(most)} of {len(words)} splits)"

    @property
    def paper(self) -> Published | None:
        """The figure of the paper's Table 1."""
        return next((one for one in published(self.data) if one.method == self.name), None)


@dataclass(frozen=True, eq=False)
class BenchmarkState:
    """Everything known of the evaluation so far.

    Attributes
    ----------
    data : tuple of DataInfo
        In the order of the protocol.
    methods : tuple of str
        Keys, in the order of the protocol.
    cells : tuple of Cell
        By data, then method.
    current : tuple of (data, method, split) or None
        What is being worked on.
    live : RunProgress or None
        What can be seen of the run.
    stage : tuple of (int, int)
        Of the current split: candidates answered of all candidates; (0, 1) while what was chosen is judged.
    done, total : int
        Runs.
    seconds_left : float or None
        None until something was measured.
    faults : tuple of str
        Stored runs that could not be trusted and were made again.
    run_seconds : float or None
        What all runs took when they were made; None until everything is there.
    """

    data: tuple[DataInfo, ...]
    methods: tuple[str, ...]
    cells: tuple[Cell, ...]
    current: tuple[str, str, int] | None = None
    live: RunProgress | None = None
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    faults: tuple[str, ...] = field(default=())
    run_seconds: float | None = None
    stage: tuple[int, int] = (0, 0)

    def cell(self, data: str, method: str) -> Cell | None:
        """Return a cell by its keys, or None."""
        return next((cell for cell in self.cells if (cell.data, cell.method) == (data, method)), None)

    def of(self, data: str) -> tuple[Cell, ...]:
        """Return the cells of a data set, in the order of the methods."""
        return tuple(cell for cell in self.cells if cell.data == data)

    def of_method(self, method: str) -> tuple[Cell, ...]:
        """Return the cells of a method, in the order of the data sets."""
        return tuple(cell for cell in self.cells if cell.method == method)

    @cached_property
    def comparisons(self) -> dict[tuple[str, str], Comparison]:
        """Every method that has splits in common with SLIDE-SVM on some data: keys of data and method → comparison."""
        found = {}
        for cell in self.cells:
            reference = self.cell(cell.data, REFERENCE)
            if reference is not None and cell.method != REFERENCE:
                one = compare(cell.answers, reference.answers)
                if one is not None:
                    found[cell.data, cell.method] = one
        adjusted = holm([one.p for one in found.values()])
        return {key: replace(one, adjusted=p) for (key, one), p in zip(found.items(), adjusted, strict=True)}

    def comparison(self, cell: Cell) -> Comparison | None:
        """Return how a cell compares with SLIDE-SVM; None for SLIDE-SVM itself, and where there is nothing yet."""
        return self.comparisons.get((cell.data, cell.method))

    @property
    def complete(self) -> bool:
        """Whether all splits of all cells are there."""
        return all(cell.complete for cell in self.cells)


@lru_cache(maxsize=1024)
def _test(own: SplitAnswer, other: SplitAnswer) -> McNemar:
    """Return the test of two answers, made once: comparisons are made anew with every answer that comes."""
    return mcnemar(own.wrong, other.wrong)


def compare(answers: Sequence[SplitAnswer], reference: Sequence[SplitAnswer]) -> Comparison | None:
    """Compare a method with another on the splits that both have, each pair judged on the same test rows.

    Returns
    -------
    Comparison or None
        Alone, not adjusted; None if they have no such split in common.
    """
    theirs = {answer.split: answer for answer in reference}
    pairs = [
        (answer, theirs[answer.split])
        for answer in answers
        if answer.split in theirs and answer.n_test == theirs[answer.split].n_test
    ]
    if not pairs:
        return None
    differences = [own.error - other.error for own, other in pairs]
    n_train, n_test = min(one.n_train for pair in pairs for one in pair), pairs[0][0].n_test
    rows = None
    try:
        p = resampled_t(differences, n_train, n_test)
    except ValueError:  # one split, or splits that repeat one another
        rows = _test(*pairs[0])
        p = rows.exact
    return Comparison(p, p, float(np.mean(differences)), len(pairs), rows)

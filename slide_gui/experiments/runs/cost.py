"""Estimate the durations of runs from the measured durations of other runs."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from slide_gui.core.slide.stack import fit_bytes
from slide_gui.core.svm.selection import MOST_ROWS, enough_fresh, few_rows, training_bytes
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.spec import METHODS, RunSpec


@dataclass(frozen=True)
class RunKind:
    """The properties of a run that determine its duration. Runs with equal properties are of the same kind.

    Attributes
    ----------
    data, method : str
        Fingerprint of the data, and key of the method.
    layers, rows : int
        Number of layers, and approximate number of training rows.
    warm : bool
        True if the run starts from the learned widths of another run (`RunSpec.neighbour`).
    learns : bool
        True if the run learns kernel widths. Learning them takes most of the run's time.
    evaluate : str
        Set of rows on which the run is evaluated, "test" or "validation".
    typical : float
        Duration in seconds, as estimated by `typical_seconds`. Comparisons of two kinds ignore it, because it differs
        little between runs whose other properties are equal.
    """

    data: str
    method: str
    layers: int
    rows: int
    warm: bool = False
    learns: bool = True
    evaluate: str = "test"
    typical: float = field(default=1.0, compare=False)

    def is_like(self, other: "RunKind") -> bool:
        """Return True if both kinds have the same data and method, and if both or neither learn widths."""
        return (self.data, self.method, self.learns) == (other.data, other.method, other.learns)

    @classmethod
    def of(cls, spec: RunSpec, shape: "RunShape") -> "RunKind":
        """Return the kind of the run that a spec describes, for a data set of the given shape."""
        rows, learns = trained_rows(spec.training, spec.labels, shape.rows), _learns(spec)
        warm, typical = spec.neighbour is not None, typical_seconds(spec, shape)
        return cls(spec.fingerprint, spec.method, spec.layers, rows, warm, learns, spec.evaluate, typical)


def trained_rows(training: str, labels: int | None, n_train: int) -> int:
    """Return the approximate number of rows that a run trains on, out of the `n_train` rows of the training set.

    `training` and `labels` have the same meaning as in `RunSpec`.
    """
    rows = round(0.8 * n_train) if training == "split" else n_train
    return rows if labels is None else min(labels, rows)


def _learns(spec: RunSpec) -> bool:
    return METHODS[spec.method].learns and spec.svm.widths == "learn"


@dataclass(frozen=True)
class RunShape:
    """Numbers of training rows, test rows, columns and classes of a data set, which affect the duration of its runs."""

    rows: int
    test_rows: int
    columns: int
    classes: int

    @classmethod
    def of(cls, dataset: Dataset) -> "RunShape":
        """Return the numbers of rows, columns and classes of a data set."""
        return cls(len(dataset.train), dataset.n_test, dataset.n_features, dataset.n_classes or 2)


# Times in seconds on two cores, accurate to a factor of 4 for 4–784 columns, 2–10 classes and 110–10 000 rows.
# - `_START`: time that every run takes, independently of the size of its data
# - `_LEARNING`, `_TUNING`: time for learning widths and for tuning C on n rows of two classes, divided by n²
# - `_EVALUATING`: time for predicting rows, divided by the product of the numbers of rows, support vectors and columns
# - `_FITTING`: time for fitting one layer to n rows of d columns, divided by d³ + d² n/12
# - `_FEATURES`: time for computing features, divided by the product of the numbers of rows and weights
_START, _LEARNING, _TUNING, _EVALUATING, _FITTING, _FEATURES = 0.03, 2.0e-6, 6.0e-7, 1.8e-11, 1.2e-10, 1.2e-11
# Assumed ratio of the number of support vectors to √(number of training rows). With 10 000 rows, the ratio was 24 on
# MNIST and 58 on Convex.
_SUPPORT = 40.0
_RETUNING = 0.5  # Time for tuning C with learned widths, as a fraction of the time with median widths.
_TWO_FOLDS = 1.6  # Time for learning widths with two held-out folds, divided by the time with one fold.
_FIRST_STEPS = 0.4  # Learning widths takes at least this number of seconds, even with very few rows.
# Seconds that each pair of classes after the first pair adds to learning widths and to tuning C.
# For example, with 50 classes of 20 rows each, learning widths takes 68 s and tuning C takes 36 s. With median widths,
# all pairs after the first together add at least `_ROW_TUNING` seconds per row and class to tuning C.
_PAIR_LEARNING, _PAIR_TUNING, _ROW_TUNING = 0.09, 0.03, 6.0e-4
# Seconds per row, weight and epoch for pre-training and for fine-tuning autoencoders. The estimate assumes that
# fine-tuning does not stop early.
_PRETRAINING, _FINE_TUNING = 1.8e-10, 1.1e-10


def typical_seconds(spec: RunSpec, shape: RunShape) -> float:
    """Roughly estimate how many seconds a run takes on an ordinary computer with two cores.

    The estimate does not depend on the computer that will execute the run.
    """
    return _START + sum(run_parts(spec, shape))


def peak_bytes(spec: RunSpec, shape: RunShape) -> int:
    """Estimate the peak memory, in bytes, of a run that trains an SVM on the features of a stack.

    The estimate does not include the memory of the data set.
    """
    rows, columns = trained_rows(spec.training, spec.labels, shape.rows), shape.columns * len(spec.group_names)
    per_class = [-(-rows // shape.classes)] * shape.classes
    fit = fit_bytes(shape.rows, shape.columns, spec.stack)
    return fit + 4 * rows * columns + training_bytes(per_class, columns, spec.svm)


def run_parts(spec: RunSpec, shape: RunShape) -> tuple[float, float, float]:
    """Estimate the durations, in seconds, of fitting the representation, training the classifier and predicting rows.

    If the run averages the decision values of other runs (`RunSpec.members`), each duration is the sum over those runs.
    """
    if spec.members:
        parts = [run_parts(each, shape) for each in spec.members]
        return sum(a for a, _, _ in parts), sum(b for _, b, _ in parts), sum(c for _, _, c in parts)
    rows, groups = trained_rows(spec.training, spec.labels, shape.rows), len(spec.group_names)
    evaluated = shape.test_rows if spec.evaluate == "test" else shape.rows / 5
    evaluated = evaluated if spec.test_rows is None else min(evaluated, spec.test_rows)
    support = min(rows, _SUPPORT * math.sqrt(rows))
    evaluating = evaluated * shape.columns * (_EVALUATING * support * groups + _FEATURES * spec.layers * shape.columns)
    fitting = _FITTING * spec.layers * shape.columns**2 * (shape.columns + shape.rows / 12)
    training = _svm_seconds(spec, rows, shape.classes)
    if spec.sda is not None:
        fitted = shape.rows if spec.fit_rows == "training" else trained_rows(spec.training, None, shape.rows)
        weights = sum(inner * outer for inner, outer in pairwise((shape.columns, *spec.sda.n_units)))
        fitting = _PRETRAINING * fitted * spec.sda.pretraining_epochs * weights
        if METHODS[spec.method].fine_tunes:
            training = _FINE_TUNING * rows * spec.sda.fine_tuning_epochs * weights
    return fitting, training, evaluating


def _svm_seconds(spec: RunSpec, rows: int, n_classes: int) -> float:
    """Estimate how many seconds it takes in total to learn the kernel widths, to tune C and to train the SVM."""
    layers, learned = len(spec.group_names) - 1, min(rows, spec.svm.subset_size)
    # One SVM is trained for each pair of classes. With more classes, each pair has fewer rows, which reduces the total
    # time by this factor.
    classes = math.sqrt(2 / n_classes)
    # The first pair of classes is not counted, because the terms with `_TUNING` and `_LEARNING` already include it.
    pairs = n_classes * (n_classes - 1) / 2 - 1
    tuned = min(rows, max(MOST_ROWS, spec.svm.retune_rows))
    tuning = _TUNING * tuned**2 * (1 + layers / 3) * classes
    if not _learns(spec):
        return tuning + max(_PAIR_TUNING * pairs, _ROW_TUNING * tuned * n_classes)
    tuning += _PAIR_TUNING * pairs
    learning = _FIRST_STEPS + _LEARNING * learned**2 * (1 + layers / 10) * classes + _PAIR_LEARNING * pairs
    if enough_fresh(learned, rows):
        return learning + _RETUNING * tuning
    return learning * (_TWO_FOLDS if few_rows(learned) else 1.0)


class CostModel:
    """A model that estimates the durations of runs from the measured durations of other runs.

    The estimated duration of a run is its typical duration (`typical_seconds`) times a factor. The factor is the ratio
    of the measured to the typical duration of similar runs. These are the most similar runs with the same method,
    preferably on the same data. If no run with this method was measured, the factor is the median of the ratios for
    other methods. If possible, a run that learns widths is estimated only from runs that learn widths, and any other
    run only from runs that do not.
    """

    def __init__(self) -> None:
        self._seconds: dict[RunKind, list[float]] = {}
        self._expected: dict[RunKind, float] = {}  # Estimates are cached, because they are requested often.

    def measured(self, kind: RunKind) -> bool:
        """Return True if the duration of a similar run, as defined by `RunKind.is_like`, has been measured."""
        return any(map(kind.is_like, self._seconds))

    def add(self, kind: RunKind, seconds: float) -> None:
        """Add the measured duration, in seconds, of a run of the given kind."""
        self._seconds.setdefault(kind, []).append(seconds)
        self._expected.clear()

    def seconds(self, kind: RunKind) -> float:
        """Return the estimated duration of a run of the given kind, in seconds."""
        if kind not in self._expected:
            self._expected[kind] = self._nearest(kind)
        return self._expected[kind]

    def _nearest(self, kind: RunKind) -> float:
        def distance(other: RunKind) -> tuple[bool, float, int, bool, bool]:
            rows = abs(math.log(max(other.rows, 1) / max(kind.rows, 1)))
            layers = abs(other.layers - kind.layers)
            return (other.data != kind.data, rows, layers, other.evaluate != kind.evaluate, other.warm != kind.warm)

        if not self._seconds:
            return kind.typical
        alike = [each for each in self._seconds if each.learns == kind.learns] or list(self._seconds)
        same = [each for each in alike if each.method == kind.method]
        used = [min(same, key=distance)] if same else alike
        return float(np.median([np.median(self._seconds[each]) / each.typical for each in used])) * kind.typical

    def total(self, runs: Iterable[RunKind]) -> float:
        """Estimate how many seconds it takes to compute several runs one after another."""
        return sum(map(self.seconds, runs))

    def left(
        self, kinds: Mapping[RunKind, int], first: RunKind, fraction: float, spent: float, reported: float | None
    ) -> float:
        """Estimate how many seconds it takes to complete several runs, one of which is being computed.

        `kinds` contains the number of runs of each kind, including the current run, which is of kind `first`. The
        current run has completed `fraction` of its work in `spent` seconds. `reported` is the remaining time that the
        current run itself reports, in seconds, or None. The remaining time of the current run is a weighted mean.
        `reported` has the weight `fraction`, and the estimate of this model has the weight 1 − `fraction`.

        If no run similar to the current run has been measured, the estimates for similar runs are multiplied by a
        factor. This factor is the ratio of the actual to the estimated duration of the current run, raised to the power
        `fraction`. If no run at all has been measured, all estimates are multiplied by this factor.
        """
        expected, pace = self.seconds(first), 1.0
        left = (1.0 - fraction) * expected
        if reported is not None:
            left += fraction * (reported - left)
            if not self.measured(first):
                pace = ((spent + reported) / expected) ** fraction
        like = [kind for kind in kinds if first.is_like(kind) or not self._seconds]
        total, similar = (sum(kinds[kind] * self.seconds(kind) for kind in some) for some in (kinds, like))
        return left + total - similar + pace * (similar - expected)

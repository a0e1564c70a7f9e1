"""How long runs take, learned from those that were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from slide_gui.core.sda.model import SdaParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.setting import Setting
from slide_gui.experiments.spec import RunSpec
from slide_gui.experiments.stored_run import StoredRun

__all__ = ["CostModel", "RunKind", "RunShape", "kind_of", "run_shares", "typical_seconds"]


@dataclass(frozen=True)
class RunKind:
    """What the time of a run depends on.

    Attributes
    ----------
    data, method : str
        Fingerprint of the data, and the method.
    rows : int
        Trained on, about.
    warm : bool
        Whether it starts from a neighbour.
    learns : bool
        Whether it learns widths, which takes most of its time.
    evaluate : str
        Which rows it evaluates.
    typical : float
        Its `typical_seconds`; runs of one kind differ little in it.
    """

    data: str
    method: str
    layers: int
    rows: int
    warm: bool = False
    learns: bool = True
    evaluate: str = "test"
    typical: float = field(default=1.0, compare=False)

    @classmethod
    def of(cls, spec: RunSpec, shape: RunShape) -> RunKind:
        """Return the kind of a run on data of this shape."""
        rows, learns = trained_rows(spec.training, spec.labels, shape.rows), _learns(spec)
        warm, typical = spec.neighbour is not None, typical_seconds(spec, shape)
        return cls(spec.fingerprint, spec.method, spec.layers, rows, warm, learns, spec.evaluate, typical)


def trained_rows(training: str, labels: int | None, n_train: int) -> int:
    """Return how many rows a run trains on, about."""
    rows = round(0.8 * n_train) if training == "split" else n_train
    return rows if labels is None else min(labels, rows)


def kind_of(run: StoredRun, shape: RunShape) -> RunKind | None:
    """Return the kind of a stored run on data of this shape; None where it is not known."""
    setting = Setting.from_text(run.setting)
    if setting is None:
        return None
    stack = replace(setting.spec.stack, noise=run.noise, depth=run.depth)
    spec = replace(setting.spec, fingerprint=run.fingerprint, method=run.method, stack=stack)
    return replace(RunKind.of(spec, shape), warm=setting.warm)


def _learns(spec: RunSpec) -> bool:
    return METHODS[spec.method].learns and spec.svm.widths == "learn"


@dataclass(frozen=True)
class RunShape:
    """Of data, what the time of a run depends on: training rows, rows judged, columns and classes."""

    rows: int
    judged: int
    columns: int
    classes: int

    @classmethod
    def of(cls, dataset: Dataset) -> RunShape:
        """Return the shape of a data set."""
        labels = dataset.train_labels
        classes = 2 if labels is None else len(np.unique(labels))
        return cls(len(dataset.train), len(dataset.test), dataset.n_features, classes)


_START, _LEARNING, _TUNING, _JUDGING, _FITTING = 0.1, 8.0e-6, 6.0e-7, 4.0e-11, 3.0e-10
"""Seconds on two cores: of the start of a run, a pair of rows of two classes of learning widths and of tuning C, a
product, a step of a solve. They tell runs on 4 to 784 features, 2 to 10 classes, 110 to 2000 rows to a factor of 4."""
_FIRST_STEPS = 0.8  # seconds of learning, however few the rows
_PAIR_LEARNING, _PAIR_TUNING = 0.06, 0.03
"""Seconds for each pair of classes, however few its rows. With 50 classes of 20 rows (1 225 pairs) nothing else counts:
tuning took 36 s, learning the widths 68 s."""
_PRETRAINING, _FINE_TUNING = 1.8e-10, 1.1e-10  # of a row and a weight of autoencoders, an epoch


def typical_seconds(spec: RunSpec, shape: RunShape) -> float:
    """Return what a run would take on an ordinary computer with two cores: a rough figure, the same on all of them."""
    return _START + sum(_parts(spec, shape))


def run_shares(spec: RunSpec, shape: RunShape) -> tuple[float, float]:
    """Return which share of a run is done once its representation is fitted, and once it is trained."""
    fitting, training, judging = _parts(spec, shape)
    whole = fitting + training + judging
    return (fitting + 0.01 * whole) / (1.02 * whole), (fitting + training + 0.01 * whole) / (1.02 * whole)


def _parts(spec: RunSpec, shape: RunShape) -> tuple[float, float, float]:
    """Return the typical seconds of fitting the representation, of training and of judging."""
    rows, layers = trained_rows(spec.training, spec.labels, shape.rows), spec.layers
    judged = shape.judged if spec.evaluate == "test" else shape.rows / 5
    judged = judged if spec.test_rows is None else min(judged, spec.test_rows)
    classes = math.sqrt(shape.classes / 2)  # each pair of classes has its own rows only
    pairs = shape.classes * (shape.classes - 1) / 2 - 1  # what one pair takes is in the other figures
    learned = min(rows, spec.svm.subset_size)
    learning = 0.0
    if _learns(spec):
        learning = _FIRST_STEPS + _LEARNING * learned**2 * (1 + layers / 10) * classes + _PAIR_LEARNING * pairs
    tuning = _TUNING * min(rows, 10_000) ** 2 * (1 + layers / 3) * classes + _PAIR_TUNING * pairs
    judging = _JUDGING * judged * min(rows, 20_000) * shape.columns * (layers + 1)
    fitting = _FITTING * layers * shape.columns**3 if spec.sda is None else _training(spec, spec.sda, shape)
    return fitting, learning + tuning, judging


def _training(spec: RunSpec, sda: SdaParameters, shape: RunShape) -> float:
    """Return what training autoencoders would take; early stopping may end it after a part of it."""
    fitted = shape.rows if spec.fit_rows == "training" else trained_rows(spec.training, None, shape.rows)
    weights = sum(inner * outer for inner, outer in pairwise((shape.columns, *sda.n_units)))
    seconds = _PRETRAINING * fitted * sda.pretraining_epochs
    if METHODS[spec.method].fine_tunes:
        seconds += _FINE_TUNING * trained_rows(spec.training, spec.labels, shape.rows) * sda.fine_tuning_epochs
    return seconds * weights


class CostModel:
    """Median seconds of each kind of run.

    A kind that was not measured is expected to take its typical seconds, times the ratio by which the nearest kind that
    was measured differs from its own: of the same method if possible, then of the same way to widths, then data.
    """

    def __init__(self) -> None:
        self._seconds: dict[RunKind, list[float]] = {}
        self._expected: dict[RunKind, float] = {}  # asked for at every report

    def measured(self, kind: RunKind) -> bool:
        """Return whether a run was measured that tells of this kind."""
        same = kind.data, kind.method, kind.learns
        return any((each.data, each.method, each.learns) == same for each in self._seconds)

    def add(self, kind: RunKind, seconds: float) -> None:
        """Take in a measured run."""
        self._seconds.setdefault(kind, []).append(seconds)
        self._expected.clear()

    def seconds(self, kind: RunKind) -> float:
        """Return what a run will take."""
        if kind not in self._expected:
            self._expected[kind] = self._nearest(kind)
        return self._expected[kind]

    def _nearest(self, kind: RunKind) -> float:
        def distance(other: RunKind) -> tuple[bool, bool, bool, float, int, bool, bool]:
            rows = abs(math.log(max(other.rows, 1) / max(kind.rows, 1)))
            differs = other.method != kind.method, other.learns != kind.learns, other.data != kind.data
            layers = abs(other.layers - kind.layers)
            return (*differs, rows, layers, other.evaluate != kind.evaluate, other.warm != kind.warm)

        if not self._seconds:
            return kind.typical
        near = min(self._seconds, key=distance)
        return float(np.median(self._seconds[near])) * kind.typical / near.typical

    def left(self, runs: Sequence[RunKind], fraction: float, spent: float = 0.0) -> float:
        """Return the seconds for runs, of the first of which `fraction` is done after `spent` seconds.

        Until a run that tells of the first was measured, the pace of the first itself counts, the more of it is done.
        """
        if not runs:
            return 0.0
        first = self.seconds(runs[0])
        pace = 1.0
        if fraction > 0.0 and spent > 0.0 and not self.measured(runs[0]):
            pace = (spent / (fraction * first)) ** fraction
        return pace * (sum(map(self.seconds, runs)) - fraction * first)

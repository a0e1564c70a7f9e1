"""The paper's evaluation as a plan of runs, and the published results, read from `resources/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from slide_gui.core.choices import check_choice
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.criteria import AUTO
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.experiments.runs.spec import METHODS, RunSpec, SweepPoint
from slide_gui.experiments.sweeps.selection import PointResult, choose, final_spec, pooled
from slide_gui.resources import toml_resource


@dataclass(frozen=True)
class Published:
    """A published test error of a method on a data set, as a fraction of 1, with its place in the publication."""

    method: str
    error: float
    place: str


def published(key: str) -> tuple[Published, ...]:
    """Return all published errors on a data set of the catalogue: the paper's Table 1, then other publications."""
    document = toml_resource("paper.toml")
    table = document["table1"]
    marks = [Published(name, error / 100, table["place"]) for name, error in table["errors"].get(key, {}).items()]
    for other in document["others"]:
        if key in other["errors"]:
            marks.append(Published(other["method"], other["errors"][key] / 100, other["place"]))
    return tuple(marks)


def published_seconds(key: str) -> tuple[float | None, float | None, float | None]:
    """Return the paper's Table 2: seconds of feature generation of SLIDE and SdA, and the speed-up; None if absent."""
    table = toml_resource("paper.toml")["table2"]
    seconds = table["seconds"]
    entries = (seconds["SLIDE"].get(key), seconds["SdA"].get(key), table["speedup"].get(key))
    slide, sda, speedup = (None if value is None else float(value) for value in entries)
    return slide, sda, speedup


def sensitivity() -> tuple[str, str]:
    """Return the key of the data in the paper's figure of the error against noise and depth, and the text's statements.

    The values of its curves are not published.
    """
    table = toml_resource("paper.toml")["sensitivity"]
    return table["data"], " ".join(table["statements"])


def data_key(name: str) -> str:
    """Return the catalogue key of a data set's name, empty if the catalogue does not contain it."""
    from slide_gui.data.entries import entries

    return next((entry.key for entry in entries() if entry.title == name), "")


EXTENTS = ("full", "quick")
"""The full evaluation, or a small version of it."""

_OF_STACK = {"noise", "depth", "ridge"}
_OF_SDA = {item.name for item in fields(SdaParameters)}
_OF_ALL = ("loss", "criterion", "starts", "fit_rows")
_OF_DATA = ("widths", "draws", "labels", "train_rows", "test_rows", "C")
_SEEDS = 10_000


@dataclass(frozen=True)
class SelectedCandidate:
    """A selected candidate with its validation error, which the only candidate of a method lacks."""

    point: SweepPoint
    validation_error: float | None = None


@dataclass(frozen=True)
class CellPlan:
    """The plan of one method on one data set.

    Attributes
    ----------
    data : str
        Key of the catalogue.
    method : str
        Key in `METHODS`.
    axes : tuple of (name, values)
        Parameters to select on validation rows, with their candidate values.
    draws : int
        Number of random 80/20 divisions whose mean validation error selects the candidate of a split.
    loss, criterion : str
        Loss of the SVM, and criterion of learning its widths.
    starts : int
        Number of starting points for learning the widths.
    widths : {"learn", "median"}
        With "median", methods that could learn widths use median widths times one scale by cross-validation.
    C : float or None
        Trade-off. None selects it by cross-validation.
    labels : int or None
        Number of labelled rows of a split that a candidate is trained on. None means all.
    train_rows, test_rows : int or None
        Size of the stratified subsample of the data set that is used. None means all rows.
    fit_rows : {"training", "split"}
        Rows that the representation is fitted on during selection.
    """

    data: str
    method: str
    n_splits: int
    axes: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    draws: int = 1
    loss: str = "hinge"
    criterion: str = AUTO
    starts: int = 2
    widths: str = "learn"
    C: float | None = None
    labels: int | None = None
    train_rows: int | None = None
    test_rows: int | None = None
    fit_rows: str = "training"

    @property
    def n_candidates(self) -> int:
        """Number of candidates to select from."""
        return prod(len(values) for _, values in self.axes)

    @property
    def train(self) -> str:
        """Rows to train the selected candidate on: a network stops early on validation rows, so it keeps its split."""
        return "split" if METHODS[self.method].fine_tunes else "whole"

    def candidates(self, fingerprint: str, source: str, split: int) -> tuple[SweepPoint, ...]:
        """Return the candidate runs of a split, each evaluated on its validation rows, draw by draw.

        All have the seed of the split, which the selected candidate keeps.

        Parameters
        ----------
        fingerprint, source : str
            Fingerprint and source of the data, as in `RunSpec`.
        """
        draws = self.draws if self.n_candidates > 1 else 1
        seed = split_seed(split)
        points = []
        for draw in range(split * self.draws, split * self.draws + draws):
            for first in _first_candidates(self, fingerprint, source):
                spec = first.drawn(draw, seed)
                points.append(SweepPoint(spec.stack.noise, spec.stack.depth, draw, seed, spec))
        return tuple(points)

    def final(self, point: SweepPoint) -> SweepPoint:
        """Return the run that evaluates a candidate on the test set."""
        return replace(point, spec=final_spec(point.spec, self.train))

    def select(self, points: Sequence[SweepPoint], answers: Sequence[PointResult]) -> SelectedCandidate | None:
        """Return the candidate selected from the results of one split (see `choose` and `pooled`).

        The only candidate of a method needs no results. Return None while results are missing.
        """
        if len(points) == 1:
            return SelectedCandidate(points[0])
        if len(answers) < len(points):
            return None
        (best,) = choose(pooled(answers))
        return SelectedCandidate(best.point, best.validation_error)


@lru_cache(maxsize=64)
def _first_candidates(cell: CellPlan, fingerprint: str, source: str) -> tuple[RunSpec, ...]:
    """Return one candidate for each point of the axes, on the first draw with seed 0.

    Caching avoids checking them again for each draw.
    """
    kind, axes = METHODS[cell.method], dict(cell.axes)
    method = "median" if kind.stacked and cell.widths == "median" else cell.method
    svm = SvmParameters(loss=cell.loss, widths=cell.widths, C=cell.C, criterion=cell.criterion, starts=cell.starts)
    base = RunSpec(
        fingerprint, source, method, svm=svm, training="split", evaluate="validation", labels=cell.labels,
        fit_rows=cell.fit_rows,
    )  # fmt: skip
    candidates = []
    for values in product(*axes.values()):
        chosen: dict[str, Any] = dict(zip(axes, values, strict=True))
        if kind.stacked:
            spec = replace(base, stack=StackParameters(**chosen))
        elif kind.network:
            spec = replace(base, sda=SdaParameters(**chosen))
        else:
            spec = replace(base, kept=chosen.get("kept"))
        candidates.append(spec.checked())
    return tuple(candidates)


def split_seed(split: int) -> int:
    """Return the seed of a split, from which its divisions, networks, projections and subsamples are drawn."""
    seed = toml_resource("protocol.toml")["seed"]
    return int(np.random.SeedSequence(seed, spawn_key=(split,)).generate_state(1)[0]) % _SEEDS


def plan(
    extent: str = "full",
    data: Sequence[str] = (),
    methods: Sequence[str] = (),
    splits: int | None = None,
) -> tuple[CellPlan, ...]:
    """Return the cells of the evaluation, with data sets and methods in the order of the protocol.

    Parameters
    ----------
    data, methods : sequence of str
        Data sets and methods to include. Empty means all.
    splits : int, optional
        Number of splits, in place of the protocol's.

    Raises
    ------
    ValueError
        If the protocol has no such data set or method, or another argument is out of range.
    """
    document = toml_resource("protocol.toml")
    for kind, given in (("data", data), ("methods", methods)):
        unknown = [name for name in given if name not in document[kind]]
        if unknown:
            raise ValueError(f"the protocol has no {unknown[0]!r}; choose from its {kind}: {', '.join(document[kind])}")
    if extent not in EXTENTS:
        raise ValueError(f"extent is {extent!r}; it must be one of {', '.join(EXTENTS)}")
    if splits is not None and splits < 1:
        raise ValueError(f"splits is {splits}; it must be 1 or more")
    cells = []
    for key in document["data"]:
        table = document[extent].get(key, document[extent].get("each"))
        for method in document["methods"]:
            if (not data or key in data) and (not methods or method in methods) and method in table:
                cells.append(_cell(key, method, table, splits))
    return tuple(cells)


def _cell(key: str, method: str, table: Mapping[str, Any], splits: int | None) -> CellPlan:
    """Return the plan of a cell. Its table lists the candidate values; all methods share the other settings."""
    kind = check_choice("method", method, METHODS)
    known = _OF_STACK if kind.stacked else _OF_SDA if kind.network else {"kept"} if kind.projection else set()
    unknown = table[method].keys() - known
    if unknown:
        raise ValueError(f"protocol.toml, {key}, {method}: {sorted(unknown)[0]} is not a parameter of this method")
    axes = tuple(table[method].items())
    document = toml_resource("protocol.toml")
    alike = {name: document[name] for name in _OF_ALL} | {name: table[name] for name in _OF_DATA if name in table}
    return CellPlan(key, method, table["splits"] if splits is None else splits, axes, **alike)

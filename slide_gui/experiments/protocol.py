"""The evaluation of the paper as a plan of runs, read from `resources/protocol.toml`: candidates, choice, final run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product
from typing import Any

from slide_gui.core.choices import check_choice
from slide_gui.core.criteria.evaluate import AUTO
from slide_gui.core.parameters import StackParameters
from slide_gui.core.sda_parameters import SdaParameters
from slide_gui.core.svm import SvmParameters
from slide_gui.experiments.choice import PointResult, choose, final_spec, pooled
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.spec import RunSpec
from slide_gui.experiments.sweep_spec import SweepPoint, SweepSpec
from slide_gui.resources import resource

__all__ = ["EXTENTS", "CellPlan", "plan"]

EXTENTS = ("full", "quick")
"""The whole evaluation, or a small version of it."""

_OF_STACK = {"noise", "depth", "ridge"}
_OF_SDA = {item.name for item in fields(SdaParameters)}
_OF_DATA = ("labels", "train_rows", "test_rows", "C")
_OF_CELL = ("widths", "criterion", "starts", "train", "fitted_on", "draws")


@dataclass(frozen=True)
class CellPlan:
    """One method on one data set.

    Attributes
    ----------
    data : str
        Key of the catalogue.
    method : str
        Of `METHODS`.
    n_splits : int
    axes : tuple of (name, values)
        What is chosen on validation.
    draws : int
        A split chooses by the mean validation error of so many random 80/20 divisions of its own.
    loss, widths, criterion : str
        Of the SVM; median widths go with one global width by cross-validation.
    starts : int
        Descents of learning the widths.
    C : float or None
        Given; None: chosen.
    labels : int or None
        A candidate is trained on so many rows of its split; None: all.
    train_rows, test_rows : int or None
        The data set is cut down to so many rows, stratified; None: all.
    train : {"whole", "split"}
        Which rows what was chosen is trained on.
    fitted_on : {"training", "split"}
        Which rows SLIDE is fitted on while it is chosen.
    """

    data: str
    method: str
    n_splits: int
    axes: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    draws: int = 1
    loss: str = "hinge"
    widths: str = "learn"
    criterion: str = AUTO
    starts: int = 2
    C: float | None = None
    labels: int | None = None
    train_rows: int | None = None
    test_rows: int | None = None
    train: str = "whole"
    fitted_on: str = "training"

    @property
    def n_candidates(self) -> int:
        """How many candidates there are to choose from."""
        count = 1
        for _, values in self.axes:
            count *= len(values)
        return count

    def candidates(self, fingerprint: str, source: str, split: int) -> tuple[SweepPoint, ...]:
        """Return the runs of a split to choose from, each judged on its validation rows: those of each draw in turn.

        Parameters
        ----------
        fingerprint, source : str
            Of the data, as in `RunSpec`.
        split : int
        """
        axes = dict(self.axes)
        first = split * self.draws
        draws = range(first, first + (self.draws if self.n_candidates > 1 else 1))
        found: list[SweepPoint] = []
        if self.method == "slide-svm":
            for ridge in axes.get("ridge", (StackParameters().ridge,)):
                sweep = SweepSpec(
                    fingerprint,
                    source,
                    axes["noise"],
                    axes["depth"],
                    tuple(draws),
                    method="median" if self.widths == "median" else self.method,
                    training="split",
                    evaluate="validation",
                    stack=StackParameters(ridge=ridge),
                    svm=self._svm(),
                    warm=self.labels is None and self.fitted_on == "training",
                )
                found += sweep.points()
            return tuple(replace(point, spec=self._limited(point.spec)) for point in found)
        for draw in draws:
            for values in product(*axes.values()):
                spec = self._spec(fingerprint, source, draw, dict(zip(axes, values, strict=True)))
                spec = self._limited(replace(spec, training="split", evaluate="validation"))
                found.append(SweepPoint(0.0, 0, draw, 0, spec))
        return tuple(found)

    def _limited(self, spec: RunSpec) -> RunSpec:
        spec = replace(spec, fitted_on=self.fitted_on)
        return spec.checked() if self.labels is None else replace(spec, labels=self.labels, neighbour=None).checked()

    def _svm(self) -> SvmParameters:
        return SvmParameters(loss=self.loss, widths=self.widths, C=self.C, criterion=self.criterion, starts=self.starts)

    def _spec(self, fingerprint: str, source: str, split: int, chosen: Mapping[str, Any]) -> RunSpec:
        spec = RunSpec(fingerprint, source, self.method, StackParameters(), self._svm(), split)
        if "kept" in chosen:
            return replace(spec, kept=chosen["kept"])
        if METHODS[self.method].network:
            return replace(spec, sda=SdaParameters(**chosen))
        return spec

    def final(self, point: SweepPoint) -> SweepPoint:
        """Return the run that judges a candidate on the test part."""
        return replace(point, spec=final_spec(point.spec, self.train))

    def best(self, answers: Sequence[PointResult]) -> PointResult:
        """Return the candidate to judge, of the answers of one split (see `choose` and `pooled`)."""
        return choose(pooled(answers))[0]


def plan(
    extent: str = "full",
    data: Sequence[str] = (),
    methods: Sequence[str] = (),
    splits: int | None = None,
) -> tuple[CellPlan, ...]:
    """Return the cells of the evaluation, data sets and methods in the order of the protocol.

    Parameters
    ----------
    extent : {"full", "quick"}
    data, methods : sequence of str
        Only these; all if empty.
    splits : int, optional
        So many splits instead of the protocol's.

    Raises
    ------
    ValueError
        Names what the protocol does not know.
    """
    document = _document()
    for kind, given in (("data", data), ("methods", methods)):
        unknown = [name for name in given if name not in document[kind]]
        if unknown:
            raise ValueError(f"the protocol has no {unknown[0]!r}; its {kind} are {', '.join(document[kind])}")
    if extent not in EXTENTS:
        raise ValueError(f"extent is {extent!r}; it must be one of {', '.join(EXTENTS)}")
    if splits is not None and splits < 1:
        raise ValueError(f"splits is {splits}; it must be 1 or more")
    cells = []
    for key in document["data"]:
        table = document[extent].get(key, document[extent].get("each"))
        for method in document["methods"]:
            if (not data or key in data) and (not methods or method in methods):
                cells.append(_cell(key, method, table, document["loss"], splits))
    return tuple(cells)


def _cell(key: str, method: str, table: Mapping[str, Any], loss: str, splits: int | None) -> CellPlan:
    kind = check_choice("method", method, METHODS)
    own = dict(table[method])
    given = {name: own.pop(name) for name in _OF_CELL if name in own}
    known = _OF_STACK if kind.stacked else _OF_SDA if kind.network else {"kept"} if kind.projection else set()
    unknown = own.keys() - known
    if unknown:
        raise ValueError(f"protocol.toml, {key}, {method}: {sorted(unknown)[0]} is no axis of it")
    axes = tuple((name, tuple(_frozen(value) for value in values)) for name, values in own.items())
    rows = {name: table[name] for name in _OF_DATA if name in table}
    return CellPlan(key, method, table["splits"] if splits is None else splits, axes, loss=loss, **rows, **given)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    with resource("protocol.toml").open("rb") as stream:
        return tomllib.load(stream)

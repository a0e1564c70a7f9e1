"""The evaluation of the paper as a plan of runs, read from `resources/protocol.toml`: candidates, choice, final run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product
from typing import Any

from slide_gui.core.parameters import StackParameters
from slide_gui.core.sda_parameters import SdaParameters
from slide_gui.core.svm import SvmParameters
from slide_gui.experiments.choice import PointResult, choose
from slide_gui.experiments.spec import METHODS, RunSpec
from slide_gui.experiments.sweep_spec import SweepPoint, SweepSpec
from slide_gui.resources import resource

__all__ = ["EXTENTS", "CellPlan", "plan"]

EXTENTS = ("full", "quick")
"""The whole evaluation, or a small version of it."""

_OF_SDA = {item.name for item in fields(SdaParameters)}
_OF_DATA = ("labels", "train_rows", "test_rows", "C")
_OF_CELL = ("widths", "train")


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
    loss, widths : str
        Of the SVM; median widths go with one global width by cross-validation.
    C : float or None
        Given; None: chosen.
    labels : int or None
        A candidate is trained on so many rows of its split; None: all.
    train_rows, test_rows : int or None
        The data set is cut down to so many rows, stratified; None: all.
    train : {"whole", "split"}
        Which rows it is trained on.
    """

    data: str
    method: str
    n_splits: int
    axes: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    loss: str = "hinge"
    widths: str = "learn"
    C: float | None = None
    labels: int | None = None
    train_rows: int | None = None
    test_rows: int | None = None
    train: str = "whole"

    @property
    def n_candidates(self) -> int:
        """How many candidates there are."""
        count = 1
        for _, values in self.axes:
            count *= len(values)
        return count

    def candidates(self, fingerprint: str, source: str, split: int) -> tuple[SweepPoint, ...]:
        """Return the runs of a split to choose from, each judged on its validation rows.

        Parameters
        ----------
        fingerprint, source : str
            Of the data, as in `RunSpec`.
        split : int
        """
        axes = dict(self.axes)
        if self.method == "slide-svm":
            sweep = SweepSpec(
                fingerprint,
                source,
                axes["noise"],
                axes["depth"],
                (split,),
                method="median" if self.widths == "median" else self.method,
                training="split",
                evaluate="validation",
                svm=self._svm(),
                warm=self.labels is None,
            )
            return tuple(replace(point, spec=self._limited(point.spec)) for point in sweep.points())
        found = []
        for values in product(*axes.values()):
            spec = self._spec(fingerprint, source, split, dict(zip(axes, values, strict=True)))
            found.append(
                SweepPoint(0.0, 0, split, 0, self._limited(replace(spec, training="split", evaluate="validation")))
            )
        return tuple(found)

    def _limited(self, spec: RunSpec) -> RunSpec:
        return spec.checked() if self.labels is None else replace(spec, labels=self.labels, neighbour=None).checked()

    def _svm(self) -> SvmParameters:
        return SvmParameters(loss=self.loss, widths=self.widths, C=self.C)

    def _spec(self, fingerprint: str, source: str, split: int, chosen: Mapping[str, Any]) -> RunSpec:
        spec = RunSpec(fingerprint, source, self.method, StackParameters(), self._svm(), split)
        if "kept" in chosen:
            return replace(spec, kept=chosen["kept"])
        if self.method in ("sda-svm", "sda"):
            return replace(spec, sda=SdaParameters(**chosen))
        return spec

    def final(self, point: SweepPoint) -> SweepPoint:
        """Return the run that judges a candidate on the test part."""
        spec = replace(
            point.spec,
            training=self.train,
            evaluate="test",
            neighbour=None,
            labels=None,
        )
        return replace(point, spec=spec.checked())

    def best(self, answers: Sequence[PointResult]) -> PointResult:
        """Return the candidate to judge, of the answers of one split (see `choose`)."""
        return choose(answers)[0]


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
    assert method in METHODS
    own = dict(table[method])
    given = {name: own.pop(name) for name in _OF_CELL if name in own}
    known = {"slide-svm": {"noise", "depth"}, "sda-svm": _OF_SDA, "sda": _OF_SDA, "raw-svm": set()}
    unknown = own.keys() - known.get(method, {"kept"})
    if unknown:
        raise ValueError(f"protocol.toml, {key}, {method}: {sorted(unknown)[0]} is no axis of it")
    axes = tuple((name, tuple(_frozen(value) for value in values)) for name, values in own.items())
    rows = {name: table[name] for name in _OF_DATA if name in table}
    return CellPlan(key, method, table["splits"] if splits is None else splits, axes, loss, **rows, **given)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    with resource("protocol.toml").open("rb") as stream:
        return tomllib.load(stream)

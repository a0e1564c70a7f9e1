"""The protocol of the evaluation, and the published errors and times, as read from files in `resources/`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from itertools import product
from typing import Any

import numpy as np

from slide_gui.core.choices import check_choice
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.criteria import AUTO
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.experiments.runs.spec import METHODS, Method, RunSpec, SweepPoint
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.experiments.sweeps.selection import PointResult, choose, final_spec, pooled
from slide_gui.resources import toml_resource

# Maps the hash of a run to the stored run.
StoredRuns = Mapping[str, StoredRun]

# Key of the reference method, with which all other methods are compared.
REFERENCE = "slide-svm"


@dataclass(frozen=True)
class Published:
    """A published test error of a method on a data set.

    Attributes
    ----------
    method : str
        Name of the method.
    error : float
        The test error, as a fraction.
    place : str
        The publication that contains the error.
    """

    method: str
    error: float
    place: str


@cache
def published(key: str, name: str = "") -> tuple[Published, ...]:
    """Return all published errors on a data set, given its key in the catalogue and, if known, its name.

    The errors in the paper's Table 1 come first, then those in other publications. A stand-in for a data set of the
    paper has the same key, but no published errors.
    """
    key = "" if "stand-in" in name else key
    document = toml_resource("paper.toml")
    table = document["table1"]
    rows = [(name, percent, table["place"]) for name, percent in table["errors"].get(key, {}).items()]
    others = (other for other in document["others"] if key in other["errors"])
    rows += ((other["method"], other["errors"][key], other["place"]) for other in others)
    return tuple(Published(name, round(percent / 100, 4), place) for name, percent, place in rows)


def published_seconds(key: str) -> tuple[float | None, float | None, float | None]:
    """Return the entries of the paper's Table 2 for a data set: seconds of SLIDE, seconds of SdA, and speed-up.

    The seconds are those that SLIDE and SdA (stacked denoising autoencoders) need to generate features. The speed-up is
    that of SLIDE over SdA. A value is None if the table does not contain it.
    """
    table = toml_resource("paper.toml")["table2"]
    seconds = table["seconds"]
    entries = (seconds["SLIDE"].get(key), seconds["SdA"].get(key), table["speedup"].get(key))
    slide, sda, speedup = (None if value is None else float(value) for value in entries)
    return slide, sda, speedup


def sensitivity() -> tuple[str, str]:
    """Return the key of the data set whose error curves the paper shows, and the paper's statements about these curves.

    The values of the curves, which show the error over noise level and depth, are not published.
    """
    table = toml_resource("paper.toml")["sensitivity"]
    return table["data"], "\n· ".join(["The paper:", *table["statements"]])


# Names of the two versions of the evaluation: the full one, and a small one that is quick to compute.
EXTENTS = ("full", "quick")

_OF_STACK = {"noise", "depth", "ridge", "sharing", "window"}
_OF_SDA = {item.name for item in fields(SdaParameters)}
_OF_ALL = ("loss", "criterion", "starts", "fit_rows")
_OF_DATA = ("widths", "draws", "labels", "retune_rows", "train_rows", "test_rows", "C")
_OF_ROW = ("widths", "criterion", "draws", "averaged")
_SEEDS = 10_000


def row_title(key: str) -> str:
    """Return the title of a row of the tables: the title in the protocol or, if it has none, the name of the method."""
    settings = toml_resource("protocol.toml")["rows"].get(key, {})
    return str(settings["title"]) if "title" in settings else METHODS[settings.get("method", key)].text


def is_extra(key: str) -> bool:
    """Return True if this project added the row, that is, if the paper's Table 1 has no row with this title."""
    return all(row_title(key) not in errors for errors in toml_resource("paper.toml")["table1"]["errors"].values())


@dataclass(frozen=True)
class SelectedCandidate:
    """The candidate (combination of parameter values) that was selected on the validation rows of one split.

    Attributes
    ----------
    final : SweepPoint
        The run that evaluates the candidate on the test set.
    validation_error : float or None
        Error of the candidate on the validation rows of the split. None if the selection needs no validation rows
        (`CellPlan.selects` is False), or if the decision values of several candidates are averaged.
    """

    final: SweepPoint
    validation_error: float | None = None


@dataclass(frozen=True)
class CellPlan:
    """The plan of one cell of the result tables. A cell belongs to one row of the tables and to one data set.

    Attributes
    ----------
    data : str
        Key of the data set, as in `data_entry`.
    method : str
        Key of the row: a key of `METHODS`, or of the table `rows` in protocol.toml.
    n_splits : int
        Number of splits of the training set.
    axes : tuple of (name, values)
        Names of the parameters to select on validation rows, each with its candidate values.
    draws : int
        Number of validation sets on which the candidates of a split are compared. Five validation sets are the folds of
        one complete five-fold cross-validation.
    loss, criterion : str
        Loss of the SVM, and criterion by which its kernel widths are learned.
    starts : int
        Number of starting points from which the kernel widths are learned.
    widths : {"learn", "median"}
        Choice of the kernel widths by methods that can learn them. With "median", the widths are median distances, all
        multiplied by the same cross-validated factor.
    C : float or None
        Penalty parameter of the SVM. None means that it is selected by cross-validation.
    labels : int or None
        Number of labelled rows on which each candidate is trained. None means all rows.
    retune_rows : int or None
        Number of rows on which the kernel width σ and the penalty C of the selected candidate are tuned once more for
        the test. None means that they are not tuned again.
    averaged : int
        Number of best candidates (with the lowest validation losses) whose decision values are averaged for the test.
        With 0, only one candidate is selected and tested.
    train_rows, test_rows : int or None
        Numbers of rows in the stratified subsamples of the training set and of the test set. None means that all rows
        are used.
    fit_rows : {"training", "split"}
        Rows on which the representation is fitted while candidates are compared: the whole training set, or the
        training set without the validation rows.
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
    retune_rows: int | None = None
    averaged: int = 0
    train_rows: int | None = None
    test_rows: int | None = None
    fit_rows: str = "training"

    @property
    def kind(self) -> Method:
        """Method (representation and classifier) that all candidates of this row of the tables use."""
        settings = toml_resource("protocol.toml")["rows"].get(self.method, {})
        return check_choice("method", settings.get("method", self.method), METHODS)

    @property
    def n_candidates(self) -> int:
        """Number of distinct candidates, one of which is selected."""
        return len(self._first_candidates)

    @property
    def _first_candidates(self) -> tuple[RunSpec, ...]:
        # Cells that differ only in data set and number of splits share one entry of the cache.
        return _first_candidates(replace(self, data="", n_splits=0))

    @property
    def selects(self) -> bool:
        """True if validation rows are needed to select a candidate, or to select the number of fine-tuning epochs."""
        return self.n_candidates > 1 or self.kind.fine_tunes

    def candidates(self, fingerprint: str, source: str, split: int) -> tuple[SweepPoint, ...]:
        """Return the runs of all candidates of a split, sorted by validation set: first all runs on set 0, and so on.

        All runs have the seed of the split. The test run of the selected candidate also has this seed.

        Parameters
        ----------
        fingerprint, source : str
            Fingerprint and source of the data, as in `RunSpec`.
        """
        seed = split_seed(split)
        seeded = [first.drawn(0, seed, fingerprint=fingerprint, source=source) for first in self._first_candidates]
        specs = (each.drawn(draw, seed) for draw in range(self.draws if self.selects else 1) for each in seeded)
        return tuple(SweepPoint(spec.stack.noise, spec.stack.depth, spec.split, seed, spec) for spec in specs)

    def final(self, point: SweepPoint, epochs: int | None = None) -> SweepPoint:
        """Return the run that evaluates a candidate on the test set. `epochs` is the number of fine-tuning epochs."""
        spec = final_spec(point.spec, epochs)
        if self.retune_rows is not None:
            spec = replace(spec, svm=replace(spec.svm, retune_rows=self.retune_rows))
        return replace(point, spec=spec.checked())

    def next_points(self, points: Sequence[SweepPoint], runs: StoredRuns) -> tuple[SweepPoint, ...]:
        """Return the candidates to evaluate next, or an empty tuple if the available results suffice for a selection.

        All returned candidates are evaluated on the same validation set.

        A candidate with clearly more errors than the best candidate so far is excluded from further validation sets.
        The limit for the difference between their numbers of errors is twice the square root of the sum of both
        numbers. This limit is about two standard errors of the difference. The `averaged` best candidates are never
        excluded.

        Parameters
        ----------
        points : sequence of SweepPoint
            Result of `candidates`.
        runs : mapping
            Maps the hash of a run to the stored run. Computing a hash is slow, so runs of excluded candidates are not
            looked up.
        """
        return self._race(points, runs)[0] if self.selects else ()

    def _race(self, points: Sequence[SweepPoint], runs: StoredRuns) -> tuple[tuple[SweepPoint, ...], list[int]]:
        """Return the candidates to evaluate next, and the indices of the candidates that are not yet excluded."""
        n = len(points) // self.draws
        left, wrong = list(range(n)), [0] * n
        for draw in range(self.draws):
            part = points[draw * n : (draw + 1) * n]
            missing = tuple(part[place] for place in left if part[place].spec.hash not in runs)
            if missing:
                return missing, left
            for place in left:
                rate = runs[part[place].spec.hash].rate
                wrong[place] += round(rate.error * rate.n)
            left.sort(key=lambda place: wrong[place])
            fewest, best = wrong[left[0]], left[: self.averaged]
            left = [k for k in left if k in best or wrong[k] - fewest <= 2.0 * math.sqrt(wrong[k] + fewest)]
        return (), sorted(left)

    def select(self, points: Sequence[SweepPoint], runs: StoredRuns) -> SelectedCandidate | None:
        """Return the candidate that is selected from the results of one split.

        The function `pooled` combines the results of each candidate on its validation sets, and the function `choose`
        selects the best candidate. Return None while results are missing. If `selects` is False, the only candidate is
        returned, and no results are needed.
        """
        if not self.selects:
            return SelectedCandidate(self.final(points[0]))
        missing, left = self._race(points, runs)
        if missing:
            return None
        n = len(points) // self.draws
        remaining = [point for place, point in enumerate(points) if place % n in left]
        candidates = pooled([PointResult.of(point, runs[point.spec.hash]) for point in remaining])
        if self.averaged:
            best = sorted(candidates, key=lambda one: math.inf if one.validation_loss is None else one.validation_loss)
            best = best[: self.averaged]
            mean = RunSpec.mean_of([self.final(each.point).spec for each in best])
            return SelectedCandidate(replace(best[0].point, spec=mean))
        (chosen,) = choose(candidates)
        return SelectedCandidate(self.final(chosen.point, chosen.best_epoch), chosen.validation_error)


@lru_cache(maxsize=256)  # The cache can hold the candidates of every method on every data set.
def _first_candidates(cell: CellPlan) -> tuple[RunSpec, ...]:
    """Return one candidate run for each combination of the parameter values in `CellPlan.axes`.

    The runs do not refer to a data set yet. They use validation set 0 and seed 0. If several combinations give the same
    run, this run is returned only once. The result is cached, because checking the candidates again for each validation
    set would be slow.
    """
    kind, axes = cell.kind, dict(cell.axes)
    method = "median" if kind.key == REFERENCE and cell.widths == "median" else kind.key
    svm = SvmParameters(loss=cell.loss, widths=cell.widths, C=cell.C, criterion=cell.criterion, starts=cell.starts)
    base = RunSpec(
        "", method=method, svm=svm, training="split", evaluate="validation", labels=cell.labels,
        fit_rows=cell.fit_rows,
    )  # fmt: skip
    candidates = {}
    for values in product(*axes.values()):
        chosen: dict[str, Any] = dict(zip(axes, values, strict=True))
        spec = replace(base, kept=chosen.pop("kept", None))
        if kind.stacked:
            spec = replace(spec, stack=StackParameters(**chosen))
        elif kind.network:
            spec = replace(spec, sda=SdaParameters(**chosen))
        spec = spec.checked()
        # Without layers (depth 0), the noise level has no effect, so the specs of all noise levels have the same hash.
        candidates[spec.hash] = spec
    return tuple(candidates.values())


def split_seed(split: int) -> int:
    """Return the random seed that all runs of a split use to divide rows, draw subsamples and initialise methods."""
    seed = toml_resource("protocol.toml")["seed"]
    return int(np.random.SeedSequence(seed, spawn_key=(split,)).generate_state(1)[0]) % _SEEDS


def plan(
    extent: str = "full", data: Sequence[str] = (), methods: Sequence[str] = (), splits: int | None = None
) -> tuple[CellPlan, ...]:
    """Return the plans of all cells of the evaluation, with data sets and methods in the order of the protocol.

    Parameters
    ----------
    extent : {"full", "quick"}
        Version of the evaluation: the full one, or a small one that is quick to compute.
    data, methods : sequence of str
        Keys of the data sets and of the methods to include. An empty sequence means all.
    splits : int, optional
        Number of splits. Default: the number in the protocol.

    Raises
    ------
    ValueError
        If the protocol does not contain a given data set or method, or another argument is out of range.
    """
    document = toml_resource("protocol.toml")
    for kind, given in (("data", data), ("methods", methods)):
        unknown = [name for name in given if name not in document[kind]]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not in the protocol; choose {kind} from: {', '.join(document[kind])}")
    if splits is not None and splits < 1:
        raise ValueError(f"the number of splits is {splits}; it must be 1 or more")
    cells: list[CellPlan] = []
    for key in document["data"]:
        table = document[extent].get(key, {})
        # If `table` is a string, it is the key of another data set, and the plan of that data set is used.
        table = document[extent][table] if isinstance(table, str) else table
        chosen = [method for method in document["methods"] if method in table and (not methods or method in methods)]
        cells += [_cell(key, method, table, splits) for method in chosen if not data or key in data]
    return tuple(cells)


def _cell(key: str, method: str, table: Mapping[str, Any], splits: int | None) -> CellPlan:
    """Return the plan of one cell of the result tables, which belongs to the row `method` and the data set `key`.

    `table` is the TOML table of the data set in protocol.toml, with candidate values and settings. The settings of this
    row under `[rows]` override those in `table`.
    """
    document = toml_resource("protocol.toml")
    settings = document["rows"].get(method, {})
    alike = {name: document[name] for name in _OF_ALL} | {name: table[name] for name in _OF_DATA if name in table}
    alike |= {name: settings[name] for name in _OF_ROW if name in settings}
    axes = table[method]
    # If `axes` is a string, it is the key of another row, and the candidate values of that row are used.
    axes = table[axes] if isinstance(axes, str) else axes
    plan = CellPlan(key, method, table["splits"] if splits is None else splits, tuple(axes.items()), **alike)
    kind = plan.kind
    known = _OF_STACK if kind.stacked else _OF_SDA if kind.network else set()
    unknown = axes.keys() - known - ({"kept"} if kind.projection else set())
    if unknown:
        raise ValueError(f"protocol.toml, {key}, {method}: {sorted(unknown)[0]} is not a parameter of this method")
    return plan

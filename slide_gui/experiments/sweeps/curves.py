"""Compute error curves, which show the error of a classifier as a function of noise level and depth."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.spec import METHODS, RunSpec, SweepPoint
from slide_gui.experiments.store.stored_run import Setting, StoredRun
from slide_gui.experiments.sweeps.selection import Place, PointResult, chosen_places, mean_rate
from slide_gui.text import counted


@dataclass(frozen=True)
class CurvePoint:
    """A point of an error curve: the mean error at one noise level and depth.

    Attributes
    ----------
    noise : float
        Noise level.
    depth : int
        Number of layers.
    rate : ErrorRate
        Mean error with its confidence interval.
    validation_error : float or None
        Mean fraction of misclassified validation rows. None if some runs have no validation rows.
    chosen : bool
        True if validation errors select this noise level and depth (`chosen_places`) from several.
    """

    noise: float
    depth: int
    rate: ErrorRate
    validation_error: float | None
    chosen: bool

    @classmethod
    def of(cls, place: Place, results: Sequence[PointResult], chosen: Sequence[Place]) -> "CurvePoint":
        """Average the results of all splits, seeds and folds at one noise level and depth."""
        errors = [result.validation_error for result in results if result.validation_error is not None]
        validation_error = sum(errors) / len(errors) if len(errors) == len(results) else None
        rate = mean_rate(results)
        if results[0].point.spec.evaluate == "validation":
            validation_error = rate.error
        return cls(*place, rate, validation_error, place in chosen)


@dataclass(frozen=True)
class ErrorCurves:
    """The error curves of one data set and method.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    method : str
        Name of the method, followed by the number of labelled training rows if the runs use only some of the labels.
    points : tuple of CurvePoint
        Points sorted by depth, then noise level.
    n_missing : int
        Number of runs of an incomplete sweep that have no result.
    """

    dataset: str
    generated: bool
    method: str
    evaluate: str
    points: tuple[CurvePoint, ...]
    n_missing: int = 0

    @property
    def depths(self) -> tuple[int, ...]:
        """Distinct depths in ascending order."""
        return tuple(sorted({point.depth for point in self.points}))

    def line(self, depth: int) -> tuple[CurvePoint, ...]:
        """Return the points with the given depth, sorted by noise level."""
        return tuple(point for point in self.points if point.depth == depth)


def best_mark(n_missing: int) -> str:
    """Describe the mark of the selected points, and state how many points of the sweep have no result yet."""
    return "best on validation" + (f" ({counted(n_missing, 'point')} missing)" if n_missing else "")


def error_curves(dataset: Dataset, results: Sequence[PointResult], n_missing: int = 0) -> ErrorCurves:
    """Average the results of a sweep at each noise level and depth.

    Parameters
    ----------
    results : sequence of PointResult
        Results of one method, either all on the test set or all on validation rows. A run that belongs to several
        points is counted only once.
    n_missing : int
        Number of runs of the sweep that have no result.

    Raises
    ------
    ValueError
        If there are no results, if their methods differ, or if only some of the results are on the test set.
    """
    kinds = {(result.point.spec.method, result.point.spec.evaluate) for result in results}
    if len(kinds) != 1:
        raise ValueError(f"error curves show one method on one set of rows, but {len(kinds)} combinations were given")
    method, evaluate = kinds.pop()
    groups: dict[tuple[int, float], dict[str, PointResult]] = {}
    for result in results:
        groups.setdefault((result.point.depth, result.point.noise), {})[result.point.spec.hash] = result
    # A single run is not marked as selected, even if several noise levels share it, as they do at depth 0.
    points, chosen = [], chosen_places(results) if len({*map(frozenset, groups.values())}) > 1 else ()
    for depth, noise in sorted(groups):
        points.append(CurvePoint.of((noise, depth), list(groups[depth, noise].values()), chosen))
    labels = results[0].point.spec.labels
    name = METHODS[method].text + ("" if labels is None else f", {counted(labels, 'label')}")
    return ErrorCurves(dataset.name, dataset.generated, name, evaluate, tuple(points), n_missing)


def known_results(
    setting: Setting, bases: Sequence[RunSpec], stored: Sequence[StoredRun], done: Sequence[PointResult] = ()
) -> dict[Place, dict[str, PointResult]]:
    """Return the known results of a setting for each noise level and depth, as dictionaries keyed by run hash.

    A setting consists of all parameters of a run except noise level, depth, split and seed. A run without layers is
    included at every noise level, because it does not depend on the noise level. If two runs have the same noise level,
    depth, split and seed, only one of them is returned. A run that did not start from the kernel widths of another run
    is preferred.

    Parameters
    ----------
    bases : sequence of RunSpec
        Runs on the open data: one for each fold, or a single one if the data are not divided into folds. Only results
        on the same data are returned.
    stored : sequence of StoredRun
        Stored and shipped runs. Runs on other data, runs with other settings, and stored runs that were computed with
        another results version are ignored.
    done : sequence of PointResult
        Results of a sweep that may not be stored yet.
    """
    by_data = {base.fingerprint: base for base in bases}
    known: dict[tuple[object, ...], tuple[Setting, str, PointResult]] = {}

    def take(key: str, way: Setting, result: PointResult) -> None:
        point = result.point
        where = point.spec.fingerprint, point.noise if point.depth else None, point.depth, point.split, point.seed
        before = known.get(where)
        if before is None or before[0].warm or not way.warm:
            known[where] = way, key, result

    for run in stored:
        base, way = by_data.get(run.fingerprint), Setting.from_text(run.setting)
        if base is None or way is None or not (run.is_current or run.is_shipped) or not setting.covers(way):
            continue
        # Runs with values that are damaged, or that another program version wrote, are left out.
        with suppress(ValueError):
            spec = setting.at(base, run.noise, run.depth, run.split, run.seed)
            point = SweepPoint(run.noise, run.depth, run.split, run.seed, spec)
            take(run.hash, way, PointResult.of(point, run))
    for result in done:
        spec = result.point.spec
        if spec.fingerprint in by_data and setting.covers(Setting.of(spec)):
            take(spec.hash, Setting.of(spec), result)
    swept = {result.point.noise for result in done}
    noises = sorted(swept | {result.point.noise for _, _, result in known.values() if result.point.depth})
    places: dict[Place, dict[str, PointResult]] = {}
    for _, key, result in known.values():
        point = result.point
        for noise in (point.noise,) if point.depth else noises or (point.noise,):
            places.setdefault((noise, point.depth), {})[key] = replace(result, point=replace(point, noise=noise))
    return places

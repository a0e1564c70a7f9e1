"""Record the runs and the data source of a figure in a small JSON document, so that the figure can be reproduced."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import is_known
from slide_gui.data.errors import DataError
from slide_gui.data.limits import read_small
from slide_gui.experiments.documents import checked_value, from_document
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.fitting import Reuse
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.results_version import RESULTS_VERSION, is_current

_FORMAT = 1
_LARGEST = 64 << 20  # bytes
_AXES = {"noise": float, "depth": int, "split": int, "seed": int}


@dataclass(frozen=True)
class FigureProvenance:
    """The data source and the runs of a figure.

    Attributes
    ----------
    figure : str
        Kind of figure, for example "curves".
    source : DataSource
        Source of the data.
    points : tuple of SweepPoint
        Points of a sweep that the figure shows. Each point is a run with its noise level, depth, split and seed. Error
        curves and heat maps show several points. Figures of a single run show one point.
    n_missing : int
        Number of runs of an incomplete sweep that have no result. They are not among the points.
    numerics : str
        The results version (`RESULTS_VERSION`) of the program that drew the figure. Empty if it is not recorded.
    """

    figure: str
    source: DataSource
    points: tuple[SweepPoint, ...]
    n_missing: int = 0
    numerics: str = field(default_factory=lambda: str(RESULTS_VERSION))

    @classmethod
    def of_run(cls, figure: str, source: DataSource, spec: RunSpec) -> Self:
        """Return the provenance of a figure that shows one run."""
        return cls(figure, source, (SweepPoint(spec.stack.noise, spec.stack.depth, spec.split, spec.seed, spec),))

    @property
    def difference(self) -> str:
        """Reason why this program may compute numbers that differ from those in the figure. Empty if there is none."""
        if not self.numerics or is_current(self.numerics):
            return ""
        return f"drawn with results version {self.numerics}, but version {RESULTS_VERSION} may give other results"

    def runs(self) -> tuple[RunSpec, ...]:
        """Return the distinct runs of the figure. A run that starts from another run's widths comes after that run."""
        specs: dict[str, RunSpec] = {}

        def take(spec: RunSpec) -> None:
            if spec.hash not in specs:
                if spec.neighbour is not None:
                    take(spec.neighbour)
                specs[spec.hash] = spec

        for point in self.points:
            take(point.spec)
        return tuple(specs.values())

    def answers(self, dataset: Dataset, *, progress: Progress = NO_PROGRESS) -> list[RunResult]:
        """Compute all runs of the figure, and return one result for each of the figure's points.

        Raises
        ------
        DataError
            If `dataset` is not the data set of the figure.
        """
        specs = self.runs()
        reuse = Reuse(deepest=max((spec.stack.depth for spec in specs), default=0))
        for spec, part in progress.each(specs):
            reuse.results[spec.hash] = run(dataset, spec, progress=part, reuse=reuse)
        return [reuse.results[point.spec.hash] for point in self.points]

    def text(self) -> str:
        """Return the provenance as JSON text. The method `read` reads a file with this text."""
        specs = self.runs()
        number = {spec.hash: place for place, spec in enumerate(specs)}
        near = {spec.hash: spec.neighbour and number[spec.neighbour.hash] for spec in specs}
        runs = [{**replace(spec, neighbour=None).document(), "neighbour": near[spec.hash]} for spec in specs]
        points = [{**{axis: getattr(p, axis) for axis in _AXES}, "run": number[p.spec.hash]} for p in self.points]
        source = self.source.document()
        document = {"format": _FORMAT, "figure": self.figure, "numerics": self.numerics, "source": source}
        return json.dumps({**document, "missing": self.n_missing, "runs": runs, "points": points}, indent=1) + "\n"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return the provenance that a JSON file contains.

        Raises
        ------
        DataError
            If the file cannot be read, or does not contain the provenance of a figure.
        """
        content = read_small(path, _LARGEST, "the JSON file of a figure")
        try:
            return cls._of(json.loads(content))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
            raise DataError(f"this is not a figure’s JSON file ({error}); export the figure again", str(path)) from None

    @classmethod
    def _of(cls, document: dict[str, Any]) -> Self:
        if document["format"] != _FORMAT:
            raise ValueError(f"the format is {document['format']}, but this slide-gui version reads format {_FORMAT}")
        figure = checked_value(str, document["figure"], "figure")
        specs: list[RunSpec] = []
        for run_document in document["runs"]:
            plain = RunSpec.from_document({**run_document, "neighbour": None})
            near = run_document["neighbour"]
            specs.append(replace(plain, neighbour=None if near is None else _numbered(specs, near)).checked())
        points = []
        for place in document["points"]:
            spec = _numbered(specs, place["run"])
            axes = {key: checked_value(kind, place[key], key) for key, kind in _AXES.items()}
            points.append(SweepPoint(spec=spec, **axes))
        if not points:
            raise ValueError("the file lists no run that the figure shows")
        source = from_document(DataSource, document["source"], "source")
        if bool(source.key) == bool(source.paths) or (source.key and not is_known(source.key)):
            raise ValueError("the source of the data must be a data set from the catalogue or a list of files")
        n_missing = checked_value(int, document.get("missing", 0), "missing")
        numerics = checked_value(str, document.get("numerics", ""), "numerics")
        return cls(figure, source, tuple(points), n_missing, numerics)


def _numbered(specs: Sequence[RunSpec], number: object) -> RunSpec:
    """Return the run with index `number` in `specs`, which contains the runs read from the JSON file so far.

    Raises
    ------
    ValueError
        If `number` is not the index of one of these runs.
    """
    if type(number) is not int or not 0 <= number < len(specs):
        raise ValueError(f"the file refers to run {ascii(number)[:20]} before it lists this run")
    return specs[number]

"""Error against the number of labels: what rows without labels are worth to SLIDE.

Each number of labels is a stratified sample of the training rows, the larger holding the smaller. SLIDE is fitted on
all training rows, labelled or not, or on the labelled ones only; Raw-SVM sees the labelled rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.choice import PointResult
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.spec import RunSpec
from slide_gui.experiments.sweep_spec import SweepPoint

__all__ = ["LabelCurves", "LabelLine", "LabelPoint", "label_curves", "label_points"]


@dataclass(frozen=True)
class LabelPoint:
    """Mean error with so many labels."""

    labels: int
    rate: ErrorRate


@dataclass(frozen=True)
class LabelLine:
    """One way to use the labels, with its points by rising number of labels."""

    name: str
    points: tuple[LabelPoint, ...]


@dataclass(frozen=True)
class LabelCurves:
    """Error against the number of labels on one data set.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    generated : bool
    evaluate : {"test", "validation"}
    noise : float
        1 − p of SLIDE.
    depth : int
        Its layers.
    lines : tuple of LabelLine
    """

    dataset: str
    generated: bool
    evaluate: str
    noise: float
    depth: int
    lines: tuple[LabelLine, ...]


def label_points(base: RunSpec, counts: Sequence[int], seeds: Sequence[int]) -> tuple[SweepPoint, ...]:
    """Return the runs: by number of labels, seed and way.

    Parameters
    ----------
    base : RunSpec
        A method on SLIDE's features, with noise and depth.
    counts : sequence of int
        Numbers of labels.
    seeds : sequence of int
        Each draws the labelled rows anew.

    Raises
    ------
    ValueError
        If nothing is asked for, or the method is none on SLIDE's features.
    """
    if not counts or not seeds:
        raise ValueError("labels or seeds are empty; the curve needs at least one of each")
    if not base.checked().stacked or base.checked().stack.depth == 0:
        raise ValueError(f"method {base.method} at depth {base.stack.depth} has no layers to fit without labels")
    points = []
    for count in sorted(set(counts)):
        for seed in sorted(set(seeds)):
            own = replace(base, labels=count, seed=seed, neighbour=None)
            for spec in (own, replace(own, fitted_on="labelled"), replace(own, method="raw-svm", classifier=None)):
                checked = spec.checked()
                points.append(SweepPoint(checked.stack.noise, checked.stack.depth, checked.split, seed, checked))
    return tuple(points)


def label_curves(dataset: Dataset, answers: Sequence[PointResult]) -> LabelCurves:
    """Average the answers of `label_points` over the seeds.

    Raises
    ------
    ValueError
        If there are none on SLIDE's features.
    """
    stacked = [answer.point.spec for answer in answers if answer.point.spec.stack.depth > 0]
    if not stacked:
        raise ValueError("there are no answers to average")
    groups: dict[str, dict[int, list[PointResult]]] = {}
    for answer in answers:
        spec = answer.point.spec
        groups.setdefault(_name(spec), {}).setdefault(spec.labels or 0, []).append(answer)
    lines = []
    for name, by_count in groups.items():
        points = []
        for count, own in sorted(by_count.items()):
            rate = ErrorRate.of_splits([answer.rate.error for answer in own], own[0].rate.n)
            points.append(LabelPoint(count, rate))
        lines.append(LabelLine(name, tuple(points)))
    first = stacked[0]
    name, generated = dataset.name, dataset.generated
    return LabelCurves(name, generated, first.evaluate, first.stack.noise, first.stack.depth, tuple(lines))


def _name(spec: RunSpec) -> str:
    method = str(spec.classifier) if spec.classifier is not None else METHODS[spec.method].text
    if spec.stack.depth == 0:
        return method
    return f"{method}, fitted on {'all' if spec.fitted_on == 'training' else 'labelled'} rows"

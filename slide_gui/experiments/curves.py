"""Error against noise and depth, averaged over splits and seeds: what the curves show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.choice import PointResult
from slide_gui.experiments.methods import METHODS

__all__ = ["CurvePoint", "ErrorCurves", "error_curves"]


@dataclass(frozen=True)
class CurvePoint:
    """Mean error at one noise and depth."""

    noise: float
    depth: int
    rate: ErrorRate


@dataclass(frozen=True)
class ErrorCurves:
    """The curves of one data set and method.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    generated : bool
    method : str
        Name of the method, for people.
    evaluate : {"test", "validation"}
    points : tuple of CurvePoint
        By depth, then noise.
    """

    dataset: str
    generated: bool
    method: str
    evaluate: str
    points: tuple[CurvePoint, ...]

    @property
    def depths(self) -> tuple[int, ...]:
        """The depths there are, rising."""
        return tuple(sorted({point.depth for point in self.points}))

    def line(self, depth: int) -> tuple[CurvePoint, ...]:
        """Return the points of one depth, by noise."""
        return tuple(point for point in self.points if point.depth == depth)


def error_curves(dataset: Dataset, answers: Sequence[PointResult]) -> ErrorCurves:
    """Average the answers of a sweep at each noise and depth.

    Parameters
    ----------
    dataset : Dataset
    answers : sequence of PointResult
        Of one method, all judged on the same part. A run that answers several splits counts once.

    Raises
    ------
    ValueError
        If there are none, or they mix methods or parts.
    """
    kinds = {(answer.point.spec.method, answer.point.spec.evaluate) for answer in answers}
    if len(kinds) != 1:
        raise ValueError(f"curves need answers of one method and one part of the data, not of {len(kinds)} kinds")
    method, evaluate = kinds.pop()
    groups: dict[tuple[int, float], dict[str, PointResult]] = {}
    for answer in answers:
        groups.setdefault((answer.point.depth, answer.point.noise), {})[answer.point.spec.hash] = answer
    points = []
    for depth, noise in sorted(groups):
        own = list(groups[depth, noise].values())
        rate = ErrorRate.of_splits([answer.rate.error for answer in own], own[0].rate.n)
        points.append(CurvePoint(noise, depth, rate))
    return ErrorCurves(dataset.name, dataset.generated, METHODS[method].text, evaluate, tuple(points))

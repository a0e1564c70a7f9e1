"""The points of the error curves and of the heat map, and functions that describe points in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.sweeps.curves import best_mark
from slide_gui.text import count, level, per_cent, place_name

BEST = best_mark(0)
PointState = Literal["done", "running", "refining"]


@dataclass(frozen=True)
class ErrorPoint:
    """A point of the error curves: the error at one noise level and one depth.

    Parameters
    ----------
    noise : float
        Noise level 1 − p, 0 to 1.
    depth : int
        Number of layers; 0 for the raw input.
    rate : ErrorRate or None
        Error with its 95 % confidence interval, or None if no error has been computed yet.
    key : str
        Key of the run that a click opens; empty if there is no such run.
    state : {"done", "running", "refining"}
        "done" if the error is final, "running" if a sweep is computing it, and "refining" if it is only an estimate.
        Points whose error is not final are drawn hollow and grey, without a confidence interval.
    note : str
        Further lines of the tooltip, such as the computing time.
    by : str
        Description, for the tooltip, of the criterion by which the widths were learned.
    validation : float or None
        Error on the validation rows in per cent, or None if there are no validation rows.
    chosen : bool
        True if this noise level and depth were selected on the validation rows. The error is then final.
    """

    noise: float
    depth: int
    rate: ErrorRate | None
    key: str
    state: PointState = "done"
    note: str = ""
    by: str = ""
    validation: float | None = None
    chosen: bool = False

    @property
    def error(self) -> float:
        """Return the error in per cent, or nan if the error is unknown."""
        return math.nan if self.rate is None else 100 * self.rate.error

    @property
    def low(self) -> float:
        """Return the lower end of the confidence interval in per cent, or nan if the error is unknown."""
        return math.nan if self.rate is None else 100 * self.rate.low

    @property
    def high(self) -> float:
        """Return the upper end of the confidence interval in per cent, or nan if the error is unknown."""
        return math.nan if self.rate is None else 100 * self.rate.high


def lines_of(point: ErrorPoint) -> list[str]:
    """Return the lines of the tooltip for a point, starting with its error if the error is known."""
    place = f"noise {level(point.noise)} · depth {point.depth}"
    if point.rate is None:
        return [place, "being computed", *filter(None, [point.by, point.note])]
    n = count(point.rate.n)
    if point.state != "done":
        text = f"{'being computed' if point.state == 'running' else 'an estimate'}, {n} rows evaluated so far"
        return [f"≈ {per_cent(point.error)}", place, text, *filter(None, [point.by]), *point.note.splitlines()]
    lines = [str(point.rate), place, f"n = {n}"]
    if point.validation is not None:
        lines.append(f"validation error {per_cent(point.validation)}" + (": selected" if point.chosen else ""))
    return [*lines, *filter(None, [point.by]), *point.note.splitlines()]


def best_words(points: Sequence[ErrorPoint], mark: str) -> str:
    """Return `mark`, which describes the mark of selected points, with these points and their errors.

    Return "" if no point was selected.
    """
    errors = "; ".join(f"{place_name(p.noise, p.depth)}: {per_cent(p.error)}" for p in points if p.chosen)
    return f"{mark}: {errors}" if errors else ""

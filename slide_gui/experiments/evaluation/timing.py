"""Feature generation timed: SLIDE against autoencoders, as in the paper's Table 2."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from slide_gui.core.sda.model import TUTORIAL, SdaParameters
from slide_gui.core.sda.training import into_range, pretrain, range_of
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation.protocol import published_seconds
from slide_gui.experiments.evaluation.table import DataInfo, EvaluationState
from slide_gui.experiments.splits import Classes, stratified_sample
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["INCLUDED", "Extrapolated", "TimeRow", "extrapolated_seconds", "time_rows"]

INCLUDED = (
    "Feature generation is the whole fit of the representation on the training part (SLIDE: scatter, closed form, all "
    "layers; autoencoders: pre-training of all layers) and making the features of the rows trained on. It includes no "
    "classifier, no choice of parameters and no reading of data."
)
"""What the seconds include."""

_ROWS = 400  # of the epoch that is measured


@dataclass(frozen=True)
class Extrapolated:
    """Seconds of pre-training, scaled up from one short epoch of each layer.

    Attributes
    ----------
    seconds : float
        For all epochs on all rows.
    measured : float
        That were in fact measured.
    rows : int
        Of the epoch measured.
    parameters : SdaParameters
        What the seconds are for.
    """

    seconds: float
    measured: float
    rows: int
    parameters: SdaParameters


@dataclass(frozen=True)
class TimeRow:
    """Feature generation on one data set.

    Attributes
    ----------
    slide, sda : float or None
        Seconds measured here; autoencoders at the settings that validation chose.
    sda_chosen, sda_recorded : str
        Those settings, for people, and as they are written into files: in English.
    tutorial : Extrapolated or None
        Autoencoders by the recipe of the deep learning tutorials.
    paper_slide, paper_sda, paper_speedup : float or None
        The paper's Table 2.
    """

    data: DataInfo
    slide: float | None
    sda: float | None
    sda_chosen: str
    tutorial: Extrapolated | None
    paper_slide: float | None
    paper_sda: float | None
    paper_speedup: float | None
    sda_recorded: str = ""

    @property
    def speedup(self) -> float | None:
        """How many times faster SLIDE is, as both were measured here."""
        return self.sda / self.slide if self.sda and self.slide else None

    @property
    def tutorial_speedup(self) -> float | None:
        """The same against the tutorial's recipe."""
        return self.tutorial.seconds / self.slide if self.tutorial and self.slide else None


def extrapolated_seconds(
    dataset: Dataset, parameters: SdaParameters = TUTORIAL, *, progress: Progress = NO_PROGRESS
) -> Extrapolated:
    """Measure one epoch of each layer on few rows, and scale it to all epochs and rows: steps cost the same each.

    Parameters
    ----------
    dataset : Dataset
        With labels.
    """
    chosen = stratified_sample(Classes.of(dataset).train, _ROWS, 0)
    rows = into_range(dataset.train[chosen], range_of(dataset.train))
    started = time.perf_counter()
    pretrain(rows, replace(parameters, pretraining_epochs=1), progress)
    measured = time.perf_counter() - started
    scale = parameters.pretraining_epochs * len(dataset.train) / len(rows)
    return Extrapolated(measured * scale, measured, len(rows), parameters)


def time_rows(state: EvaluationState, tutorial: Mapping[str, Extrapolated] | None = None) -> tuple[TimeRow, ...]:
    """Return the running times of the data sets of an evaluation."""
    rows = []
    for info in state.data:
        slide = state.cell(info.key, "slide-svm")
        networks = [cell for name in ("sda-svm", "sda") if (cell := state.cell(info.key, name)) is not None]
        sda = next((cell for cell in networks if cell.features is not None), None)
        paper_slide, paper_sda, paper_speedup = published_seconds(info.key)
        rows.append(
            TimeRow(
                info,
                None if slide is None else slide.features,
                None if sda is None else sda.features,
                "" if sda is None else sda.chosen,
                (tutorial or {}).get(info.key),
                paper_slide,
                paper_sda,
                paper_speedup,
                "" if sda is None else sda.recorded,
            )
        )
    return tuple(rows)

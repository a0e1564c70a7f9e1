"""Running times of feature generation: SLIDE against autoencoders, as in the paper's Table 2."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from slide_gui.core.sda.model import TUTORIAL, SdaParameters
from slide_gui.core.sda.training import into_range, pretrain, range_of
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation.protocol import published_seconds
from slide_gui.experiments.evaluation.table import DataInfo, EvaluationState
from slide_gui.experiments.runs.splits import Classes, stratified_sample
from slide_gui.progress import NO_PROGRESS, Progress

INCLUDED = (
    "Feature generation consists of fitting the representation on the training set (SLIDE: scatter, closed form, all "
    "layers; autoencoders: pre-training of all layers) and computing the features of the training rows. It excludes "
    "the classifier, the selection of parameters and the reading of data."
)
"""Definition of the reported seconds."""

_ROWS = 400  # rows of the measured epoch


@dataclass(frozen=True)
class Extrapolated:
    """Seconds of pre-training, extrapolated from one short epoch of each layer.

    Attributes
    ----------
    seconds : float
        Extrapolated to all epochs on all rows.
    measured : float
        Measured seconds.
    rows : int
        Number of rows of the measured epoch.
    parameters : SdaParameters
        Parameters of the autoencoders.
    """

    seconds: float
    measured: float
    rows: int
    parameters: SdaParameters


@dataclass(frozen=True)
class TimeRow:
    """Running times of feature generation on one data set.

    Attributes
    ----------
    slide, sda : float or None
        Seconds measured here. The autoencoders have the parameters selected on validation rows.
    sda_chosen : str
        These parameters in words.
    tutorial : Extrapolated or None
        Autoencoders with the parameters of the deep learning tutorials.
    paper_slide, paper_sda, paper_speedup : float or None
        Values of the paper's Table 2.
    """

    data: DataInfo
    slide: float | None
    sda: float | None
    sda_chosen: str
    tutorial: Extrapolated | None
    paper_slide: float | None
    paper_sda: float | None
    paper_speedup: float | None

    @property
    def speedup(self) -> float | None:
        """Time of the autoencoders divided by the time of SLIDE, both measured here."""
        return self.sda / self.slide if self.sda and self.slide else None

    @property
    def tutorial_speedup(self) -> float | None:
        """The same ratio for the tutorial's parameters."""
        return self.tutorial.seconds / self.slide if self.tutorial and self.slide else None


def extrapolated_seconds(
    dataset: Dataset, parameters: SdaParameters = TUTORIAL, *, progress: Progress = NO_PROGRESS
) -> Extrapolated:
    """Measure one epoch of each layer on a few rows and scale it to all epochs and rows: all steps cost the same.

    Parameters
    ----------
    dataset : Dataset
        Data with labels.
    """
    chosen = stratified_sample(Classes.of(dataset).train, _ROWS, 0)
    rows = into_range(dataset.train[chosen], range_of(dataset.train))
    started = time.perf_counter()
    pretrain(rows, replace(parameters, pretraining_epochs=1), progress)
    measured = time.perf_counter() - started
    scale = parameters.pretraining_epochs * len(dataset.train) / len(rows)
    return Extrapolated(measured * scale, measured, len(rows), parameters)


def time_rows(state: EvaluationState, tutorial: Mapping[str, Extrapolated] | None = None) -> tuple[TimeRow, ...]:
    """Return the running times on the data sets of an evaluation."""
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
            )
        )
    return tuple(rows)

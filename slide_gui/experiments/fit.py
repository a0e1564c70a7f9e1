"""Fitting a stack on a data set, and what is worth knowing about it afterwards."""

from __future__ import annotations

import time
from dataclasses import dataclass

from slide_gui import __version__
from slide_gui.core.stack import Stack, StackParameters, fit_stack
from slide_gui.data.dataset import Dataset
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["FittedModel", "fit_model"]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted stack with the stamp of where it came from.

    Attributes
    ----------
    stack : Stack
        The layers and their parameters.
    dataset : str
        Name of the data set.
    fingerprint : str
        SHA-256 (hex) of the data, as `Dataset.fingerprint`.
    image_shape : tuple of (rows, columns), or None
        None for features that are no picture.
    generated : bool
        Whether the data came from a generator.
    seconds : float
        Wall-clock time of the fit.
    version : str
        Version of slide-gui that fitted it.
    """

    stack: Stack
    dataset: str
    fingerprint: str
    image_shape: tuple[int, int] | None
    generated: bool
    seconds: float
    version: str = __version__


def fit_model(dataset: Dataset, parameters: StackParameters, *, progress: Progress = NO_PROGRESS) -> FittedModel:
    """Fit a stack on the training rows of a data set; labels are not looked at.

    Parameters
    ----------
    dataset : Dataset
        Its whole training part is used (the method is unsupervised).
    parameters : StackParameters
        Noise, depth and the rest.
    progress : Progress
        Gets the `Stack` so far as payload after each layer.

    Raises
    ------
    ValueError
        If a parameter is out of range or the rows cannot be fitted.
    """
    start = time.perf_counter()
    stack = fit_stack(dataset.train, parameters, progress=progress)
    seconds = time.perf_counter() - start
    return FittedModel(stack, dataset.name, dataset.fingerprint, dataset.image_shape, dataset.generated, seconds)

"""A data set under exploration: what does not depend on the noise is kept, so that a new noise costs little."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import WHOLE
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import InputScatter, input_scatter
from slide_gui.core.slide.stack import Stack, fit_stack, threshold_problem
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["Explorer", "Fit", "Preview"]

_MOST_FITS, _MOST_BYTES = 32, 256 << 20  # kept of the fits made last: four layers on MNIST take 40 MB


@dataclass(frozen=True, eq=False)
class Preview:
    """Rows of the first layer at a noise whose stack is not fitted yet.

    Attributes
    ----------
    rows : dict of int to ndarray of shape (d + 1,)
        Feature → its row of W¹, bias last.
    """

    parameters: StackParameters
    rows: dict[int, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Fit:
    """All layers, the seconds that they took once their turn had come, and a warning about the threshold or ""."""

    stack: Stack
    seconds: float
    problem: str = ""


class Explorer:
    """Fits stacks to one set of rows again and again; used by one thread at a time, `stored_fit` and `n_bytes` by any.

    The fits made last are kept: at most 32, and beside the newest one no more than make up 256 MB with it.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self._rows = rows
        self._fits: tuple[Fit, ...] = ()  # the newest last; replaced as a whole, so that any thread may read it
        self._scatters: dict[str, InputScatter] = {}  # by the dtype of the sums
        self._paths: dict[str, tuple[StackParameters, NoisePath]] = {}  # likewise, so that a drag may go to and fro

    def update(
        self,
        parameters: StackParameters,
        features: tuple[int, ...] = (),
        *,
        settle: float = 0.0,
        progress: Progress = NO_PROGRESS,
    ) -> Stack:
        """Fit a stack, previewing rows of its first layer before.

        Parameters
        ----------
        features : tuple of int
            Rows of the first layer to preview by the noise path, once that is known.
        settle : float
            Seconds between the preview and the fit, in which a newer request may supersede this one.
        progress : Progress
            Gets a `Preview`, then the stack after each layer.

        Raises
        ------
        ValueError
            As `fit_stack`.
        """
        parameters = parameters.checked()
        started = time.monotonic()
        if self._can_preview(parameters) and features and parameters.depth:
            rows = self._noise_path(parameters).rows(np.array(features), parameters.noise)
            preview = Preview(parameters, dict(zip(features, rows, strict=True)))
            progress.report(0.0, preview)
        while (left := started + settle - time.monotonic()) > 0:
            time.sleep(min(left, 0.005))
            progress.report(0.0)
        share = 0.0
        scatter = self._scatter(parameters)
        if scatter is None:
            share = 1.0 / max(parameters.depth, 1)
            scatter = input_scatter(self._rows, parameters, progress=progress.part(0.0, share))
            self._scatters[parameters.sums] = scatter
        stack = fit_stack(self._rows, parameters, scatter=scatter, progress=progress.part(share, 1.0))
        self._keep(Fit(stack, time.monotonic() - started - settle, threshold_problem(self._rows, parameters)))
        return stack

    def stored_fit(self, parameters: StackParameters) -> Fit | None:
        """Return a fit with these parameters and at least as many layers, if it is still there."""
        wanted = replace(parameters, depth=0)
        fits = (fit for fit in reversed(self._fits) if len(fit.stack.layers) >= parameters.depth)
        return next((fit for fit in fits if replace(fit.stack.parameters, depth=0) == wanted), None)

    @property
    def n_bytes(self) -> int:
        """What the fits that are kept take."""
        return sum(_bytes_of(fit) for fit in self._fits)

    def _keep(self, fit: Fit) -> None:
        others = (each for each in self._fits if each.stack.parameters != fit.stack.parameters)
        fits = (*others, fit)[-_MOST_FITS:]
        while len(fits) > 1 and sum(map(_bytes_of, fits)) > _MOST_BYTES:
            fits = fits[1:]
        self._fits = fits

    def prepare(self, parameters: StackParameters) -> None:
        """Compute the noise path now, so that the first preview does not wait for it."""
        if self._can_preview(parameters):
            self._noise_path(parameters.checked())

    def _can_preview(self, parameters: StackParameters) -> bool:
        """Whether the scatter is known, and small enough for an eigendecomposition that nobody waits for."""
        return self._scatter(parameters) is not None and self._rows.shape[1] <= WHOLE

    def _scatter(self, parameters: StackParameters) -> InputScatter | None:
        """Return the scatter that these parameters ask for, if it is known."""
        scatter = self._scatters.get(parameters.sums)
        return scatter if scatter is not None and scatter.fits(parameters) else None

    def _noise_path(self, parameters: StackParameters) -> NoisePath:
        scatter = self._scatter(parameters)
        assert scatter is not None
        key = replace(parameters, noise=0.0, depth=0, batch_size=1)
        if parameters.fit_on == "values":
            key = replace(key, threshold=0.0, squashing="identity")
        known = self._paths.get(parameters.sums)
        if known is None or known[0] != key:
            matrix = scatter.values if parameters.fit_on == "values" else scatter.squashed
            known = self._paths[parameters.sums] = key, NoisePath(matrix, parameters.ridge)
        return known[1]


def _bytes_of(fit: Fit) -> int:
    arrays = (array for layer in fit.stack.layers for array in (layer.weights, layer.scatter) if array is not None)
    return sum(array.nbytes for array in arrays)

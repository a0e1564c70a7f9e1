"""Fit stacks to one data set repeatedly. Results that are independent of the noise are cached for fast changes."""

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

_MOST_FITS, _MOST_BYTES = 32, 256 << 20  # cache of the latest fits; four layers on MNIST take 40 MB


@dataclass(frozen=True, eq=False)
class Preview:
    """Rows of the first layer at a noise level whose stack is not fitted yet.

    Attributes
    ----------
    rows : dict of int to ndarray of shape (d + 1,)
        Feature → its row of W¹, bias last.
    """

    parameters: StackParameters
    rows: dict[int, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted stack, the seconds of its computation, and a warning about the threshold, empty if there is none."""

    stack: Stack
    seconds: float
    problem: str = ""


class Explorer:
    """Fits stacks to one set of rows. Use it from one thread at a time, `stored_fit` and `n_bytes` from any thread.

    The latest fits are cached: at most 32, and at most 256 MB unless the latest alone is larger.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self._rows = rows
        self._fits: tuple[Fit, ...] = ()  # the latest last; the tuple is replaced, so any thread may read it
        self._scatters: dict[str, InputScatter] = {}  # by the dtype of the sums
        self._paths: dict[str, tuple[StackParameters, NoisePath]] = {}  # also by dtype
        self._problems: dict[tuple[str, float, bool], str] = {}  # of the threshold: the same at every noise level

    def update(
        self,
        parameters: StackParameters,
        features: tuple[int, ...] = (),
        *,
        settle: float = 0.0,
        progress: Progress = NO_PROGRESS,
    ) -> Stack:
        """Fit a stack, after previewing rows of its first layer.

        Parameters
        ----------
        features : tuple of int
            Rows of the first layer to preview by the noise path, if it is available.
        settle : float
            Seconds between the preview and the fit, in which a newer request may supersede this one.
        progress : Progress
            Receives a `Preview`, then the stack after each layer.

        Raises
        ------
        ValueError
            As `fit_stack`.
        """
        started = time.monotonic()
        path = self._noise_path(parameters) if features and parameters.depth else None
        if path is not None:
            rows = path.rows(np.array(features), parameters.noise)
            preview = Preview(parameters, dict(zip(features, rows, strict=True)))
            progress.report(0.0, preview)
        while (left := started + settle - time.monotonic()) > 0:
            time.sleep(min(left, 0.005))
            progress.report(0.0)
        parameters, share = parameters.checked(), 0.0
        scatter = self._scatter(parameters)
        if scatter is None:
            share = 1.0 / max(parameters.depth, 1)
            scatter = input_scatter(self._rows, parameters, progress=progress.part(0.0, share))
            self._scatters[parameters.sums] = scatter
        stack = fit_stack(self._rows, parameters, scatter=scatter, progress=progress.part(share, 1.0))
        self._keep(Fit(stack, time.monotonic() - started - settle, self._problem(parameters)))
        return stack

    def stored_fit(self, parameters: StackParameters) -> Fit | None:
        """Return a cached fit with these parameters and at least as many layers, or None."""
        wanted = replace(parameters, depth=0)
        fits = (fit for fit in reversed(self._fits) if len(fit.stack.layers) >= parameters.depth)
        return next((fit for fit in fits if replace(fit.stack.parameters, depth=0) == wanted), None)

    @property
    def n_bytes(self) -> int:
        """Size of the cached fits in bytes."""
        return sum(_bytes_of(fit) for fit in self._fits)

    def _keep(self, fit: Fit) -> None:
        others = (each for each in self._fits if each.stack.parameters != fit.stack.parameters)
        fits = (*others, fit)[-_MOST_FITS:]
        while len(fits) > 1 and sum(map(_bytes_of, fits)) > _MOST_BYTES:
            fits = fits[1:]
        self._fits = fits

    def prepare(self, parameters: StackParameters) -> None:
        """Compute the noise path now, so that the first preview is immediate."""
        self._noise_path(parameters)

    def _problem(self, parameters: StackParameters) -> str:
        key = parameters.squashing, parameters.threshold, parameters.depth > 0
        if key not in self._problems:
            self._problems[key] = threshold_problem(self._rows, parameters)
        return self._problems[key]

    def _scatter(self, parameters: StackParameters) -> InputScatter | None:
        """Return the available scatter for these parameters, or None."""
        scatter = self._scatters.get(parameters.sums)
        return scatter if scatter is not None and scatter.fits(parameters) else None

    def _noise_path(self, parameters: StackParameters) -> NoisePath | None:
        """Return the noise path of the first layer, or None before a fit and if an eigendecomposition is slow."""
        key = replace(parameters, noise=0.0, depth=0, batch_size=1)
        if parameters.fit_on == "values":
            key = replace(key, threshold=0.0, squashing="identity")
        known = self._paths.get(parameters.sums)
        if known is None or known[0] != key:
            scatter = self._scatter(parameters)
            if scatter is None or self._rows.shape[1] > WHOLE:
                return None
            matrix = scatter.values if parameters.fit_on == "values" else scatter.squashed
            known = self._paths[parameters.sums] = key, NoisePath(matrix, parameters.ridge)
        return known[1]


def _bytes_of(fit: Fit) -> int:
    arrays = (array for layer in fit.stack.layers for array in (layer.weights, layer.scatter) if array is not None)
    return sum(array.nbytes for array in arrays)

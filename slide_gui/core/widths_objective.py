"""What learning the widths minimises: a criterion of the kernel as a function of θ = (log σ_0, …, log σ_l, log C).

Whatever the criterion J, one matrix G = ∂J/∂K̃ gives the whole gradient, so that a layer more costs one contraction
more: with K = exp(−Σ_t D_t / σ_t²) and K̃ = K + I/C, ∂J/∂log σ_t = 2 Σ_ij G_ij K_ij D_t,ij / σ_t² and
∂J/∂log C = −tr G / C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.criteria.evaluate import AUTO, CRITERIA, evaluate, resolved
from slide_gui.core.rows import square
from slide_gui.core.stratified import held_out_mask
from slide_gui.core.svm_newton import NotConverged
from slide_gui.progress import Progress

__all__ = ["Objective", "WidthOptions"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_TILE = 64  # rows of 2 500 numbers: what is made of a tile stays in the cache


@dataclass(frozen=True)
class WidthOptions:
    """How widths are learned.

    Attributes
    ----------
    criterion : {"auto", "radius-margin", "span", "hold-out", "press"}
    C : float or None
        Kept at this value; None: learned.
    subset_size : int
        Learn on a stratified subset of at most so many points.
    starts : int
        How many of the best starting points of a grid to descend from.
    max_iter : int
        Most iterations of L-BFGS-B a start.
    seed : int
        Of the subset and of the points held out.
    memory : int
        Bytes for the matrices of distances and kernel values.
    near : (widths, C) or None
        Start here too (a neighbouring problem's answer), beside the best point of the grid.
    """

    criterion: str = AUTO
    C: float | None = None
    subset_size: int = 2500
    starts: int = 2
    max_iter: int = 50
    seed: int = 0
    memory: int = 1 << 31
    near: tuple[tuple[float, ...], float] | None = None


class Objective:
    """J(θ) and its gradient on one set of points; θ = (log σ_t, …) with log C last unless C is given.

    Parameters
    ----------
    distances : ndarray of shape (L, n, n)
        D_t of each layer.
    codes : ndarray of int, shape (n,)
        Classes 0 … k − 1.
    options : WidthOptions
    progress : Progress
        The cancel point.
    """

    def __init__(self, distances: Array, codes: Indices, options: WidthOptions, progress: Progress) -> None:
        self.distances, self.codes, self.options = distances, codes, options
        self.progress = progress
        self.criterion = resolved(options.criterion, int(codes.max()) + 1)
        self.held_out = (
            held_out_mask(codes, options.seed) if CRITERIA[self.criterion].holds_out else np.zeros(len(codes), bool)
        )
        self.starts: dict[tuple[int, int], Array] = {}
        self.n_support = 0

    def on(self, rows: Indices) -> Objective:
        """Return the objective on some of the rows, of which those stay held out that were."""
        distances = np.empty((len(self.distances), len(rows), len(rows)))
        for own, whole in zip(distances, self.distances, strict=True):
            own[:] = square(whole, rows, self.progress)
        part = Objective(distances, self.codes[rows], self.options, self.progress)
        part.held_out = self.held_out[rows]
        return part

    def split(self, theta: Array) -> tuple[Array, float]:
        """Return log σ_t and log C."""
        n_layers = len(self.distances)
        if self.options.C is not None:
            return theta, float(np.log(self.options.C))
        return theta[:n_layers], float(theta[n_layers])

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return J(θ) and its gradient, of the length of θ; infinity where an SVM could not be solved."""
        log_widths, log_c = self.split(theta)
        rates = np.exp(-2.0 * log_widths)
        ridge = float(np.exp(-log_c))
        self.progress.report(0.0)
        kernel = self._kernel(rates)
        try:
            found = evaluate(self.criterion, kernel, self.codes, ridge, self.held_out, self.starts, self.progress)
        except NotConverged:
            self.starts.clear()  # what lies near it may be as hard to solve from there
            return np.inf, np.zeros(len(theta))
        self.n_support = found.n_support
        self.progress.report(0.0)
        by_ridge = float(np.trace(found.gradient))
        slope = np.empty(len(theta))
        slope[: len(rates)] = 2.0 * rates * self._contracted(found.gradient, kernel)
        if self.options.C is None:
            slope[len(rates)] = -ridge * by_ridge
        return found.value, slope

    def _kernel(self, rates: Array) -> Array:
        """Return exp(−Σ_t rate_t D_t), of which half is computed."""
        kernel: Array = np.empty(self.distances.shape[1:])
        for top in range(0, len(kernel), _TILE):
            own, rest = slice(top, top + _TILE), slice(top, None)
            tile = self.distances[0, own, rest] * -rates[0]
            for rate, distances in zip(rates[1:], self.distances[1:], strict=True):
                tile -= rate * distances[own, rest]
            np.exp(tile, out=tile)
            kernel[rest, own] = tile.T
            kernel[own, rest] = tile
            self.progress.report(0.0)
        return kernel

    def _contracted(self, gradient: Array, kernel: Array) -> Array:
        """Return Σ_ij G_ij K_ij D_t,ij of each layer, K and D being symmetric: half of the products are made."""
        sums = np.zeros(len(self.distances))
        for top in range(0, len(kernel), _TILE):
            own, rest = slice(top, top + _TILE), slice(top, None)
            weighted = gradient[own, rest] + gradient[rest, own].T
            weighted *= kernel[own, rest]
            weighted[:, : weighted.shape[0]] *= 0.5  # the tile on the diagonal has both halves
            for layer, distances in enumerate(self.distances):
                sums[layer] += np.einsum("ij,ij->", weighted, distances[own, rest])
            self.progress.report(0.0)
        return sums

"""Fit, transform and noise path against the bare matrix products and the paper's listing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.bench.measurement import Measurement, absolute, digits, interleaved, relative
from slide_gui.core.slide.denoiser import denoiser_weights
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import input_scatter
from slide_gui.core.slide.stack import fit_stack

__all__ = ["fit_and_transform", "fit_then_layers", "noise_path"]

_DEPTH = 4
_STEP = 1000  # rows a user transforms at a time


def listing(rows: NDArray[Any], p: float, t: float, depth: int) -> list[NDArray[Any]]:
    """Return all representations by the paper's Algorithms 1 and 2 as listed, in float64, one column a sample."""
    h = rows.T.astype(np.float64)
    layers = [h]
    for _ in range(depth):
        x = np.vstack([h, np.ones((1, h.shape[1]))])
        d = len(x)
        q = np.full((d, 1), p)
        q[-1] = 1
        s = x @ x.T
        expected = s * (q @ q.T)
        np.fill_diagonal(expected, q[:, 0] * np.diag(s))
        w = np.linalg.solve(expected + 1e-5 * np.eye(d), (s * q)[:, :-1]).T
        _ = w @ x  # the listing returns it with W, though only the line below is kept
        h = w @ np.vstack([h > t, np.ones((1, h.shape[1]))]).astype(np.float64)
        layers.append(h)
    return layers


def fit_and_transform() -> list[Measurement]:
    """Four layers on 60 000 grey rows, float32."""
    rows, data = digits()
    parameters = StackParameters(depth=_DEPTH)
    stack = fit_stack(rows, parameters)
    random = np.random.default_rng(0).standard_normal((784, 784)).astype(np.float32)

    # One array for all results: what fresh memory costs is the system's affair, and would hide the products.
    features = np.empty((len(rows), (_DEPTH + 1) * rows.shape[1]), np.float32)
    features.fill(0.0)

    def scatters() -> None:
        for _ in range(_DEPTH):
            rows.T @ rows

    def forwards(count: int) -> None:
        for k in range(count):
            np.matmul(rows, random, out=features[:, k * 784 : (k + 1) * 784])

    scatter, two, four, fit, transform, both = interleaved(
        [
            scatters,
            lambda: forwards(_DEPTH - 2),
            lambda: forwards(_DEPTH),
            lambda: fit_stack(rows, parameters),
            lambda: stack.transform(rows, out=features),
            lambda: fit_stack(rows, parameters, out=features),
        ]
    )
    features = np.empty(0, np.float32)  # give the memory back before the listing needs it
    (port,) = interleaved([lambda: listing(rows, 0.7, 0.5, _DEPTH)], rounds=1)
    shape = f"60 000 × 784, 4 layers, float32, {data}"
    return [
        relative("fit", fit, "s", scatter + two, 1.3, f"against four scatter and two forward products; {shape}"),
        relative("transform", transform, "s", four, 1.3, f"against four forward products; {shape}"),
        relative("fit-and-transform", both, "s", port, 0.25, f"against the paper's listing in float64; {shape}"),
    ]


def fit_then_layers() -> list[Measurement]:
    """`fit`, and then `transform` in blocks or `layers` of all rows, as a user calls them, four layers."""
    from slide_gui.core.slide.estimator import SLIDE

    rows, data = digits()
    n, d = rows.shape
    random = np.random.default_rng(0).standard_normal((d, d)).astype(np.float32)
    slide = SLIDE(depth=_DEPTH)
    one = np.empty_like(rows)

    def bare(step: int) -> None:
        for _ in range(_DEPTH):
            rows.T @ rows
        for _ in range(_DEPTH - 2):
            np.matmul(rows, random, out=one)
        for start in range(0, n, step):
            block = rows[start : start + step]
            features = np.empty((len(block), (_DEPTH + 1) * d), np.float32)
            features[:, :d] = block
            for k in range(_DEPTH):
                np.matmul(block, random, out=features[:, (k + 1) * d : (k + 2) * d])

    def blocks() -> None:
        slide.fit(rows)
        for start in range(0, n, _STEP):
            slide.transform(rows[start : start + _STEP])

    def layers() -> None:
        slide.fit(rows)
        slide.layers(rows)

    by_blocks, bare_by_blocks, whole, bare_whole = interleaved(
        [blocks, lambda: bare(_STEP), layers, lambda: bare(n)], rest=4.0
    )
    note = f"against four scatter and six forward products that leave as many numbers; 60 000 × 784, 4 layers, {data}"
    return [
        relative("fit-then-transform", by_blocks, "s", bare_by_blocks, 1.25, f"in blocks of {_STEP} rows, {note}"),
        relative("fit-then-layers", whole, "s", bare_whole, 1.25, note),
    ]


def noise_path() -> list[Measurement]:
    """Sixteen rows of W at a noise that was not fitted, and how far they are from a refit."""
    rows, data = digits()
    scatter = input_scatter(rows, StackParameters()).values
    path = NoisePath(scatter)
    random = np.random.default_rng(0)
    times, refits, deviations = [], [], []
    for noise in np.round(random.uniform(0.02, 0.98, 25), 3):
        features = random.choice(784, 16, replace=False)
        fast, slow = interleaved(
            [lambda f=features, p=noise: path.rows(f, p), lambda p=noise: denoiser_weights(scatter, p)],  # type: ignore[misc]
            rounds=3,
        )
        times.append(fast)
        refits.append(slow)
        weights, expected = path.rows(features, noise), denoiser_weights(scatter, noise)[features]
        size = np.linalg.norm(expected, axis=1)
        lit = size > 0
        deviations.append(float((np.linalg.norm(weights - expected, axis=1)[lit] / size[lit]).max()))
    note = f"16 random rows at 25 random noises, 784 features, {data}"
    refit = 1000 * float(np.median(refits))
    return [
        absolute(
            "noise-path", 1000 * float(np.median(times)), "ms", 12.0, f"{note}; a whole refit takes {refit:.1f} ms"
        ),
        absolute("noise-path-deviation", max(deviations), "relative", 1e-6, f"from a refit, largest row; {note}"),
    ]

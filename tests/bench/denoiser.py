"""Compare SLIDE's fit, features and noise path with the bare matrix products."""

from collections.abc import Iterator

import numpy as np

from slide_gui.core.slide.denoiser import denoiser_weights
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import input_scatter
from slide_gui.core.slide.stack import fill_features, fit_stack
from slide_gui.progress import NO_PROGRESS
from tests.bench.data import digits
from tests.bench.measurement import Figure, PeakMemory, in_child, interleaved
from tests.core.listings import slide

_DEPTH = 4
_BLOCK = 4096  # rows


def fit() -> Iterator[Figure]:
    """Compare fit and features of four layers with their scatter and forward products, and with the paper's listing."""
    rows, data = digits()
    parameters = StackParameters(depth=_DEPTH)
    stack = fit_stack(rows, parameters)
    random = np.random.default_rng(0).standard_normal((784, 784)).astype(np.float32)
    # One array holds all results, because the first use of new memory may take longer than the products.
    features = np.zeros((len(rows), (_DEPTH + 1) * 784), np.float32)

    def scatters() -> None:
        for _ in range(_DEPTH):
            rows.T @ rows

    def forwards(count: int) -> None:
        for k in range(count):
            np.matmul(rows, random, out=features[:, k * 784 : (k + 1) * 784])

    scatter, two, four, fitted, transformed, both = interleaved(
        [
            scatters,
            lambda: forwards(_DEPTH - 2),
            lambda: forwards(_DEPTH),
            lambda: fit_stack(rows, parameters),
            lambda: fill_features(stack, rows, features, 0, NO_PROGRESS),
            lambda: fit_stack(rows, parameters, out=features),
        ]
    )
    features = np.empty(0, np.float32)  # frees the memory before the listing needs it
    (listed,) = interleaved([lambda: slide(rows.T.astype(np.float64), 0.7, 0.5, _DEPTH)], rounds=1)
    shape = f"{len(rows)} × 784, {_DEPTH} layers, float32, {data}"
    yield Figure("fit", fitted, "s", scatter + two, f"four scatter and two forward products; {shape}", 1.2)
    note = f"their four scatter and six forward products; {shape}"
    yield Figure("fit-then-features", fitted + transformed, "s", scatter + two + four, note, 1.15)
    yield Figure("fit-and-features", both, "s", listed, f"the paper's listing in float64; {shape}", 0.25)
    ours, bare = in_child(_fit_memory)
    note = f"peak above the input, against scatter and forward products of blocks; {shape}"
    yield Figure("fit-memory", ours, "MiB", bare, note, most=400.0)


def _fit_memory() -> tuple[float, float]:
    rows, _ = digits()
    weights = np.eye(784, dtype=np.float32)
    rows[:2048].T @ rows[:2048]  # makes BLAS allocate its buffers before memory is measured
    with PeakMemory() as bare:
        scatter = np.zeros((784, 784), np.float32)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK] @ weights
            scatter += block.T @ block
    with PeakMemory() as ours:
        fit_stack(rows, StackParameters(depth=_DEPTH))
    return ours.above, bare.above


def noise_path() -> Iterator[Figure]:
    """Compare sixteen rows of W, at a noise level that was not fitted, with a refit."""
    rows, data = digits()
    scatter = input_scatter(rows, StackParameters()).values
    path = NoisePath(scatter)
    random = np.random.default_rng(0)
    times = []
    for noise in np.round(random.uniform(0.02, 0.98, 25), 3):
        features = random.choice(784, 16, replace=False)
        times.append(
            interleaved(
                [lambda f=features, p=noise: path.rows(f, p), lambda p=noise: denoiser_weights(scatter, p)], rounds=3
            )
        )
    ours, refit = 1000 * np.median(times, axis=0)
    note = f"16 random rows at 25 random noise levels against a whole refit, 784 features, {data}"
    yield Figure("noise-path", float(ours), "ms", float(refit), note, most=2.0)


BENCHMARKS = {"fit": fit, "noise-path": noise_path}

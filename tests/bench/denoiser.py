"""Compare SLIDE's fit, features and noise path, and the stacked autoencoders, with the bare matrix products."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import fine_tune, pretrain
from slide_gui.core.slide.blocks import Blocks
from slide_gui.core.slide.denoiser import denoiser_weights
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import input_scatter
from slide_gui.core.slide.stack import fit_stack
from tests.bench.data import digits
from tests.bench.measurement import Figure, PeakMemory, in_child, interleaved, scaled
from tests.core.listings import slide

_DEPTH = 4
_BLOCK = 4096  # rows
_EPOCHS = 5
_CLASSES = 10


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
            lambda: stack.transform(rows, out=features),
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


def growth() -> Iterator[Figure]:
    """Compare time and memory of a fit to 10 000 000 rows, generated in blocks, with one to 100 000 rows."""
    few, many = scaled(100_000, 10_000), scaled(10_000_000, 100_000)
    (short, small), (long, large) = in_child(_streamed, few), in_child(_streamed, many)
    note = f"{many} rows against {few}, streamed in blocks, 784 features, two layers"
    yield Figure("fit-growth", 1e6 * long / many, "µs/row", 1e6 * short / few, note, 1.1)
    yield Figure("fit-growth-memory", large, "MiB", small, note, 1.5)


def _streamed(n: int) -> tuple[float, float]:
    rows, _ = digits()
    block = 16 * _BLOCK

    def blocks() -> Iterator[NDArray[np.float32]]:
        for start in range(0, n, block):
            yield rows[np.arange(7 * start, 7 * start + min(block, n - start)) % len(rows)]

    fit_stack(Blocks([rows[:_BLOCK]]), StackParameters(depth=1))  # imports and first products are not measured
    with PeakMemory() as memory:
        (seconds,) = interleaved([lambda: fit_stack(Blocks(blocks, (n, 784)), StackParameters(depth=2))], rounds=1)
    return seconds, memory.above


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
                [lambda f=features, p=noise: path.rows(f, p), lambda p=noise: denoiser_weights(scatter, p)],
                rounds=3,
            )
        )
    ours, refit = 1000 * np.median(times, axis=0)
    note = f"16 random rows at 25 random noise levels against a whole refit, 784 features, {data}"
    yield Figure("noise-path", float(ours), "ms", float(refit), note, most=2.0)


def autoencoder() -> Iterator[Figure]:
    """Compare training of three layers of 1 000 units, at 20 and 100 rows per step, with the bare products."""
    rows, data = digits()
    n, units = scaled(1000, 200), (scaled(1000, 100),) * 3
    random = np.random.default_rng(0)
    rows = rows[np.sort(random.choice(len(rows), n, replace=False))]
    codes = random.integers(_CLASSES, size=n)
    for batch in (20, 100):
        parameters = SdaParameters(
            n_units=units, batch_size=batch, pretraining_epochs=_EPOCHS, fine_tuning_epochs=_EPOCHS
        )
        stack = pretrain(rows, parameters)
        up, down = _pretraining_products(n, units, batch), _fine_tuning_products(n, units, batch)
        trained, bare, tuned, propagated = interleaved(
            [
                lambda p=parameters: pretrain(rows, p),
                lambda up=up: [up() for _ in range(_EPOCHS)],
                lambda s=stack: fine_tune(s, rows, codes, _CLASSES),
                lambda down=down: [down() for _ in range(_EPOCHS)],
            ]
        )
        note = f"{_EPOCHS} epochs, {batch} rows a step, against the bare products; {n} × 784, units {units}, {data}"
        yield Figure(f"autoencoder-pretraining-{batch}", trained, "s", bare, note, 1.5)
        yield Figure(f"autoencoder-fine-tuning-{batch}", tuned, "s", propagated, note, 1.5)


def _zeros(*shapes: tuple[int, int]) -> list[NDArray[Any]]:
    """Return arrays that were written once, because the first write to a page of `np.zeros` takes extra time."""
    return [np.full(shape, 0.0, np.float32) for shape in shapes]


def _pretraining_products(n: int, units: tuple[int, ...], batch: int) -> Callable[[], None]:
    """Return the products of one pre-training epoch per layer: forward, backward, the error forward, and dL/dW."""
    layers = [_zeros((2 * batch, d), (2 * batch, h), (h, d), (h, d)) for d, h in pairwise((784, *units))]

    def epoch() -> None:
        for below, above, weights, gradient in layers:
            for _ in range(n // batch):
                np.matmul(below[:batch], weights.T, out=above[batch:])
                np.matmul(above[batch:], weights, out=below[batch:])
                np.matmul(below[batch:], weights.T, out=above[:batch])
                np.matmul(above.T, below, out=gradient)

    return epoch


def _fine_tuning_products(n: int, units: tuple[int, ...], batch: int) -> Callable[[], None]:
    """Return the products of one epoch of back-propagation: forward through all layers, gradients, errors backward."""
    sizes = (784, *units, _CLASSES)
    values, errors = (_zeros(*((batch, size) for size in sizes)) for _ in range(2))
    weights, gradients = (_zeros(*((h, d) for d, h in pairwise(sizes))) for _ in range(2))

    def epoch() -> None:
        for _ in range(n // batch):
            for k, w in enumerate(weights):
                np.matmul(values[k], w.T, out=values[k + 1])
            for k in reversed(range(len(weights))):
                np.matmul(errors[k + 1].T, values[k], out=gradients[k])
                if k > 0:
                    np.matmul(errors[k + 1], weights[k], out=errors[k])

    return epoch


BENCHMARKS = {"fit": fit, "growth": growth, "noise-path": noise_path, "autoencoder": autoencoder}

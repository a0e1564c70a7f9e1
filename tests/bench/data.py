"""Data of the benchmarks: real data if the folder in SLIDE_GUI_DATA holds them, otherwise generated data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.data.catalogue import data_folders, find, load
from slide_gui.data.dataset import Dataset
from slide_gui.data.open import open_data
from tests.bench.measurement import scaled


def digits() -> tuple[NDArray[np.float32], str]:
    """Return 60 000 grey rows of 784 pixels and their name: MNIST, or smooth random blobs if MNIST is missing."""
    n = scaled(60_000, 2000)
    if find("mnist"):
        return load("mnist").train[:n], "MNIST"
    random = np.random.default_rng(0)
    rows = np.zeros((n, 28, 28), np.float32)
    rows[:, 4:24, 4:24] = random.random((n, 20, 20), dtype=np.float32) ** 4
    rows[:, 1:] = np.maximum(rows[:, 1:], rows[:, :-1] * np.float32(0.7))
    rows[:, 2:-2, 2:-2] *= random.random((n, 1, 1), dtype=np.float32) > 0.1
    return rows.reshape(n, 784), "random blobs"


def labelled_digits() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], str]:
    """Return training rows and labels, test rows and labels, and their name: MNIST, or blobs in ten classes."""
    if find("mnist"):
        data, n = load("mnist"), scaled(60_000, 2000)
        return data.train[:n], data.train_labels[:n], data.test, data.test_labels, "MNIST"
    rows, name = digits()
    sums = rows[:, :392].sum(axis=1)
    labels = np.digitize(sums, np.quantile(sums, np.arange(0.1, 1.0, 0.1)))
    n = len(rows) * 5 // 6
    return rows[:n], labels[:n], rows[n:], labels[n:], name


def rectangles() -> tuple[Dataset, str]:
    """Return Rectangles and their name: the original data if they are present."""
    dataset = load("rectangles")
    _ = dataset.fingerprint  # is computed once, and should not count in a benchmark
    return dataset, "Rectangles" if find("rectangles") else "generated Rectangles"


def convex(depth: int) -> tuple[NDArray[Any], NDArray[np.intp], str]:
    """Return layers and classes of the 8 000 training rows of Convex, the original ones if they are present."""
    files = [path for folder in data_folders() for path in sorted(folder.glob("**/convex_train*"))]
    data = open_data(files[:1]) if files and not find("convex") else load("convex")
    n = scaled(8000, 600)
    rows, codes = data.train[:n], data.train_labels[:n].astype(np.intp)
    return layers(rows, depth, noise=0.5), codes, "generated Convex" if data.generated else "Convex"


def layers(rows: NDArray[Any], depth: int, fit_rows: NDArray[Any] | None = None, noise: float = 0.3) -> NDArray[Any]:
    """Return the hidden representations [h⁰ | h¹ | …] of rows."""
    return fit_stack(rows if fit_rows is None else fit_rows, StackParameters(noise=noise, depth=depth)).transform(rows)

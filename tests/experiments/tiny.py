"""Tiny data for runs and sweeps: 8 × 8 outlines of rectangles, wide or tall."""

from dataclasses import replace

import numpy as np

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.spec import RunSpec


def rectangles(n_train: int = 120, n_test: int = 300, seed: int = 0, n_classes: int = 2) -> Dataset:
    """Return images of rectangles; with three classes the third is noise."""
    rng = np.random.default_rng(seed)
    images = np.zeros((n_train + n_test, 8, 8), np.float32)
    labels = rng.integers(n_classes, size=len(images))
    for image, label in zip(images, labels, strict=True):
        long, short = rng.integers(5, 9), rng.integers(2, 5)
        height, width = (long, short) if label == 1 else (short, long)
        y, x = rng.integers(9 - height), rng.integers(9 - width)
        image[y : y + height, [x, x + width - 1]] = 1
        image[[y, y + height - 1], x : x + width] = 1
        if label == 2:
            image[:] = rng.random((8, 8)) > 0.7
    rows, labels = images.reshape(len(images), 64), labels.astype(np.int64)
    return Dataset("tiny", rows[:n_train], rows[n_train:], labels[:n_train], labels[n_train:], (8, 8), generated=True)


def with_wrong_labels(data: Dataset) -> Dataset:
    """Return two classes with every seventh training label exchanged, so that validation errors are not zero."""
    wrong = np.arange(len(data.train_labels)) % 7 == 0
    return replace(data, train_labels=np.where(wrong, 1 - data.train_labels, data.train_labels))


def spec(dataset: Dataset, noise: float = 0.4, depth: int = 1, **changes: object) -> RunSpec:
    """Return a spec of a small, fast run."""
    svm = {name: changes.pop(name) for name in ("widths", "C", "loss", "criterion") if name in changes}
    return RunSpec(
        dataset.fingerprint,
        stack=StackParameters(noise=noise, depth=depth),
        svm=SvmParameters(starts=1, **svm),
        **changes,
    ).checked()


def numbers(result: RunResult) -> dict[str, object]:
    """Return the contents of a result without times, versions and the source of its data."""
    document = result.document()
    del document["timings"], document["versions"], document["spec"]["source"]
    return document | {name: array.tobytes() for name, array in result.arrays().items()}


def same_numbers(first: RunResult, second: RunResult) -> bool:
    """Return True if two results agree to the bit."""
    return numbers(first) == numbers(second)

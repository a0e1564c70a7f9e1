"""Figure of samples of each data set: a row of images with their classes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.splits import Classes
from slide_gui.figures.canvas import MUTED, SMALL_SIZE, TEXT_SIZE, Plot, draw_image
from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.text import count, dataset_title, label_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEAD, _GAP = 5.0, 1.0  # mm: above a data set, between images


@dataclass(frozen=True, eq=False)
class Samples:
    """Training images of a data set.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    rows : ndarray of int, shape (k,)
        Rows of the training set.
    names : tuple of str
        Class of each image.
    """

    dataset: str
    generated: bool
    n_train: int
    n_test: int
    image_shape: tuple[int, int]
    rows: NDArray[np.intp]
    names: tuple[str, ...]
    images: NDArray[np.floating]


def sample_images(dataset: Dataset, n: int = 10) -> Samples:
    """Draw images at random (seed 0), in equal numbers per class as far as possible.

    Parameters
    ----------
    dataset : Dataset
        Data set of images with labels.

    Raises
    ------
    ValueError
        If the data set contains no images.
    """
    if dataset.image_shape is None:
        raise ValueError(f"{dataset.name} contains no images; choose an image data set")
    classes = Classes.of(dataset)
    random = np.random.default_rng(0)
    by_class = [random.permutation(np.flatnonzero(classes.train == code)) for code in range(classes.n_train_classes)]
    chosen = [by_class[k * len(by_class) // n if len(by_class) < n else k % len(by_class)] for k in range(n)]
    rows = np.array([members[k // len(by_class) if len(by_class) >= n else k] for k, members in enumerate(chosen)])
    labels = [classes.labels[code] for code in classes.train[rows]]
    names = label_names(labels, dataset.label_names)
    images = dataset.train[rows].reshape(-1, *dataset.image_shape)
    sizes = len(dataset.train), len(dataset.test)
    return Samples(dataset.name, dataset.generated, *sizes, dataset.image_shape, rows, names, images)


def draw_samples(figure: Figure, samples: Sequence[Samples], style: Style) -> None:
    """Draw a row of images for each data set, with their classes below.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.

    Raises
    ------
    ValueError
        If there is no data set.
    """
    if not samples:
        raise ValueError("there is nothing to draw: at least one data set is needed")
    s = style.scale
    most = max(len(each.images) for each in samples)
    side = (style.width_mm - 4.0 * s) / most - _GAP * s
    if style.height_mm is not None:
        side = min(side, (style.height_mm - 10.0 * s) / len(samples) - (_HEAD + 3.5) * s)
    plot = Plot(figure, style, 9.0 * s + len(samples) * (side + (_HEAD + 3.5) * s))
    plot.title("Samples of the data sets", "training images drawn at random, in equal numbers per class if possible")
    for number, each in enumerate(samples):
        y = 9.0 * s + number * (side + (_HEAD + 3.5) * s)
        plot.text(2.0 * s, y + 3.4 * s, dataset_title(each.dataset, each.generated), TEXT_SIZE, weight="bold")
        sizes = f"{count(each.n_train)} + {count(each.n_test)} images for training and test"
        plot.text(plot.width - 2.0 * s, y + 3.4 * s, sizes, SMALL_SIZE, color=MUTED, ha="right")
        for k, (image, name) in enumerate(zip(each.images, each.names, strict=True)):
            x, top = 2.0 * s + k * (side + _GAP * s), y + _HEAD * s
            axes = plot.tile((x, top, side, side), f"{each.dataset} {k}")
            draw_image(axes, image, ColorScale("grey", 0.0, 1.0), style)
            plot.text(x + side / 2, top + side + 2.0 * s, name, 4.5, side, color=MUTED, ha="center")


def samples_csv(path: str | os.PathLike[str], samples: Sequence[Samples]) -> None:
    """Write the drawn images as a table, one line per image.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    rows = [
        [each.dataset, each.generated, row, name]
        for each in samples
        for row, name in zip(each.rows.tolist(), each.names, strict=True)
    ]
    save_table(path, ["dataset", "generated", "training row", "class"], rows)

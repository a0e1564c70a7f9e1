"""An example of a package that adds a squashing function, a data set and an exporter; see its pyproject.toml."""

import io

import numpy as np

from slide_gui import Squashing
from slide_gui.data.dataset import Dataset

SINE = Squashing("sine", "sine", "T(a) = sin a", lambda values, _threshold: np.sin(values))


def stripes(seed, progress):
    """Return images of 12 × 12 with one stripe, upright or level."""
    random = np.random.default_rng(seed)
    labels, places = random.integers(0, 2, 300), random.integers(0, 12, 300)
    images = np.zeros((300, 12, 12), np.float32)
    for image, label, place in zip(images, labels, places, strict=True):
        (image.T if label else image)[place] = 1.0
        progress.report(0.5)
    rows, names = images.reshape(300, 144), ("level", "upright")
    return Dataset("Stripes", rows[:200], rows[200:], labels[:200], labels[200:], (12, 12), names, generated=True)


def raw(figure, style):
    """Return the pixels of a figure, four bytes each, with the counts of its columns and rows before them."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="raw", dpi=style.dpi)
    return buffer.getvalue()

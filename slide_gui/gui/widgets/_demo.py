"""Data that look real, and a window around one widget: ``python -m slide_gui.gui.widgets.<widget>``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from slide_gui.gui.theme import apply_theme

__all__ = ["cross", "rectangle", "show"]

SIDE = 28


def rectangle() -> NDArray[np.float32]:
    """Return one outlined rectangle, shape (28, 28)."""
    image = np.zeros((SIDE, SIDE), np.float32)
    image[8:22, 14:18] = 1.0
    image[9:21, 15:17] = 0.0
    return image


def cross(row: int, column: int, layer: int, seed: int = 0) -> NDArray[np.float32]:
    """Return a cruciform weight image, shape (28, 28), longer and fainter with the layer."""
    rng = np.random.default_rng(100 * layer + seed + 31 * row + column)
    reach = 2.0 + 1.6 * layer
    rows, columns = np.abs(np.arange(SIDE) - row), np.abs(np.arange(SIDE) - column)
    image = 0.016 * rng.normal(size=(SIDE, SIDE)) * np.exp(-0.03 * (rows[:, None] + columns))
    image[row] += 0.34 / layer**0.5 * np.exp(-columns / reach)
    image[:, column] += 0.3 / layer**0.5 * np.exp(-rows / reach)
    image -= 0.05 / layer**0.5 * np.exp(-((rows[:, None] - 3) ** 2 + (columns - 3) ** 2) / 8.0)
    return image.astype(np.float32)


def show(make: Callable[[], QWidget], width: int, height: int) -> None:
    """Show a widget on the page's background until its window closes, or save its picture.

    Parameters
    ----------
    make : callable
        Makes the widget, filled; called once the theme is set.
    width, height : int
        Size of the window, in logical pixels.
    """
    parser = argparse.ArgumentParser(description="Show one widget with data that look real.")
    parser.add_argument("--theme", choices=("light", "dark", "system"), default="system")
    parser.add_argument("--save", metavar="FILE.png", help="save its picture and end")
    chosen = parser.parse_args()
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    apply_theme(app, chosen.theme)
    window = QWidget()
    layout = QVBoxLayout(window)
    layout.setContentsMargins(20, 20, 20, 20)
    layout.addWidget(make())
    window.resize(width, height)
    window.show()
    if chosen.save:
        app.processEvents()
        window.grab().save(chosen.save)
    else:
        app.exec()

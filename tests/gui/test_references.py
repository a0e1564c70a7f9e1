"""Painting gives back every reference it takes, also to None, True and False."""

import sys

import numpy as np
import pytest
from PySide6.QtCore import QPoint

from slide_gui.core.svm.parameters import WidthsStep
from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.pages.classifier.learning import CriterionPlot
from slide_gui.gui.pages.curves.error_curves import ErrorPlot
from slide_gui.gui.pages.curves.heat_map import HeatMap
from slide_gui.gui.pages.curves.points import ErrorPoint
from slide_gui.gui.pages.weights.all_rows import Mosaic
from slide_gui.gui.pages.weights.copies import CopiesPlot
from slide_gui.gui.pages.weights.sample import Readout
from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.image import FeatureBars, ImageView
from slide_gui.gui.widgets.tiles import Tile, TileRow
from slide_gui.gui.widgets.weight_tiles import WeightTiles
from tests.gui.helpers import rate, wheel
from tests.gui.plots.test_copies import copies_of

NOISE = 100  # what else happens meanwhile; painting that loses one each time loses 250
VALUES = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
SCALE = ColorScale.symmetric("blue-white-red", 1.0)


def tiles():
    view = WeightTiles()
    row = TileRow("1, 2", "pinned", LIGHT.pin(0), True, (Tile(VALUES, SCALE, "max 1.00", 6, stale=True), None))
    view.set_content(("layer 1", "layer 2"), (row,))
    view.set_crosshair(5)
    return view


def image():
    view = ImageView()
    view.set_image(np.abs(VALUES))
    view.set_pins([(3, LIGHT.pin(0))])
    view.set_cursor(9)
    return view


def bars():
    view = FeatureBars()
    view.set_values(VALUES.ravel())
    view.set_pins([(3, LIGHT.pin(0))])
    view.set_cursor(9)
    return view


def color_bar():
    view = ColorBar()
    view.set_scale(SCALE)
    return view


def readout():
    view = Readout()
    view.set_values("from itself", ("h¹",), (("weight", ("+0.1",)),))
    return view


def curves():
    plot = ErrorPlot()
    plot.set_points([ErrorPoint(x / 4, d, rate(2 + x - d), f"{x}/{d}") for x in range(4) for d in range(2)])
    plot.set_cursor(0.3)
    return plot


def criterion():
    plot = CriterionPlot()
    plot.set_history([WidthsStep(i, 0, 9.0 - i, (), (), 1.0 + i, 10) for i in range(8)])
    return plot


def copies():
    plot = CopiesPlot()
    plot.set_copies(copies_of(4), 3, "3")
    return plot


def heat_map():
    plot = HeatMap()
    plot.set_points([ErrorPoint(x / 4, d, rate(2 + x - d), f"{x}/{d}") for x in range(4) for d in range(2)])
    return plot


def mosaic():
    plot = Mosaic()
    plot.set_fields(np.stack([VALUES] * 16), SCALE)
    plot.set_selected(5)
    return plot


MADE = (tiles, image, bars, color_bar, readout, curves, criterion, copies, heat_map, mosaic)


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="immortal there; interpreter and binding count them differently, to no harm"
)
@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_that_repaints_leave_the_counts_of_none_true_and_false(make, shown):
    view = shown(make(), 240, 180)
    view.grab()
    before = [sys.getrefcount(constant) for constant in (None, True, False)]
    for number in range(250):
        wheel(view, QPoint(120, 90), 120 if number % 2 else -120)  # zooms plots, which paint themselves anew
        view.grab()
    after = [sys.getrefcount(constant) for constant in (None, True, False)]
    assert all(now > then - NOISE for now, then in zip(after, before, strict=True)), (before, after)

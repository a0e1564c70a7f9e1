"""Facts that hold for every painted widget."""

import sys

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from slide_gui.core.svm.parameters import WidthsStep
from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.pages.classifier.learning import CriterionPlot
from slide_gui.gui.pages.curves.error_curves import ErrorPlot
from slide_gui.gui.pages.curves.heat_map import HeatMap
from slide_gui.gui.pages.curves.points import ErrorPoint
from slide_gui.gui.pages.weights.copies import CopiesPlot
from slide_gui.gui.pages.weights.sample import Readout
from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.confusion_matrix import ConfusionMatrix
from slide_gui.gui.widgets.image import FeatureBars, ImageView
from slide_gui.gui.widgets.tiles import Mosaic, Tile, TileRow
from slide_gui.gui.widgets.weight_tiles import WeightTiles
from tests.gui.helpers import press, rate, wheel
from tests.gui.plots.test_copies import copies_of

NOISE = 100  # tolerance for other code; a leak of one reference per paint event adds up to 250
VALUES = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
SCALE = ColorScale.symmetric("blue-white-red", 1.0)
ROW = TileRow("1, 2", "pinned", LIGHT.pin(0), True, (Tile(VALUES, SCALE, "max 1.00", 6, stale=True), None))
FIELDS = Mosaic(np.stack([VALUES] * 16), SCALE, "", 5, key=1)
ROWS = (TileRow("All rows", "", LIGHT.pin(0), False, (FIELDS, None)), ROW)
POINTS = [ErrorPoint(x / 4, d, rate(2 + x - d), f"{x}/{d}") for x in range(4) for d in range(2)]
STEPS = [WidthsStep(i, 0, 9.0 - i, (), (), 1.0 + i, 10) for i in range(8)]
PIN = [(3, LIGHT.pin(0))]
FILLED = {
    WeightTiles: {"set_content": (("layer 1", "layer 2"), ROWS), "set_crosshair": (5,)},
    ImageView: {"set_image": (np.abs(VALUES),), "set_pins": (PIN,), "set_cursor": (9,)},
    FeatureBars: {"set_values": (VALUES.ravel(),), "set_pins": (PIN,), "set_cursor": (9,), "set_missing": ((3, 4),)},
    ColorBar: {"set_scale": (SCALE,)},
    Readout: {"set_values": ("from itself", ("h¹",), (("weight", ("+0.1",)),))},
    ErrorPlot: {"set_points": (POINTS,), "set_cursor": (0.3,)},
    CriterionPlot: {"set_history": (STEPS,)},
    CopiesPlot: {"set_copies": (copies_of(4), 3, "3")},
    HeatMap: {"set_points": (POINTS,)},
    ConfusionMatrix: {"set_counts": ([[9, 1], [2, 8]], ("a", "b"))},
}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="these constants are immortal there")
@pytest.mark.parametrize("kind", FILLED, ids=lambda kind: kind.__name__)
def test_that_repaints_leave_the_counts_of_none_true_and_false(kind, shown):
    view = shown(kind(), 240, 180)
    for method, arguments in FILLED[kind].items():
        getattr(view, method)(*arguments)
    view.grab()
    before = [sys.getrefcount(constant) for constant in (None, True, False)]
    for number in range(250):
        wheel(view, QPoint(120, 90), 120 if number % 2 else -120)  # zooming forces a plot to repaint
        view.grab()
    after = [sys.getrefcount(constant) for constant in (None, True, False)]
    assert all(now > then - NOISE for now, then in zip(after, before, strict=True)), (before, after)


@pytest.mark.parametrize("kind", [ErrorPlot, CriterionPlot, CopiesPlot, HeatMap, ConfusionMatrix])
def test_that_an_empty_widget_describes_the_next_step_and_ignores_keys_and_clicks(kind, shown):
    view = shown(kind(), 400, 300)
    view.set_placeholder("Start a sweep.")
    press(view, Qt.Key.Key_Right, Qt.Key.Key_Return)
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(200, 150))
    assert view.accessibleDescription() == "Start a sweep."
    assert not view.grab().isNull()

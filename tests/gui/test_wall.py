"""The wall of layers: every field of every layer, linked by the pixel pointed at, following the noise."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from slide_gui.data.dataset import Dataset
from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.pages.weights.wall import WallLayer, WallView
from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.motion import REDUCED_MOTION
from tests.gui.helpers import StubSource, settle, wait

SCALE = ColorScale.symmetric("blue-white-red", 1.0)


@pytest.fixture(autouse=True)
def still(app: QApplication):
    app.setProperty(REDUCED_MOTION, True)
    yield
    app.setProperty(REDUCED_MOTION, None)


@pytest.fixture
def wall(window):
    window.actions_by_name["wall"].trigger()
    wall = window.weights_page.wall
    wall.showNormal()
    wall.resize(1200, 800)
    settle(0.05)
    return wall


def press(view, place):
    """Point at a place; the display of the tests moves no mouse over a second window."""
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)


def layer(seed: int, d: int = 12) -> WallLayer:
    random = np.random.default_rng(seed)
    return WallLayer(f"layer {seed}", random.uniform(-1, 1, (d, d)).astype(np.float32), random.random(d), SCALE)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("many", [1, 3, 8])
def test_that_mosaics_stand_side_by_side_and_a_place_in_each_is_the_pixel_it_belongs_to(shown, many, transposed):
    view: WallView = shown(WallView(), 900, 600)
    view.set_layers(tuple(layer(k) for k in range(many)), (3, 4), (3, 4), transposed)
    places = view.places()
    boxes = [box for place in places for box in (place.mosaic, place.field)]
    assert not any(a.intersects(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(view.rect().toRectF().adjusted(-1, -1, 1, 1).contains(box) for box in boxes)
    for place in places:
        for pixel in range(12):
            box = view.field_box(place, pixel)
            assert place.mosaic.adjusted(-1, -1, 1, 1).contains(box)
            QTest.mouseMove(view, box.center().toPoint())
            assert view.pixel == pixel
    heard = []
    view.pixel_hovered.connect(heard.append)
    QTest.mouseMove(view, view.field_box(places[-1], 7).center().toPoint())
    assert view.pixel == 7
    assert heard[-1][0] == 7


def test_that_the_pixel_pointed_at_is_outlined_in_every_layer_and_stays_where_there_is_none(wall):
    view = wall.view
    places = view.places()
    assert len(places) == 4
    press(view, view.field_box(places[2], 19).center().toPoint())
    shot = view.grab().toImage()
    for place in places:
        corner = view.field_box(place, 19).topLeft()
        near = [shot.pixelColor(int(corner.x()) + x, int(corner.y()) + y).name() for x in (-1, 0) for y in (-1, 0)]
        assert LIGHT.accent.lower() in near
    press(view, view.rect().bottomRight())
    assert view.pixel == 19
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert view.pixel == 20


def test_that_fields_are_the_rows_of_w(wall, window):
    for layer, fitted in zip(wall.view.layers, window.workspace.fitting.stack.layers, strict=True):
        np.testing.assert_allclose(layer.fields, fitted.weights[:, :-1], rtol=1e-6)
        np.testing.assert_array_equal(layer.biases, fitted.weights[:, -1])


def test_that_the_whole_first_layer_follows_the_noise_before_anything_is_fitted(wall, window, every_payload):
    seen = []
    workspace = window.workspace
    workspace.fitting.changed.connect(
        lambda: seen.append(
            ([each.stale for each in wall.view.layers], wall.view.layers[0].fields, workspace.fitting.preview)
        )
    )
    wall.noise.value_changed.emit(0.55)
    wait(lambda: workspace.model() is not None and not window.queue.busy)
    previews = [each for each in seen if each[2] is not None]
    assert previews
    stale, fields, preview = previews[0]
    assert stale == [False, True, True, True]
    np.testing.assert_allclose(fields, np.array([preview.rows[i][:-1] for i in range(64)]), rtol=1e-6)
    assert [each.stale for each in wall.view.layers] == [False] * 4
    np.testing.assert_allclose(wall.view.layers[0].fields, fields, atol=1e-5)


def test_that_escape_leaves_and_the_window_shows_the_pixel_and_the_noise_of_the_wall(wall, window):
    wall.noise.value_changed.emit(0.4)
    view = wall.view
    press(view, view.field_box(view.places()[0], 33).center().toPoint())
    QTest.keyClick(wall.noise, Qt.Key.Key_Escape)
    assert not wall.isVisible()
    assert window.weights_page.pixels.feature == 33
    assert not window.weights_page.pixels.watches_all
    assert window.workspace.state.parameters.noise == 0.4
    window.actions_by_name["undo"].trigger()
    assert window.workspace.state.parameters.noise == 0.3


def test_that_the_button_of_all_rows_opens_it_and_a_stack_without_layers_has_none(window):
    window.actions_by_name["view_all"].trigger()
    next(each for each in window.weights_page.findChildren(QPushButton) if each.text() == "Wall").click()
    assert window.weights_page.wall.isVisible()
    assert window.weights_page.wall.isFullScreen()
    window.weights_page.wall.hide()
    window.workspace.set_parameters(depth=0)
    assert not window.actions_by_name["wall"].isEnabled()


def test_that_a_place_of_data_before_is_forgotten_where_the_data_have_fewer_pixels(wall, window):
    view = wall.view
    press(view, view.field_box(view.places()[0], 60).center().toPoint())
    assert view.pixel == 60
    rows = np.random.default_rng(0).random((40, 5)).astype("float32")
    window.workspace.open(StubSource(Dataset("narrow", rows[:30], rows[30:])))
    wait(lambda: window.workspace.dataset.name == "narrow" and window.workspace.model() is not None)
    assert view.pixel is None
    view.grab()
    assert "row of W" not in view.accessibleDescription()


def test_that_opened_before_layers_of_other_data_are_there_it_points_at_nothing(wall, window):
    wall.hide()
    rows = np.random.default_rng(0).random((40, 100)).astype("float32")
    window.workspace.open(StubSource(Dataset("wide", rows[:30], rows[30:])))
    wait(lambda: window.workspace.dataset.name == "wide")
    window.weights_page.pixels.point_at(99)
    wall.view.show_pixel(99)  # as it does when it is opened, on the layers that it showed last
    wall.view.grab()
    assert "row of W" not in wall.view.accessibleDescription()
    wait(lambda: window.workspace.model() is not None)
    wall.showNormal()
    settle()
    assert wall.view.pixel == 99
    assert "row of W of 99" in wall.view.accessibleDescription()

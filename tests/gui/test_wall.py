"""The wall of layers: every field of every layer, linked by the selected pixel, following the noise."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from slide_gui.data.dataset import Dataset
from slide_gui.gui.theme import LIGHT
from tests.gui.helpers import StubSource, settle, wait


@pytest.fixture
def wall(window):
    window.actions_by_name["wall"].trigger()
    wall = window.weights_page.wall
    wall.showNormal()
    wall.resize(1200, 800)
    settle(0.05)
    return wall


def point(mosaic, pixel):
    """Click a field; the display of the tests moves no mouse over a second window."""
    QTest.mouseClick(mosaic, Qt.MouseButton.LeftButton, pos=mosaic.field(pixel).center().toPoint())


def open_features(window, features):
    data = np.random.default_rng(0).random((40, features)).astype("float32")
    window.workspace.open(StubSource(Dataset("features", data[:30], data[30:])))
    wait(lambda: window.workspace.dataset.n_features == features)


@pytest.mark.parametrize("depth", [1, 3, 8])
def test_that_layers_share_the_wall_and_every_field_is_visible(wall, window, depth):
    window.workspace.set_parameters(depth=depth)
    wait(lambda: window.workspace.model() is not None and len(wall.layers) == depth)
    settle()
    boxes = [layer.geometry() for layer in wall.layers]
    assert not any(a.intersects(b) for i, a in enumerate(boxes) for b in boxes[:i])
    for layer in wall.layers:
        assert layer.field.height() >= 112
        for pixel in (0, 7, 56, 63):
            assert layer.mosaic.rect().toRectF().contains(layer.mosaic.field(pixel))


def test_that_the_selected_pixel_is_outlined_in_every_layer_and_its_field_is_shown_below(wall, window):
    point(wall.layers[2].mosaic, 19)
    for number, layer in enumerate(wall.layers):
        box, shot = layer.mosaic.field(19), layer.mosaic.grab().toImage()
        near = [shot.pixelColor(int(box.x()) + x, int(box.y()) + y) for x in (-1, 0) for y in (-1, 0)]
        assert QColor(LIGHT.accent) in near
        row = window.workspace.fitting.stack.layers[number].weights[19]
        np.testing.assert_allclose(layer.fields[19].ravel(), row[:-1], rtol=1e-6)
        assert f"b {row[-1]:+.3f}".replace("-", "−") in " ".join(each.text() for each in layer.findChildren(QLabel))
    QTest.keyClick(wall.layers[0].mosaic, Qt.Key.Key_Right)
    assert wall.pixel == 20
    QTest.mouseMove(wall.layers[0].mosaic, wall.layers[0].mosaic.rect().bottomRight())
    assert wall.pixel == 20


def test_that_the_first_layer_follows_the_noise_before_anything_is_fitted(wall, window, every_payload):
    workspace, seen = window.workspace, []

    def note():
        seen.append(([each.is_stale for each in wall.layers], wall.layers[0].fields, workspace.fitting.preview))

    workspace.fitting.changed.connect(note)
    wall.noise.value_changed.emit(0.55)
    wait(lambda: workspace.model() is not None and not window.queue.busy)
    previews = [each for each in seen if each[2] is not None]
    assert previews
    stale, fields, preview = previews[0]
    assert stale == [False, True, True, True]
    np.testing.assert_allclose(fields.reshape(64, 64), [preview.rows[i][:-1] for i in range(64)], rtol=1e-6)
    assert [each.is_stale for each in wall.layers] == [False] * 4
    np.testing.assert_allclose(wall.layers[0].fields, fields, atol=1e-5)


def test_that_escape_leaves_and_the_window_shows_the_pixel_and_the_noise_of_the_wall(wall, window):
    wall.noise.value_changed.emit(0.4)
    point(wall.layers[0].mosaic, 33)
    QTest.keyClick(wall.noise, Qt.Key.Key_Escape)
    assert not wall.isVisible()
    assert window.weights_page.pixels.feature == 33
    assert not window.weights_page.pixels.watches_all
    assert window.workspace.state.parameters.noise == 0.4
    window.actions_by_name["undo"].trigger()
    assert window.workspace.state.parameters.noise == 0.3


def test_that_a_stack_without_layers_has_no_wall(window):
    window.workspace.set_parameters(depth=0)
    window.follow()
    assert not window.actions_by_name["wall"].isEnabled()


def test_that_other_data_select_a_pixel_that_they_have(wall, window):
    point(wall.layers[0].mosaic, 60)
    assert wall.pixel == 60
    open_features(window, 5)
    wait(lambda: window.workspace.model() is not None)
    assert wall.pixel == 2
    assert "row of W of feature 2" in wall.layers[0].mosaic.accessibleDescription()
    wall.hide()
    open_features(window, 100)
    window.weights_page.pixels.point_at(99)
    wall.showNormal()  # perhaps before the first fit
    wait(lambda: window.workspace.model() is not None)
    settle()
    assert wall.pixel == 99
    assert "row of W of feature 99" in wall.layers[0].mosaic.accessibleDescription()

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.pages.weights.all_rows import Mosaic
from slide_gui.gui.theme import LIGHT
from tests.gui.helpers import calls_in, press, record, wheel

FIELDS = np.random.default_rng(0).uniform(-1, 1, (12, 3, 4)).astype(np.float32)
SCALE = ColorScale.symmetric("blue-white-red", 1.0)


@pytest.fixture
def view(shown):
    made = shown(Mosaic(), 200, 200)
    made.set_fields(FIELDS, SCALE, (3, 4))
    return made


def inside(view, pixel, row, column):
    box, zoom = view.field(pixel), view.zoom()
    return QPointF(box.x() + (column + 0.5) * zoom, box.y() + (row + 0.5) * zoom).toPoint()


@pytest.mark.parametrize("transposed", [False, True])
def test_that_every_weight_stands_in_its_field(view, transposed):
    view.set_transposed(transposed)
    shot = view.grab().toImage()
    for pixel, row, column in ((0, 0, 0), (5, 2, 3), (11, 1, 2), (7, 0, 3)):
        at = inside(view, pixel, column, row) if transposed else inside(view, pixel, row, column)
        wanted = SCALE.lut()[SCALE.indices(FIELDS[pixel, row, column])].tolist()
        assert list(shot.pixelColor(at).getRgb()[:3]) == wanted
        assert view.pixel_at(QPointF(at)) == (pixel, 4 * row + column)


def test_that_hover_and_click_report_field_and_pixel_and_gaps_belong_to_none(view):
    hovered, clicked = record(view.pixel_hovered, view.pixel_clicked)
    QTest.mouseMove(view, inside(view, 5, 2, 3))
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=inside(view, 5, 2, 3))
    box = view.field(0)
    gap = QPointF(box.right() + 0.5 * view.zoom(), box.center().y()).toPoint()
    QTest.mouseMove(view, gap)
    assert hovered == [(5, 11), None]
    assert clicked == [(5, 11)]
    assert view.grab().toImage().pixelColor(gap) == QColor(LIGHT.line)


def test_that_the_wheel_keeps_what_is_under_the_mouse_and_a_double_click_fits(view):
    fitted, at = view.zoom(), inside(view, 6, 1, 1)
    found = view.pixel_at(QPointF(at))
    wheel(view, at, 120)
    assert view.zoom() > fitted
    assert view.zoom() == pytest.approx(round(view.zoom()), abs=1e-9)
    assert view.pixel_at(QPointF(at)) == found
    wheel(view, at, -120)
    wheel(view, at, -120)
    assert view.zoom() == fitted
    wheel(view, at, 120)
    QTest.mouseDClick(view, Qt.MouseButton.LeftButton, pos=at)
    assert view.zoom() == fitted


def test_that_keys_select_zoom_and_click(view):
    hovered, clicked = record(view.pixel_hovered, view.pixel_clicked)
    view.set_selected(0)
    fitted = view.zoom()
    press(view, Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Plus)
    assert view.zoom() > fitted
    press(view, Qt.Key.Key_0, Qt.Key.Key_Return)
    assert view.zoom() == fitted
    assert hovered == [(4, 4), (5, 5)]
    assert clicked == [(5, 5)]


def test_that_a_picture_is_built_by_as_many_calls_of_784_fields_as_of_16(shown):
    view = shown(Mosaic(), 560, 560)
    few, many = (np.random.default_rng(0).normal(size=(s * s, s, s)).astype(np.float32) for s in (4, 28))
    view.set_fields(few, SCALE, (4, 4))

    def show(fields, side):
        view.set_fields(fields, SCALE, (side, side))
        view.grab()

    counts = calls_in(lambda: show(many, 28)), calls_in(lambda: show(few, 4))
    assert max(counts) < 1.1 * min(counts) < 900
    assert view.field(783).right() <= 560


def test_that_another_size_keeps_the_zoom_or_shows_the_whole_where_that_is_larger(view):
    view.resize(170, 220)
    assert view.field(11).right() <= 170
    wheel(view, inside(view, 5, 1, 1), 120)
    zoom = view.zoom()
    view.resize(190, 230)
    assert view.is_zoomed()
    assert view.zoom() == pytest.approx(zoom)
    view.resize(300, 300)
    assert not view.is_zoomed()
    assert view.field(11).right() <= 300


def test_that_weights_that_share_a_pixel_are_averaged_and_separate_again_when_zoomed(shown):
    view = shown(Mosaic(), 208, 208)
    fields = np.zeros((100, 28, 28), np.float32)
    fields[:, 14, 14] = 1.0
    view.set_fields(fields, SCALE, (10, 10))
    assert view.zoom() < 0.75
    white, full = (int(SCALE.lut()[entry, 1]) for entry in (128, 255))

    def darkest(pixel):
        at, shot = inside(view, pixel, 14, 14), view.grab().toImage()
        return min(shot.pixelColor(at.x() + x, at.y() + y).green() for x in range(-2, 3) for y in range(-2, 3))

    assert all(full + 20 < darkest(pixel) < white - 20 for pixel in (0, 9, 55, 99))
    for _ in range(3):
        wheel(view, view.rect().center(), 120)
    assert view.zoom() >= 2.0
    found = view.pixel_at(QPointF(view.rect().center()))
    assert darkest(found[0]) == full

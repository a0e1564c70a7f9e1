import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from slide_gui.gui.pages.classifier.thumbnails import Thumbnail, Thumbnails
from slide_gui.gui.theme import DARK, LIGHT, apply_theme
from tests.gui.helpers import press, record


def items(n, shape=(28, 28)):
    pixels = np.random.default_rng(0).integers(0, 2, (n, *shape)).astype(np.float32)
    return [Thumbnail(7 * i + 3, pixels[i], f"{i % 10} → {(i + 1) % 10}", f"sample {7 * i + 3}") for i in range(n)]


@pytest.fixture
def view(shown):
    made = shown(Thumbnails(), 420, 300)
    made.set_images(items(5000))
    return made


def place(view, number):
    return view.visualRect(view.model().index(number, 0))


def test_that_pixels_are_enlarged_by_an_integer_and_inverted_in_the_dark_theme(app, view):
    pixels = items(1)[0].pixels
    for name, theme in (("dark", DARK), ("light", LIGHT)):
        apply_theme(app, name)
        shot = view.model().index(0, 0).data(Qt.ItemDataRole.DecorationRole).pixmap(58, 58).toImage()
        assert shot.width() == 58
        for row, column in ((0, 1), (13, 20), (27, 27)):
            for corner in (1, 2):
                found = shot.pixelColor(2 * column + corner, 2 * row + corner)
                wanted = QColor(theme.ink if pixels[row, column] else theme.paper)
                assert abs(found.lightness() - wanted.lightness()) <= 8


def test_that_only_visible_images_are_rendered_and_the_columns_stay_when_images_arrive(view):
    rendered = view.model().icons
    view.grab()
    assert 0 < len(rendered) < 60
    view.verticalScrollBar().setValue(4000)
    view.grab()
    assert len(rendered) < 120
    before = [place(view, i).left() for i in range(3)]
    view.set_images(items(3))
    assert [place(view, i).left() for i in range(3)] == before
    assert view.verticalScrollBar().maximum() == 0


def test_that_a_click_and_enter_report_the_index(view):
    (indices,) = record(view.image_clicked)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place(view, 1).center())
    press(view, Qt.Key.Key_Right, Qt.Key.Key_Return)
    assert indices == [10, 17]
    assert view.model().index(2, 0).data(Qt.ItemDataRole.ToolTipRole) == "sample 17"


def test_that_stale_images_are_paler_and_an_empty_gallery_describes_the_next_step(view):
    for stale, ink in ((False, QColor(LIGHT.ink).lightness()), (True, QColor(LIGHT.ink).lightness() + 60)):
        view.set_images([Thumbnail(0, np.ones((28, 28), np.float32), "", "")], stale)
        icon = view.model().index(0, 0).data(Qt.ItemDataRole.DecorationRole)
        assert abs(icon.pixmap(58, 58).toImage().pixelColor(30, 30).lightness() - ink) < 40
    view.set_placeholder("No errors.")
    view.set_images([])
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert view.accessibleDescription() == "No errors."

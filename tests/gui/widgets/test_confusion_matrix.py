import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.confusion_matrix import ConfusionMatrix
from tests.gui.helpers import press, record

COUNTS = [[998, 12, 0], [3, 200, 1], [0, 0, 0]]
LABELS = ("3", "5", "8")


@pytest.fixture
def view(shown):
    made = shown(ConfusionMatrix(), 420, 360)
    made.set_counts(COUNTS, LABELS)
    return made


def corner(view, true, predicted):
    return view.cell(true, predicted).topLeft().toPoint() + QPoint(4, 4)


def test_that_a_cell_is_described_in_words(view):
    assert view.text_of(0, 1) == "true 3, predicted 5: 12 of 1\u202f010 (1.2\u202f%)"
    assert view.text_of(2, 0) == "true 8, predicted 3: 0 of 0 (no samples)"
    assert view.accessibleDescription() == "16 of 1\u202f214 misclassified (1.32\u202f%)"


def test_that_mistakes_are_coloured_by_their_share_of_the_row_not_by_count(view):
    shot = view.grab().toImage()
    more, less = shot.pixelColor(corner(view, 1, 0)), shot.pixelColor(corner(view, 0, 1))
    assert more.lightness() < less.lightness()
    assert more == view.colour(1, 0)
    assert shot.pixelColor(corner(view, 0, 2)) == QColor(LIGHT.background)
    assert 200 < shot.pixelColor(corner(view, 0, 0)).hue() < 230
    assert 10 < more.hue() < 40


def test_that_mouse_and_keys_select_a_cell_that_stays_selected_with_new_counts(view):
    total = view.accessibleDescription()
    (clicked,) = record(view.cell_clicked)
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=corner(view, 1, 2))
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(view.width() - 4, view.height() - 4))
    assert view.accessibleDescription() == "true 5, predicted 8: 1 of 204 (0.5\u202f%)"
    QTest.mouseMove(view, QPoint(3, 3))
    assert view.accessibleDescription() == total
    keys = Qt.Key
    press(view, keys.Key_Right, keys.Key_Down, keys.Key_Left, keys.Key_Left, keys.Key_Return)
    assert clicked == [(1, 2), (1, 0)]
    view.set_counts(np.array(COUNTS) + 1, LABELS)
    assert view.accessibleDescription() == "true 5, predicted 3: 4 of 207 (1.9\u202f%)"
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    assert view.accessibleDescription().startswith("22 of")


@pytest.mark.parametrize(("many", "size"), [(2, (300, 240)), (10, (420, 420)), (26, (300, 240)), (26, (900, 700))])
def test_that_every_matrix_fits(shown, many, size):
    view = shown(ConfusionMatrix(), *size)
    view.set_counts(np.eye(many, dtype=int) * 1000 + 1, [f"class {i}" for i in range(many)])
    box = view.cell(many - 1, many - 1)
    assert view.cell(0, 0).left() > 0
    assert box.right() <= view.width() - 60
    assert box.bottom() <= view.height() - 20
    assert box.width() == box.height()
    view.grab()


def test_that_long_names_widen_the_cells_within_the_width(shown):
    view = shown(ConfusionMatrix(), 480, 200)
    sides = []
    for names in ("ab", ("healthy controls", "patients with a confirmed diagnosis")):
        view.set_counts([[9, 1], [2, 8]], names)
        sides.append(view.cell(1, 1))
    assert sides[0].width() == sides[0].height() == sides[1].height()
    assert sides[1].width() > 2 * sides[1].height()
    assert sides[1].right() <= view.width() - 60
    assert view._at(sides[1].center()) == (1, 1)


def test_that_a_stale_matrix_is_greyed(view):
    place, fresh = corner(view, 1, 0), view.grab().toImage()
    view.set_counts(COUNTS, LABELS, stale=True)
    stale = view.grab().toImage()
    assert stale.pixelColor(place).lightness() > fresh.pixelColor(place).lightness()
    assert view.cell(1, 0).contains(place)


def test_that_long_names_that_begin_alike_are_told_apart_in_the_head(shown):
    view = shown(ConfusionMatrix(), 420, 360)
    heads = []
    for ends in ("123456", "223456"):
        view.set_counts(np.eye(6, dtype=int).tolist(), tuple(f"a very long name {end}" for end in ends))
        first = view.cell(0, 0).toRect()
        heads.append(view.grab(QRect(first.left(), 20, first.width(), first.top() - 22)).toImage())
    assert heads[0] != heads[1]

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from slide_gui.gui.widgets.image import DrawingCanvas
from tests.gui.helpers import press

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


@pytest.fixture
def canvas(shown):
    made = shown(DrawingCanvas(), 248, 168)
    made.set_image(np.zeros((8, 12), np.float32))
    made.setFocus()
    return made


def at(canvas, row, column):
    grid = canvas.grid()
    return grid.rect(row * grid.shape[1] + column).center().toPoint()


def stroke(canvas, *cells, button=LEFT, shift=False):
    held = Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier
    QTest.mousePress(canvas, button, held, at(canvas, *cells[0]))
    for cell in cells[1:]:
        QTest.mouseMove(canvas, at(canvas, *cell))
    QTest.mouseRelease(canvas, button, held, at(canvas, *cells[-1]))


def lit(canvas):
    return set(zip(*(part.tolist() for part in np.nonzero(canvas.image)), strict=True))


@pytest.fixture
def strokes(canvas):
    """Return the reported strokes, each as the images before and after."""
    reported = []
    canvas.stroked.connect(lambda *images: reported.append(images))
    return reported


def test_that_a_fast_stroke_has_no_gaps_and_the_right_button_and_shift_erase(canvas):
    images = []
    canvas.drawn.connect(images.append)
    stroke(canvas, (2, 1), (2, 9))
    assert lit(canvas) == {(2, column) for column in range(1, 10)}
    assert images[0].sum() == 1
    assert images[-1] is canvas.image
    stroke(canvas, (2, 3), button=RIGHT)
    stroke(canvas, (2, 7), (2, 9), shift=True)
    assert lit(canvas) == {(2, 1), (2, 2), (2, 4), (2, 5), (2, 6)}


def test_that_a_wide_brush_is_cut_at_the_border(canvas):
    canvas.set_brush(3)
    stroke(canvas, (0, 0))
    assert lit(canvas) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    canvas.set_brush(2)
    stroke(canvas, (5, 5))
    assert len(lit(canvas)) == 8


def test_that_strokes_and_resets_that_change_something_are_reported_and_can_be_shown_again(canvas, strokes):
    stroke(canvas, (1, 1), button=RIGHT)
    canvas.reset()
    assert not strokes
    stroke(canvas, (1, 1), (1, 3))
    stroke(canvas, (4, 4))
    canvas.show_drawn(strokes[1][0])
    assert lit(canvas) == {(1, 1), (1, 2), (1, 3)}
    canvas.reset()
    assert not lit(canvas)
    assert [(before.sum(), after.sum()) for before, after in strokes] == [(0, 3), (3, 4), (3, 0)]
    for image, is_drawn_on in ((strokes[1][1], True), (None, False), (strokes[1][1], True)):
        canvas.show_drawn(image)
        assert canvas.is_drawn_on == is_drawn_on
    canvas.set_image(np.ones((8, 12), np.float32))
    assert not canvas.is_drawn_on
    assert len(strokes) == 3


def test_that_keys_move_the_cell_and_space_toggles_it(canvas):
    canvas.set_cursor(3 * 12 + 3)
    press(canvas, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Space)
    assert lit(canvas) == {(4, 4)}
    assert "row 4, column 4: 1.00; 1 of 96" in canvas.accessibleDescription()
    QTest.keyClick(canvas, Qt.Key.Key_Space)
    assert not lit(canvas)

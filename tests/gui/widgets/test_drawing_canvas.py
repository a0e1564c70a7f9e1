from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.widgets.image import DrawingCanvas

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


@pytest.fixture
def canvas(shown: Callable[..., Any]) -> DrawingCanvas:
    made: DrawingCanvas = shown(DrawingCanvas(), 248, 168)
    made.set_image(np.zeros((8, 12), np.float32))
    made.setFocus()
    return made


def at(canvas: DrawingCanvas, row: int, column: int) -> QPoint:
    grid = canvas.grid()
    assert grid is not None
    return grid.rect(row * grid.shape[1] + column).center().toPoint()


def stroke(canvas: DrawingCanvas, *cells: tuple[int, int], button: Qt.MouseButton = LEFT, shift: bool = False) -> None:
    held = Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier
    QTest.mousePress(canvas, button, held, at(canvas, *cells[0]))
    for cell in cells[1:]:
        QTest.mouseMove(canvas, at(canvas, *cell))
    QTest.mouseRelease(canvas, button, held, at(canvas, *cells[-1]))


def lit(canvas: DrawingCanvas) -> set[tuple[int, int]]:
    assert canvas.image is not None
    return set(zip(*(part.tolist() for part in np.nonzero(canvas.image)), strict=True))


def test_that_a_fast_stroke_has_no_gaps_and_is_heard_with_new_images(canvas: DrawingCanvas) -> None:
    heard: list[np.ndarray] = []
    canvas.drawn.connect(heard.append)
    stroke(canvas, (2, 1), (2, 9))
    assert lit(canvas) == {(2, column) for column in range(1, 10)}
    assert heard[0].sum() == 1
    assert heard[-1].sum() == 9
    assert heard[-1] is canvas.image


def test_that_the_right_button_and_shift_erase(canvas: DrawingCanvas) -> None:
    stroke(canvas, (2, 1), (2, 9))
    stroke(canvas, (2, 3), button=RIGHT)
    stroke(canvas, (2, 7), (2, 9), shift=True)
    assert lit(canvas) == {(2, 1), (2, 2), (2, 4), (2, 5), (2, 6)}


def test_that_a_wide_brush_is_cut_at_the_border(canvas: DrawingCanvas) -> None:
    canvas.set_brush(3)
    stroke(canvas, (0, 0))
    assert lit(canvas) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    canvas.set_brush(2)
    stroke(canvas, (5, 5))
    assert len(lit(canvas)) == 8


@pytest.fixture
def strokes(canvas: DrawingCanvas) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the strokes that are heard, each as the images before and after."""
    heard: list[tuple[np.ndarray, np.ndarray]] = []
    canvas.stroked.connect(lambda *images: heard.append(images))
    return heard


def test_that_whole_strokes_are_heard_and_a_reset_too_and_can_be_shown_again(
    canvas: DrawingCanvas, strokes: list[tuple[np.ndarray, np.ndarray]]
) -> None:
    stroke(canvas, (1, 1), (1, 3))
    stroke(canvas, (4, 4))
    assert [(before.sum(), after.sum()) for before, after in strokes] == [(0, 3), (3, 4)]
    canvas.show_drawn(strokes[1][0])
    assert lit(canvas) == {(1, 1), (1, 2), (1, 3)}
    canvas.reset()
    assert not lit(canvas)
    assert not canvas.is_drawn_on
    assert [(before.sum(), after.sum()) for before, after in strokes[2:]] == [(3, 0)]
    canvas.show_drawn(strokes[1][1])
    assert canvas.is_drawn_on
    canvas.show_drawn(None)
    assert not canvas.is_drawn_on
    assert len(strokes) == 3


def test_that_a_stroke_that_changes_nothing_is_none(
    canvas: DrawingCanvas, strokes: list[tuple[np.ndarray, np.ndarray]]
) -> None:
    stroke(canvas, (1, 1), button=RIGHT)
    canvas.reset()
    assert not strokes


def test_that_keys_move_the_cell_and_space_toggles_it(canvas: DrawingCanvas) -> None:
    canvas.set_cursor(3 * 12 + 3)
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    QTest.keyClick(canvas, Qt.Key.Key_Space)
    assert lit(canvas) == {(4, 4)}
    assert "row 4, column 4: 1.00; 1 of 96" in canvas.accessibleDescription()
    QTest.keyClick(canvas, Qt.Key.Key_Space)
    assert not lit(canvas)


def test_that_undo_is_left_to_the_window(canvas: DrawingCanvas) -> None:
    stroke(canvas, (1, 1))
    press = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    press.ignore()
    QApplication.sendEvent(canvas, press)
    assert not press.isAccepted()


def test_that_another_image_forgets_the_strokes(canvas: DrawingCanvas) -> None:
    stroke(canvas, (1, 1))
    canvas.set_image(np.ones((8, 12), np.float32))
    assert not canvas.is_drawn_on


def test_that_strokes_land_where_they_are_seen_with_rows_and_columns_exchanged(canvas: DrawingCanvas) -> None:
    canvas.set_transposed(True)
    stroke(canvas, (5, 9))
    assert lit(canvas) == {(5, 9)}

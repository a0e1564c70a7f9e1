from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from slide_gui.gui.pages.weights.sample import Readout
from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.job_bar import JobBar
from slide_gui.gui.widgets.notice import Notice
from tests.gui.helpers import settle

Shown = Callable[..., Any]
FOUR = ("h¹", "h²", "h³", "h⁴")
ROWS = tuple((name, ("+0.213", "+0.187", "+0.141", "+0.120")) for name in ("weight", "rank", "bias", "share"))


def test_that_a_readout_that_fills_does_not_jump(shown: Shown) -> None:
    view: Readout = shown(Readout(), 252, 120)
    heights = [view.sizeHint().height()]
    empty = view.grab().toImage()
    view.set_values("", FOUR, tuple((name, ()) for name, _ in ROWS))
    heights.append(view.sizeHint().height())
    view.set_values("at 14, 12", FOUR, ROWS)
    heights.append(view.sizeHint().height())
    assert len(set(heights)) == 1
    assert view.grab().toImage() != empty
    assert view.accessibleDescription().startswith("at 14, 12; weight +0.213, +0.187")


def test_that_eight_layers_become_lines_where_columns_do_not_fit(shown: Shown) -> None:
    window = QWidget()
    layout = QVBoxLayout(window)
    view = Readout()
    layout.addWidget(view)
    layout.addStretch()
    names = tuple(f"layer {i}" for i in range(1, 9))
    view.set_values("at 1, 2", names, tuple((name, ("+0.100",) * 8) for name, _ in ROWS))
    shown(window, 280, 420)
    assert view.is_turned()
    assert view.height() >= view.heightForWidth(view.width()) == 24 + 8 * 22
    window.resize(900, 420)
    settle()
    assert not view.is_turned()


def test_that_titles_of_turned_columns_stay_apart(shown: Shown) -> None:
    view: Readout = shown(Readout(), 256, 210)
    layers = tuple(f"h{i}" for i in range(1, 9))
    values = {"weight": "+0.16", "×\u2009RMS": "+0.12", "rank": "1", "bias": "+0.01", "share": "5.5 %"}
    view.set_values("from\u2009itself", layers, tuple((name, (text,) * 8) for name, text in values.items()))
    assert view.is_turned()
    shot, page = view.grab().toImage(), QColor(LIGHT.background)
    inked = "".join(" x"[any(shot.pixelColor(x, y) != page for y in range(4, 20))] for x in range(256))
    assert len(re.split(" {6,}", inked.strip())) == 6


def button(widget: QWidget, text: str) -> QPushButton:
    return next(each for each in widget.findChildren(QPushButton) if each.text() == text)


@pytest.fixture
def notice(shown: Shown) -> Notice:
    window = QWidget()
    made = Notice(window)
    QVBoxLayout(window).addWidget(made)
    shown(window, 400, 300)
    return made


def test_that_a_notice_is_hidden_until_there_is_something_to_say(notice: Notice) -> None:
    assert not notice.isVisible()
    notice.show_message("error", "Not opened", "Line 17 has 3 columns.", "trace", "Open another…")
    assert notice.isVisible()
    assert notice.accessibleName() == "Not opened: Line 17 has 3 columns."
    assert button(notice, "Open another…").isVisible()
    assert not notice.findChild(QPlainTextEdit).isVisible()


def test_that_details_fold_and_are_copied_whole(notice: Notice) -> None:
    notice.show_message("error", "Title", "Sentence.", "line one\nline two")
    assert [b.text() for b in notice.findChildren(QPushButton) if b.isVisible()] == ["Details", "Copy"]
    QTest.mouseClick(button(notice, "Details"), Qt.MouseButton.LeftButton)
    assert notice.findChild(QPlainTextEdit).isVisible()
    QTest.mouseClick(button(notice, "Copy"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "Title\n\nSentence.\n\nline one\nline two"
    notice.show_message("information", "Other", "No details.")
    assert not notice.findChild(QPlainTextEdit).isVisible()
    assert not button(notice, "Details").isVisible()


def test_that_close_and_escape_dismiss_and_the_remedy_does_not(notice: Notice) -> None:
    heard: list[str] = []
    notice.remedy_requested.connect(lambda: heard.append("remedy"))
    notice.show_message("error", "Title", "Sentence.", remedy="Mend")
    QTest.mouseClick(button(notice, "Mend"), Qt.MouseButton.LeftButton)
    assert notice.isVisible()
    QTest.mouseClick(notice.findChild(QToolButton), Qt.MouseButton.LeftButton)
    assert not notice.isVisible()
    notice.show_message("error", "Title", "Sentence.", remedy="Mend")
    QTest.keyClick(button(notice, "Mend"), Qt.Key.Key_Escape)
    assert not notice.isVisible()
    assert heard == ["remedy"]


def test_that_the_job_bar_keeps_its_places(shown: Shown) -> None:
    bar: JobBar = shown(JobBar(), 700, 32)
    bar.set_job("Fitting layer 3 of 4", 0.5, "2 min 10 s left")
    settle()
    before = button(bar, "Cancel").geometry()
    bar.set_job("Fitting layer 3 of 4", 0.51, "9 s left")
    settle()
    assert button(bar, "Cancel").geometry() == before
    assert bar.findChild(QProgressBar).value() == 510
    bar.clear()
    settle()
    assert [each.text() for each in bar.findChildren(QLabel) if each.isVisible()] == [""]
    assert not bar.findChild(QProgressBar).isVisible()
    assert not button(bar, "Cancel").isVisible()
    assert bar.height() == 26


def test_that_cancel_is_heard_by_mouse_and_key(shown: Shown) -> None:
    bar: JobBar = shown(JobBar(), 700, 32)
    bar.set_job("Sweep", None)
    heard: list[bool] = []
    bar.cancel_requested.connect(lambda: heard.append(True))
    QTest.mouseClick(button(bar, "Cancel"), Qt.MouseButton.LeftButton)
    button(bar, "Cancel").setFocus()
    QTest.keyClick(button(bar, "Cancel"), Qt.Key.Key_Space)
    assert heard == [True, True]
    assert (bar.findChild(QProgressBar).minimum(), bar.findChild(QProgressBar).maximum()) == (0, 0)
    bar.clear()


def test_that_a_long_text_leaves_room_for_cancel(shown: Shown) -> None:
    bar: JobBar = shown(JobBar(), 480, 32)
    bar.set_job("Reading " + "a very long name of a file " * 10, 0.1, "1 s left")
    settle()
    assert bar.width() == 480
    assert button(bar, "Cancel").geometry().right() <= 480

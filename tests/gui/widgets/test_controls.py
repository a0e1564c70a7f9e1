"""Groups of buttons, sliders with numbers, pickers, and panels."""

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QColor, QGuiApplication, QHelpEvent, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QSlider,
    QToolButton,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from slide_gui.gui.shell.job_bar import JobBar
from slide_gui.gui.shell.notice import Notice
from slide_gui.gui.state.jobs import JobStatus, UserMessage
from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets import controls
from slide_gui.gui.widgets.controls import ChoiceButtons, ElidedBox, ElidedLabel, PlainLabel, literal, wrapped
from slide_gui.gui.widgets.image import DrawingCanvas, FeatureBars
from slide_gui.gui.widgets.number_slider import NumberSlider
from tests.gui.helpers import button, calls_in, centre, press, record, settle, wait, wheel


def test_that_tab_stops_only_at_the_checked_button_and_arrows_lead_to_the_others(shown):
    page = QWidget()
    row, tabs = QHBoxLayout(page), ChoiceButtons(page)
    buttons = [tabs.add(number, "tab", page) for number in range(3)]
    for each in buttons:
        row.addWidget(each)
    shown(page, 400, 60).activateWindow()
    (clicked,) = record(tabs.idClicked)
    buttons[0].setFocus()
    press(buttons[0], Qt.Key.Key_Right)
    assert (clicked, buttons[1].hasFocus()) == ([1], True)
    for choose, checked in ((lambda: None, 1), (buttons[2].click, 2), (lambda: buttons[0].setChecked(True), 0)):
        choose()
        assert [number for number in range(3) if buttons[number].focusPolicy() & Qt.FocusPolicy.TabFocus] == [checked]


def test_that_a_shortened_label_or_box_shows_its_text_above_its_own_tooltip(shown):
    label, box = ElidedLabel("a text that does not fit", None), ElidedBox(None)
    box.setPlaceholderText("another text")
    for elided, text in ((label, "a text that does not fit"), (box, "another text")):
        shown(elided, 40, 20).setToolTip("why")
        QApplication.sendEvent(elided, QHelpEvent(QEvent.Type.ToolTip, QPoint(), elided.mapToGlobal(QPoint())))
        assert QToolTip.text() == f"{text}\nwhy"


def test_that_numbers_after_a_right_to_left_name_are_shown_to_its_right(app):
    texts = PlainLabel("שלום עולם · 17/200", None).text(), wrapped("قطة: 5"), literal("קטן & 5")
    assert texts == ("\u2068שלום עולם\u2069 · 17/200", "\u2068قطة\u2069: 5", "\u2068קטן\u2069 && 5")


def bar(slider):
    return slider.findChild(QSlider)


def line(slider):
    return slider.findChild(QLineEdit)


@pytest.fixture
def noise(shown):
    made = NumberSlider("Noise 1 − p", (0.0, 0.95, 0.01, 0.3), tip="p = 1 − noise")
    return shown(made, 240, 60), *record(made.value_changed, made.value_settled)


def test_that_a_value_set_is_shown_and_not_emitted_and_a_double_click_on_slider_or_label_resets(noise):
    slider, changed, settled = noise
    label = next(each for each in slider.findChildren(QLabel) if each.text() == "Noise 1 − p")
    for each in (bar(slider), label):
        slider.set_value(7.0)
        assert (slider.value(), line(slider).text()) == (0.95, "0.95")
        QTest.mouseDClick(each, Qt.MouseButton.LeftButton, pos=QPoint(5, 8))
    assert changed == settled == [0.3, 0.3]


def test_that_a_drag_also_from_beside_the_handle_changes_while_it_moves_and_settles_on_release(noise):
    slider, changed, settled = noise
    track = bar(slider)
    for start in (track.handle().center(), QPoint(180, track.height() // 2)):
        del changed[:], settled[:]
        QTest.mousePress(track, Qt.MouseButton.LeftButton, pos=start)
        assert abs(track.handle().center().x() - start.x()) <= 2
        for step in (10, 20, 30):
            QTest.mouseMove(track, start - QPoint(step, 0))
        assert len(changed) >= 3
        assert changed[-3:] == sorted(changed[-3:], reverse=True)
        assert settled == []
        QTest.mouseRelease(track, Qt.MouseButton.LeftButton, pos=start - QPoint(30, 0))
        assert settled == [changed[-1]] == [slider.value()]


def test_that_keys_and_wheel_take_single_steps_and_settle_after_a_rest(noise):
    slider, changed, settled = noise
    QTest.keyClick(bar(slider), Qt.Key.Key_Right)
    for turn in (60, 60):  # as a touchpad does
        wheel(bar(slider), bar(slider).rect().center(), turn)
    press(line(slider), Qt.Key.Key_Up, Qt.Key.Key_Down)
    assert (changed, settled) == ([0.31, 0.32, 0.33, 0.32], [])
    wait(lambda: settled == [0.32])


def test_that_an_integer_box_explains_wrong_text_and_restores_its_value(shown):
    box = shown(controls.IntegerBox("Rows", 2, 90, None, suffix=" s"), 100, 30)
    for typed, is_wrong in (("2,5", True), ("1e9", True), ("95", True), ("1", True), ("", True), ("45", False)):
        box.setValue(30)
        box.setFocus()
        box.lineEdit().clear()
        QTest.keyClicks(box, typed)
        press(box, Qt.Key.Key_Return)
        assert (box.text(), box.value()) == (f"{typed} s", 30 if is_wrong else 45)
        box.clearFocus() if typed in ("", "45") else press(box, Qt.Key.Key_Escape)
        assert box.text() == ("30 s" if is_wrong else "45 s")
        wait(lambda: QToolTip.text() == "Rows: enter an integer from 2 to 90.")


def test_that_the_wheel_changes_a_box_or_slider_only_while_it_has_the_focus(noise):
    box, slider = ElidedBox(noise[0]), bar(noise[0])
    box.addItems(["b", "a"])
    box.show()
    for turned, other, read, values in ((box, slider, box.currentIndex, (0, 1)), (slider, box, slider.value, (30, 29))):
        for focused, value in zip((other, turned), values, strict=True):
            focused.setFocus()
            wheel(turned, turned.rect().center(), -120)
            assert read() == value


@pytest.mark.parametrize(
    ("name", "typed", "settles", "text"),
    [
        *(("noise", typed, [], "0.30") for typed in ("", "much", "nan", "inf")),
        *(("noise", "0.55", [0.55], "0.55"), ("noise", "0,5", [0.5], "0.50"), ("noise", "3", [0.95], "0.95")),
        *(("noise", "−1", [0.0], "0.00"), ("noise", "0.123", [0.12], "0.12"), ("ridge", "1e-8", [1e-8], "1e−8")),
        *(("ridge", "3e−5", [2e-5], "2e−5"), ("ridge", "7e9", [1000.0], "1000"), ("ridge", "0", [1e-8], "1e−8")),
    ],
)
def test_that_a_typed_number_is_rounded_to_a_step_and_other_text_is_ignored(request, name, typed, settles, text):
    slider, changed, settled = request.getfixturevalue(name)
    line(slider).setText(typed)
    QTest.keyClick(line(slider), Qt.Key.Key_Return)
    assert (changed, settled, line(slider).text()) == (settles, settles, text)
    if typed in ("nan", "7e9"):
        wait(lambda: QToolTip.text().endswith((" from 0.00 to 0.95.", "Ridge: enter a number from 1e−8 to 1000.")))


@pytest.fixture
def ridge(shown):
    made = NumberSlider("Ridge", (1e-8, 1000.0, 1, 1e-5), "", values=(1e-8, 1e-5, 2e-5, 1.0, 1000.0))
    return shown(made, 240, 60), *record(made.value_changed, made.value_settled)


def test_that_uneven_steps_are_the_values_given_and_a_value_between_them_is_shown_exactly_until_it_is_changed(ridge):
    slider, changed, settled = ridge
    seen = [line(slider).text()]
    for _ in range(3):
        QTest.keyClick(bar(slider), Qt.Key.Key_Right)
        seen.append(line(slider).text())
    assert changed == [2e-5, 1.0, 1000.0]
    assert seen == ["1e−5", "2e−5", "1", "1000"]
    slider.set_value(1.2e-5)
    QTest.keyClick(line(slider), Qt.Key.Key_Return)
    assert (line(slider).text(), changed[3:], settled) == ("1.2e−5", [], [])
    slider.reset()
    assert (line(slider).text(), changed[3:], settled) == ("1e−5", [1e-5], [1e-5])


def test_that_tab_stops_once_and_a_digit_or_a_click_edits_the_number(noise):
    slider, changed, settled = noise
    slider.window().activateWindow()
    bar(slider).setFocus()
    QTest.keyClicks(bar(slider), ".")
    assert line(slider).hasFocus()
    QTest.keyClicks(line(slider), "62")
    QTest.keyClick(line(slider), Qt.Key.Key_Return)
    assert (changed, settled, line(slider).text()) == ([0.62], [0.62], "0.62")
    assert bar(slider).hasFocus()
    QTest.mouseClick(line(slider), Qt.MouseButton.LeftButton)
    assert line(slider).hasFocus()
    press(line(slider), Qt.Key.Key_9, Qt.Key.Key_Escape)
    assert line(slider).text() == "0.62"
    assert bar(slider).hasFocus()
    stops = [each for each in slider.findChildren(QWidget) if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert stops == [bar(slider)]


@pytest.fixture
def view(shown):
    made = shown(DrawingCanvas(pins=True), 108, 208)
    made.set_image(np.zeros((6, 9), np.float32))
    return made


def test_that_pixels_are_square_and_an_image_larger_than_its_widget_is_shown_in_full(view):
    for values, scale in ((np.zeros((6, 9), np.float32), 11.0), (np.eye(500, dtype=np.float32), 0.2)):
        view.set_image(values)
        grid = view.grid()
        assert grid.scale == scale
        assert grid.at(grid.rect(23).center()) == 23


def test_that_mouse_and_keys_report_each_pixel_once_and_none_when_the_mouse_leaves(view):
    hovered, clicked = record(view.pixel_hovered, view.pixel_clicked)
    QTest.mouseMove(view, centre(view, 16))
    QTest.mouseMove(view, centre(view, 16) + QPoint(2, 2))
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=centre(view, 16))
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    keys = Qt.Key
    press(view, keys.Key_Home, keys.Key_Left, keys.Key_Right, keys.Key_Down, keys.Key_Return, keys.Key_End)
    press(view, keys.Key_Space)
    assert hovered == [16, None, 0, 1, 10, 53]
    assert clicked == [16, 10, 53]
    assert [view.set_cursor(index) or view._current for index in (12, 54)] == [12, None]
    assert len(hovered) == 6  # only the user's moves are reported


def test_that_a_pin_is_a_ring_that_does_not_cover_its_pixel_also_under_the_cursor(view):
    at, before = centre(view, 16), view.grab().toImage()
    view.set_pins([(16, QColor("#D55E00")), (99, QColor("#D55E00"))])
    for cursor in (None, 16):
        view.set_cursor(cursor)
        after = view.grab().toImage()
        assert after.pixelColor(at) == before.pixelColor(at)
        assert any(after.pixelColor(at + QPoint(dx, 0)) == QColor("#D55E00") for dx in range(4, 13))


@pytest.fixture
def bars(shown):
    made = shown(FeatureBars(), 208, 120)
    made.set_values(np.array([1.0, -1.0, 0.5, np.nan, 0.0], np.float32))
    return made


def test_that_bars_report_like_an_image_point_up_or_down_and_shorten_the_names_at_both_ends(bars, monkeypatch):
    texts, (hovered, clicked) = [], record(bars.pixel_hovered, bars.pixel_clicked)
    QTest.mouseMove(bars, bars.bar(1).center().toPoint())
    QTest.mouseClick(bars, Qt.MouseButton.LeftButton, pos=bars.bar(2).center().toPoint())
    press(bars, Qt.Key.Key_Right, Qt.Key.Key_Return)
    assert (hovered, clicked) == ([1, 2, 3], [2, 3])
    bars.set_pins([(3, QColor("#D55E00"))])
    assert {"#d55e00", LIGHT.accent.lower()} < {bars.grab().toImage().pixelColor(x, 40).name() for x in range(208)}
    bars.set_cursor(None)
    shot, paper = bars.grab().toImage(), QColor(LIGHT.paper)
    for index, above, below in ((0, True, False), (1, False, True), (3, False, False)):
        box = bars.bar(index)
        high, low = (shot.pixelColor(int(box.center().x()), int(box.y() + y * box.height())) for y in (0.3, 0.7))
        assert (high != paper, low != paper) == (above, below)
    bars.set_values(np.ones(3000, np.float32))
    bars.grab()
    assert calls_in(lambda: bars.set_cursor(5) or bars.grab()) < 1000  # the mouse does not draw every bar again
    bars.set_cursor(None)
    monkeypatch.setattr(QPainter, "drawText", lambda _painter, _box, text: texts.append(text))
    bars.set_values(np.ones(2, np.float32), ("mean sepal length (cm)", "mean petal width (cm)"))
    bars.grab()
    assert " … mean pet" in texts[-1]


def test_that_missing_values_are_crossed_out_and_described(view, bars):
    for pointer in (view, bars):
        before, above = pointer.grab().toImage(), QRect(0, 0, 208, 50)
        pointer.set_missing((2, 4))
        assert pointer.grab().toImage() != before
        assert (pointer.grab().toImage().copy(above) == before.copy(above)) == (pointer is bars)  # at the foot of bars
        pointer.set_cursor(2)
        assert "missing in the file; filled in by the program" in pointer.accessibleDescription()
        pointer.set_cursor(3)
        assert "filled" not in pointer.accessibleDescription()


@pytest.fixture
def notice(shown):
    window = QWidget()
    made = Notice(window)
    QVBoxLayout(window).addWidget(made)
    shown(window, 400, 300)
    return made


def test_that_close_dismisses_a_notice_and_its_remedy_does_not_and_its_details_are_folded_and_copied_in_full(notice):
    heard = []
    notice.show_message(UserMessage("Title", "Sentence.", "Mend", lambda: heard.append("remedy")))
    QTest.mouseClick(button(notice, "Mend"), Qt.MouseButton.LeftButton)
    assert notice.isVisible()
    QTest.mouseClick(notice.findChild(QToolButton), Qt.MouseButton.LeftButton)
    assert not notice.isVisible()
    assert heard == ["remedy"]
    notice.show_message(UserMessage("Title", "<img src=x>", "Open another…", details="line one\nline two"))
    assert notice.accessibleName() == "Title: <img src=x>"
    details = notice.findChild(QPlainTextEdit)
    assert [b.text() for b in notice.findChildren(QPushButton) if b.isVisible()] == ["Open another…", "Details", "Copy"]
    assert not details.isVisible()
    for name in ("Details", "Copy"):
        QTest.mouseClick(button(notice, name), Qt.MouseButton.LeftButton)
    assert details.isVisible()
    assert QGuiApplication.clipboard().text() == "Title\n\n<img src=x>\n\nline one\nline two"
    assert notice.grab().toImage().pixelColor(200, 6) == QColor(LIGHT.danger_wash)
    notice.show_message(UserMessage("Other", "No details.", kind="information"))
    assert notice.grab().toImage().pixelColor(200, 6) == QColor(LIGHT.accent_wash)
    assert not details.isVisible()
    assert not button(notice, "Details").isVisible()


def test_that_the_parts_of_the_job_bar_do_not_move_and_a_wide_bar_names_the_job_in_full(shown):
    bar = shown(JobBar(), 900, 32)
    bar.show_status(JobStatus("Fitting to shuffled features", 0.5, 130.0, print))
    settle()
    cancel = button(bar, "Cancel fitting to shuffled features")
    before = cancel.geometry()
    bar.show_status(JobStatus("Fitting to shuffled features", 0.51, 9.0, print))
    settle()
    assert cancel.geometry() == before
    assert bar.findChild(QProgressBar).value() == 510
    bar.show_status(None)
    settle()
    assert [each.text() for each in bar.findChildren(QLabel) if each.isVisible()] == ["", ""]
    assert not any(each.isVisible() for each in (bar.findChild(QProgressBar), cancel))
    assert bar.height() == 26


def test_that_a_long_text_leaves_space_for_cancel_which_mouse_and_keys_reach(shown):
    bar = shown(JobBar(), 480, 32)
    requests = []
    status = JobStatus("Reading " + "a very long name of a file " * 10, 0.0, None, lambda: requests.append(True))
    bar.show_status(status)
    settle()
    cancel = bar.findChild(QPushButton)
    assert (cancel.text()[:21], cancel.text()[-1]) == ("Cancel reading a very", "…")
    assert cancel.accessibleName() == f"Cancel r{status.title[1:]}"
    assert cancel.geometry().right() <= 480
    QTest.mouseClick(cancel, Qt.MouseButton.LeftButton)
    cancel.setFocus()
    QTest.keyClick(cancel, Qt.Key.Key_Space)
    assert requests == [True, True]

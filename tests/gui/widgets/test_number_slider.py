import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QSlider, QWidget

from slide_gui.gui.widgets.number_slider import NumberSlider
from tests.gui.helpers import press, record, wait, wheel


def bar(slider):
    return slider.findChild(QSlider)


def line(slider):
    return slider.findChild(QLineEdit)


def label(slider, text):
    return next(each for each in slider.findChildren(QLabel) if each.text() == text)


@pytest.fixture
def noise(shown):
    made = NumberSlider("Noise 1 − p", 0.0, 0.95, 0.01, 0.3, tip="p = 1 − noise")
    return shown(made, 240, 60), *record(made.value_changed, made.value_settled)


def test_that_a_value_set_is_shown_and_not_emitted(noise):
    slider, changed, settled = noise
    slider.set_value(0.4)
    assert (slider.value(), line(slider).text()) == (0.4, "0.40")
    slider.set_value(7.0)
    assert slider.value() == 0.95
    assert (changed, settled) == ([], [])


def test_that_a_drag_changes_while_it_moves_and_settles_on_release(noise):
    slider, changed, settled = noise
    track = bar(slider)
    start = track.handle().center()
    QTest.mousePress(track, Qt.MouseButton.LeftButton, pos=start)
    for step in (10, 20, 30, 40):
        QTest.mouseMove(track, start + QPoint(step, 0))
    assert len(changed) >= 3
    assert changed == sorted(changed)
    assert settled == []
    QTest.mouseRelease(track, Qt.MouseButton.LeftButton, pos=start + QPoint(40, 0))
    assert settled == [changed[-1]] == [slider.value()]


def test_that_a_press_next_to_the_handle_moves_it_there_and_starts_a_drag(noise):
    slider, changed, settled = noise
    track = bar(slider)
    y = track.height() // 2
    QTest.mousePress(track, Qt.MouseButton.LeftButton, pos=QPoint(180, y))
    assert abs(track.handle().center().x() - 180) <= 2
    QTest.mouseMove(track, QPoint(100, y))
    QTest.mouseRelease(track, Qt.MouseButton.LeftButton, pos=QPoint(100, y))
    assert abs(track.handle().center().x() - 100) <= 2
    assert settled[-1] == slider.value() == changed[-1]


def test_that_keys_and_wheel_take_single_steps_and_settle_after_a_rest(noise):
    slider, changed, settled = noise
    QTest.keyClick(bar(slider), Qt.Key.Key_Right)
    wheel(bar(slider), bar(slider).rect().center(), 120)
    press(line(slider), Qt.Key.Key_Up, Qt.Key.Key_Down)
    assert (changed, settled) == ([0.31, 0.32, 0.33, 0.32], [])
    wait(lambda: settled == [0.32])


@pytest.mark.parametrize(
    ("name", "typed", "settles", "text"),
    [
        *(("noise", typed, [], "0.30") for typed in ("", "much", "nan", "inf")),
        *(("noise", "0.55", [0.55], "0.55"), ("noise", "0,5", [0.5], "0.50"), ("noise", "3", [0.95], "0.95")),
        *(("noise", "−1", [0.0], "0.00"), ("noise", "0.123", [0.12], "0.12"), ("ridge", "1e-8", [1e-8], "1e−8")),
        *(("ridge", "3e−5", [2e-5], "2e−5"), ("ridge", "7e9", [1000.0], "1000"), ("ridge", "0", [1e-8], "1e−8")),
    ],
)
def test_that_a_typed_number_is_rounded_to_the_nearest_step_and_other_text_is_ignored(
    request, name, typed, settles, text
):
    slider, changed, settled = request.getfixturevalue(name)
    line(slider).setText(typed)
    QTest.keyClick(line(slider), Qt.Key.Key_Return)
    assert (changed, settled, line(slider).text()) == (settles, settles, text)


def test_that_a_double_click_on_slider_or_label_resets(noise):
    slider, _, settled = noise
    for each in (bar(slider), label(slider, "Noise 1 − p")):
        slider.set_value(0.9)
        QTest.mouseDClick(each, Qt.MouseButton.LeftButton, pos=QPoint(5, 8))
        assert slider.value() == 0.3
    assert settled == [0.3, 0.3]


@pytest.fixture
def ridge(shown):
    made = NumberSlider("Ridge", 1e-8, 1000.0, 1, 1e-5, values=(1e-8, 1e-5, 2e-5, 1.0, 1000.0))
    return shown(made, 240, 60), *record(made.value_changed, made.value_settled)


def test_that_uneven_steps_are_the_values_given_and_small_ones_are_powers_of_ten(ridge):
    slider, changed, _ = ridge
    seen = [line(slider).text()]
    for _ in range(3):
        QTest.keyClick(bar(slider), Qt.Key.Key_Right)
        seen.append(line(slider).text())
    assert changed == [2e-5, 1.0, 1000.0]
    assert seen == ["1e−5", "2e−5", "1", "1000"]


def test_that_a_value_between_uneven_steps_is_shown_exactly_until_it_is_changed(ridge):
    slider, changed, settled = ridge
    slider.set_value(1.2e-5)
    QTest.keyClick(line(slider), Qt.Key.Key_Return)
    assert (line(slider).text(), changed, settled) == ("1.2e−5", [], [])
    slider.reset()
    assert (line(slider).text(), changed, settled) == ("1e−5", [1e-5], [1e-5])


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

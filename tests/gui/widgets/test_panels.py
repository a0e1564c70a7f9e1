import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QProgressBar, QPushButton, QToolButton, QVBoxLayout, QWidget

from slide_gui.gui.pages.weights.sample import Readout
from slide_gui.gui.shell.job_bar import JobBar
from slide_gui.gui.shell.notice import Notice
from slide_gui.gui.state.jobs import JobStatus, UserMessage
from slide_gui.gui.theme import LIGHT
from tests.gui.helpers import button, settle

FOUR = ("h¹", "h²", "h³", "h⁴")
ROWS = tuple((name, ("+0.213", "+0.187", "+0.141", "+0.120")) for name in ("weight", "rank", "bias", "share"))


def test_that_a_readout_keeps_its_height_when_it_is_filled(shown):
    view = shown(Readout(), 252, 120)
    heights = [view.sizeHint().height()]
    empty = view.grab().toImage()
    view.set_values("", FOUR, tuple((name, ()) for name, _ in ROWS))
    heights.append(view.sizeHint().height())
    view.set_values("at 14, 12", FOUR, ROWS)
    heights.append(view.sizeHint().height())
    assert len(set(heights)) == 1
    assert view.grab().toImage() != empty
    assert view.accessibleDescription().startswith("at 14, 12; weight +0.213, +0.187")


def test_that_eight_layers_are_shown_in_rows_if_columns_do_not_fit(shown):
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


@pytest.fixture
def notice(shown):
    window = QWidget()
    made = Notice(window)
    QVBoxLayout(window).addWidget(made)
    shown(window, 400, 300)
    return made


def test_that_a_notice_shows_its_remedy_and_its_details_folded_which_are_copied_in_full(notice):
    assert not notice.isVisible()
    notice.show_message(UserMessage("Title", "<img src=x>", "Open another…", details="line one\nline two"))
    assert notice.accessibleName() == "Title: <img src=x>"
    details = notice.findChild(QPlainTextEdit)
    assert [b.text() for b in notice.findChildren(QPushButton) if b.isVisible()] == ["Open another…", "Details", "Copy"]
    assert not details.isVisible()
    for name in ("Details", "Copy"):
        QTest.mouseClick(button(notice, name), Qt.MouseButton.LeftButton)
    assert details.isVisible()
    assert QGuiApplication.clipboard().text() == "Title\n\n<img src=x>\n\nline one\nline two"
    ground = notice.grab().toImage().pixelColor(200, 6)
    assert ground == QColor(LIGHT.danger_wash)
    notice.show_message(UserMessage("Other", "No details.", kind="information"))
    assert notice.grab().toImage().pixelColor(200, 6) == QColor(LIGHT.accent_wash)
    assert not details.isVisible()
    assert not button(notice, "Details").isVisible()


def test_that_close_and_escape_dismiss_and_the_remedy_does_not(notice):
    heard = []
    message = UserMessage("Title", "Sentence.", "Mend", lambda: heard.append("remedy"))
    notice.show_message(message)
    QTest.mouseClick(button(notice, "Mend"), Qt.MouseButton.LeftButton)
    assert notice.isVisible()
    QTest.mouseClick(notice.findChild(QToolButton), Qt.MouseButton.LeftButton)
    assert not notice.isVisible()
    notice.show_message(message)
    QTest.keyClick(button(notice, "Mend"), Qt.Key.Key_Escape)
    assert not notice.isVisible()
    assert heard == ["remedy"]


def test_that_the_parts_of_the_job_bar_do_not_move(shown):
    bar = shown(JobBar(), 700, 32)
    bar.show_status(JobStatus("Fitting layer 3", 0.5, 130.0, print))
    settle()
    cancel = button(bar, "Cancel fitting layer 3")
    before = cancel.geometry()
    bar.show_status(JobStatus("Fitting layer 3", 0.51, 9.0, print))
    settle()
    assert cancel.geometry() == before
    assert bar.findChild(QProgressBar).value() == 510
    bar.show_status(None)
    settle()
    assert [each.text() for each in bar.findChildren(QLabel) if each.isVisible()] == [""]
    assert not bar.findChild(QProgressBar).isVisible()
    assert not cancel.isVisible()
    assert bar.height() == 26


def test_that_the_button_names_the_job_in_full_if_the_bar_is_wide(shown):
    bar = shown(JobBar(), 900, 32)
    bar.show_status(JobStatus("Fitting to shuffled features", 0.5, 130.0, print))
    assert button(bar, "Cancel fitting to shuffled features").isVisible()


def test_that_a_long_text_leaves_space_for_cancel_which_mouse_and_keys_reach(shown):
    bar = shown(JobBar(), 480, 32)
    requests = []
    status = JobStatus("Reading " + "a very long name of a file " * 10, 0.0, None, lambda: requests.append(True))
    bar.show_status(status)
    settle()
    cancel = bar.findChild(QPushButton)
    assert cancel.text().startswith("Cancel reading a very")
    assert cancel.text().endswith("…")
    assert cancel.accessibleName() == f"Cancel r{status.title[1:]}"
    assert bar.width() == 480
    assert cancel.geometry().right() <= 480
    QTest.mouseClick(cancel, Qt.MouseButton.LeftButton)
    cancel.setFocus()
    QTest.keyClick(cancel, Qt.Key.Key_Space)
    assert requests == [True, True]

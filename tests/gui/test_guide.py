"""The guide and the short tour in the window; tests/end_to_end/test_tour.py visits each card of the tour."""

import itertools
import re

import numpy as np
import pytest
from PySide6.QtCore import QSettings, Qt, QUrl
from PySide6.QtTest import QTest

from slide_gui.data.entries import entries
from slide_gui.gui.app import tear_down
from slide_gui.gui.help import guide as guide_pages
from slide_gui.gui.help.guide import GUIDE_PAGES, Guide
from slide_gui.gui.help.tour_card import card_texts
from slide_gui.gui.shell.commands import COMMANDS
from slide_gui.gui.shell.main_window import MainWindow
from slide_gui.gui.shell.tour import STOPS
from slide_gui.gui.theme import DARK, LIGHT, apply_theme
from slide_gui.resources import resource
from tests.gui.helpers import at_rest, dataset, labelled, open_data, train, wait


@pytest.fixture
def guide(window):
    window.actions_by_name["guide"].trigger()
    guide = window.findChild(Guide)
    yield guide
    guide.reject()
    wait(lambda: not window.queue.busy)


def test_that_links_follow_the_theme_and_the_page_stays_in_place(app, guide):
    for theme in (DARK, LIGHT):
        guide.text.verticalScrollBar().setValue(40)
        apply_theme(app, theme.name)
        assert f"color:{theme.accent_text.lower()}" in guide.text.toHtml()
        assert guide.text.verticalScrollBar().value() == 40


@pytest.mark.parametrize("width", [640, 800, 1000])
def test_that_code_and_tables_fit_into_the_width_of_the_window(guide, width):
    bar = guide.text.horizontalScrollBar()
    guide.resize(width, 640)
    for name in ("guide.md", "cluster.md", "measurements.md"):
        guide.turn_to(name)
        wait(lambda: guide.width() == width and bar.maximum() <= 1)  # Qt may round up by a pixel
        assert not bar.isVisible()


@pytest.mark.parametrize("page", sorted(resource("help").rglob("*.md")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_that_every_link_of_a_page_leads_to_a_page_a_file_of_the_installation_a_command_or_data(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    for title, link in re.findall(r"[Pp]age \[([^]]+)\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert GUIDE_PAGES[link] == title
    for link in links:
        scheme, _, name = link.partition(":")
        if scheme in ("command", "data"):
            known = {each.name for each in COMMANDS} if scheme == "command" else {each.key for each in entries()}
            assert name in known
            continue
        if link in GUIDE_PAGES:
            continue
        target = page.parent.joinpath(link).resolve()
        assert target.exists(), link
        assert target.is_relative_to(resource("help").parent.resolve()), link
    assert page.name in GUIDE_PAGES


def test_that_each_page_is_shown_and_links_lead_to_pages_and_files(guide, monkeypatch):
    opened = []
    monkeypatch.setattr(guide_pages.QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    guide.text.anchorClicked.emit(QUrl("../protocol.toml"))
    assert opened == [str(resource("protocol.toml"))]
    first = guide.text.toPlainText()
    assert first.startswith("Guide")
    for number, name in enumerate(GUIDE_PAGES):
        guide.tabs.setCurrentIndex(number)
        assert guide.text.toPlainText().strip()
        assert (guide.text.toPlainText() == first) is (number == 0)
        guide.tabs.setCurrentIndex(0)
        guide.text.anchorClicked.emit(QUrl(name))
        assert guide.tabs.currentIndex() == number


def test_that_links_run_commands_or_report_why_not_and_open_data_while_the_guide_stays(small_example, window, guide):
    for link, page, view in (
        ("command:view_flow", "weights", "flow"),
        ("command:page_runs", "runs", "flow"),
        ("command:view_explain", "weights", "explain"),
    ):
        guide.text.anchorClicked.emit(QUrl(link))
        assert window.pages.name == page
        assert {entry[:2]: entry[2] for entry in window.pages.choices()}.get(("weights", "view")) == view
    window.actions_by_name["page_runs"].trigger()
    guide.text.anchorClicked.emit(QUrl("command:next_sample"))
    assert "Available only on the Weights page" in window.notice.accessibleName()
    window.workspace.set_parameters(depth=1)
    guide.text.anchorClicked.emit(QUrl("data:rectangles"))
    wait(lambda: window.workspace.dataset.n_features == 784)
    at_rest(window)
    assert guide.isVisible()


def test_that_the_search_marks_one_match_after_another_and_reports_missing_text(guide):
    QTest.keyClicks(guide.search, "noise")
    cursor = guide.text.textCursor()
    assert cursor.selectedText().lower() == "noise"
    QTest.keyClick(guide.search, Qt.Key.Key_Return)
    assert guide.text.textCursor().selectionStart() > cursor.selectionStart()
    assert guide.missing.text() == ""
    QTest.keyClicks(guide.search, " zzz")
    assert guide.missing.text() == "not found on this page"


OPENED = labelled


def test_that_each_card_has_a_text_of_at_most_fifty_words_that_promises_a_result():
    texts = card_texts()
    assert len(texts) == len(STOPS) == 12
    assert all(len(f"{text.title} {text.action} {text.result}".split()) <= 50 for text in texts)
    assert all(text.result.startswith("*You should see*") for text in texts[:-1])


def test_that_leaving_restores_data_state_page_result_and_panel_and_sessions_never_hold_the_tour(small_example, window):
    train(window)
    window.workspace.show_test(3)
    window.workspace.draw(np.ones((6, 6), np.float32))
    window.workspace.select(pins=(5,))
    window.panel.more.setChecked(True)
    window.show_panel(False)
    window.actions_by_name["page_runs"].trigger()
    before = window.workspace.state, window.workspace.dataset, window.keeper.record()
    runs, result, seen = window.session.runs, window.session.runs.result, []
    runs.result_changed.connect(lambda: seen.append(runs.result))
    runs.trial.latest = "answer"
    window.actions_by_name["tour"].trigger()
    window.tour.next()
    wait(lambda: window.workspace.dataset.n_features == 784)
    at_rest(window)
    assert window.tour.outline.isVisible()
    assert window.shows_panel
    window.weights_page.set_view("flow").set_corrupted(False)  # as the card on a misclassified image does
    assert window.keeper.snapshot == before[2]
    window.tour.leave()
    assert (window.workspace.state, window.workspace.dataset, window.keeper.record()) == before
    assert seen[-1] is runs.result is result
    assert runs.trial.latest == "answer"
    assert window.panel.more.isChecked()
    assert not window.shows_panel
    assert window.keeper.snapshot is None
    assert window.weights_page.set_view("flow").corrupt.isChecked()
    window.weights_page.show_item(3)
    window.pages.choose("weights", window.pages.choices())
    assert not window.weights_page.set_view("flow").corrupt.isChecked()
    at_rest(window)


def test_that_the_tour_leaves_undo_and_pixel_as_before_waits_for_requested_jobs_and_ends_with_other_data(
    small_example, closed_window, monkeypatch
):
    window = closed_window
    window.start([])
    at_rest(window)
    window.workspace.set_parameters(noise=0.6, depth=1)
    index, state, waiting = window.workspace.history.index(), window.workspace.state, []
    monkeypatch.setattr("slide_gui.gui.shell.tour._show_misclassified", waiting.append)
    window.tour.start()
    for _ in range(len(STOPS) - 1):
        window.tour.next()
        window.tour.look()
    window.weights_page.pixels.point_at(100)
    assert waiting == [window]  # on the card after the training
    assert window.workspace.history.index() > index
    training = window.session.runs.training
    training.start(lambda progress: [progress.report(0.0) for _ in itertools.count()], None)
    window.tour.card.next.click()
    assert not window.tour.is_running
    assert not training.running
    assert (window.workspace.history.count(), window.workspace.state) == (index, state)
    assert window.weights_page.pixels.feature is None
    training.start(lambda progress: [progress.report(0.0) for _ in itertools.count()], None)
    assert "running job" in window.actions_by_name["tour"].follow()
    window.session.stop()
    wait(lambda: not window.queue.busy)
    window.tour.start()
    open_data(window, own := dataset())
    assert not window.tour.is_running
    assert not window.tour.card.isVisible()
    assert window.workspace.dataset is own


@pytest.mark.parametrize("takes", [True, False])
def test_that_the_tour_is_offered_once_and_declined_or_started(small_example, app, tmp_path, takes):
    for first in (True, False):
        settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
        window = MainWindow(settings, tmp_path / "runs.sqlite", tmp_path / "session")
        window.start([])
        window.show()
        at_rest(window)
        assert ("tour" in vars(window)) is first
        if first:
            card = window.tour.card
            assert (card.leave.toolTip()[:15], card.next.toolTip()) == ("Hide this offer", "Start the tour")
            (card.next if takes else card.leave).click()
            assert window.tour.is_running is takes
            assert card.isVisible() is takes
            assert card.leave.toolTip().startswith("Leave the tour" if takes else "Hide")
        tear_down(window)

"""The guide in the window: its pages, its links and its search."""

import re

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtTest import QTest

from slide_gui.data.entries import entries
from slide_gui.gui.help import guide as guide_pages
from slide_gui.gui.help.guide import GUIDE_PAGES, Guide
from slide_gui.gui.shell.commands import COMMANDS
from slide_gui.resources import resource
from tests.gui.helpers import wait


@pytest.fixture
def guide(window):
    window.actions_by_name["guide"].trigger()
    guide = window.findChild(Guide)
    yield guide
    guide.reject()
    wait(lambda: not window.queue.busy)


@pytest.mark.parametrize("width", [640, 800, 1000])
def test_that_code_and_tables_fit_into_the_width_of_the_window(guide, width):
    bar = guide.text.horizontalScrollBar()
    guide.resize(width, 640)
    for name in ("guide.md", "cluster.md", "measurements.md"):
        guide.turn_to(name)
        wait(lambda: guide.width() == width and bar.maximum() <= 1)  # Qt may round up by a pixel
        assert not bar.isVisible()


@pytest.mark.parametrize(
    "page", sorted(resource("help").rglob("*.md")), ids=lambda page: f"{page.parent.name}-{page.stem}"
)
def test_that_every_link_of_a_page_leads_to_a_page_a_file_of_the_installation_a_command_or_data(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
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


def test_that_a_link_to_a_command_runs_it_or_reports_why_not_while_the_guide_stays(window, guide):
    for link, page, view in (
        ("command:view_flow", "weights", "flow"),
        ("command:page_runs", "runs", "flow"),
        ("command:view_explain", "weights", "explain"),
    ):
        guide.text.anchorClicked.emit(QUrl(link))
        assert window.pages.name == page
        assert {entry[:2]: entry[2] for entry in window.pages.choices()}.get(("weights", "view")) == view
        assert guide.isVisible()
    window.actions_by_name["page_runs"].trigger()
    guide.text.anchorClicked.emit(QUrl("command:next_sample"))
    assert "Available only on the Weights page" in window.notice.accessibleName()


def test_that_a_link_to_data_opens_them(small_example, window, guide):
    window.workspace.set_parameters(depth=1)
    guide.text.anchorClicked.emit(QUrl("data:rectangles"))
    wait(lambda: window.workspace.source is not None and window.workspace.source.key == "rectangles", 30)
    wait(lambda: window.workspace.dataset.n_features == 784 and not window.queue.busy, 60)


def test_that_the_search_marks_one_match_after_another_and_reports_missing_text(guide):
    QTest.keyClicks(guide.search, "noise")
    cursor = guide.text.textCursor()
    assert cursor.selectedText().lower() == "noise"
    QTest.keyClick(guide.search, Qt.Key.Key_Return)
    assert guide.text.textCursor().selectionStart() > cursor.selectionStart()
    assert guide.missing.text() == ""
    QTest.keyClicks(guide.search, " zzz")
    assert guide.missing.text() == "not on this page"

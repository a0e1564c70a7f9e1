"""The guide in the window: its pages, its links and its search."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtTest import QTest

from slide_gui.gui.guide import GUIDE_PAGES, Guide
from slide_gui.resources import resource
from tests.gui.given import wait


@pytest.fixture
def guide(window):
    window.actions_by_name["guide"].trigger()
    guide = window.findChild(Guide)
    yield guide
    guide.reject()
    wait(lambda: not window.lane.busy)


@pytest.mark.parametrize("name", GUIDE_PAGES)
def test_that_every_link_of_a_page_leads_to_a_file_of_the_installation(name):
    links = re.findall(r"\]\(([^)#]+)\)", resource("help").joinpath(name).read_text(encoding="utf-8"))
    for link in links:
        target = resource("help").joinpath(link).resolve()
        assert target.exists(), link
        assert target.is_relative_to(resource("help").parent.resolve()), link


def test_that_the_pages_are_all_that_the_folder_of_help_has():
    assert {path.name for path in resource("help").glob("*.md")} == set(GUIDE_PAGES)


def test_that_each_page_is_shown_and_a_link_turns_to_another(guide):
    first = guide.text.toPlainText()
    assert first.startswith("What slide-gui does")
    guide.tabs.setCurrentIndex(1)
    assert guide.text.toPlainText() != first
    guide.tabs.setCurrentIndex(0)
    guide.text.anchorClicked.emit(QUrl("measurements.md"))
    assert guide.tabs.currentIndex() == 1


def test_that_the_search_marks_one_place_after_another_and_says_what_is_not_there(guide):
    QTest.keyClicks(guide.search, "noise")
    cursor = guide.text.textCursor()
    assert cursor.selectedText().lower() == "noise"
    QTest.keyClick(guide.search, Qt.Key.Key_Return)
    assert guide.text.textCursor().selectionStart() > cursor.selectionStart()
    assert guide.missing.text() == ""
    QTest.keyClicks(guide.search, " zzz")
    assert guide.missing.text() == "not on this page"

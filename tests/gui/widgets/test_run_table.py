from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetricsF, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton, QTableView

from slide_gui.gui.theme import LIGHT, figure_font
from slide_gui.gui.widgets.run_model import COLUMNS, TAG
from slide_gui.gui.widgets.run_table import PADDING, TEXT, RunRow, RunTable
from tests.gui.given import calls_in, rate, settle, wait

Shown = Callable[..., Any]
TITLES = [c.title for c in COLUMNS]
ROWS = [
    RunRow("a", "2026-11-01 10:00", "Rectangles", "SLIDE-SVM", 0.5, 2, "whole", 1, rate(1.33), 10.0, 812),
    RunRow("b", "2026-11-02 10:00", "Rectangles", "Raw-SVM", math.nan, None, "whole", 1, rate(2.15)),
    RunRow("c", "2026-11-03 10:00", "MNIST", "SLIDE-SVM", 0.3, 2, "whole", 10, rate(10.4, n=10_000), 1.0, 9_835),
    RunRow("d", "2026-11-04 10:00", "Convex", "SLIDE-SVM", 0.3, 3, "50/10/10", 2, tag="Figure 3"),
]


@pytest.fixture
def table(shown: Shown) -> RunTable:
    made: RunTable = shown(RunTable(), 940, 400)
    made.set_rows(ROWS)
    return made


@pytest.fixture
def heard(table: RunTable) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {"open": [], "compare": [], "delete": [], "tag": []}
    table.open_requested.connect(found["open"].append)
    table.compare_requested.connect(found["compare"].append)
    table.delete_requested.connect(found["delete"].append)
    table.tag_edited.connect(lambda key, text: found["tag"].append((key, text)))
    return found


def column(table: RunTable, title: str) -> list[str]:
    model = table.view().model()
    return [model.index(i, TITLES.index(title)).data() for i in range(model.rowCount())]


def order(table: RunTable) -> str:
    table.view().selectAll()
    found = "".join(table.selected())
    table.view().clearSelection()
    return found


def button(table: RunTable, text: str) -> QPushButton:
    return next(b for b in table.findChildren(QPushButton) if b.text() == text)


def test_that_the_newest_run_is_first_and_numbers_stand_at_the_right(table: RunTable) -> None:
    assert order(table) == "dcba"
    assert column(table, "Error %") == ["–", "10.40", "2.15", "1.33"]
    assert column(table, "n SV")[1] == "9\u202f835"
    index = table.view().model().index(0, TITLES.index("Error %"))
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    assert index.data(Qt.ItemDataRole.TextAlignmentRole) == right


def test_that_columns_sort_as_numbers_and_what_has_none_comes_last(table: RunTable) -> None:
    view, error = table.view(), TITLES.index("Error %")
    view.sortByColumn(error, Qt.SortOrder.AscendingOrder)
    assert order(table) == "abcd"
    view.sortByColumn(error, Qt.SortOrder.DescendingOrder)
    assert order(table) == "cbad"
    head = view.horizontalHeader()
    x = head.sectionViewportPosition(TITLES.index("Depth")) + 10
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=head.rect().center().__class__(x, 8))
    assert order(table)[-1] == "b"


def test_that_every_word_of_the_filter_must_occur(table: RunTable) -> None:
    exact = (("depth 2", "ca"), ("noise 0.3", "dc"), ("seed 1", "ba"), ("depth:3", "d"))
    for text, wanted in (*exact, ("slide RECT", "a"), ("figure", "d"), ("", "dcba"), ("  0.30 ", "dc")):
        table.set_filter(text)
        assert order(table) == wanted, text
    table.set_filter("nothing like it")
    assert order(table) == ""
    assert "No run matches “nothing like it”" in table.view().accessibleDescription()


def test_that_chosen_runs_stay_chosen_through_sorting_filtering_and_new_rows(table: RunTable) -> None:
    table.select(["a", "c"])
    table.view().sortByColumn(TITLES.index("Data"), Qt.SortOrder.AscendingOrder)
    assert set(table.selected()) == {"a", "c"}
    table.set_rows([*ROWS, RunRow("e", "2026-11-05 10:00", "MNIST", "SdA")])
    assert set(table.selected()) == {"a", "c"}
    table.set_filter("mnist")
    assert table.selected() == ("c",)


def test_that_open_compare_and_delete_ask_for_what_is_chosen(table: RunTable, heard: dict[str, list[Any]]) -> None:
    view = table.view()
    assert not any(button(table, t).isEnabled() for t in ("Open", "Compare", "Delete"))
    view.setFocus()
    table.select(["c"])
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert not button(table, "Compare").isEnabled()
    table.select(["a", "c"])
    assert not button(table, "Open").isEnabled()
    QTest.keyClick(view, Qt.Key.Key_Return)
    QTest.keyClick(view, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    QTest.mouseClick(button(table, "Compare"), Qt.MouseButton.LeftButton)
    table.select(["a", "b", "d"])
    QTest.keyClick(view, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(view, Qt.Key.Key_Delete)
    assert heard == {"open": ["c"], "compare": [("c", "a")] * 2, "delete": [("d", "b", "a")], "tag": []}
    assert order(table) == "dcba"


def test_that_a_double_click_opens_and_on_the_tag_edits(table: RunTable, heard: dict[str, list[Any]]) -> None:
    view = table.view()
    for col in (2, TAG):
        place = view.visualRect(view.model().index(1, col)).center()
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
        QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert heard["open"] == ["c"]
    editor = view.viewport().findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    QTest.keyClicks(editor, "seen")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    wait(lambda: heard["tag"] == [("c", "seen")])
    assert column(table, "Tag") == ["Figure 3", "seen", "", ""]
    table.set_filter("seen")
    assert order(table) == "c"


def test_that_f2_edits_the_tag_and_enter_in_it_opens_nothing(table: RunTable, heard: dict[str, list[Any]]) -> None:
    view = table.view()
    table.select(["d"])
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_F2)
    editor = view.viewport().findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    assert editor.text() == "Figure 3"
    QTest.keyClick(editor, Qt.Key.Key_Return)
    settle()
    assert heard["tag"] == []
    assert heard["open"] == []


def test_that_runs_that_arrive_while_a_tag_is_typed_wait_and_the_text_stays(
    table: RunTable, heard: dict[str, list[Any]]
) -> None:
    rows = {row.key: row for row in [*ROWS, RunRow("e", "2026-11-05 10:00", "MNIST", "SdA")]}

    def tagged(key: str, text: str) -> None:
        rows[key] = replace(rows[key], tag=text)
        table.set_rows(list(rows.values()))

    table.tag_edited.connect(tagged)
    table.select(["a"])
    table.view().setFocus()
    QTest.keyClick(table.view(), Qt.Key.Key_F2)
    editor = table.view().viewport().findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    QTest.keyClicks(editor, "be")
    table.set_rows(list(rows.values()))
    QTest.keyClicks(editor, "st")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    wait(lambda: column(table, "Tag") == ["", "Figure 3", "", "", "best"])
    assert heard["tag"] == [("a", "best")]
    assert table.selected() == ("a",)


def test_that_copy_is_text_other_programs_read(table: RunTable) -> None:
    table.select(["c"])
    table.view().setFocus()
    QTest.keyClick(table.view(), Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert lines[0] == TITLES
    assert len(lines) == 2
    found = dict(zip(lines[0], lines[1], strict=True))
    assert (found["n test"], found["n SV"], found["Error %"], found["C"]) == ("10000", "9835", "10.40", "1")
    table.view().clearSelection()
    assert len(table.text().splitlines()) == 5


def test_that_keys_go_between_filter_and_table(table: RunTable) -> None:
    table.view().setFocus()
    QTest.keyClick(table.view(), Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = next(f for f in table.findChildren(QLineEdit) if f.accessibleName() == "Filter runs")
    assert field.hasFocus()
    QTest.keyClicks(field, "mnist")
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert table.view().hasFocus()
    assert table.selected() == ("c",)
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert order(table) == "dcba"


def test_that_a_chosen_row_lies_on_the_accents_wash(table: RunTable) -> None:
    table.select(["c"])
    view = table.view()
    shot = view.viewport().grab().toImage()
    box = view.visualRect(view.model().index(1, 3))
    assert shot.pixelColor(box.left() + 2, box.top() + 2) == QColor(LIGHT.accent_wash)


def many_rows(n: int) -> list[RunRow]:
    return [
        RunRow(
            f"k{i}",
            f"2026-11-{1 + i % 28:02d}",
            "Rectangles",
            "SLIDE-SVM",
            i % 10 / 10,
            i % 5,
            "whole",
            i,
            rate(1.0 + i / 200),
        )
        for i in range(n)
    ]


def test_that_of_ten_thousand_runs_only_those_in_view_are_painted_and_each_is_filtered_and_sorted_by_few_calls(
    shown: Shown,
) -> None:
    table: RunTable = shown(RunTable(), 940, 600)
    table.set_rows(many_rows(1000))
    painted = calls_in(table.grab)
    rows = many_rows(10_000)
    assert calls_in(lambda: table.set_rows(rows)) < 5 * len(rows)
    assert calls_in(table.grab) < 1.1 * painted
    assert calls_in(lambda: table.set_filter("rectangles depth 3")) < 20 * len(rows)
    by_error = TITLES.index("Error %")
    assert calls_in(lambda: table.view().sortByColumn(by_error, Qt.SortOrder.AscendingOrder)) < 20 * len(rows)
    assert calls_in(table.grab) < 1.1 * painted
    assert table.view().model().rowCount() == 2000


def test_that_every_column_stands_whole_in_a_window_of_1280(shown: Shown) -> None:
    table: RunTable = shown(RunTable(), 920, 400)
    long = RunRow(
        "k", "2026-11-21 03:05", "Rectangles-Images (generated)", "Rand Proj-SVM", 0.5, 2, "29, val.", 9876,
        rate(22.14, 21.78, 22.5), 1000.0, 50_000, 1234.5,
    )  # fmt: skip
    table.set_rows([long])
    view = table.view()
    assert view.horizontalScrollBar().maximum() == 0
    room = [view.horizontalHeader().sectionSize(number) - 2 * PADDING for number in range(len(COLUMNS))]
    font = QFontMetricsF(figure_font(table, TEXT))
    assert [font.horizontalAdvance(c.text(long)) <= wide for c, wide in zip(COLUMNS, room, strict=True)] == [True] * 14


def test_that_the_empty_table_says_what_to_do(table: RunTable, heard: dict[str, list[Any]]) -> None:
    table.set_placeholder("No runs yet. Train one.")
    table.set_rows([])
    assert table.view().accessibleDescription() == "No runs yet. Train one."
    table.view().setFocus()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Delete, Qt.Key.Key_F2):
        QTest.keyClick(table.view(), key)
    assert heard == {"open": [], "compare": [], "delete": [], "tag": []}
    table.grab()


def test_that_a_run_that_counts_less_is_grey_says_why_and_is_found_by_it(table: RunTable) -> None:
    table.set_rows([*ROWS, RunRow("e", "2026-11-05 10:00", "MNIST", "SdA", note="Version 2 of the numbers")])
    view = table.findChild(QTableView)
    model = view.model()
    (line,) = (i for i in range(model.rowCount()) if model.index(i, 2).data() == "SdA")
    assert "Version 2 of the numbers" in model.index(line, 0).data(Qt.ItemDataRole.ToolTipRole)
    image = view.viewport().grab().toImage()
    found = {}
    for name, row in (("less", line), ("usual", (line + 1) % model.rowCount())):
        cell = view.visualRect(model.index(row, 1))
        xs, ys = range(cell.left(), cell.right()), range(cell.top(), cell.bottom())
        found[name] = min(image.pixelColor(x, y).lightness() for x in xs for y in ys)
    assert found["less"] > found["usual"] + 20
    table.set_filter("version 2")
    assert table.shown() == ("e",)

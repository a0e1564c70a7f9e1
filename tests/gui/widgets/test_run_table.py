from dataclasses import replace
from datetime import datetime

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFontMetricsF, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from slide_gui.data.dataset import HeldOut
from slide_gui.experiments.store.stored_run import SHOWN, StoredRun
from slide_gui.gui.pages.runs.table import PADDING, TEXT, RunTable
from slide_gui.gui.theme import figure_font
from slide_gui.results_version import RESULTS_VERSION
from tests.gui.helpers import button, calls_in, press, record, settle, wait

TITLES = [c.title for c in SHOWN]
TAG = TITLES.index("Tag")


def run(key, day, data, method="slide-svm", **known):
    usual = {
        "generated": False, "fingerprint": "", "noise": 0.0, "depth": 0, "split": 0, "seed": 0, "training": "whole",
        "evaluate": "test", "error": 0.5, "n_test": 1000, "validation_error": None, "seconds": 1.0,
        "created": datetime(2026, 11, day, 10).timestamp(), "tags": (), "deleted": False,
        "numerics": str(RESULTS_VERSION),
    }  # fmt: skip
    return StoredRun(key, data, method=method, **(usual | known))


ROWS = [
    run("a", 1, "Rectangles", noise=0.5, depth=2, seed=1, error=0.0133, C=10.0, n_support=812),
    run("b", 2, "Rectangles", "raw-svm", seed=1, error=0.0215),
    run("c", 3, "MNIST", noise=0.3, depth=2, seed=10, error=0.104, n_test=10_000, C=1.0, n_support=9_835),
    run("d", 4, "Convex", noise=0.3, depth=3, seed=2, error=0.3, tags=("Figure 3",)),
]
MORE = run("e", 5, "MNIST", "sda", error=0.4)


@pytest.fixture
def table(shown):
    made = shown(RunTable(), 940, 400)
    made.set_rows(ROWS)
    return made


@pytest.fixture
def emitted(table):
    opened, compared, deleted = record(table.open_requested, table.compare_requested, table.delete_requested)
    tagged = []
    table.tag_edited.connect(lambda key, text: tagged.append((key, text)))
    return {"open": opened, "compare": compared, "delete": deleted, "tag": tagged}


def column(table, title):
    model = table.view.model()
    return [model.index(i, TITLES.index(title)).data() for i in range(model.rowCount())]


def order(table):
    table.view.selectAll()
    found = "".join(table.selected())
    table.view.clearSelection()
    return found


def test_that_the_newest_run_is_first_and_columns_sort_as_numbers_with_empty_cells_last(table):
    view, error, role = table.view, TITLES.index("Error %"), Qt.ItemDataRole
    assert (order(table), column(table, "Error %")) == ("dcba", ["30.00", "10.40", "2.15", "1.33"])
    assert "\n" in view.model().headerData(TITLES.index("Split"), Qt.Orientation.Horizontal, role.ToolTipRole)
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    assert view.model().index(0, error).data(role.TextAlignmentRole) == right
    for title, sense, wanted in (("Error %", "Ascending", "abcd"), ("C", "Descending", "acbd")):
        view.sortByColumn(TITLES.index(title), Qt.SortOrder[f"{sense}Order"])
        assert order(table) == wanted
    head = view.horizontalHeader()
    place = QPoint(head.sectionViewportPosition(TITLES.index("Noise")) + 10, 8)
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert order(table)[-1] == "b"


def test_that_names_sort_as_shown_without_regard_to_case_and_splits_as_numbers(table):
    given = (("a", "digits", "median", 10, "b"), ("b", "Convex", "raw-svm", 2, "A"), ("c", "Wine", "pca-svm", 1, "c"))
    table.set_rows([run(key, 1, *names, split=k, training="split", tags=(tag,)) for key, *names, k, tag in given])
    for title, wanted in (("Data", "bac"), ("Method", "cba"), ("Split", "cba"), ("Tag", "bac")):
        table.view.sortByColumn(TITLES.index(title), Qt.SortOrder.AscendingOrder)
        assert order(table) == wanted, column(table, title)


def test_that_every_word_of_the_filter_must_occur(table):
    table.set_rows([*ROWS, replace(MORE, generated=True), run("f", 6, "M", noise=0.999), run("g", 7, "M", noise=1.0)])
    exact = (("depth 2", "ca"), ("noise 0.3", "dc"), ("noise 0.999", "f"), ("noise 1", "g"), ("seed 1", "ba"))
    others = (("depth:3", "d"), ("-depth 2", "gfedb"), ("slide RECT", "a"), ("figure", "d"), ("", "gfedcba"))
    for text, wanted in (*exact, *others, ("  0.30 ", "dc"), ("noise .3", "dc"), ("gen.", "e"), ("no such run", "")):
        table.set_filter(text)
        assert order(table) == wanted, text
    assert "No run matches “no such run”" in table.view.accessibleDescription()


def test_that_chosen_runs_stay_chosen_through_sorting_filtering_and_new_rows(table):
    table.select(["a", "c"])
    table.view.sortByColumn(TITLES.index("Data"), Qt.SortOrder.AscendingOrder)
    assert set(table.selected()) == {"a", "c"}
    table.set_rows([*ROWS, MORE])
    assert set(table.selected()) == {"a", "c"}
    table.select("abcd")
    first = table.selected()[0]
    table.set_rows([*(row for row in ROWS if row.hash != first), MORE])
    assert (set(table.selected()), table.view.currentIndex().row()) == (set("abcd") - {first}, 0)
    table.set_filter("mnist")
    assert table.selected() == ("c",)


def test_that_open_compare_and_delete_request_the_selected_runs(table, emitted):
    view = table.view
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
    assert emitted == {"open": ["c"], "compare": [("c", "a")] * 2, "delete": [("d", "b", "a")], "tag": []}
    assert order(table) == "dcba"


def test_that_a_double_click_opens_a_run_and_on_the_tag_edits_it_while_other_runs_arrive(table, emitted):
    view, rows = table.view, {row.hash: row for row in [*ROWS, MORE]}

    def tagged(key, text):
        rows[key] = rows[key].with_tags(text)
        table.set_rows(list(rows.values()))

    table.tag_edited.connect(tagged)
    for col in (2, TAG):
        place = view.visualRect(view.model().index(3, col)).center()
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
        QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert emitted["open"] == ["a"]
    editor = view.viewport().findChild(QLineEdit)
    QTest.keyClicks(editor, "be")
    table.set_rows(list(rows.values()))
    QTest.keyClicks(editor, "st")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    wait(lambda: column(table, "Tag") == ["", "Figure 3", "", "", "best"])
    assert emitted["tag"] == [("a", "best")]
    assert table.selected() == ("a",)
    table.set_filter("best")
    assert order(table) == "a"


def test_that_copied_runs_are_text_that_other_programs_read(table):
    table.select(["c"])
    table.view.setFocus()
    QTest.keyClick(table.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert lines[0] == TITLES
    assert len(lines) == 2
    found = dict(zip(lines[0], lines[1], strict=True))
    assert (found["n test"], found["n SV"], found["Error %"], found["C"]) == ("10000", "9835", "10.40", "1")
    table.view.clearSelection()
    assert len(table.text().splitlines()) == 5


def test_that_keys_go_between_filter_and_table(table):
    table.view.setFocus()
    QTest.keyClick(table.view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = next(f for f in table.findChildren(QLineEdit) if f.accessibleName() == "Filter runs")
    assert field.hasFocus()
    QTest.keyClicks(field, "mnist")
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert table.view.hasFocus()
    assert table.selected() == ("c",)
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert order(table) == "dcba"


class Key(str):
    """A key whose comparisons `calls_in` counts."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return str.__eq__(self, other)


def many_rows(n):
    return [
        run(f"k{i}", 1 + i % 28, "Rectangles", noise=i % 10 / 10, depth=i % 5, seed=i, error=0.01 + i / 20_000)
        for i in range(n)
    ]


def test_that_of_ten_thousand_runs_only_those_in_view_are_painted_and_each_is_filtered_and_sorted_by_few_calls(
    shown,
):
    table = shown(RunTable(), 940, 600)
    table.set_rows(many_rows(1000))
    painted = calls_in(table.grab)
    rows = many_rows(10_000)
    assert calls_in(lambda: table.set_rows(rows)) < 5 * len(rows)
    assert calls_in(table.grab) < 1.1 * painted
    assert calls_in(lambda: table.set_filter("rectangles depth 3")) < 30 * len(rows)
    by_error = TITLES.index("Error %")
    assert calls_in(lambda: table.view.sortByColumn(by_error, Qt.SortOrder.AscendingOrder)) < 20 * len(rows)
    assert calls_in(table.grab) < 1.1 * painted
    assert table.view.model().rowCount() == 2000
    table.set_rows([replace(row, hash=Key(row.hash)) for row in many_rows(1000)])
    assert calls_in(table.view.selectAll) < 50 * 1000


def cut(table, row):
    font, head = QFontMetricsF(figure_font(table, TEXT)), table.view.horizontalHeader()
    room = [head.sectionSize(number) - 2 * PADDING for number in range(len(SHOWN))]
    return [c.title for c, wide in zip(SHOWN, room, strict=True) if font.horizontalAdvance(c.text(row)) > wide]


@pytest.mark.parametrize("width", [606, 918, 1566])
def test_that_no_cell_is_cut_at_any_width_and_a_narrow_table_shows_up_to_the_error(shown, width):
    table = shown(RunTable(), 1200, 400)
    own = run(
        "k", 21, "iris", noise=0.5, depth=2, split=4, training="split", evaluate="validation", tags=("for fig. 3",),
        error=0.2214, held_out=HeldOut(0.0, folds=10, fold=1),
    )  # fmt: skip
    assert SHOWN[TITLES.index("Split")].text(own) == "4, fold 2/10, val."
    long = [run("l", 21, "Digits 8 × 8 enlarged (stand-in)")] if width < 700 else []
    table.set_rows([own, *long, *ROWS])
    view = table.view
    for _ in range(2):  # the table is made wide and then narrow again
        table.resize(1700, 400)
        table.resize(width + 2, 400)
        settle()
        assert cut(table, own) == []
        error = view.visualRect(view.model().index(0, TITLES.index("Error %")))
        assert error.right() < view.viewport().width() == width
        assert (view.horizontalScrollBar().maximum() == 0) == (width > 700)
        assert view.horizontalHeader().length() >= width


def test_that_a_column_keeps_the_width_that_the_user_sets(table):
    view, method = table.view, TITLES.index("Method")
    head = view.horizontalHeader()
    before = head.sectionSize(method)
    head.resizeSection(method, before + 40)
    table.set_rows([*ROWS, MORE])
    table.resize(1000, 400)
    assert head.sectionSize(method) == before + 40


def test_that_the_empty_table_says_what_to_do(table, emitted):
    table.set_placeholder("No runs yet. Train one.")
    table.set_rows([])
    assert table.view.accessibleDescription() == "No runs yet. Train one."
    table.view.setFocus()
    press(table.view, Qt.Key.Key_Return, Qt.Key.Key_Delete, Qt.Key.Key_F2)
    assert emitted == {"open": [], "compare": [], "delete": [], "tag": []}
    table.grab()


def test_that_a_run_of_another_results_version_is_grey_gives_the_reason_and_can_be_filtered_by_it(table):
    shots = []
    for version in (str(RESULTS_VERSION), "2"):
        table.set_rows([replace(MORE, numerics=version)])
        shots.append(table.view.viewport().grab(QRect(0, 0, 400, 28)).toImage())
    darkest = [min(shot.pixelColor(x, y).lightness() for x in range(400) for y in range(28)) for shot in shots]
    assert darkest[1] > darkest[0] + 20
    assert "results version 2" in table.view.model().index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    table.set_rows([*ROWS, replace(MORE, numerics="2")])
    table.set_filter("version 2")
    assert table.shown() == ("e",)

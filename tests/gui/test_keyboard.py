"""Everything that can be done with the mouse can be done with keys."""

import ast
from itertools import combinations
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

import slide_gui.gui
from slide_gui.gui.pages.weights.why import WhyView
from tests.gui.helpers import dialogs, every_view, image_and_tiles, labelled, open_data, press, settle, show_page, wait
from tests.gui.test_accessibility import plain

OPENED = labelled

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier
Key = Qt.Key


def is_stop(widget):
    """Return True if Tab should stop here; of exclusive buttons it stops only at the checked one."""
    nav = isinstance(widget, QAbstractButton) and widget.autoExclusive() and not widget.isChecked()
    policy = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
    return policy and widget.isVisible() and widget.isEnabled() and not nav


def tab_around(root, where, back=False):
    """Press Tab until it returns to the start; return the visited widgets and the faults."""
    faults = []
    stops = [each for each in root.findChildren(QWidget) if is_stop(each) and each.window() is root]
    root.activateWindow()
    stops[0].setFocus()
    visited = []
    for _ in range(len(stops) + 200):
        now = QApplication.focusWidget()
        if now is None or now.window() is not root or now in visited[:-1]:
            break
        visited += [now] if now not in visited else []  # Tab moves between the links of one text
        if now.visibleRegion().united(now.childrenRegion()).isEmpty():
            faults.append(f"{where}: {type(now).__name__} {now.accessibleName()!r} has the keyboard and is not seen")
        press(now, Key.Key_Backtab if back else Key.Key_Tab, held=SHIFT if back else Qt.KeyboardModifier.NoModifier)
    faults += [
        f"{where}: Tab does not come to {type(each).__name__} {each.accessibleName() or each.objectName()!r}"
        for each in stops
        if each not in visited
    ]
    if QApplication.focusWidget() is not visited[0]:
        faults.append(f"{where}: Tab does not come round, but stays at {QApplication.focusWidget()!r}")
    return visited, faults


def out_of_order(visited):
    """Return the names of two controls, one above the other, if Tab reaches the lower one first."""
    boxes = {each: QRect(each.mapToGlobal(QPoint()), each.size()) for each in visited}
    pairs = [(low, high) for low, high in combinations(boxes, 2) if boxes[high].bottom() < boxes[low].top()]
    aligned = [pair for pair in pairs if min(boxes[a].right() for a in pair) > max(boxes[a].left() for a in pair)]
    return [f"{low.accessibleName()} is reached before {high.accessibleName()}" for low, high in aligned]


def unmarked(visited, where):
    """Return a fault for each widget that looks the same with the focus as without it."""
    faults = []
    for each in visited:
        each.setFocus()
        shot = each.grab().toImage()
        each.clearFocus()
        if shot == each.grab().toImage():
            faults.append(f"{where}: {type(each).__name__} {each.accessibleName()!r} does not show its keys")
    return faults


def test_that_tab_reaches_every_control_of_every_page_and_shows_the_focus(trained):
    faults = []
    for kind in ("images", "plain"):
        if kind == "plain":
            open_data(trained, plain())
        for view in every_view(trained):
            visited, wrong = tab_around(trained, view)
            again, wrong_back = tab_around(trained, f"{view}, back", back=True)
            assert set(visited) == set(again)
            faults += wrong + wrong_back + (unmarked(visited, view) if kind == "images" else [])
            faults += out_of_order(filter(trained.pages.isAncestorOf, visited))
    assert not faults, "\n".join(dict.fromkeys(faults))


def test_that_tab_reaches_every_control_of_a_dialog_and_escape_returns_the_focus(window):
    faults = []
    image, _ = image_and_tiles(window)
    for name in ("export", "cluster", "guide", "about", "settings", "palette"):
        window.activateWindow()
        image.setFocus()
        window.actions_by_name[name].trigger()
        (dialog,) = dialogs(window)
        settle()
        if name != "palette":  # its search field passes the arrow keys to the list
            faults += tab_around(dialog, name)[1]
        press(QApplication.focusWidget() or dialog, Key.Key_Escape)
        settle()
        if dialog.isVisible():
            faults.append(f"{name}: Escape does not leave it")
            dialog.hide()
        window.activateWindow()
        settle()
        if QApplication.focusWidget() is not image:
            faults.append(f"{name}: the keys are not where they were, but at {QApplication.focusWidget()!r}")
    assert not faults, "\n".join(faults)


def test_that_every_pixel_of_a_tile_is_reached_and_pinned_by_keys(window):
    window.workspace.select(pins=())
    _, tiles = image_and_tiles(window)
    first = window.weights_page.pixels.features()[0]
    tiles.setFocus()
    press(tiles, Key.Key_Down, Key.Key_Right)
    press(tiles, Key.Key_Up, Key.Key_Left, held=SHIFT)
    assert window.weights_page.pixels.source == first - 6 - 1
    place, value = divmod(first - 7, 6), window.workspace.fitting.stack.layers[1].weights[first, first - 7]
    assert tiles.accessibleDescription().startswith(f"{place[0]}, {place[1]}: {value:+.4f}".replace("-", "−"))
    press(tiles, Key.Key_Return, held=CONTROL)
    assert window.workspace.state.selection.pins == (first - 7,)


def test_that_keys_walk_over_all_rows_and_choose_the_row_shown_below(window):
    tiles = window.weights_page.shown_view().tiles
    first = window.weights_page.pixels.features()[0]
    press(tiles, Key.Key_Right)
    press(tiles, Key.Key_Down, Key.Key_Left, held=SHIFT)
    assert window.weights_page.pixels.feature == first + 6 - 1
    row, column = divmod(first + 5, 6)
    assert tiles.accessibleDescription().startswith(f"row of {row}, {column}; All rows, layer 2")
    assert tiles.rows[1].title == f"{row}, {column}"


def test_that_features_of_the_flow_are_walked_by_keys(window):
    open_data(window, plain())
    flow = window.weights_page.set_view("flow")
    flow.view.setFocus()
    press(flow.view, Key.Key_Right, Key.Key_Right)
    assert window.weights_page.pixels.features()[0] == 3
    assert flow.view.accessibleDescription().startswith("x ")


def test_that_keys_choose_the_experiment_its_layer_and_a_pixel_of_its_image(window):
    page = window.weights_page
    page.set_view("explain")
    tabs = page.findChild(WhyView).tabs
    tabs.setFocus()
    for key, view in ((Key.Key_Right, "shuffle"), (Key.Key_Left, "explain")):
        press(tabs, key, key)
        assert page.choices()["view"] == view
        assert tabs.tabRect(tabs.currentIndex()).bottom() < tabs.height()
    part = page.set_view("explain")
    press(part.layers, Key.Key_Down)
    assert "Layer 2" in part.table.toPlainText()
    before = page.pixels.target
    part.tiles.setFocus()
    press(part.tiles, Key.Key_Down, held=SHIFT)
    assert page.pixels.target != before
    assert page.set_view("copies").layer == 2


def test_that_an_arrow_key_lists_the_data_sets_without_opening_one(window, monkeypatch):
    listed = []
    monkeypatch.setattr(window.panel._datasets, "showPopup", lambda: listed.append(True))
    press(window.panel._datasets, Key.Key_Down)
    assert (listed, window.workspace.is_opening) == ([True], False)


def test_that_columns_of_runs_are_sorted_moved_and_widened_by_keys(trained):
    table = show_page(trained, "runs").run_table
    wait(table.shown)
    view = table.view
    head = view.horizontalHeader()
    view.setFocus()
    view.setCurrentIndex(view.model().index(0, 2))
    press(view, Key.Key_Up, held=ALT)
    assert (head.sortIndicatorSection(), head.sortIndicatorOrder()) == (2, Qt.SortOrder.AscendingOrder)
    press(view, Key.Key_Down, held=ALT)
    assert head.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
    press(view, Key.Key_Right, held=ALT)
    assert head.visualIndex(2) == 3
    wide = head.sectionSize(2)
    press(view, Key.Key_Right, held=ALT | SHIFT)
    assert head.sectionSize(2) > wide


def test_that_texts_contain_shortcuts_only_as_the_platform_writes_them():
    for path in Path(slide_gui.gui.__path__[0]).rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        documentation = [node.value for node in nodes if isinstance(node, ast.Expr)]
        texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant) and node not in documentation]
        assert not [text for text in texts if "Ctrl+" in text and " " in text], path.name

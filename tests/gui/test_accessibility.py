"""Users who cannot see the window or use a mouse find names and descriptions for everything in it."""

from collections import namedtuple
from unittest.mock import Mock

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest

from slide_gui.data.dataset import Dataset
from slide_gui.gui.state.jobs import UserMessage
from slide_gui.gui.widgets import painted
from slide_gui.gui.widgets.painted import PaintedWidget
from tests.gui.helpers import dialogs, every_view, image_and_tiles, labelled, open_data, settle, train

OPENED = labelled

HOLDS_ITEMS = (QAccessible.Role.Table, QAccessible.Role.Tree, QAccessible.Role.List)
KINDS = ("plot", "heat map", "mosaic", "image", "tiles", "table", "bars", "matrix", "picture", "gallery")
"""The name of each painted widget contains one of these words, because Qt reports no role for it."""


def plain(n=60):
    """Return features that are not pixels."""
    rows = np.random.default_rng(0).random((2 * n, 5)).astype("float32")
    labels = (rows[:, 0] > 0.5).astype("int64")
    names = ("length", "width", "height", "mass", "age")
    return Dataset("plain", rows[:n], rows[n:], labels[:n], labels[n:], label_names=("a", "b"), feature_names=names)


# What a screen reader is given for one item.
Seen = namedtuple("Seen", "thing role name description focusable labels")


def walk(root):
    """Yield everything that is shown in a window, except the items of tables and lists."""
    waiting = [QAccessible.queryAccessibleInterface(root)]
    while waiting:
        each = waiting.pop()
        if each is None or not each.isValid() or each.state().invisible:
            continue
        labels = tuple(other.text(QAccessible.Text.Name) for other, _ in each.relations(QAccessible.RelationFlag.Label))
        texts = each.text(QAccessible.Text.Name), each.text(QAccessible.Text.Description)
        yield Seen(each.object(), each.role(), *texts, bool(each.state().focusable), labels)
        if each.role() not in HOLDS_ITEMS:
            waiting += [each.child(k) for k in range(each.childCount())]


def faults_of(seen):
    """Return the information that an item lacks for users of a screen reader."""
    faults, thing = [], seen.thing
    # On some systems the name of a combo box is its current entry, so its label must name the choice.
    names = seen.labels if seen.role == QAccessible.Role.ComboBox else (seen.name,)
    for name in names or ("",):
        kind = type(thing).__name__
        if not any(c.isalpha() for c in name) or "<" in name or name in (kind, kind.lstrip("_")):
            faults.append(f"is called {name!r}")
    if isinstance(thing, PaintedWidget) or (
        thing is not None and type(thing).__module__.startswith("slide_gui.gui.plots")
    ):
        if not any(kind in seen.name.lower() for kind in KINDS):
            faults.append(f"{seen.name!r} does not say what kind of thing it is")
        if not seen.description:
            faults.append(f"{seen.name!r} does not say what it shows")
    return faults


@pytest.fixture
def walk_over():
    """Return a function that returns the kinds of items in a window; at the end, fail if an item has no name."""
    faults = []

    def over(root, where):
        settle()
        things = [seen for seen in walk(root) if seen.focusable]
        assert things, where
        faults.extend(f"{where}: {type(s.thing).__name__} {text}" for s in things for text in faults_of(s))
        return [type(seen.thing).__name__ for seen in things]

    yield over
    assert not faults, "\n".join(faults)


def test_that_everything_that_takes_the_keyboard_has_a_name_on_every_page(window, walk_over):
    window.workspace.select(pins=(3, 20))
    train(window)
    kinds = [kind for view in every_view(window) for kind in walk_over(window, f"images, {view}")]
    window.actions_by_name["full_screen"].trigger()
    kinds += walk_over(window, "full screen")
    window.actions_by_name["full_screen"].trigger()
    open_data(window, plain())
    kinds += [kind for view in every_view(window) for kind in walk_over(window, f"plain features, {view}")]
    assert len(kinds) > 300
    assert {"WeightTiles", "HeatMap", "ErrorPlot", "CopiesPlot", "ConfusionMatrix"} <= set(kinds)


def test_that_everything_has_a_name_while_no_data_are_open(empty_window, walk_over):
    for view in every_view(empty_window):
        walk_over(empty_window, f"no data, {view}")
    empty_window.notice.show_message(UserMessage("A title", "A sentence.", "Do it", details="a trace", path="/a/path"))
    walk_over(empty_window, "notice")


def test_that_everything_has_a_name_in_every_dialog(window, walk_over):
    actions = {name: action.trigger for name, action in window.actions_by_name.items()}
    for name in ("export", "palette", "cluster", "guide", "about", "settings", "sweep"):
        (actions.get(name) or window.pages.page("curves").sweep_button.click)()
        (dialog,) = dialogs(window)
        walk_over(dialog, name)
        dialog.hide()


def test_that_the_pixel_reached_by_keys_is_announced_only_while_a_screen_reader_is_active(window, monkeypatch):
    reader = Mock()
    monkeypatch.setattr(painted, "QAccessible", reader)
    image, _ = image_and_tiles(window)
    window.activateWindow()
    image.setFocus()
    assert image.hasFocus()
    QTest.keyClick(image, Qt.Key.Key_Home)
    said = [call.args[0].message() for call in reader.updateAccessibility.call_args_list]
    assert [text for text in said if text.startswith("row 0, column 0: ")]
    assert not [text for text in said if "layer" in text]  # changes in other widgets are not announced
    reader.updateAccessibility.reset_mock()
    reader.isActive.return_value = False
    QTest.keyClick(image, Qt.Key.Key_End)
    reader.updateAccessibility.assert_not_called()

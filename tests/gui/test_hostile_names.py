"""Every page and dialog shows hostile names literally, and reads no file because of them."""

import ctypes
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractListModel, QPoint, Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLabel, QToolTip, QWidget

import slide_gui
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import HeldOut
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.store.store import RunStore
from slide_gui.gui.pages.weights.explained import html_math
from slide_gui.gui.state.jobs import JobStatus, UserMessage
from tests.gui.helpers import at_rest, dialogs, every_view, settle, show_page, wait
from tests.gui.test_accessibility import walk
from tests.hostile import hostile_file

TAG = '<img src="picture">'
LEFT, ROLES = Qt.Orientation.Horizontal, (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole)


class Watch:
    """Reports whether this process or another opens a file."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.events = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(self.events, os.fsencode(path), 0x20) > 0  # IN_OPEN

    def opened(self):
        with suppress(BlockingIOError):
            return bool(os.read(self.events, 4096))
        return False


@pytest.fixture
def picture(app, tmp_path, monkeypatch):
    """Return a watch over the picture that the hostile names refer to."""
    if not sys.platform.startswith("linux"):
        pytest.skip("opening a file is watched by inotify, which Linux alone has")
    monkeypatch.chdir(tmp_path)
    assert QPixmap(4, 4).save("picture", "PNG")
    watch = Watch(tmp_path / "picture")
    yield watch
    os.close(watch.events)


def test_that_the_watch_sees_a_label_of_qt_read_the_picture(picture, app):
    label = QLabel(TAG)
    label.sizeHint()
    assert picture.opened()
    assert not picture.opened()


def look_at(widget):
    """Return all texts of a window that a user can see or a screen reader can read."""
    settle()
    texts = [widget.windowTitle()]
    for seen in walk(widget):
        texts += [seen.name, seen.description]
    for each in (widget, *widget.findChildren(QWidget)):
        if isinstance(each, QLabel) and each.text():
            plain = each.textFormat() == Qt.TextFormat.PlainText
            assert plain or not re.search("[<&]", each.text()), each.text()  # QFormLayout creates its own labels
            texts.append(each.text())
        tips = [each.toolTip()]
        if isinstance(each, QAbstractItemView) and each.model() is not None:
            tips += items(each)
        texts += tips
        for tip in {tip for tip in tips if "<" in tip}:
            QToolTip.showText(QPoint(5, 5), tip, each)
            (shown,) = [top for top in QApplication.topLevelWidgets() if isinstance(top, QLabel) and top.text() == tip]
            assert shown.textFormat() == Qt.TextFormat.PlainText
            shown.grab()
    QToolTip.hideText()
    widget.grab()
    return "\n".join(texts)


def items(view):
    model = view.model()
    columns = 1 if isinstance(model, QAbstractListModel) else min(model.columnCount(), 20)
    rows = min(model.rowCount(), 200)
    found = [model.index(i, j).data(role) for i in range(rows) for j in range(columns) for role in ROLES]
    found += [model.headerData(j, LEFT, role) for j in range(columns) for role in ROLES]
    return [text for text in found if isinstance(text, str)]


@pytest.fixture
def opened(empty_window, picture, tmp_path):
    source = DataSource(paths=(str(hostile_file(tmp_path)),), held_out=HeldOut())
    dataset = source.load()
    svm = SvmParameters(widths="median", starts=1, C=1.0)
    with RunStore(tmp_path / "runs.sqlite") as store:
        for noise in (0.2, 0.5):
            stack = StackParameters(noise=noise, depth=1)
            spec = RunSpec(dataset.fingerprint, source=source.argument, stack=stack, svm=svm, held_out=HeldOut())
            store.save(run(dataset, spec.checked()))
            store.tag(spec.checked().hash, [f"=1+1 {TAG}\x1b"])
    empty_window.workspace.open(source)
    at_rest(empty_window)
    return empty_window


def test_that_every_page_and_dialog_shows_names_as_they_are_written(opened, picture):
    window, shown = opened, {}
    show_page(window, "runs")
    wait(lambda: len(window.session.library.runs) == 2)
    first, second = (each.hash for each in window.session.library.runs)
    window.session.runs.open_run(first)
    wait(lambda: window.session.runs.result is not None and not window.queue.busy)
    window.workspace.select(pins=(3, 4))
    for view in every_view(window):
        wait(lambda: not window.queue.busy)
        shown[view] = look_at(window)
        shown[f"numbers, {view}"] = window.pages.shown().numbers()
    show_page(window, "runs")
    window.pages.show_view("runs", 0)
    for copy in (window.actions_by_name["copy_table"].trigger, window.pages.page("runs").run_table._copy):
        copy()
        assert "\t'=1+1 <img" in QApplication.clipboard().text()
    window.pages.page("runs").run_table.compare_requested.emit((first, second))
    wait(lambda: not window.queue.busy)
    show_page(window, "runs")
    shown["comparison"] = look_at(window)
    actions = {name: window.actions_by_name[name].trigger for name in ("export", "palette", "about")}
    for name, open_dialog in {**actions, "download": lambda: window.opening.ask_to_download("rectangles")}.items():
        open_dialog()
        (dialog,) = dialogs(window)
        wait(lambda: not window.queue.busy)
        shown[name] = look_at(dialog)
        dialog.hide()
    window.job_bar.show_status(JobStatus("R&D", 0.1, None, str))
    window.notice.show_message(UserMessage(TAG, TAG, "R&D", details=TAG, path=TAG))
    for part in (window.job_bar._cancel, window.notice.remedy):
        assert "&&" in part.text()
    shown["notice"] = look_at(window)
    assert not picture.opened()
    for key, text in shown.items():
        assert not re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text), key
        if key not in ("about", "export", "download") and not key.startswith("numbers"):
            assert "<img src=" in text, key


def test_that_the_window_makes_no_label_that_reads_html_and_formulas_escape_it(app):
    made = [
        f"{path.name}: {line.strip()}"
        for path in (Path(slide_gui.__file__).parent / "gui").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\bQLabel\(|\(QLabel\b|QStaticText|setHtml|RichText", line) and path.name != "explained.py"
    ]
    assert made == ["controls.py: class PlainLabel(QLabel):"]
    assert html_math("<img src='x.png'>_{<b>}").startswith("&lt;img")

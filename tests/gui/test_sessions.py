"""The window stores its session and recent files, and opens sessions from files, also if the data have moved."""

import json
import platform
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QSlider

from slide_gui.experiments.files.session import SessionRecord, read_session, write_session
from slide_gui.experiments.files.source import DataSource
from slide_gui.gui.app import tear_down
from slide_gui.gui.shell import session_keeper
from slide_gui.gui.shell.main_window import MainWindow
from slide_gui.gui.shell.session_keeper import SessionKeeper
from slide_gui.gui.state.files import MOST_RECENT, RecentFiles
from slide_gui.gui.state.jobs import JobQueue
from slide_gui.gui.state.workspace import Workspace
from tests.gui.helpers import at_rest, settle, wait
from tests.gui.test_own_data import drop


class NoPages(QObject):
    """The part of the pages that a SessionKeeper uses."""

    changed = Signal()


@pytest.fixture
def table(tmp_path):
    """Return a table of 60 rows of 3 × 4 images with a class."""
    rows = np.column_stack([np.random.default_rng(0).integers(0, 9, (60, 12)), np.arange(60) % 2])
    (tmp_path / "data").mkdir()
    np.savetxt(tmp_path / "data" / "table.csv", rows, fmt="%d", delimiter=",")
    return tmp_path / "data" / "table.csv"


@pytest.fixture
def windows(app, small_example, tmp_path):
    """Return a function that opens windows which share one session folder; close all of them at the end."""
    made = []

    def make(*files):
        settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
        window = MainWindow(settings, tmp_path / "runs.sqlite", tmp_path / "session")
        made.append(window)
        window.workspace.set_parameters(depth=1)  # unless a session sets another depth
        window.resize(1280, 720)
        window.start(list(files))
        window.show()
        return window

    yield make
    for window in made:
        tear_down(window)


def wait_until_open(window, name):
    wait(lambda: window.workspace.dataset is not None and window.workspace.dataset.name == name)
    at_rest(window)
    settle()


def start(windows, table):
    """Return a window that has opened the table."""
    window = windows(table)
    wait_until_open(window, "table")
    return window


def shows_example(window):
    """Wait until the example is open, even if its layers are not fitted."""
    wait(lambda: window.workspace.dataset is not None and window.workspace.dataset.name == "Rectangles")


def changed(windows, table):
    """Return a window that has opened the table and has another value of every setting that a session stores."""
    window = start(windows, table)
    window.workspace.set_parameters(noise=0.45, depth=2)
    window.workspace.select(pins=(1, 5), levels="global", sample=7)
    window.workspace.show_test(3)
    window.pages.turn_to("runs")
    window.pages.page("runs").run_table.set_filter("noise")
    window.pages.page("evaluation").methods.boxes["pca-svm"].setChecked(False)
    window.pages.turn_to("classifier")
    window.weights_page.choose({"brush": "3", "pixel": "2", "corruption": "1", "hidden": "1", "layer": "2"})
    window.weights_page.set_view("copies")
    return window


def is_changed(window):
    """Wait until the table is open, and return True if the window has the settings of `changed`."""
    wait_until_open(window, "table")
    state, choices = window.workspace.state, {entry[:2]: entry[2] for entry in window.pages.choices()}
    return (
        (state.parameters.noise, state.parameters.depth) == (0.45, 2)
        and (state.selection.pins, state.selection.levels, state.selection.sample) == ((1, 5), "global", 7)
        and (window.pages.name, state.test_row, window.weights_page.pixels.feature) == ("classifier", 3, 2)
        and [choices["weights", name] for name in ("view", "brush", "corruption", "hidden")] == ["copies", *"311"]
        and window.weights_page.set_view("copies").layer == 2
        and "pca-svm" not in choices["evaluation", "methods"].split(",")
        and choices["runs", "filter"] == "noise"
    )


def test_that_the_next_window_restores_session_and_position_and_ignores_an_invalid_position(windows, table):
    window = changed(windows, table)
    place = window.saveGeometry()
    tear_down(window)
    again = windows()
    assert is_changed(again)
    assert again.pages.page("runs").run_table.filter == "noise"
    assert again.settings.value("window/geometry") == place
    again.move(5000, 4000)
    again.settings.setValue("window/geometry", again.saveGeometry())
    again.restore_place()
    assert again.screen().availableGeometry().intersects(again.geometry())
    again.settings.setValue("window/geometry", "nowhere")
    again.restore_place()


def test_that_after_a_crash_the_session_is_offered_but_not_opened(windows, table, tmp_path):
    tear_down(changed(windows, table))
    (tmp_path / "session" / "open").touch()  # the lock of a window that was killed
    again = windows()
    shows_example(again)
    assert again.notice.isVisible()
    assert "did not close" in again.notice.accessibleName()
    again.notice.remedy.click()
    assert is_changed(again)


@pytest.mark.parametrize("system", [sys.platform, "win32"])
def test_that_the_sessions_before_several_crashes_are_kept(system, app, tmp_path, monkeypatch):
    monkeypatch.setattr(session_keeper, "sys", SimpleNamespace(platform=system))
    folder, queue = tmp_path / "session", JobQueue()
    folder.mkdir()
    messages = []
    for number in (1, 1, 2, 2, 3, 4, 5, 6):
        write_session(SessionRecord(DataSource(key="rectangles", seed=number)), folder / "last.slide-session")
        (folder / "open").touch()  # the lock of a window that was killed before it wrote its process id
        if number == 3:  # a lock that another window was removing when it was killed
            (folder / "open").write_text(f"{2**22}\npython\n{platform.node()}\n")
            (folder / "open.rmlock").touch()
        keeper = SessionKeeper(Workspace(queue), NoPages(), folder, queue)
        keeper.message.connect(messages.append)
        keeper.start(resume=True)
        keeper.close()
    assert [message.remedy for message in messages] == ["Restore it"] * 8
    seeds = {path.stem: read_session(path).source.seed for path in folder.glob("*.slide-session")}
    assert seeds == {"recovered": 6, "recovered2": 5, "recovered3": 4, "recovered4": 3, "recovered5": 2}
    tear_down(queue)


def test_that_a_second_open_window_stores_no_session(windows, table, tmp_path):
    first = start(windows, table)
    second = windows()
    shows_example(second)
    assert not second.notice.isVisible()
    tear_down(second)
    tear_down(first)
    assert read_session(tmp_path / "session" / "last.slide-session").source.paths == ("../data/table.csv",)


def test_that_the_session_that_ctrl_q_stores_has_the_number_that_is_being_typed(windows, tmp_path):
    window = windows()
    shows_example(window)
    window.activateWindow()
    QTest.keyClick(window.panel.sliders["depth"].findChild(QSlider), Qt.Key.Key_2)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    assert read_session(tmp_path / "session" / "last.slide-session").parameters.depth == 2


def test_that_a_saved_session_opens_in_another_window_though_folder_and_data_were_moved(
    windows, table, tmp_path, monkeypatch
):
    window = changed(windows, table)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "data" / "mine"), ""))
    window.actions_by_name["save_session"].trigger()
    assert (tmp_path / "data" / "mine.slide-session").is_file()
    (tmp_path / "data").rename(tmp_path / "moved")
    window.workspace.set_parameters(noise=0.1)
    drop(window, tmp_path / "moved" / "mine.slide-session")
    wait(lambda: window.workspace.state.parameters.noise == 0.45)
    assert is_changed(window)


@pytest.mark.parametrize("content", [None, b"no table"])
def test_that_a_session_waits_for_data_that_cannot_be_opened(windows, table, content):
    tear_down(changed(windows, table))
    before = table.read_bytes()
    table.unlink() if content is None else table.write_bytes(content)
    for _ in range(2):
        window = windows()
        shows_example(window)
        window.pages.turn_to("curves")
        tear_down(window)
    table.write_bytes(before)
    assert is_changed(windows())


def test_that_missing_data_can_be_located(windows, table, tmp_path, monkeypatch):
    tear_down(changed(windows, table))
    (tmp_path / "elsewhere").mkdir()
    table.rename(tmp_path / "elsewhere" / "table.csv")
    again = windows()
    shows_example(again)
    assert "data files not found: table.csv; locate them" in again.notice.accessibleName()
    again.workspace.set_parameters(noise=0.2)
    again.keeper._store_session()  # as it does when the window is idle
    assert read_session(tmp_path / "session" / "last.slide-session").parameters.noise == 0.2
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "elsewhere"))
    again.notice.remedy.click()
    assert is_changed(again)


def damage(_table, session):
    session.write_text("{")


def change(table, _session):
    np.savetxt(table, np.column_stack([np.eye(12, dtype=int), np.arange(12) % 2]), fmt="%d", delimiter=",")


@pytest.mark.parametrize(
    ("spoil", "text"), [(damage, "last.slide-session"), (change, "has changed since the session was saved")]
)
def test_that_a_session_that_is_damaged_or_of_changed_data_is_reported(windows, table, tmp_path, spoil, text):
    tear_down(start(windows, table))
    spoil(table, tmp_path / "session" / "last.slide-session")
    window = windows()
    wait(window.notice.isVisible)
    assert text in window.notice.accessibleName()
    shows_example(window) if spoil is damage else wait_until_open(window, "table")


REFUSED = (
    ("selection", {"levels": "pixel"}, "levels is 'pixel'; it must be one of layer, tile, global"),
    ("source", {"reading": {"shape": [0, 3]}}, "the shape is (0, 3)"),
)


def test_that_a_session_with_invalid_values_is_refused_and_nothing_is_lost(windows, table, tmp_path):
    window = start(windows, table)
    window.keeper.save(tmp_path / "mine")
    whole = (tmp_path / "mine.slide-session").read_text()
    before = window.workspace.state
    window.recent.add([tmp_path / "mine.slide-session"])
    for part, entries, said in REFUSED:
        document = json.loads(whole)
        document["session"][part] |= entries
        (tmp_path / "mine.slide-session").write_text(json.dumps(document))
        drop(window, tmp_path / "mine.slide-session")
        assert said in window.notice.accessibleName()
        assert "mine.slide-session" in window.notice.accessibleName()
        assert tmp_path / "mine.slide-session" not in [each.paths[0] for each in window.recent.openings]
        settle()
        assert window.workspace.state == before


def test_that_a_session_never_replaces_the_open_data_or_a_file_without_a_question(windows, table, tmp_path):
    window = start(windows, table)
    before = table.read_bytes()
    (tmp_path / "mine.slide-session").symlink_to(table)
    window.keeper.save(tmp_path / "mine.slide-session")
    assert "The session could not be saved" in window.notice.accessibleName()
    assert "is an input" in window.notice.accessibleName()
    window.keeper.save(tmp_path / "mine")  # the file dialog has not asked whether to replace mine.slide-session
    assert (tmp_path / "mine 2.slide-session").exists()
    assert table.read_bytes() == before


def test_that_the_data_menu_lists_the_recent_files_that_exist(windows, table):
    window = start(windows, table)
    other = table.with_name("other.csv")
    other.write_text(table.read_text())
    window.pages.turn_to("evaluation")
    window.open_files([other])
    wait_until_open(window, "other")
    assert window.pages.name == "weights"  # the benchmark does not show which data are open
    table.unlink()
    menu = next(each for each in window.panel.findChildren(QComboBox) if each.accessibleName() == "Data set")
    menu.about_to_open.emit()
    texts = [menu.itemText(row) for row in range(menu.count())]
    assert "other.csv" in texts
    assert "table.csv" not in texts
    window.open_entry("rectangles")
    shows_example(window)
    assert menu.currentText() == "Rectangles"
    object.__setattr__(window.workspace.dataset, "name", "A stand-in")
    menu.about_to_open.emit()
    assert (menu.currentText(), menu.placeholderText()) == ("", "A stand-in")
    menu.activated.emit([menu.itemText(row) for row in range(menu.count())].index("other.csv"))
    wait_until_open(window, "other")


def test_that_the_last_files_are_stored_once_each_with_the_latest_first(app, stored_settings, tmp_path):
    recent = RecentFiles(stored_settings)
    for name in (*range(MOST_RECENT + 3), "train", "test"):
        (tmp_path / f"{name}.csv").touch()
    for number in range(MOST_RECENT + 3):
        recent.add([tmp_path / f"{number}.csv"])
    recent.add([tmp_path / "5.csv"])
    recent.add([tmp_path / "train.csv", tmp_path / "test.csv"])
    recent.add([])
    again = RecentFiles(QSettings(stored_settings.fileName(), QSettings.Format.IniFormat))
    names = [opening.name for opening in again.openings]
    assert names[:3] == ["train.csv and 1 more", "5.csv", "12.csv"]
    assert len(names) == len(set(names)) == MOST_RECENT
    assert again.folders == [tmp_path]


def test_that_missing_files_are_listed_again_when_they_are_back(app, stored_settings, tmp_path):
    recent = RecentFiles(stored_settings)
    recent.add([tmp_path / "train.csv", tmp_path / "away" / "test.csv"])
    recent.add([tmp_path / "train.csv"])
    (tmp_path / "train.csv").touch()
    assert [opening.name for opening in recent.openings] == ["train.csv"]
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "test.csv").touch()
    assert [opening.name for opening in recent.openings] == ["train.csv", "train.csv and 1 more"]


@pytest.mark.parametrize(
    "kept", ["{", "7", '{"a": 1}', '[7, [], [""], [1], "x"]', "[[null]]", '[["a\\u0000b"]]', "[" * 100_000]
)
def test_that_invalid_settings_are_ignored(app, stored_settings, kept, tmp_path):
    stored_settings.setValue("recent/files", kept)
    recent = RecentFiles(stored_settings)
    assert recent.openings == ()
    recent.add([tmp_path / "a.csv"])
    assert json.loads(stored_settings.value("recent/files")) == [[str(tmp_path / "a.csv")]]


def test_that_a_session_keeps_the_strokes_on_an_image_and_ignores_other_texts(window):
    page = window.weights_page
    image = np.random.default_rng(0).random(window.workspace.dataset.image_shape, np.float32)
    window.workspace.draw(image)
    choices = page.choices()
    for changed, expected in ((choices["drawing"], image), ("no drawing", None), (choices["drawing"][:-9], None)):
        window.workspace.draw(None)
        page.choose(choices | {"drawing": changed})
        assert np.array_equal(window.workspace.state.drawing, expected)

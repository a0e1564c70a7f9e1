"""The window: commands, start, errors in it, too little memory, and displays that cannot be used."""

import gc
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import PySide6
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QMenu, QMenuBar, QSlider, QTreeWidget

from slide_gui import __version__, memory
from slide_gui.figures.color_scale import signed
from slide_gui.gui import app, display
from slide_gui.gui.display import binding_problem, display_problem, installed_binding
from slide_gui.gui.pages.weights.weights_view import WeightsView
from slide_gui.gui.shell.commands import COMMANDS, MENUS
from slide_gui.gui.shell.palette import CommandPalette
from slide_gui.gui.shell.report import without_folders
from slide_gui.gui.widgets.controls import keys_text
from slide_gui.gui.widgets.number_slider import NumberSlider
from tests.gui.helpers import at_rest, centre, choose, image_and_tiles, labelled, open_data, record, settle, wait


def test_the_collector_excludes_the_objects_of_modules_imported_after_the_start(window, monkeypatch):
    frozen, before = [], set(window.findChildren(QTimer))
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(len(sys.modules)))
    app.collect_in_turn(window)
    (timer,) = set(window.findChildren(QTimer)) - before
    wait(lambda: not window.session.busy)
    timer.timeout.emit()
    assert len(frozen) == 1
    for number in range(100):
        monkeypatch.setitem(sys.modules, f"imported later {number}", None)
    timer.timeout.emit()
    timer.timeout.emit()
    assert frozen[1:] == [frozen[0] + 100]


def test_that_every_command_has_its_own_name_and_shortcut_and_is_in_the_menu_of_its_group(window):
    shortcuts = [command.shortcut for command in COMMANDS]
    assert all(shortcuts)
    assert len(set(shortcuts)) == len({command.name for command in COMMANDS}) == len(COMMANDS)
    for command in COMMANDS:
        assert window.actions_by_name[command.name].shortcut().toString() == command.shortcut
    (bar,) = window.findChildren(QMenuBar)
    menus = {menu.title().replace("&", ""): menu for menu in bar.findChildren(QMenu)}
    for title, commands in MENUS.items():
        submenus = {menu.title(): menu for menu in menus[title].findChildren(QMenu)}
        assert set(submenus) == {command.submenu for command in commands} - {""}
        for name, menu in {"": menus[title], **submenus}.items():
            listed = [action.objectName() for action in menu.actions() if action.objectName()]
            assert listed == [command.name for command in commands if command.submenu == name]


def test_that_the_view_menu_is_short_and_holds_pages_images_and_themes_in_submenus(window):
    menu = next(each for each in window.findChildren(QMenu) if each.title() == "&View")
    entries = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert len(entries) <= 12
    assert {"Page", "Image", "Theme", "Weights"} <= set(entries)


def test_that_moving_over_the_image_shows_the_rows_of_that_pixel_and_a_click_pins_it(window):
    image, tiles = image_and_tiles(window)
    QTest.mouseMove(image, centre(image, 21))
    settle(0.05)
    assert [row.title for row in tiles.rows[:2]] == ["All rows", "2, 5"]
    expected = window.workspace.fitting.stack.layers[1].weights[21, :-1].astype("float32").reshape(8, 8)
    np.testing.assert_array_equal(tiles.rows[1].tiles[1].values, expected)
    QTest.mouseClick(image, Qt.MouseButton.LeftButton, pos=centre(image, 21))
    assert window.workspace.state.selection.pins[-1] == 21
    assert "5 pinned" in image.accessibleDescription()
    assert tiles.rows[-1].title == "2, 5"
    assert tiles.rows[-1].removable


def test_that_each_drag_of_the_ridge_fits_with_it_and_undoes_in_one_step(window):
    slider = window.panel.sliders["ridge"].findChild(QSlider)
    before = slider.value()
    (settled,) = record(window.panel.sliders["ridge"].value_settled)
    for drags, steps in enumerate(((1, 2), (3, 12, 21)), start=1):
        for step in steps:
            slider.setValue(before + step)
        wait(lambda drags=drags: len(settled) == drags)
    at_rest(window)
    assert window.workspace.model().stack.parameters.ridge == 100.0
    window.actions_by_name["undo"].trigger()
    assert slider.value() == before + 2
    window.actions_by_name["undo"].trigger()
    assert (window.workspace.state.parameters.ridge, slider.value()) == (1e-5, before)
    assert window.workspace.history.undoText() == ""


def test_that_the_full_screen_shows_only_the_weights_with_a_noise_slider_and_escape_returns(window):
    before, page, panel = window.geometry(), window.weights_page, window.panel
    page.set_view("flow")
    window.workspace.confirmed = False
    window.reading_preview.show_reading()
    window.actions_by_name["full_screen"].trigger()
    settle(0.05)
    assert window.isFullScreen()
    assert window.geometry() == window.screen().geometry()
    assert page.mapTo(window, page.rect().topLeft()).toTuple() == (0, 0)
    assert (page.width(), page.height()) == (window.width(), window.height() - 8)  # the margin around notices
    assert not panel.isVisible()
    assert not page.tabs.button(0).isVisible()
    slider = page.findChild(NumberSlider)
    QTest.keyClick(slider.findChild(QSlider), Qt.Key.Key_Right)
    at_rest(window)
    QTest.keyClick(slider.findChild(QSlider), Qt.Key.Key_5)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert window.isFullScreen(), "Escape ends the edit of a number first"
    assert window.workspace.state.parameters.noise == 0.31
    QTest.keyClick(slider.findChild(QSlider), Qt.Key.Key_Escape)
    settle(0.05)
    assert not window.isFullScreen()
    assert window.geometry() == before
    assert panel.isVisible()
    assert window.reading_preview.isVisible()
    assert page.tabs.button(0).isVisible()
    assert not slider.isVisible()
    window.actions_by_name["full_screen"].trigger()
    window.actions_by_name["page_runs"].trigger()
    assert not window.isFullScreen()


def lines_of(palette):
    lines = palette.findChild(QTreeWidget)
    return [lines.topLevelItem(row) for row in range(lines.topLevelItemCount())]


def ask_palette(window, words=""):
    window.actions_by_name["palette"].trigger()
    palette = window.findChild(CommandPalette)
    QTest.keyClicks(palette.findChild(QLineEdit), words)
    return palette


def test_that_the_palette_lists_the_commands_that_apply_each_time_it_opens_with_their_shortcuts(window):
    palette = ask_palette(window)
    height = palette.findChild(QTreeWidget).visualItemRect(lines_of(palette)[0]).height()
    QTest.keyClicks(palette.findChild(QLineEdit), "noise")
    assert palette.findChild(QTreeWidget).visualItemRect(lines_of(palette)[0]).height() == height
    palette.findChild(QLineEdit).setText("undo change")
    assert lines_of(palette) == []
    palette.reject()
    window.workspace.set_parameters(depth=3)
    assert ask_palette(window) is palette
    listed = [(item.text(0), item.text(1)) for item in lines_of(palette)]
    assert (palette.findChild(QLineEdit).text(), palette.findChild(QTreeWidget).currentIndex().row()) == ("", 0)
    assert ("Undo change of depth", keys_text("Ctrl+Z")) in listed
    for action in window.actions_by_name.values():
        if action.isEnabled() and action.objectName() != "palette":
            assert (action.text().rstrip(" …"), keys_text(action.command.shortcut)) in listed
    palette.reject()


def test_that_the_palette_reports_that_nothing_matches_and_finds_words_of_a_tooltip_after_matching_names(window):
    palette = ask_palette(window, "more zzz")
    (note,) = palette.findChildren(QLabel)
    assert (note.text(), note.isVisible()) == ("No entry matches “more zzz”", True)
    noise = window.workspace.state.parameters.noise
    QTest.keyClick(palette.findChild(QLineEdit), Qt.Key.Key_Return)
    assert palette.isVisible()
    assert window.workspace.state.parameters.noise == noise
    palette.findChild(QLineEdit).clear()
    assert not note.isVisible()
    QTest.keyClick(palette.findChild(QLineEdit), Qt.Key.Key_Down)
    assert palette.findChild(QTreeWidget).currentIndex().row() == 1
    palette.reject()
    palette = ask_palette(window, "table 1")
    assert [item.text(0) for item in lines_of(palette)] == ["Benchmark: Error rates"]
    palette.reject()
    texts = [item.text(0) for item in lines_of(ask_palette(window, "noise"))]
    assert texts.index("More noise") < texts.index("Full screen")
    palette.reject()


def test_that_the_palette_lists_views_of_pages_that_were_never_shown_without_creating_them(window):
    palette = ask_palette(window)
    lines = {item.text(0): item for item in lines_of(palette)}
    for title, view in (("Error curves", "Heat map"), ("Benchmark", "Running time"), ("Runs", "Comparison")):
        assert f"{title}: {view}" in lines
    assert "noise level and depth" in lines["Error curves: Heat map"].toolTip(0)
    assert window.pages.count() == 1
    QTest.keyClicks(palette.findChild(QLineEdit), "runs: comp")
    QTest.keyClick(palette.findChild(QLineEdit), Qt.Key.Key_Return)
    assert window.pages.name == "runs"
    page = window.pages.page("runs")
    assert page.tabs.checkedButton().text() == "Comparison"
    assert page.comparison.isVisible()


def test_that_an_uncaught_error_ends_in_the_panel_and_the_log(window, faults, capsys):
    sys.excepthook(RuntimeError, RuntimeError("the unexpected"), None)
    settle(0.02)
    assert window.notice.isVisible()
    for text in (faults.pop()[0], window.notice.accessibleName(), capsys.readouterr().err):
        assert "the unexpected" in text


def test_that_the_panel_shows_contributions_and_page_and_readout_name_them(window):
    _, tiles = image_and_tiles(window)
    (box,) = (box for box in window.panel.findChildren(QComboBox) if box.accessibleName() == "Show")
    choose(box, "contribution")
    layer = window.workspace.fitting.stack.layers[0]
    feature = window.weights_page.pixels.features()[0]
    rms = np.sqrt(layer.scatter[feature, feature] / layer.scatter[-1, -1])
    weight = layer.weights[feature, feature]
    assert tiles.rows[1].tiles[0].values.ravel()[feature] == pytest.approx(weight * rms, rel=1e-6)
    assert window.weights_page.subtitle.text() == "contributions: weights × RMS of the input pixel"
    readout = window.weights_page.findChild(WeightsView).readout.accessibleDescription()
    assert readout.startswith(f"weight from itself; h¹ {signed(weight, 2)} {signed(weight * rms, 2)} ")
    window.actions_by_name["undo"].trigger()
    assert box.currentData() == "auto"
    assert "contributions" not in window.weights_page.subtitle.text()


def test_that_the_pixel_under_a_resting_mouse_is_selected_while_data_are_opened(window):
    window.workspace.select(pins=())
    window.workspace.dataset_changed.connect(lambda _data: window.weights_page.pixels.point_at(5))
    open_data(window, labelled(1))
    assert window.weights_page.pixels.feature == 5


LATE = ("sqlite3", "numpy.ma", "slide_gui.core.svm", "slide_gui.gui.help.guide", "slide_gui.gui.shell.palette")
HEAVY = ("matplotlib", "sklearn", "scipy", "requests", "PIL", "pandas", "joblib")

SCRIPT = """
import json, sys, time
from slide_gui.gui.app import make_application, make_window, tear_down

app = make_application()
window = make_window([])
window.workspace.set_parameters(depth=1)
window.show()
loaded = {}
end = time.monotonic() + 200
while time.monotonic() < end:
    app.processEvents()
    if window.isVisible() and "shown" not in loaded:
        loaded["shown"] = sorted(sys.modules)
    if window.workspace.model() is not None and not window.queue.busy:
        loaded["fitted"] = sorted(sys.modules)
        window.actions_by_name["page_curves"].trigger()
        loaded["plot"] = sorted(sys.modules)
        break
    time.sleep(0.005)
tear_down(window)
print(json.dumps(loaded))
"""


def test_that_the_first_fit_loads_the_modules_of_runs_but_nothing_heavy_and_a_plot_imports_pyqtgraph(tmp_path):
    settings = {"QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command, environment = [sys.executable, "-c", SCRIPT], {**os.environ, **settings}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert set(loaded) == {"shown", "fitted", "plot"}
    assert "pyqtgraph" in loaded.pop("plot")
    assert [name for name in (*LATE, "pyqtgraph") if name in loaded["shown"]] == []
    assert "slide_gui.experiments.sweeps.trial" in loaded["fitted"]
    for moment in loaded.values():
        assert "PySide6.QtWidgets" in moment
        assert [name for name in HEAVY if name in moment] == []


def test_that_a_fit_that_needs_more_than_the_free_memory_is_refused_with_its_numbers(window, monkeypatch):
    before = window.workspace.model()
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    window.workspace.set_parameters(noise=0.77)
    wait(lambda: window.notice.isVisible() and not window.queue.busy)
    said = window.notice.accessibleName()
    assert "layers to 64 features needs about" in said
    assert "GB are free; use fewer features." in said
    monkeypatch.undo()
    window.workspace.set_parameters(noise=0.5)
    wait(lambda: window.workspace.model() not in (None, before) and not window.queue.busy)


FAILING = """
import os, sys
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from PySide6.QtCore import QTimer
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget
from slide_gui.gui.app import make_application

def paint(self, event):
    with QPainter(self):
        try:
            {error}
        except ValueError:
            raise KeyError(0)

Before = type("Before", (QWidget,), dict(paintEvent=paint))
app = make_application()
After = type("After", (Before,), dict(paintEvent=paint))
told = []
sys.excepthook = lambda kind, error, trace: told.append((kind, str(error)))
for make in (Before, After):
    widget = make()
    widget.show()
    QTimer.singleShot(100, app.quit)
    app.exec()
    try:
        widget.grab()
    except Exception as error:
        told.append((type(error), str(error)))
print(sorted({{kind.__name__ for kind, _ in told}}), len(told) >= 4)
"""


@pytest.mark.parametrize(
    ("error", "kind"),
    [("1 / 0", "ZeroDivisionError"), ("[][0]", "IndexError"), ("int('x')", "KeyError")],
)
def test_that_an_error_inside_an_override_of_a_qt_method_is_reported_and_ends_its_painter(error, kind):
    done = subprocess.run([sys.executable, "-c", FAILING.format(error=error)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.strip() == f"['{kind}'] True"


def test_that_copy_report_copies_versions_settings_and_the_log_without_folders_and_data(window, monkeypatch, tmp_path):
    monkeypatch.setattr("slide_gui.gui.shell.faults.log_folder", lambda: tmp_path)
    (tmp_path / "slide-gui.log").write_text(f"first line\n{'x' * 9000}\nValueError: {tmp_path}/patients.csv, line 3\n")
    window.workspace.set_parameters(noise=0.45)
    window.actions_by_name["copy_report"].trigger()
    text = QApplication.clipboard().text()
    for part in (f"slide-gui {__version__}", "numpy ", " thread", "noise 0.45", "theme ", "250 training rows"):
        assert part in text
    assert text.endswith("\nValueError: patients.csv, line 3")
    assert "first line" not in text
    window.actions_by_name["copy_image"].trigger()
    assert window.job_bar._message.text() * window.job_bar.isVisible() == "The picture of this page was copied."
    assert not any(part in text for part in (str(tmp_path), str(Path.home()), "given"))
    assert window.notice.accessibleName().startswith("The report was copied")
    window.activateWindow()
    at_rest(window)
    window.notice._copy.setFocus()
    QTest.keyClick(window.notice._copy, Qt.Key.Key_Escape)
    assert not window.notice.isVisible()
    assert window.focusWidget() is window.centralWidget()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('  File "/home/ann/slide_gui/slide_gui/gui/app.py", line 3', '  File "slide_gui/gui/app.py", line 3'),
        ('  File "C:\\Users\\ann\\Lib\\site-packages\\numpy\\a.py"', '  File "site-packages/numpy/a.py"'),
        ("'/data/Patient O'Neil/x.csv' differs from '/data/y.csv'", "'x.csv' differs from 'y.csv'"),
        ("'/media/ann b/my study/rows.csv' is not a CSV file", "'rows.csv' is not a CSV file"),
        (f"{Path.home()} is read-only", "~ is read-only"),
        ("1/2 and 3/4 of layer 1/4/9", "1/2 and 3/4 of layer 1/4/9"),
    ],
)
def test_that_a_report_names_no_folder_outside_the_program(line, expected):
    assert without_folders(line) == expected


@pytest.fixture
def bare(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    return monkeypatch


def serve(answer):
    server = socket.create_server(("127.0.0.1", 0))

    def run():
        connection, _ = server.accept()
        with connection:
            connection.recv(100)
            if answer:
                connection.sendall(answer)
        server.close()

    thread = threading.Thread(target=run)
    thread.start()
    return server.getsockname()[1] - 6000, thread


@pytest.mark.parametrize(("answer", "there"), [(b"\x01", True), (b"\x00", True), (b"", False)])
def test_that_a_display_is_accepted_if_it_sends_any_reply(bare, answer, there):
    number, thread = serve(answer)
    bare.setenv("DISPLAY", f"127.0.0.1:{number}")
    bare.setattr(display, "LIBRARIES", {})
    silent = f"the display '127.0.0.1:{number}' does not answer; check DISPLAY, or run under a virtual display"
    assert display_problem() == (None if there else silent)
    thread.join()


def test_that_a_missing_or_dead_display_is_reported_with_the_remedy_and_a_chosen_platform_is_left_to_qt(bare, tmp_path):
    assert "there is no display" in display_problem()
    assert "slide-gui weights" in display_problem()
    bare.setenv("WAYLAND_DISPLAY", "wayland-0")
    bare.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert "there is no display" in display_problem()
    bare.setenv("DISPLAY", ":987")
    assert "':987' does not answer" in display_problem()
    bare.setenv("QT_QPA_PLATFORM", "offscreen")
    assert display_problem() is None


def test_that_missing_libraries_are_named_with_the_command_that_installs_them(bare):
    number, thread = serve(b"\x01")
    bare.setenv("DISPLAY", f"127.0.0.1:{number}")
    bare.setattr(display, "LIBRARIES", {"libsurely-not-there.so.9": "libsurely-not-there9"})
    assert display_problem().endswith("apt-get install libsurely-not-there9")
    thread.join()


def test_that_only_the_binding_that_loses_references_is_refused_before_python_3_12_in_one_sentence(monkeypatch, capsys):
    for binding in ("6.12.0", "6.12.1"):
        problem = binding_problem(binding, (3, 11))
        assert all(part in problem for part in (binding, "3.11", "pip install"))
        assert binding_problem(binding, (3, 12)) is None
    for binding in ("6.9.3", "6.10.3", "6.11.3", "6.1.2"):
        assert binding_problem(binding, (3, 11)) is None
    assert installed_binding() == PySide6.__version__
    assert binding_problem() is None
    monkeypatch.setattr(app, "binding_problem", lambda: "PySide6 6.12.0 aborts on Python 3.11")
    assert app.run([]) == 1
    assert capsys.readouterr().err == "slide-gui: PySide6 6.12.0 aborts on Python 3.11\n"


def test_that_the_panel_says_that_the_fit_is_stopped_while_another_job_runs(window):
    finish = threading.Event()
    window.queue.submit("Computing", lambda _progress: finish.wait(200), channel="other")
    window.workspace.set_parameters(noise=0.7)
    window.queue.stop(max(window.queue._jobs))
    assert window.panel._note.text() == "Stopped (F5 refits): 0 of 4 layers are fitted"
    finish.set()

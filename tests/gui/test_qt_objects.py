"""Every Qt object has one owner, and the fixtures that check Qt fail a test that leaves objects or warnings behind."""

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6 import QtWidgets
from PySide6.QtCore import QObject
from shiboken6 import Shiboken

import slide_gui
from slide_gui.gui.app import tear_down
from slide_gui.gui.widgets.layouts import nested
from tests.gui.helpers import every_view, labelled, refit, settle, wait
from tests.gui.qt_rules import forbidden, problems

OPENED = labelled

TESTS = Path(__file__).parents[1]
HEAD = "from PySide6.QtWidgets import QWidget\n"
CLASS = HEAD + "class Bar(QWidget):\n    changed = Signal()\n"


@pytest.fixture
def before(app):
    """Return the Qt objects that exist before the window; request it before `window`."""
    style = app.style()  # the application owns it
    return [style, *wrappers()]


def sources(folder):
    files = (path for path in folder.rglob("*.py") if path.name != "layouts.py")
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}


def test_that_the_window_connects_only_slots_and_no_module_uses_a_forbidden_name():
    program = sources(Path(slide_gui.__file__).parent)
    assert problems({name: text for name, text in program.items() if "gui" in name or "PySide6" in text}) == []
    assert forbidden(program) + forbidden(sources(TESTS)) == []


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("    def start(self):\n        b.clicked.connect(self.go)\n    def go(self): pass\n", "Bar.go is connected"),
        ("    def start(self):\n        add(clicked=self.go)\n    def go(self): pass\n", "Bar.go is connected"),
        ("    def go(self): pass\nx.changed.connect(bar.go)\n", "Bar.go is connected but not a slot"),
        ("class Long(Bar):\n    def start(self):\n        b.clicked.connect(self.go)\n", "Long.go is connected"),
        ("x.changed.connect(lambda: None)\n", "a lambda is connected"),
        ("    def go(self):\n        for s in (self.go,): b.clicked.connect(s)\n", "Bar.go is passed but not a slot"),
        ("painter = QPainter(bar)\n", "an error would leave the painter active"),
        ("bar.metaObject()\n", "metaObject: "),
        ("bar.deleteLater()\n", "deleteLater: "),
        ("bar.__class__ = Long\n", "__class__: "),
    ],
)
def test_that_a_source_that_breaks_a_rule_is_found(source, said):
    module = {"bar.py": CLASS + source}
    (found,) = problems(module) + forbidden(module)
    assert said in found
    assert found.startswith("bar.py:")


def use_whole_window(window):
    """Show every page, view and dialog of a window, wide and narrow, with results on the pages."""
    window.session.runs.train(window.session.runs.spec_of(window.pages.page("classifier").svm()))
    wait(lambda: window.session.runs.library.runs and not window.queue.busy)
    assert len(list(every_view(window))) > 10
    window.actions_by_name["page_weights"].trigger()
    for width in (960, 1500):
        window.resize(width, 720)
        settle(0.02)
    for depth in (6, 2):
        refit(window, depth=depth)
    for name in ("export", "palette", "guide", "about", "settings", "cluster"):
        window.actions_by_name[name].trigger()
    window.opening.ask_to_download("rectangles")
    shown = [dialog for dialog in window.findChildren(QtWidgets.QDialog) if dialog.isVisible()]
    assert len(shown) == 7
    for dialog in shown:
        dialog.reject()
    wait(lambda: not window.queue.busy)


def wrappers():
    """Return the Python wrappers of Qt objects and of layout items, which are not QObjects."""
    return [one for one in Shiboken.getAllValidWrappers() if isinstance(one, (QObject, QtWidgets.QLayoutItem))]


def owner(one):
    """Return the object that destroys a Qt object: its parent, or the scene for an item of a scene."""
    return one.scene() if isinstance(one, QtWidgets.QGraphicsObject) else one.parent()


def test_that_a_window_owns_every_object_it_created_keeps_no_layout_items_and_leaves_nothing(before, window, faults):
    known = {id(one) for one in (*before, window.settings)}
    use_whole_window(window)
    new = [one for one in wrappers() if id(one) not in known and one is not window]
    assert not [x for x in new if isinstance(x, QtWidgets.QLayoutItem) and not isinstance(x, QtWidgets.QLayout)]
    assert [one for one in new if Shiboken.createdByPython(one) and owner(one) is None] == []
    assert len(new) > 300
    tear_down(window)
    assert [one for one in wrappers() if id(one) not in known] == []
    assert not faults


def test_that_a_layout_is_nested_before_it_is_filled(shown):
    window = shown(QtWidgets.QWidget(), 100, 100)
    outer = QtWidgets.QVBoxLayout(window)
    nested(outer, QtWidgets.QHBoxLayout(), 1).addWidget(QtWidgets.QLabel("text", window))
    assert outer.stretch(0) == 1
    filled = QtWidgets.QGridLayout()
    filled.addWidget(QtWidgets.QLabel("text", window), 0, 0)
    with pytest.raises(ValueError, match="already contains items"):
        nested(outer, filled)


CASES = """
import threading
from PySide6.QtCore import QTimer, qWarning
from PySide6.QtWidgets import QWidget
kept = []
def test_clean(app):
    QWidget().show()
def test_warning(app):
    qWarning("something is wrong")
def test_window(app):
    kept.append(QWidget())
def test_timer(app):
    kept.append(QTimer(interval=60000))
    kept[-1].start()
def test_thread(app):
    kept.append(threading.Event())
    threading.Thread(target=kept[-1].wait, daemon=True, name="forgotten").start()
"""


def test_that_warnings_windows_timers_and_threads_left_fail_a_test(tmp_path):
    (tmp_path / "conftest.py").write_text("from tests.conftest import *", encoding="utf-8")
    (tmp_path / "test_cases.py").write_text(CASES, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", tmp_path, "-q", "-rE", tmp_path]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = {line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("ERROR")}
    assert errors == {"test_warning", "test_window", "test_timer", "test_thread"}, done.stdout
    for message in ("something is wrong", "window still there", "timer still runs", "thread still runs: forgotten"):
        assert message in done.stdout

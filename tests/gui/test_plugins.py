"""Additions of other packages in the window: offered when a menu is opened, and a broken one is a notice."""

import pytest
from PySide6.QtWidgets import QComboBox

from slide_gui.gui.export.dialog import ExportDialog
from tests.example_package import forget, install, write_metadata
from tests.gui.given import wait


@pytest.fixture
def example(tmp_path, monkeypatch):
    monkeypatch.setattr(QComboBox, "showPopup", lambda _box: None)  # what the platform of the tests cannot do
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    install(folder)
    (folder / "broken.py").write_text("raise RuntimeError('no way')", "utf-8")
    groups = {f"slide_gui.{kind}": {"thing": "broken:THING"} for kind in ("datasets", "squashings")}
    write_metadata(folder, "broken-thing", "0.3", groups)
    forget()
    yield folder
    forget()


def _box(window, name):
    (box,) = (box for box in window.findChildren(QComboBox) if box.accessibleName() == name)
    return box


def _opened(box):
    box.showPopup()
    return [box.itemText(index) for index in range(box.count())]


def _choose(box, text):
    box.setCurrentIndex(box.findText(text))
    box.activated.emit(box.currentIndex())


def test_that_menus_offer_what_packages_add_once_they_are_opened(window, example):
    squashing, data = _box(window, "Squashing"), _box(window, "Data set")
    assert squashing.count() == 4
    assert _opened(squashing)[4:] == ["sine", "thing"]
    assert squashing.count() == len(_opened(squashing))
    assert {"stripes", "thing"} <= set(_opened(data))
    _choose(squashing, "sine")
    wait(lambda: window.workspace.model() is not None and not window.lane.busy)
    assert window.workspace.stack.parameters.squashing == "sine@slide-example==1.0"
    window.workspace.undo()
    assert squashing.currentText() == "threshold"
    _choose(data, "stripes")
    wait(lambda: window.workspace.dataset.name == "Stripes" and window.workspace.model() is not None)
    assert data.placeholderText() == "Stripes (generated)"
    wait(lambda: not window.lane.busy)
    window.actions_by_name["export"].trigger()
    (dialog,) = window.findChildren(ExportDialog)
    assert dialog.format_box.itemText(dialog.format_box.findData("raw")) == "RAW, by slide-example"
    dialog.format_box.setCurrentIndex(dialog.format_box.findData("raw"))
    assert dialog.save_button.isEnabled()
    dialog.reject()


@pytest.mark.parametrize("name", ["Squashing", "Data set"])
def test_that_a_broken_one_is_one_sentence_and_the_window_goes_on(window, example, name):
    box = _box(window, name)
    _opened(box)
    _choose(box, "thing")
    wait(lambda: window.notice.isVisible() and not window.lane.busy)
    assert "of the package broken-thing 0.3 cannot be used (RuntimeError: no way)" in window.notice.accessibleName()
    if name == "Squashing":
        window.workspace.undo()
    wait(lambda: window.workspace.model() is not None and not window.lane.busy)

"""What each page exports and copies, and what it says where there is nothing."""

import csv
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.experiments.provenance import FigureProvenance
from slide_gui.gui.export.dialog import ExportDialog
from tests.gui.given import labelled, show_page, wait


@pytest.fixture
def data():
    return labelled()


@pytest.fixture
def trained(window):
    window.session.runs.train(window.session.runs.spec_of(SvmParameters()))
    wait(lambda: window.session.runs.library.runs and not window.lane.busy, 60)
    return window


def dialog_of(window, page):
    show_page(window, page)
    window.actions_by_name["export"].trigger()
    (dialog,) = window.findChildren(ExportDialog)
    return dialog


def choose(box, key):
    assert box.findData(key) >= 0
    box.setCurrentIndex(box.findData(key))


@pytest.mark.parametrize(
    ("page", "figure", "name"),
    [
        ("weights", "0", "weights"),
        ("curves", "0", "curves"),
        ("classifier", "0", "confusion"),
        ("classifier", "1", "widths"),
    ],
)
def test_that_each_page_exports_its_own_figure_with_all_that_makes_it_again(
    trained, tmp_path, monkeypatch, page, figure, name
):
    dialog = dialog_of(trained, page)
    choose(dialog.figure_box, figure)
    choose(dialog.format_box, "bundle")
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "bundle"))
    dialog.save_button.click()
    wait(lambda: trained.notice.isVisible() and not trained.lane.busy, 60)
    assert "Exported" in trained.notice.accessibleName()
    names = {path.name for path in (tmp_path / "bundle").iterdir()}
    assert {f"{name}{suffix}" for suffix in (".pdf", ".svg", ".png", ".csv", ".py")} | {"commands.txt"} <= names
    if name != "weights":
        provenance = FigureProvenance.read(tmp_path / "bundle" / f"{name}.json")
        assert [point.spec.hash for point in provenance.points] == [trained.session.runs.library.runs[0].hash]


def test_that_the_dialog_suggests_the_name_of_the_figure_and_adds_the_suffix(trained, tmp_path, monkeypatch):
    dialog = dialog_of(trained, "classifier")
    assert dialog.windowTitle() == "Export the confusion matrix"
    choose(dialog.format_box, "svg")
    suggested = []

    def ask(_parent, _title, suggestion, _filter):
        suggested.append(suggestion)
        return str(tmp_path / "figure"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    dialog.save_button.click()
    wait((tmp_path / "figure.svg").exists, 60)
    assert Path(suggested[0]).name == "confusion.svg"
    wait(lambda: not trained.lane.busy, 60)


def test_that_the_dialog_shows_the_figure_before_it_is_written(trained):
    dialog = dialog_of(trained, "classifier")
    wait(lambda: not dialog.preview.pixmap().isNull(), 60)
    first = dialog.preview.pixmap().toImage()
    choose(dialog.figure_box, "1")
    assert dialog.windowTitle() == "Export the course of the widths"
    wait(lambda: not dialog.preview.pixmap().isNull() and dialog.preview.pixmap().toImage() != first, 60)
    dialog.reject()
    wait(lambda: not trained.lane.busy, 60)


def test_that_the_one_dialog_asks_anew_each_time_and_keeps_nothing_of_the_last(trained):
    first = dialog_of(trained, "weights")
    assert (first.figure_box.count(), first.bias_box.isVisible()) == (1, True)
    first.bias_box.setChecked(True)
    choose(first.width_box, "single")
    first.reject()
    assert first.options == ()
    again = dialog_of(trained, "weights")
    assert again is first
    assert again.isVisible()
    assert not again.bias_box.isChecked()
    assert again.width_box.currentData() == "double"
    again.reject()
    other = dialog_of(trained, "classifier")
    assert (other.figure_box.count(), other.bias_box.isVisible()) == (2, False)
    assert other.focusWidget() is other.figure_box
    other.reject()
    wait(lambda: not trained.lane.busy, 60)


def test_that_the_table_of_runs_is_exported_as_csv_only(trained, tmp_path, monkeypatch):
    dialog = dialog_of(trained, "runs")
    assert [dialog.format_box.itemData(i) for i in range(dialog.format_box.count())] == ["csv"]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "runs.csv"), ""))
    dialog.save_button.click()
    wait((tmp_path / "runs.csv").exists)
    with (tmp_path / "runs.csv").open(newline="", encoding="utf-8") as file:
        (line,) = csv.DictReader(file)
    result = trained.session.runs.result
    assert line["hash"] == result.spec.hash
    assert (float(line["C"]), int(line["n_support"])) == (result.classifier.C, result.classifier.n_support)
    wait(lambda: not trained.lane.busy, 60)


@pytest.mark.parametrize("page", ["curves", "classifier", "runs"])
def test_that_a_page_without_results_says_so(window, page):
    window.actions_by_name[f"page_{page}"].trigger()
    wait(lambda: not window.lane.busy)
    window.actions_by_name["export"].trigger()
    assert window.findChildren(ExportDialog) == []
    assert "Nothing to export yet" in window.notice.accessibleName()
    window.notice.dismiss()
    window.actions_by_name["copy_table"].trigger()
    assert "Nothing to copy yet" in window.notice.accessibleName()


def test_that_no_layer_is_no_weight_figure(window):
    window.workspace.set_parameters(depth=0)
    wait(lambda: not window.lane.busy)
    window.actions_by_name["export"].trigger()
    assert "raise the depth" in window.notice.accessibleName()


@pytest.mark.parametrize(
    ("page", "head"),
    [
        ("weights", "pixel\tlayer"),
        ("curves", "noise\tdepth"),
        ("classifier", "class\ttaken for across"),
        ("runs", "Made\tData"),
    ],
)
def test_that_each_page_copies_its_numbers(trained, page, head):
    show_page(trained, page)
    trained.actions_by_name["copy_table"].trigger()
    text = QApplication.clipboard().text()
    assert text.startswith(head)
    assert len(text.splitlines()) > 1

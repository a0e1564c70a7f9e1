"""Each page exports and copies its results, or reports that it has none."""

from pathlib import Path
from unittest.mock import Mock

from PIL import Image
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton

from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.source import DataSource
from slide_gui.gui.dialogs import export
from slide_gui.gui.dialogs.export import ExportDialog
from slide_gui.gui.dialogs.export_preview import FigurePreview
from tests.gui.helpers import button, choose, labelled, refit, show_page, wait
from tests.gui.test_own_data import drop

OPENED = labelled


def dialog_of(window, page):
    show_page(window, page)
    window.actions_by_name["export"].trigger()
    (dialog,) = window.findChildren(ExportDialog)
    return dialog


def forms(name):
    """Return the files of a bundle that are common to all figures."""
    return {f"{name}{suffix}" for suffix in (".pdf", ".svg", ".png", ".csv", ".py")} | {"commands.txt"}


def test_that_each_page_exports_its_own_figure_with_the_files_that_reproduce_it(trained, tmp_path, monkeypatch):
    classifier = ("classifier", 0, "confusion"), ("classifier", 1, "widths")
    for page, number, name in (("curves", 0, "curves"), ("curves", 1, "heat-map"), *classifier):
        dialog = dialog_of(trained, page)
        choose(dialog.figure_box, str(number))
        choose(dialog.format_box, "bundle")
        bundle = tmp_path / name
        monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_, bundle=bundle: str(bundle))
        dialog.save_button.click()
        wait(lambda: trained.notice.isVisible() and not trained.queue.busy)
        assert "Exported" in trained.notice.accessibleName()
        show_page(trained, "weights")
        assert not trained.notice.isVisible()
        assert forms(name) <= {path.name for path in bundle.iterdir()}
        provenance = FigureProvenance.read(bundle / f"{name}.json")
        assert [point.spec.hash for point in provenance.points] == [trained.session.runs.library.runs[0].hash]


def test_that_the_dialog_suggests_a_name_and_a_missing_suffix_replaces_no_other_file(trained, tmp_path, monkeypatch):
    (tmp_path / "figure.svg").write_text("another")
    dialog = dialog_of(trained, "classifier")
    assert dialog.windowTitle() == "Export the confusion matrix"
    choose(dialog.format_box, "png")
    assert "Text" not in dialog._note.text()
    choose(dialog.format_box, "svg")
    ask = Mock(return_value=(str(tmp_path / "figure"), ""))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    dialog.save_button.click()
    wait((tmp_path / "figure 2.svg").exists)
    assert Path(ask.call_args.args[2]).name == "confusion.svg"
    assert (tmp_path / "figure.svg").read_text() == "another"


def test_that_a_dialog_closed_while_it_asks_for_a_file_name_writes_nothing(trained, tmp_path, monkeypatch):
    dialog, requests = dialog_of(trained, "classifier"), []
    dialog.accepted.connect(lambda: requests.append(dialog.path))

    def ask(*_arguments):
        dialog.reject()
        return str(tmp_path / "figure.svg"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    dialog.save_button.click()
    assert not dialog.isVisible()
    dialog.save_button.click()
    wait(lambda: not trained.queue.busy)
    assert requests == []


def test_that_the_dialog_shows_a_preview_and_forgets_the_choices_of_the_last_export(trained):
    first = dialog_of(trained, "weights")
    assert (first.figure_box.count(), first.bias_box.isVisible()) == (2, True)
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
    wait(lambda: not other.preview.pixmap().isNull())
    first = other.preview.pixmap().toImage()
    choose(other.figure_box, "1")
    assert other.windowTitle() == "Export the kernel widths during learning"
    wait(lambda: not other.preview.pixmap().isNull() and other.preview.pixmap().toImage() != first)
    other.reject()


def test_that_the_table_of_runs_is_exported_as_csv_only_with_a_note_on_its_runs(trained, tmp_path, monkeypatch):
    dialog = dialog_of(trained, "runs")
    assert [dialog.format_box.itemData(i) for i in range(dialog.format_box.count())] == ["csv"]
    runs, table = len(trained.session.library.runs), trained.pages.shown().run_table
    assert (
        dialog._note.text() == f"The table contains the visible runs ({runs}). Numbers are written with full precision."
    )
    table.select([trained.session.library.runs[0].hash])
    (option,) = trained.pages.shown().export_options()
    assert option.about == "The table contains the selected runs (1)."
    table.select([])
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "runs.csv"), ""))
    dialog.save_button.click()
    wait((tmp_path / "runs.csv").exists)
    assert trained.session.runs.result.spec.hash in (tmp_path / "runs.csv").read_text()


def test_that_a_page_without_results_has_nothing_to_export_or_copy(window):
    window.weights_page.set_view("copies")
    window.actions_by_name["copy_table"].trigger()
    assert "Start its computation" in window.notice.accessibleName()
    window.workspace.set_parameters(depth=0)
    window.actions_by_name["export"].trigger()
    assert "Increase the depth" in window.notice.accessibleName()
    for page in ("curves", "classifier", "runs"):
        window.actions_by_name[f"page_{page}"].trigger()
        wait(lambda: not window.queue.busy)
        for action, refused in (("export", "Nothing to export yet"), ("copy_table", "Nothing to copy yet")):
            window.actions_by_name[action].trigger()
            assert refused in window.notice.accessibleName()
            window.notice.hide()
    assert window.findChildren(ExportDialog) == []


def exported(window, tmp_path, monkeypatch, chosen):
    """Export a bundle into the chosen folder, and return the folder that the notice names."""
    dialog = dialog_of(window, "weights")
    choose(dialog.format_box, "bundle")
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(chosen))
    window.notice.hide()
    dialog.save_button.click()
    wait(lambda: window.notice.isVisible() and not window.queue.busy)
    return Path(window.notice.accessibleName().removeprefix("Exported: "))


def test_that_a_bundle_has_its_own_folder_which_can_be_shown_and_restores_the_session(window, tmp_path, monkeypatch):
    refit(window, noise=0.45, depth=2)
    window.workspace.select(pins=(3, 9))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "weights.pdf").write_text("another")
    first = exported(window, tmp_path, monkeypatch, tmp_path / "mine")
    buttons = {button.text(): button for button in window.notice.findChildren(QPushButton)}
    assert not any("Show" in text and button.isVisible() for text, button in buttons.items())
    buttons["Copy path"].click()
    assert QApplication.clipboard().text() == str(first)
    shown = []
    monkeypatch.setattr(export, "shows_folders", lambda: True)
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: shown.append(url.toLocalFile()) or False)
    bundle = exported(window, tmp_path, monkeypatch, tmp_path / "mine")
    button(window.notice, "Show in folder").click()
    assert shown == [str(bundle)]
    assert "No program could open" in window.notice.accessibleName()
    assert [first, bundle] == [tmp_path / "mine" / "weights", tmp_path / "mine" / "weights 2"]
    assert all(forms("weights") | {"weights.slide-session"} <= {p.name for p in e.iterdir()} for e in (first, bundle))
    assert (tmp_path / "mine" / "weights.pdf").read_text() == "another"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(bundle))
    for opened in (
        lambda: window.open_files(sorted(bundle.iterdir())),
        window.actions_by_name["open_folder"].trigger,
        lambda: window.open_files([bundle / "weights.png"]),
    ):
        window.workspace.set_parameters(noise=0.1, depth=1)
        window.workspace.select(pins=())
        opened()
        wait(lambda: window.workspace.state.parameters.noise == 0.45 and not window.queue.busy)
        assert (window.workspace.state.parameters.depth, window.workspace.state.selection.pins) == (2, (3, 9))


def test_that_small_type_of_a_preview_is_legible_and_the_width_is_used(window):
    window.resize(960, 640)
    dialog = dialog_of(window, "weights")
    preview = dialog.findChild(FigurePreview)
    wait(lambda: not dialog.preview.pixmap().isNull() and not window.queue.busy)
    assert 5 * preview.dots(dialog.style_chosen()) / 72 >= 8
    dialog.reject()
    dialog_of(window, "weights")
    assert dialog.preview.text() == "drawing…"
    assert dialog.preview.width() <= preview.width()
    wait(lambda: not dialog.preview.pixmap().isNull() and not window.queue.busy)
    width = dialog.preview.pixmap().width()
    dialog.resize(dialog.width() + 400, dialog.height())
    wait(lambda: dialog.preview.pixmap().width() > width)
    dialog.resize(1203, 677)  # Size of the dialog in a window of 1280 × 720 pixels.
    available = preview.maximumViewportSize().width() - preview.verticalScrollBar().sizeHint().width()
    assert preview.dots(dialog.style_chosen()) * 183 / 25.4 <= available
    dialog.reject()


def test_that_an_animation_restores_its_session_when_it_is_dropped(window, tmp_path, monkeypatch):
    refit(window, noise=0.45, depth=1)
    window.workspace.select(pins=(3, 9))
    dialog = dialog_of(window, "weights")
    choose(dialog.figure_box, "1")
    assert dialog.windowTitle() == "Export the animation over the noise levels"
    choose(dialog.width_box, "single")
    assert dialog.style_chosen().dpi == 150
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "moving.gif"), ""))
    dialog.save_button.click()
    wait(lambda: window.notice.isVisible() and not window.queue.busy)
    with Image.open(tmp_path / "moving.gif") as image:
        assert image.n_frames == 20
    window.workspace.set_parameters(noise=0.1)
    drop(window, tmp_path / "moving.gif")
    wait(lambda: window.workspace.state.parameters.noise == 0.45 and not window.queue.busy)
    assert window.workspace.state.selection.pins == (3, 9)


def test_that_an_export_never_replaces_open_data_or_the_store(trained, tmp_path, monkeypatch):
    data, link, store = tmp_path / "data.csv", tmp_path / "link.csv", trained.session.runs.library.path
    data.write_text("mine")
    trained.workspace.source = DataSource(paths=(str(data),))
    before = {path: path.read_bytes() for path in (data, store)}
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(link), ""))
    for target in (data, store, Path(f"{store}-wal")):
        link.symlink_to(target)
        dialog = dialog_of(trained, "classifier")
        choose(dialog.format_box, "csv")
        dialog.save_button.click()
        wait(lambda: trained.notice.isVisible() and not trained.queue.busy)
        assert "The export could not be written" in trained.notice.accessibleName()
        assert "is an input; choose another output" in trained.notice.accessibleName()
        trained.notice.hide()
        link.unlink()
    assert {path: path.read_bytes() for path in before} == before

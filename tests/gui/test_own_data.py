"""Every file that is dropped on the window is shown, split as the user wishes, or refused with the reason."""

import json
import re
import threading
import warnings

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, QSettings, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QMenu, QSlider, QWidget

from slide_gui.cli import main
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.open import DATA_SUFFIXES
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.store.store import RunStore
from slide_gui.gui.state.files import FileChoices
from tests.data.writers import write_idx
from tests.gui.helpers import (
    StubSource,
    at_rest,
    choose,
    every_view,
    image_and_tiles,
    open_data,
    open_file,
    refit,
    settle,
    show_page,
    train,
    wait,
)
from tests.gui.test_jobs import working

RANDOM = np.random.default_rng(0)


def drop(window, *paths):
    """Drop files as the window system delivers them; return True if the window accepts them."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Qt expects a QPointF, older Qt a QPoint
        enter = QDragEnterEvent(QPointF(500, 300).toPoint(), Qt.DropAction.CopyAction, mime, buttons, keys)
    QApplication.sendEvent(window, enter)
    if enter.isAccepted():
        QApplication.sendEvent(window, QDropEvent(QPointF(500, 300), Qt.DropAction.CopyAction, mime, buttons, keys))
    return enter.isAccepted()


def touch_everything(window):
    """Hover over the image and the tiles, pin a pixel, and trigger the commands for rows."""
    pointer, tiles = image_and_tiles(window)
    for x in range(4, pointer.width(), 40):
        QTest.mouseMove(pointer, QPointF(x, pointer.height() / 2).toPoint())
    QTest.mouseClick(pointer, Qt.MouseButton.LeftButton, pos=QPointF(8, 8).toPoint())
    QTest.mouseMove(tiles, tiles.rect().center())
    for name in ("mean_image", "next_sample", "view_weights", "copy_table", "more_noise"):
        window.actions_by_name[name].trigger()
        settle(0.01)
        assert not window.grab().isNull()
    at_rest(window)


def test_that_every_format_is_offered_and_an_empty_folder_a_missing_path_and_one_row_are_refused(
    window, tmp_path, monkeypatch
):
    filters, before = [], window.workspace.dataset
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *given: filters.append(given[-1]) or ([], ""))
    window.actions_by_name["open"].trigger()
    assert all(f"*{suffix}" in filters[0] for suffix in DATA_SUFFIXES)
    (tmp_path / "hollow").mkdir()
    (tmp_path / "single.csv").write_text("a,b,c,d,label\n1,2,3,4,0\n")
    for name, reason in (("hollow", "hollow"), ("gone.amat", "gone.amat"), ("single.csv", "only 1 training row")):
        window.notice.hide()
        drop(window, tmp_path / name)
        wait(lambda: window.notice.isVisible() and not window.queue.busy)
        assert reason in window.notice.accessibleName()
    assert window.workspace.dataset is before


def test_that_escape_ends_the_edit_of_a_number_and_then_stops_opening_and_keeps_the_open_data(window, monkeypatch):
    before, layers, begun = window.workspace.dataset, window.workspace.fitting.stack, threading.Event()
    cancelled = []
    window.actions_by_name["cancel"].triggered.connect(lambda: cancelled.append("by a key"))
    monkeypatch.setattr(StubSource, "load", working(begun))
    window.workspace.open(StubSource(before))
    assert begun.wait(60)
    window.activateWindow()
    QTest.keyClick(window.panel.sliders["noise"].findChild(QSlider), Qt.Key.Key_5)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert cancelled == []
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert cancelled == ["by a key"]
    wait(lambda: not window.queue.busy)
    settle(0.3)
    assert window.workspace.dataset is before
    assert window.workspace.fitting.stack is layers
    assert not window.notice.isVisible()


SHAPES = {
    "one pixel": (np.array([[0.0], [1.0], [1.0]]), (1, 1)),
    "two features": (RANDOM.random((30, 2)), None),
    "one feature": (RANDOM.random((30, 1)), None),
    "a constant feature": (np.column_stack([RANDOM.random((30, 3)), np.full(30, 0.7)]), None),
    "only zeros": (np.zeros((30, 16)), (4, 4)),
    "all rows alike": (np.full((30, 16), 0.25), (4, 4)),
    "300 features": (RANDOM.random((60, 300)), None),
    "upright images": (RANDOM.random((60, 96)), (12, 8)),
    "lying images": (RANDOM.random((60, 96)), (8, 12)),
    "a single line": (RANDOM.random((60, 40)), (1, 40)),
    "more features than rows": (RANDOM.random((3, 100)), (10, 10)),
    "large and negative": (1e6 * RANDOM.standard_normal((40, 9)), (3, 3)),
}


def test_that_data_of_any_shape_end_in_a_picture(window):
    for name, (rows, shape) in SHAPES.items():
        rows = rows.astype(np.float32)
        window.workspace.open(StubSource(Dataset(name, rows, rows[:0], image_shape=shape)))
        wait(lambda name=name: window.workspace.dataset.name == name and not window.queue.busy)
        assert not window.notice.isVisible(), f"{name}: {window.notice.accessibleName()}"
        at_rest(window)
        assert all(np.isfinite(layer.weights).all() for layer in window.workspace.fitting.stack.layers), name
        touch_everything(window)
        window.reading_preview.show_reading()
        assert tuple(window.reading_preview.shape.currentData()) == (shape or ()), name


def words_of(window):
    """Return the texts of visible widgets and of commands that mention images or pixels."""
    of_images = "reset_drawing", "blank_canvas", "draw_or_erase"
    actions = window.actions_by_name
    texts = [actions[name].text() + actions[name].toolTip() for name in actions if name not in of_images]
    for each in window.findChildren(QWidget):
        if each.isVisible():
            shown = each.text() if hasattr(each, "text") and callable(each.text) else ""
            texts += [shown, each.toolTip(), each.accessibleName(), each.accessibleDescription()]
    words = re.compile(r"(?<!Rectangles-)(?<!for all )\b(image|pixel)s?\b|\bdraw on\b", re.IGNORECASE)
    return {text for text in texts if words.search(text)}


def test_that_no_text_speaks_of_images_or_pixels_if_the_data_are_a_table(window):
    rows = RANDOM.random((120, 5)).astype("float32")
    labels = (rows[:, 0] > rows[:, 1]).astype("int64")
    table = Dataset("table", rows[:80], rows[80:], labels[:80], labels[80:], feature_names=tuple("abcde"))
    found = set()
    open_data(window, table)
    train(window)
    for view in every_view(window):
        at_rest(window)
        found |= {(view, text) for text in words_of(window)}
    assert found == set()


def test_that_a_table_of_two_columns_of_text_is_opened_with_a_guess_that_can_be_changed(window, tmp_path):
    rows = [f"n{k % 4},{['Ulm', 'Bonn'][k % 2]},{k},{k / 2},0.5,{k % 3},1.5\n" for k in range(24)]
    (tmp_path / "people.csv").write_text("name,town,a,b,c,d,age in months\n" + "".join(rows))
    open_file(window, tmp_path / "people.csv")
    preview = window.reading_preview
    assert preview.isVisible()
    assert window.workspace.dataset.label_names == ("Bonn", "Ulm")
    said = texts(preview)
    assert "labels in column “town”" in said
    assert "column “name” left out" in said
    preview.label_column.setCurrentIndex(preview.label_column.findText("name"))
    preview.open_button.click()
    wait(lambda: len(window.workspace.dataset.label_names) == 4 and not window.queue.busy)
    assert not preview.isVisible()
    assert window.workspace.source.reading == ParseOptions(label_column="name")
    assert window.workspace.dataset.feature_names == ("a", "b", "c", "d", "age in months")
    preview.show_reading()
    assert [(each.text(), each.toolTip()) for each in preview._cells[0]][4] == ("age in mont…", "age in months")
    preview.findChild(QMenu).actions()[2].trigger()  # the offscreen platform cannot show menus
    assert preview.left_out.text() == "Left out: 2 ▾"
    preview.open_button.click()
    wait(lambda: window.workspace.source.reading.left_out == ("town", "a") and not window.queue.busy)
    preview.show_reading()
    preview.groups.setCurrentIndex(preview.groups.findText("d"))
    preview.open_button.click()
    wait(lambda: window.workspace.source.reading.group == "d" and not window.queue.busy)
    preview.show_reading()
    assert (preview.left_out.text(), preview.groups.currentText()) == ("Left out: 3 ▾", "d")
    preview.label_column.setCurrentIndex(preview.label_column.findText("town"))
    assert preview.reading() == ParseOptions(label_column="town", left_out=("a",), group="d")
    preview.header.click()
    assert preview.reading() == ParseOptions("#2", False, left_out=("#3",), group="#6"), "no column is called 2, 3 or 6"


def test_that_features_above_1_are_scaled_unless_declined_and_images_below_the_threshold_are_reported(window, tmp_path):
    rows = [f"{7 * k % 31},{1000 * k % 7000},{k % 5},{k / 30},0.5,{['a', 'b'][k % 2]}\n" for k in range(30)]
    (tmp_path / "plain.csv").write_text("one,two,three,four,five,kind\n" + "".join(rows))
    open_file(window, tmp_path / "plain.csv")
    assert not window.reading_preview.isVisible()
    assert "5 features, scaled to 0–1" in texts(window.panel)
    window.reading_preview.show_reading()
    assert window.reading_preview.scaled.isVisible()
    for method in ("quantiles", "unchanged"):
        window.reading_preview.scaled.setCurrentText(method)
        window.reading_preview.open_button.click()
        wait(lambda: not window.queue.busy)
        assert ("5 features, scaled to quantiles" in texts(window.panel)) == (method == "quantiles")
    assert window.workspace.source.reading == ParseOptions(scaled=False)
    dim = (RANDOM.random((60, 16)) * 0.1).astype("float32")
    open_data(window, Dataset("dim", dim[:40], dim[40:], image_shape=(4, 4)))
    assert "above the threshold" in texts(window.panel)
    refit(window, threshold=0.05)
    assert "above the threshold" not in texts(window.panel)


def test_that_a_quantity_and_a_missing_class_offer_another_label_column_or_three_ranges(window, tmp_path, monkeypatch):
    shown_popup = []
    rows = [f"{k / 7:.2f},{k % 2},{(37 * k) % 101 + k % 3}\n" for k in range(150)]
    (tmp_path / "d.csv").write_text("age,sex,progression\n" + "".join(rows))
    open_file(window, tmp_path / "d.csv")
    preview = window.reading_preview
    assert preview.isVisible()
    shown = next(each.text() for each in preview.findChildren(QLabel) if "quantity" in each.text())
    assert "The column “progression” has " in shown
    assert "Choose another label column, or cut this one into three ranges.\n" in shown
    assert window.workspace.dataset.train_labels is None
    assert "It looks like a quantity" in window.session.runs.why_not()
    monkeypatch.setattr(preview.label_column, "showPopup", lambda: shown_popup.append(True))
    preview.choose_button.click()
    assert shown_popup == [True]
    preview.cut_button.click()
    wait(lambda: window.workspace.dataset.train_labels is not None and not window.queue.busy)
    assert len(window.workspace.dataset.label_names) == 3
    assert (window.workspace.source.reading.bins, preview.isVisible()) == (3, False)
    assert window.session.runs.training_time(window.session.runs.svm, "slide-svm").startswith("Training takes about ")
    (tmp_path / "d.csv").write_text("a,b,class,site\n1,2,0,N\n3,4,,S\n5,7,1,N\n2,6,1,S\n")
    bar = window.weights_page.set_view("weights")._scroll.verticalScrollBar()
    bar.setValue(50)
    open_file(window, tmp_path / "d.csv")
    assert bar.value() == 0, "the tiles of new data are shown from the top"
    assert "d.csv: line 3, column 3: the label is missing" in texts(preview)
    assert (preview.choose_button.isVisible(), window.workspace.dataset.feature_names) == (True, ("a", "b"))
    preview.label_column.setCurrentText("site")
    preview.open_button.click()
    wait(lambda: window.workspace.dataset.label_names == ("N", "S") and not preview.isVisible())


def test_that_the_labels_in_the_folder_of_idx_images_are_offered_and_used(window, tmp_path):
    images = write_idx(tmp_path / "train-images-idx3-ubyte", np.arange(640, dtype=np.uint8).reshape(10, 8, 8))
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.arange(10, dtype=np.uint8) % 2)
    drop(window, images)
    preview = window.reading_preview
    wait(lambda: preview.isVisible() and not window.queue.busy)
    assert "train-labels-idx1-ubyte is in the same folder. Use its labels?" in texts(preview)
    QTest.mouseClick(preview.labels_button, Qt.MouseButton.LeftButton)
    wait(lambda: window.workspace.dataset.train_labels is not None and not window.queue.busy)
    assert len(window.workspace.source.paths) == 2
    assert not preview.labels_button.isVisible()


def test_that_missing_cells_are_counted_and_crossed_out(window, tmp_path):
    images = RANDOM.random((40, 6, 6))
    images[1, 2, 3:5] = np.nan
    np.savez(tmp_path / "holes.npz", X=images, y=np.arange(40) % 2)
    table = [f"{'' if k == 5 else k % 7},{k % 5},{k % 3},k{k % 2}" for k in range(40)]
    (tmp_path / "gaps.csv").write_text("\n".join(["a,b,c,class", *table]) + "\n")
    for path, sample, crossed in ((tmp_path / "holes.npz", 1, (15, 16)), (tmp_path / "gaps.csv", 5, (0,))):
        open_file(window, path)
        data, shown = window.workspace.dataset, window.weights_page.shown
        position = int(np.flatnonzero(data.order == sample)[0])
        if position < len(data.train):
            window.workspace.select(sample=position)
        else:
            shown.show_test(position - len(data.train))
        at_rest(window)
        assert shown.missing == crossed
        assert shown.caption.endswith(f" · {len(crossed)} missing, filled")
        assert f"{len(crossed)} missing cell{'s' * (len(crossed) > 1)} filled" in texts(window)
        pointer, _ = image_and_tiles(window)
        pointer.set_cursor(crossed[0])
        assert "missing in the file; filled in by the program" in pointer.accessibleDescription()
        drawn = np.where(np.arange(data.n_features) == crossed[0], 2, shown.values)
        window.workspace.draw(drawn.reshape(data.image_shape or (1, -1)))
        assert shown.missing == crossed[1:]
        shown.toggle_mean()
        assert shown.missing == ()


def test_that_a_row_without_known_cells_has_no_cells_to_hide(window, tmp_path):
    rows = RANDOM.random((40, 6))
    rows[5] = np.nan
    np.savez(tmp_path / "gap.npz", X=rows)
    open_file(window, tmp_path / "gap.npz")
    view = window.weights_page.set_view("fill")
    window.workspace.select(sample=5)
    at_rest(window)
    assert view.status.text() == "All cells of this row are missing. Show another row."
    assert not view.button.isEnabled()


@pytest.fixture
def pixels(tmp_path):
    """Return a table without names of 6 × 12 images, stored by columns, with the class last."""
    flat = np.random.default_rng(1).integers(0, 9, (30, 6, 12)).swapaxes(1, 2).reshape(30, 72)
    np.savetxt(tmp_path / "pixels.csv", np.column_stack([flat, np.arange(30) % 3]), fmt="%d", delimiter=",")
    return tmp_path / "pixels.csv"


def texts(panel):
    return "\n".join(each.text() for each in panel.findChildren(QLabel))


def counts(window):
    return len(window.workspace.dataset.train), len(window.workspace.dataset.test)


def test_that_share_seed_and_folds_are_set_in_the_panel(window, flowers):
    split = window.panel.split
    assert not split.isVisible()  # these data have a test set
    window.panel.more.click()
    open_file(window, flowers)
    assert split.isVisible()
    assert split.held_out() == HeldOut(0.25, 0)
    assert "30 of 40 rows for training\n10 held out\n4 features\nclasses: “kind”" in texts(window.panel)
    first = window.workspace.dataset
    window.workspace.select(pins=(1,))
    split.share.setValue(40)
    window.queue.stop()
    assert split.share.value() == 25, "the split of the open data"
    split.share.setValue(50)
    at_rest(window)
    assert counts(window) == (20, 20)
    split.seed.setValue(3)
    at_rest(window)
    assert window.workspace.dataset.held_out == HeldOut(0.5, 3)
    choose(split.kind, "folds")
    at_rest(window)
    assert window.workspace.dataset.held_out == HeldOut(0.0, 3, 5, 0)
    assert counts(window) == (32, 8)
    split.fold.setValue(4)
    at_rest(window)
    assert window.workspace.dataset.held_out.fold == 3
    assert window.workspace.source.held_out == window.workspace.dataset.held_out
    choose(split.kind, "nothing")
    at_rest(window)
    assert counts(window) == (40, 0)
    assert "Hold out some rows" in window.session.runs.why_not()
    assert window.workspace.state.selection.pins == (1,)
    assert window.workspace.dataset.fingerprint == first.whole


def test_that_training_in_the_window_computes_the_same_run_as_the_command_line(window, flowers, capsys):
    open_file(window, flowers)
    refit(window, depth=1)
    page, result = train(window), window.session.runs.result
    assert "25 % held out, seed 0" in page.details.text()
    assert page.numbers().split("\n")[1].startswith("rose\t")
    assert main(["train", str(flowers), "--depth", "1", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["hash"], printed["misclassified"]) == (result.hash, result.misclassified.tolist())


def test_that_all_folds_are_trained_and_pooled_on_every_page(window, flowers):
    open_file(window, flowers)
    window.workspace.set_parameters(depth=1)
    window.workspace.hold_out(HeldOut(folds=4, fold=2))
    at_rest(window)
    runs, seen = window.session.runs, []
    runs.training.changed.connect(lambda: seen.append(getattr(runs.training.latest, "seconds_left", None)))
    page = train(window)
    assert set(seen) == {None}  # the time left for one fold is not that for all
    assert runs.result.spec.held_out.fold == 2
    assert runs.folds_rate.n == 40
    assert page.rate.text() == str(runs.folds_rate)
    with RunStore(window.session.library.path, read_only=True) as store:
        errors = [run.error for run in store.runs()]
    assert len(errors) == 4
    assert runs.folds_rate.error == pytest.approx(sum(errors) / 4)
    curves = show_page(window, "curves")
    wait(lambda: len(runs.current_runs()) == 4 and not window.queue.busy)
    points = [point for point in curves.points() if point.key]
    assert [(point.noise, point.depth) for point in points] == [(0.3, 1)]
    assert points[0].rate == runs.folds_rate
    assert "4 of 4 folds" in points[0].note
    assert curves.export_options()[0].name == "curves"
    other = next(run for run in runs.current_runs() if run.held_out.fold == 0)
    runs.open_run(other.hash)
    wait(lambda: runs.result is not None and runs.result.hash == other.hash)
    assert window.workspace.dataset.held_out.fold == 0  # the window shows the fold of the run
    assert window.workspace.dataset.fingerprint == runs.result.spec.fingerprint


def test_that_a_file_with_guessed_options_opens_with_a_preview_whose_late_choices_are_ignored(window, pixels):
    open_file(window, pixels)
    preview = window.reading_preview
    for height, has_rows in ((640, False), (720, True)):
        window.resize(1280, height)
        settle()
        assert preview._table.isVisible() == has_rows
    assert window.workspace.dataset.image_shape is None
    assert preview.reading() == ParseOptions()
    preview.shape.setCurrentIndex(preview.shape.findText("6 × 12"))
    preview.shape.activated.emit(preview.shape.currentIndex())
    preview.transposed.setChecked(True)
    assert preview.reading() == ParseOptions(shape=(6, 12), transposed=True)
    QTest.mouseClick(preview.open_button, Qt.MouseButton.LeftButton)
    wait(lambda: window.workspace.dataset.image_shape == (6, 12))
    at_rest(window)
    assert not preview.isVisible()
    images = np.random.default_rng(1).integers(0, 9, (30, 6, 12))
    dataset = window.workspace.dataset
    shown = dataset.train.reshape(-1, 6, 12)
    np.testing.assert_allclose(shown * 16, images[dataset.order[: len(shown)]])
    window.panel.reading_requested.emit()
    assert preview.isVisible()
    assert preview.reading() == window.workspace.source.reading
    open_data(window, Dataset("larger", RANDOM.random((20, 144), np.float32), np.zeros((0, 144), np.float32)))
    preview.shape.activated.emit(preview.shape.findText("6 × 12"))  # an exception in a slot fails the test


def test_that_a_file_reopens_with_the_confirmed_parse_options_and_split(window, pixels, tmp_path):
    open_file(window, pixels)
    before = window.workspace.dataset
    QTest.mouseClick(window.reading_preview.open_button, Qt.MouseButton.LeftButton)
    at_rest(window)
    assert (window.reading_preview.isVisible(), window.workspace.dataset is before) == (False, True)
    window.open_files([pixels])
    wait(lambda: window.workspace.dataset is not before)
    assert not window.reading_preview.isVisible()
    window.workspace.read_as(ParseOptions(shape=(8, 9)))
    wait(lambda: window.workspace.dataset.image_shape == (8, 9))
    at_rest(window)
    window.workspace.hold_out(HeldOut(0.4, 2))
    at_rest(window)
    copy = tmp_path / "elsewhere.csv"
    copy.write_bytes(pixels.read_bytes())
    open_file(window, copy)
    assert window.workspace.dataset.image_shape == (8, 9)
    assert window.workspace.dataset.held_out == HeldOut(0.4, 2)
    assert not window.reading_preview.isVisible()
    copy.write_bytes(pixels.read_bytes().replace(b"1", b"2", 1))  # a different file of the same length
    window.open_files([copy])
    wait(lambda: window.workspace.dataset.image_shape is None)


def test_that_a_file_that_fails_at_the_start_leaves_the_example_and_its_error(small_example, closed_window, tmp_path):
    closed_window.workspace.set_parameters(depth=1)
    (tmp_path / "broken.csv").write_text("a,b,c,d,label\n1,2,3,4,0\n1,2,3\n")
    closed_window.show()
    closed_window.start([tmp_path / "broken.csv"])
    assert (closed_window.panel._datasets.currentText(), closed_window.panel._badge.isVisible()) == ("", False)
    at_rest(closed_window)
    assert closed_window.workspace.dataset.title == "Rectangles (generated)"
    assert closed_window.notice.isVisible()
    assert "line 3 has 3 cells, expected 5" in closed_window.notice.accessibleName()
    assert "loading" not in texts(closed_window.panel)


def test_that_invalid_stored_choices_are_ignored(stored_settings, flowers):
    source = DataSource(paths=(str(flowers),))
    choices = FileChoices(stored_settings)
    choices.remember(DataSource(paths=source.paths, held_out=HeldOut(folds=3)))
    assert choices.recall(source).held_out == HeldOut(0.0, folds=3)
    again = QSettings(stored_settings.fileName(), stored_settings.format())
    again.beginGroup("files")
    (name,) = again.childKeys()
    for bad in ("no", "[]", '{"held_out": {"share": 7}}', '{"reading": {"shape": [1]}}', '{"paths": 3}', "[" * 9**5):
        again.setValue(name, bad)
        again.sync()
        assert choices.recall(source) is None

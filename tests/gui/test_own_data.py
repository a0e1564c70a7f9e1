"""Every file that is dropped on the window is shown, or refused with the reason."""

import re
import time
import warnings

import numpy as np
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.data.reading import ParseOptions
from tests.data.writers import write_idx
from tests.gui.helpers import StubSource, at_rest, every_view, image_and_tiles, open_data, settle, train, wait

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


def opened(window, name):
    wait(lambda: window.workspace.dataset.name == name and window.workspace.model() is not None)
    wait(lambda: not window.queue.busy)


def notice_text(window):
    """Wait for a notice and return its text."""
    wait(lambda: window.notice.isVisible() and not window.queue.busy)
    return window.notice.accessibleName()


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


def test_that_an_empty_folder_and_a_missing_path_are_refused_with_the_reason(window, tmp_path):
    before = window.workspace.dataset
    (tmp_path / "hollow").mkdir()
    for name in ("hollow", "gone.amat"):
        window.notice.hide()
        drop(window, tmp_path / name)
        assert name in notice_text(window)
    assert window.workspace.dataset is before
    assert window.workspace.model() is not None


class Endless(StubSource):
    """A data source whose loading never ends."""

    def load(self, progress):
        while True:
            progress.report(0.5)
            time.sleep(0.001)


def test_that_escape_stops_opening_and_keeps_the_open_data(window):
    before, layers = window.workspace.dataset, window.workspace.fitting.stack
    window.workspace.open(Endless(None))
    settle(0.1)
    assert window.queue.busy
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    wait(lambda: not window.queue.busy, 5.0)
    settle(0.3)
    assert window.workspace.dataset is before
    assert window.workspace.fitting.stack is layers
    assert window.workspace.model() is not None
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
        opened(window, name)
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
    return {text for text in texts if re.search(r"(?<!Rectangles-)\b(image|pixel)s?\b", text, re.IGNORECASE)}


def test_that_no_text_speaks_of_images_or_pixels_if_the_data_are_a_table(window):
    rows = RANDOM.random((120, 5)).astype("float32")
    labels = (rows[:, 0] > 0.5).astype("int64")
    names = tuple("abcde")
    table = Dataset("table", rows[:80], rows[80:], labels[:80], labels[80:], feature_names=names)
    found = set()
    open_data(window, table)
    train(window)
    for view in every_view(window):
        at_rest(window)
        found |= {(view, text) for text in words_of(window)}
    assert found == set()


def test_that_a_table_of_two_columns_of_text_is_opened_with_a_guess_that_can_be_changed(window, tmp_path):
    rows = [f"n{k % 4},{['Ulm', 'Bonn'][k % 2]},{k},{k / 2},0.5,{k % 3},1.5\n" for k in range(24)]
    (tmp_path / "people.csv").write_text("name,town,a,b,c,d,e\n" + "".join(rows))
    drop(window, tmp_path / "people.csv")
    wait(lambda: window.workspace.dataset.name == "people" and not window.queue.busy)
    preview = window.reading_preview
    assert preview.isVisible()
    assert window.workspace.dataset.label_names == ("Bonn", "Ulm")
    said = " ".join(label.text() for label in preview.findChildren(QLabel))
    assert "labels in column “town”" in said
    assert "column “name” left out" in said
    preview.label_column.setCurrentIndex(preview.label_column.findText("name"))
    preview.open_button.click()
    wait(lambda: len(window.workspace.dataset.label_names) == 4 and not window.queue.busy)
    assert not preview.isVisible()
    assert window.session.runs.training_time(window.session.runs.svm, "slide-svm").startswith("Training takes about ")
    assert window.workspace.source.reading == ParseOptions(label_column="1")
    assert window.workspace.dataset.feature_names == ("a", "b", "c", "d", "e")
    window.workspace.read_as(ParseOptions(label_column="name", left_out=("town", "a")))
    wait(lambda: window.workspace.dataset.n_features == 4 and not window.queue.busy)
    preview.show_reading()
    preview.label_column.setCurrentIndex(preview.label_column.findText("town"))
    assert preview.reading() == ParseOptions(label_column="2", left_out=("a",))


def test_that_features_above_1_are_scaled_unless_the_user_declines(window, tmp_path):
    rows = [f"{k},{1000 * k % 7000},{k % 5},{k / 30},0.5,{['a', 'b'][k % 2]}\n" for k in range(30)]
    (tmp_path / "plain.csv").write_text("one,two,three,four,five,kind\n" + "".join(rows))
    drop(window, tmp_path / "plain.csv")
    wait(lambda: window.workspace.dataset.name == "plain" and not window.queue.busy)
    assert not window.reading_preview.isVisible()
    assert any("5 features, scaled to 0–1" in each.text() for each in window.panel.findChildren(QLabel))
    window.reading_preview.show_reading()
    assert window.reading_preview.scaled.isVisible()
    window.reading_preview.scaled.click()
    window.reading_preview.open_button.click()
    wait(lambda: window.workspace.dataset.train.max() > 1 and not window.queue.busy)
    assert window.workspace.source.reading == ParseOptions(scaled=False)


def test_that_a_quantity_as_label_offers_another_column_and_three_ranges(window, tmp_path, monkeypatch):
    shown_popup = []
    rows = [f"{k % 7},{k % 2},{(37 * k) % 101 + k % 3}\n" for k in range(150)]
    (tmp_path / "d.csv").write_text("age,sex,progression\n" + "".join(rows))
    drop(window, tmp_path / "d.csv")
    wait(lambda: window.workspace.dataset.name == "d" and not window.queue.busy)
    preview = window.reading_preview
    assert preview.isVisible()
    shown = next(each.text() for each in preview.findChildren(QLabel) if "quantity" in each.text())
    assert "The column 'progression' has " in shown
    assert "Choose another label column, or cut it into three ranges.\n" in shown
    assert window.workspace.dataset.train_labels is None
    assert "It looks like a quantity" in window.session.runs.why_not()
    monkeypatch.setattr(preview.label_column, "showPopup", lambda: shown_popup.append(True))
    preview.choose_button.click()
    assert shown_popup == [True]
    preview.cut_button.click()
    wait(lambda: window.workspace.dataset.train_labels is not None and not window.queue.busy)
    assert len(window.workspace.dataset.label_names) == 3
    assert window.workspace.source.reading.bins == 3
    assert not preview.isVisible()
    assert window.session.runs.training_time(window.session.runs.svm, "slide-svm").startswith("Training takes about ")


def test_that_the_labels_in_the_folder_of_idx_images_are_offered_and_used(window, tmp_path):
    images = write_idx(tmp_path / "train-images-idx3-ubyte", np.arange(640, dtype=np.uint8).reshape(10, 8, 8))
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.arange(10, dtype=np.uint8) % 2)
    drop(window, images)
    preview = window.reading_preview
    wait(lambda: preview.isVisible() and not window.queue.busy)
    shown = [each.text() for each in preview.findChildren(QLabel)]
    assert "train-labels-idx1-ubyte is in the same folder. Use it?" in shown
    QTest.mouseClick(preview.labels_button, Qt.MouseButton.LeftButton)
    wait(lambda: window.workspace.dataset.train_labels is not None and not window.queue.busy)
    assert len(window.workspace.source.paths) == 2
    assert not preview.labels_button.isVisible()


def test_that_test_classes_the_training_set_lacks_are_shown_and_a_test_set_of_nothing_else_is_refused(window, tmp_path):
    rows = "".join(f"0.{k},0.{9 - k},{'ab'[k % 2]}\n" for k in range(10))
    (tmp_path / "x_train.csv").write_text("p,q,class\n" + rows)
    (tmp_path / "x_test.csv").write_text("p,q,class\n" + rows + "0.5,0.5,c\n")
    drop(window, tmp_path / "x_train.csv", tmp_path / "x_test.csv")
    wait(lambda: window.workspace.dataset.n_features == 2 and not window.queue.busy)
    assert window.reading_preview.isVisible()
    shown = " ".join(label.text() for label in window.reading_preview.findChildren(QLabel))
    assert "1 test row of 11 in classes that the training set lacks: c: 1 row" in shown
    (tmp_path / "x_test.csv").write_text("p,q,class\n" + rows.replace("a", "A").replace("b", "B"))
    drop(window, tmp_path / "x_train.csv", tmp_path / "x_test.csv")
    assert "none of its classes (“A”, “B”) occurs in the training set" in notice_text(window)


def test_that_images_below_the_threshold_are_reported_until_it_is_lowered(window):
    dim = (RANDOM.random((60, 16)) * 0.1).astype("float32")
    window.workspace.open(StubSource(Dataset("dim", dim[:40], dim[40:], image_shape=(4, 4))))
    opened(window, "dim")

    def shown():
        return any("above the threshold" in label.text() for label in window.panel.findChildren(QLabel))

    assert shown()
    window.workspace.set_parameters(threshold=0.05)
    wait(lambda: window.workspace.fitting.stack.parameters.threshold == 0.05 and not window.queue.busy)
    assert not shown()


def test_that_missing_cells_are_counted_and_crossed_out(window, tmp_path):
    images = RANDOM.random((40, 6, 6))
    images[1, 2, 3:5] = np.nan
    np.savez(tmp_path / "holes.npz", X=images, y=np.arange(40) % 2)
    table = [f"{'' if k == 5 else k % 7},{k % 5},{k % 3},k{k % 2}" for k in range(40)]
    (tmp_path / "gaps.csv").write_text("\n".join(["a,b,c,class", *table]) + "\n")
    for path, sample, crossed in ((tmp_path / "holes.npz", 1, (15, 16)), (tmp_path / "gaps.csv", 5, (0,))):
        drop(window, path)
        opened(window, path.stem)
        at_rest(window)
        data, shown = window.workspace.dataset, window.weights_page.shown
        position = int(np.flatnonzero(data.order == sample)[0])
        if position < len(data.train):
            window.workspace.select(sample=position)
        else:
            shown.show_test(position - len(data.train))
        at_rest(window)
        assert shown.missing == crossed
        assert f"{len(crossed)} missing, filled" in shown.caption
        texts = "".join(label.text() for label in window.findChildren(QLabel))
        assert f"{len(crossed)} missing cell{'s' * (len(crossed) > 1)} filled" in texts
        pointer, _ = image_and_tiles(window)
        pointer.set_cursor(crossed[0])
        assert "missing in the file, filled" in pointer.accessibleDescription()
        shown.toggle_mean()
        assert shown.missing == ()

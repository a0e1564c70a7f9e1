"""The window splits data without a test set, and stores their split and parse options."""

import json

import numpy as np
import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from slide_gui.cli import main
from slide_gui.data.dataset import HeldOut
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.store.store import RunStore
from slide_gui.gui.state.files import FileChoices
from tests.gui.helpers import at_rest, settle, show_page, wait

KINDS = ("rose", "tulip")


@pytest.fixture
def flowers(tmp_path):
    """Return a table of 40 rows with named columns and classes."""
    random = np.random.default_rng(0)
    lines = ["stem length,leaf width,petal width,height,kind"]
    for k in range(40):
        numbers = [*random.random(2).round(3).tolist(), round(0.5 * (k % 2) + 0.2 * random.random(), 3), 0.1 * (k % 7)]
        lines.append(",".join(map(str, [*numbers, KINDS[k % 2]])))
    path = tmp_path / "flowers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def pixels(tmp_path):
    """Return a table without names of 6 × 12 images, stored by columns, with the class last."""
    images = np.random.default_rng(1).integers(0, 9, (30, 6, 12))
    flat = images.swapaxes(1, 2).reshape(30, 72)
    np.savetxt(tmp_path / "pixels.csv", np.column_stack([flat, np.arange(30) % 3]), fmt="%d", delimiter=",")
    return tmp_path / "pixels.csv"


def texts(panel):
    return "\n".join(each.text() for each in panel.findChildren(QLabel))


def opened(window, path):
    window.workspace.open_paths([path])
    wait(lambda: window.workspace.dataset is not None and window.workspace.dataset.name == path.stem)
    wait_until_idle(window)


def wait_until_idle(window):
    settle()
    at_rest(window)


def counts(window):
    return len(window.workspace.dataset.train), len(window.workspace.dataset.test)


def test_that_a_quarter_is_held_out_and_reported(window, flowers):
    panel = window.panel
    assert not panel.split.isVisible()  # these data have a test set
    window.panel.more.click()
    opened(window, flowers)
    assert counts(window) == (30, 10)
    assert panel.split.isVisible()
    assert panel.split.held_out() == HeldOut(0.25, 0)
    assert "30 of 40 rows for training\n10 held out\n4 features\nclasses: “kind”" in texts(panel)
    assert not window.reading_preview.isVisible()


def test_that_share_seed_and_folds_are_set_in_the_panel(window, flowers):
    opened(window, flowers)
    split = window.panel.split
    first = window.workspace.dataset
    window.workspace.select(pins=(1,))
    split.share.setValue(50)
    wait_until_idle(window)
    assert counts(window) == (20, 20)
    split.seed.setValue(3)
    wait_until_idle(window)
    assert window.workspace.dataset.held_out == HeldOut(0.5, 3)
    split.kind.setCurrentIndex(1)
    split.kind.activated.emit(1)
    wait_until_idle(window)
    assert window.workspace.dataset.held_out == HeldOut(0.0, 3, 5, 0)
    assert counts(window) == (32, 8)
    split.fold.setValue(4)
    wait_until_idle(window)
    assert window.workspace.dataset.held_out.fold == 3
    assert window.workspace.source.held_out == window.workspace.dataset.held_out
    split.kind.setCurrentIndex(2)
    split.kind.activated.emit(2)
    wait_until_idle(window)
    assert counts(window) == (40, 0)
    assert "Hold out some rows" in window.session.runs.why_not()
    assert window.workspace.state.selection.pins == (1,)
    assert window.workspace.dataset.fingerprint == first.whole


def test_that_training_in_the_window_computes_the_same_run_as_the_command_line(window, flowers, capsys):
    opened(window, flowers)
    window.workspace.set_parameters(depth=1)
    wait_until_idle(window)
    page = show_page(window, "classifier")
    page.train_button.click()
    wait(lambda: window.session.runs.result is not None and not window.queue.busy, 60)
    result = window.session.runs.result
    assert "25 % held out, seed 0" in page.details.text()
    assert page.numbers().split("\n")[1].startswith("rose\t")
    assert main(["train", str(flowers), "--depth", "1", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["hash"], printed["misclassified"]) == (result.hash, result.misclassified.tolist())


def test_that_all_folds_are_trained_and_pooled_on_every_page(window, flowers):
    opened(window, flowers)
    window.workspace.set_parameters(depth=1)
    window.workspace.hold_out(HeldOut(folds=4, fold=2))
    wait_until_idle(window)
    page, runs, seen = show_page(window, "classifier"), window.session.runs, []
    runs.training.changed.connect(lambda: seen.append(getattr(runs.training.latest, "seconds_left", None)))
    page.train_button.click()
    wait(lambda: runs.result is not None and not window.queue.busy, 90)
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


def test_that_a_file_with_guessed_options_opens_with_a_preview(window, pixels):
    opened(window, pixels)
    preview = window.reading_preview
    assert preview.isVisible()
    assert window.workspace.dataset.image_shape is None
    assert preview.reading() == ParseOptions()
    shapes = [preview.shape.itemText(index) for index in range(preview.shape.count())]
    preview.shape.setCurrentIndex(shapes.index("6 × 12"))
    preview.shape.activated.emit(preview.shape.currentIndex())
    preview.transposed.setChecked(True)
    assert preview.reading() == ParseOptions(shape=(6, 12), transposed=True)
    QTest.mouseClick(preview.open_button, Qt.MouseButton.LeftButton)
    wait(lambda: window.workspace.dataset.image_shape == (6, 12))
    wait_until_idle(window)
    assert not preview.isVisible()
    images = np.random.default_rng(1).integers(0, 9, (30, 6, 12))
    dataset = window.workspace.dataset
    shown = dataset.train.reshape(-1, 6, 12)
    np.testing.assert_allclose(shown * 16, images[dataset.order[: len(shown)]])
    window.panel.reading_requested.emit()
    assert preview.isVisible()
    assert preview.reading() == window.workspace.source.reading


def test_that_a_file_reopens_with_its_parse_options_and_split(window, pixels, tmp_path):
    opened(window, pixels)
    window.workspace.read_as(ParseOptions(shape=(8, 9)))
    wait(lambda: window.workspace.dataset.image_shape == (8, 9))
    wait_until_idle(window)
    window.workspace.hold_out(HeldOut(0.4, 2))
    wait_until_idle(window)
    copy = tmp_path / "elsewhere.csv"
    copy.write_bytes(pixels.read_bytes())
    opened(window, copy)
    assert window.workspace.dataset.image_shape == (8, 9)
    assert window.workspace.dataset.held_out == HeldOut(0.4, 2)
    assert not window.reading_preview.isVisible()
    copy.write_bytes(pixels.read_bytes().replace(b"1", b"2", 1))  # a different file of the same length
    window.workspace.open_paths([copy])
    wait(lambda: window.workspace.dataset.image_shape is None)


def test_that_a_guess_is_confirmed_with_one_button(window, pixels):
    opened(window, pixels)
    before = window.workspace.dataset
    QTest.mouseClick(window.reading_preview.open_button, Qt.MouseButton.LeftButton)
    wait_until_idle(window)
    assert not window.reading_preview.isVisible()
    assert window.workspace.dataset is before
    settings = QSettings(window.settings.fileName(), window.settings.format())
    known = FileChoices(settings).recall(DataSource(paths=(str(pixels),)))
    assert known.reading == ParseOptions()
    window.workspace.open_paths([pixels])
    wait(lambda: window.workspace.dataset is not before)
    wait_until_idle(window)
    assert not window.reading_preview.isVisible()


def test_that_data_of_one_class_or_one_row_are_refused_with_the_reason(window, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("".join(f".{k},.2,.3,.4,1\n" for k in range(1, 9)))
    opened(window, path)
    assert window.session.runs.why_not().startswith("No classifier is possible: its last column has only the value 1")
    before = window.workspace.dataset
    (tmp_path / "single.csv").write_text("a,b,c,d,label\n1,2,3,4,0\n")
    window.workspace.open_paths([tmp_path / "single.csv"])
    wait(lambda: window.notice.isVisible() and not window.queue.busy)
    assert "has 1 training row" in window.notice.accessibleName()
    assert window.workspace.dataset is before
    assert window.workspace.model() is not None


def test_that_a_file_that_fails_at_the_start_leaves_the_example_and_its_error(small_example, closed_window, tmp_path):
    closed_window.workspace.set_parameters(depth=1)
    (tmp_path / "broken.csv").write_text("a,b,c,d,label\n1,2,3,4,0\n1,2,3\n")
    closed_window.show()
    closed_window.start([tmp_path / "broken.csv"])
    at_rest(closed_window)
    assert closed_window.workspace.dataset.title == "Rectangles (generated)"
    assert closed_window.notice.isVisible()
    assert "line 3 has 3 numbers, expected 5" in closed_window.notice.accessibleName()
    assert "loading" not in texts(closed_window.panel)


def test_that_invalid_stored_choices_are_ignored(tmp_path, flowers):
    settings = QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat)
    source = DataSource(paths=(str(flowers),))
    choices = FileChoices(settings)
    choices.remember(DataSource(paths=source.paths, held_out=HeldOut(folds=3)))
    assert choices.recall(source).held_out == HeldOut(0.0, folds=3)
    again = QSettings(settings.fileName(), settings.format())
    again.beginGroup("files")
    (name,) = again.childKeys()
    for bad in (
        "no json",
        "[]",
        '{"held_out": {"share": 7}}',
        '{"reading": {"shape": [1]}}',
        '{"paths": 3}',
        "[" * 9**5,
    ):
        again.setValue(name, bad)
        again.sync()
        assert choices.recall(source) is None

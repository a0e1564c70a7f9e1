import math
import threading
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSlider

from slide_gui.core.svm.parameters import ChosenBy, SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.run import RunProgress, run
from slide_gui.experiments.store import RunStore
from slide_gui.gui.plots.points import lines_of
from slide_gui.gui.state import runs as runs_module
from slide_gui.progress import Stage
from tests.gui.given import Given, labelled, settle, show_page, wait


@pytest.fixture
def data():
    return labelled()


@pytest.fixture(autouse=True)
def small_sweep(monkeypatch):
    monkeypatch.setattr(runs_module, "SWEEP_NOISES", (0.2, 0.5))
    monkeypatch.setattr(runs_module, "SWEEP_DEPTHS", (0, 1))


def test_that_training_shows_its_course_and_ends_with_error_confusion_and_mistakes(window):
    classifier = show_page(window, "classifier")
    classifier.train_button.click()
    assert classifier.train_button.text() == "Cancel"
    wait(lambda: window.session.runs.result is not None, 60)
    result = window.session.runs.result
    assert result.spec.hash == window.session.runs.spec.hash
    assert classifier.train_button.text() == "Train"
    assert str(result.rate) in classifier.rate.text()
    assert len(classifier.gallery.images) == len(result.misclassified)
    spec = window.session.runs.spec_of(classifier.svm())
    assert run(labelled(), spec).error == result.error


def test_that_a_run_made_before_is_shown_without_training_again(window):
    classifier = show_page(window, "classifier")
    classifier.train_button.click()
    wait(lambda: window.session.runs.result is not None and window.session.runs.library.runs, 60)
    first = window.session.runs.result
    classifier.train_button.click()
    wait(lambda: window.session.runs.result is not None and not window.lane.busy, 60)
    assert window.session.runs.result.timings == first.timings
    assert len(window.session.runs.library.runs) == 1


def test_that_cancelling_keeps_nothing_and_frees_the_lane(window):
    classifier = show_page(window, "classifier")
    classifier.train_button.click()
    settle(0.02)
    classifier.train_button.click()
    assert classifier.train_button.text() == "Train"
    wait(lambda: not window.lane.busy)
    settle(0.1)
    assert window.session.runs.result is None
    assert window.session.runs.library.runs == ()


def test_that_a_result_of_other_parameters_says_so(window):
    classifier = show_page(window, "classifier")
    classifier.train_button.click()
    wait(lambda: window.session.runs.result is not None, 60)
    window.workspace.set_parameters(noise=0.8)
    settle(0.02)
    assert "not of the panel" in classifier.details.text()
    assert "widths by span" in classifier.details.text()
    assert "in cross-validation, median widths" in classifier.details.toolTip()
    classifier.confusion.cell_clicked.emit((0, 1))
    assert classifier.gallery.stale
    wait(lambda: not window.lane.busy)


def test_that_the_page_says_in_plain_words_when_the_guard_overruled_the_criterion(window):
    classifier = show_page(window, "classifier")
    classifier.train_button.click()
    wait(lambda: window.session.runs.result is not None, 60)
    wait(lambda: not window.lane.busy)
    result = window.session.runs.result
    overruled = ChosenBy("radius-margin", True, 0.334, 0.251)
    window.session.runs.result = replace(result, classifier=replace(result.classifier, chosen=overruled))
    classifier.refresh()
    said = classifier.details.text()
    assert "median widths: the guard overruled those learned by radius-margin, which get 33.4 % of the rows" in said
    assert "wrong in cross-validation, against 25.1 %" in said


def test_that_a_training_shows_its_first_sign_with_the_click(window):
    window.workspace.set_parameters(depth=3)
    wait(lambda: not window.lane.busy)
    classifier = show_page(window, "classifier")
    classifier.train_button.click()  # nothing has been computed yet: no event was processed
    assert classifier.details.text() == "fitting the layers, 1 of 3"
    assert classifier.rate.text() == "…"
    classifier.train_button.click()
    wait(lambda: not window.lane.busy)


def _ten_classes(n=200):
    random = np.random.default_rng(0)
    labels = np.arange(2 * n) % 10
    rows = random.random((2 * n, 36)).astype("float32")
    rows[np.arange(2 * n), 3 * labels] += 2.0
    return Dataset("ten", rows[:n], rows[n:], labels[:n], labels[n:], image_shape=(6, 6))


def test_that_a_training_on_ten_classes_says_every_part_of_it_before_that_begins(window, every_payload, monkeypatch):
    window.workspace.open(Given(_ten_classes()))
    wait(lambda: window.workspace.dataset.name == "ten" and not window.lane.busy)
    window.workspace.set_parameters(depth=2)
    wait(lambda: not window.lane.busy)
    classifier = show_page(window, "classifier")
    said = [""]

    def look():
        if classifier.details.text() != said[-1]:
            said.append(classifier.details.text())
        if window.session.runs.training.running and window.session.runs.training.latest.history:
            assert classifier.criterion.accessibleName().startswith("Criterion: press")

    window.session.runs.training.changed.connect(look)
    classifier.train_button.click()
    wait(lambda: window.session.runs.result is not None, 60)
    parts = list(dict.fromkeys(words.split(" · ")[0] for words in said[1:]))
    assert parts[:6] == [
        "fitting the layers, 1 of 2",
        "fitting the layers, 2 of 2",
        "features of 200 rows",
        "distances between 200 rows",
        "starts of press, 1 of 12",
        "starts of press, 2 of 12",
    ]
    assert [words for words in parts if words.startswith("training")] == [
        *(f"training, {pair} of 45" for pair in range(1, 46)),
    ]
    named = [words for words in said if words.startswith("training, 45 of 45")]
    assert all(words.endswith(" · widths by press") for words in named)


def test_that_a_training_says_what_it_does_before_the_first_widths_are_there(window):
    classifier = show_page(window, "classifier")
    training, begun = window.session.runs.training, threading.Event()
    training.start(
        lambda _progress: begun.wait(10), RunProgress("x", phase="learn", stage=Stage("starts of press", 2, 12))
    )
    assert classifier.details.text() == "starts of press, 3 of 12"
    training.start(lambda _progress: None, RunProgress("x", phase="learn"))
    assert classifier.details.text() == "learning the widths"
    begun.set()
    training.stop()


def test_that_curves_and_runs_name_what_decided_the_widths(window):
    window.session.runs.train(window.session.runs.spec_of(SvmParameters(starts=1)))
    wait(lambda: window.session.runs.library.runs and not window.lane.busy, 60)
    assert window.session.runs.library.runs[0].chosen_by == window.session.runs.result.chosen_by == "span"
    (point,) = [point for point in show_page(window, "curves").points() if point.key]
    assert point.by == "widths by span"
    assert show_page(window, "curves").course.text().endswith("widths by span")
    runs = show_page(window, "runs")
    model = runs.run_table.view().model()
    assert "\nWidths by span\n" in model.data(model.index(0, 0), Qt.ItemDataRole.ToolTipRole)
    runs.run_table.set_filter("span")
    assert runs.run_table.shown() == (window.session.runs.result.hash,)
    runs.run_table.set_filter("median")
    assert runs.run_table.shown() == ()


def test_that_the_curves_tell_at_how_many_points_the_guard_decided(window, tmp_path):
    spec = window.session.runs.spec_of(SvmParameters(C=1.0))
    results = [
        run(labelled(), replace(spec, stack=replace(spec.stack, depth=1, noise=noise))) for noise in (0.2, 0.4, 0.6)
    ]
    overruled = ChosenBy("span", True, 0.334, 0.251)
    results[1] = replace(results[1], classifier=replace(results[1].classifier, chosen=overruled))
    with RunStore(tmp_path / "runs.sqlite") as store:
        for result in results:
            store.save(result)
    window.session.runs.library.refresh()
    wait(lambda: len(window.session.runs.library.runs) == 3)
    curves = show_page(window, "curves")
    assert curves.course.text().endswith("widths by span at 2 points, median widths (guard) at 1 point")
    (point,) = [point for point in curves.points() if point.noise == 0.4]
    assert "median widths (guard)" in lines_of(point)
    wait(lambda: not window.lane.busy)


def test_that_data_without_labels_say_why_they_cannot_be_trained_on(window):
    plain = labelled()
    window.workspace.open(Given(Dataset("plain", plain.train, plain.test, image_shape=(6, 6))))
    wait(lambda: window.workspace.dataset.name == "plain" and not window.lane.busy)
    classifier = show_page(window, "classifier")
    assert not classifier.train_button.isEnabled()
    assert "no labels" in classifier.details.text()


def test_that_a_sweep_fills_the_curves_and_is_kept(window, tmp_path):
    curves = show_page(window, "curves")
    curves.sweep_button.click()
    wait(lambda: not window.session.runs.sweep.running, 100)
    wait(lambda: len(window.session.runs.library.runs) == 3, 10)  # depth 0 is one run for all noises
    points = curves.points()
    assert {(point.noise, point.depth) for point in points if point.key} >= {(0.2, 0), (0.5, 0), (0.2, 1), (0.5, 1)}
    with RunStore(tmp_path / "runs.sqlite") as store:
        errors = {run.hash: run.error for run in store.runs()}
    for point in points:
        if point.key:
            assert point.error == pytest.approx(100 * errors[point.key])


def test_that_a_resting_slider_gets_an_estimate_and_moving_drops_it(window):
    curves = show_page(window, "curves")
    slider = window.panel.noise_slider.findChild(QSlider)
    slider.setValue(62)
    controller = window.session.runs
    wait(lambda: controller.estimated is not None and controller.estimate.latest.test is not None, 60)
    spec = controller.estimated
    assert spec.stack.noise == 0.62
    assert [point for point in curves.points() if point.noise == 0.62 and math.isfinite(point.error)]
    slider.setValue(70)
    assert controller.estimated is None
    wait(lambda: not window.lane.busy, 60)


def test_that_runs_are_listed_loaded_deleted_and_brought_back(window):
    classifier = show_page(window, "classifier")
    classifier.train_button.click()
    wait(lambda: window.session.runs.library.runs, 60)
    key = window.session.runs.library.runs[0].hash
    runs = show_page(window, "runs")
    window.workspace.set_parameters(noise=0.8)
    window.session.runs.open_run(key)
    wait(lambda: window.workspace.state.parameters.noise == 0.3)
    runs.run_table.delete_requested.emit((key,))
    wait(lambda: window.session.runs.library.runs == ())
    window.session.runs.library.undelete()
    wait(lambda: len(window.session.runs.library.runs) == 1)
    window.session.runs.library.tag(key, "first, kept")
    wait(lambda: window.session.runs.library.runs[0].tags == ("first", "kept"))
    wait(lambda: not window.lane.busy)


def test_that_two_runs_are_compared_on_the_same_rows(window):
    for criterion in ("radius-margin", "press"):
        window.session.runs.train(window.session.runs.spec_of(SvmParameters(criterion=criterion)))
        wait(lambda: not window.lane.busy, 60)
    wait(lambda: len(window.session.runs.library.runs) == 2)
    runs = show_page(window, "runs")
    runs.run_table.compare_requested.emit(tuple(run.hash for run in window.session.runs.library.runs))
    wait(lambda: "McNemar" in runs.comparison.answer.text())
    assert "same 160 rows" in runs.comparison.answer.text()
    tiles = runs.comparison.tiles
    assert [row.title for row in tiles.rows] == ["A", "B", "A − B"]
    shown = [tile for row in tiles.rows for tile in row.tiles]
    assert len(shown) == 12
    assert len({tile.scale for tile in shown}) == 1
    np.testing.assert_array_equal(tiles.rows[2].tiles[0].values, np.zeros((6, 6)))  # the stacks are the same


def test_that_runs_on_other_data_are_compared_without_weights_and_say_why(window):
    for noise in (0.2, 0.5):
        window.workspace.set_parameters(noise=noise)
        wait(lambda: not window.lane.busy)
        window.session.runs.train(window.session.runs.spec_of(SvmParameters(widths="median", C=10.0)))
        wait(lambda: not window.lane.busy, 60)
    wait(lambda: len(window.session.runs.library.runs) == 2)
    window.workspace.open(Given(labelled(seed=1)))
    wait(lambda: window.workspace.model() is not None and not window.lane.busy)
    runs = show_page(window, "runs")
    runs.run_table.compare_requested.emit(tuple(run.hash for run in window.session.runs.library.runs))
    wait(lambda: "McNemar" in runs.comparison.answer.text())
    assert "other data" in runs.comparison.why_not.text()
    assert runs.comparison.why_not.isVisible()
    assert all(matrix.text_of(1, 1) for matrix in runs.comparison.matrices)


def test_that_escape_stops_training_and_sweep_and_the_pages_know(window):
    classifier, curves = show_page(window, "classifier"), show_page(window, "curves")
    curves.sweep_button.click()
    classifier.train_button.click()
    settle(0.05)
    window.actions_by_name["cancel"].trigger()
    assert not window.session.runs.sweep.running
    assert not window.session.runs.training.running
    assert (classifier.train_button.text(), curves.sweep_button.text()) == ("Train", "Sweep")
    wait(lambda: not window.lane.busy)


def test_that_other_data_stop_what_ran_on_the_old(window):
    curves = show_page(window, "curves")
    curves.sweep_button.click()
    settle(0.05)
    window.workspace.open(Given(labelled(seed=1)))
    wait(lambda: not window.lane.busy and not window.session.runs.sweep.running, 60)
    assert window.session.runs.sweep.latest is None
    assert not [point for point in curves.points() if point.key]


def test_that_a_run_of_another_version_of_the_numbers_is_kept_marked_and_answers_nothing(window, tmp_path):
    spec = window.session.runs.spec_of(SvmParameters(widths="median", C=1.0))
    result = run(labelled(), spec)
    old = replace(result, versions=tuple((name, "1" if name == "numerics" else said) for name, said in result.versions))
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(old)
    runs = show_page(window, "runs")
    window.session.runs.library.refresh()
    wait(lambda: window.session.runs.library.runs)
    assert runs.subtitle.text() == "1 kept, 1 of them (grey) by another version of the numbers"
    assert window.session.runs.current_runs() == []
    window.session.runs.open_run(old.hash)
    wait(lambda: window.session.runs.result is not None)
    classifier = show_page(window, "classifier")
    assert "by version 1 of the numbers, not this program’s" in classifier.details.text()
    window.session.runs.train(spec)
    wait(lambda: window.session.runs.result is not None and not window.lane.busy, 60)
    assert window.session.runs.result.is_current
    assert "by version" not in classifier.details.text()
    wait(lambda: len(window.session.runs.current_runs()) == 1)


def test_that_the_table_of_runs_says_that_it_is_being_read_until_it_is(window):
    window.actions_by_name["page_runs"].trigger()
    runs = window.pages.shown()
    assert runs.subtitle.text() == "reading…"
    assert not [label.text() for label in runs.findChildren(QLabel) if label.text().startswith("0")]
    wait(lambda: not window.lane.busy)
    assert runs.subtitle.text() == "0 kept"


def test_that_a_store_which_another_process_is_only_making_is_read_once_it_is_made(window, tmp_path):
    (tmp_path / "runs.sqlite").touch()
    runs = show_page(window, "runs")
    wait(lambda: not window.lane.busy)
    assert runs.subtitle.text() == "0 kept"
    assert not window.notice.isVisible()


def test_that_a_store_that_cannot_be_read_is_not_said_to_be_empty(window, tmp_path):
    (tmp_path / "runs.sqlite").write_bytes(b"no database at all" * 100)
    runs = show_page(window, "runs")
    wait(lambda: not window.lane.busy)
    assert runs.subtitle.text() == "could not be read"
    assert "The runs could not be read" in window.notice.accessibleName()

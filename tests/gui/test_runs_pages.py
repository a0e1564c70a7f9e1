import threading
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QSlider

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import ChosenBy, SvmParameters
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.store.stored_run import Setting
from slide_gui.experiments.sweeps import trial as trial_module
from slide_gui.experiments.sweeps.trial import try_data
from slide_gui.gui.pages.curves.points import lines_of
from slide_gui.gui.pages.curves.sweep_dialog import SweepDialog
from slide_gui.gui.state import runs as runs_module
from slide_gui.progress import NO_PROGRESS
from tests.experiments.tiny import same_numbers
from tests.gui.helpers import StubSource, button, labelled, open_data, open_file, refit, settle, show_page, train, wait
from tests.gui.test_keyboard import out_of_order, tab_around

OPENED = labelled


@pytest.fixture(autouse=True)
def small_sweep(monkeypatch):
    monkeypatch.setattr(runs_module, "SWEEP_NOISES", (0.2, 0.5))
    monkeypatch.setattr(runs_module, "SWEEP_DEPTHS", (0, 1))


QUICK = SvmParameters(widths="median", C=1.0)


def trained(window, svm=QUICK):
    """Train in the window and return the result."""
    runs = window.session.runs
    runs.train(runs.spec_of(svm))
    wait(lambda: runs.result is not None and not window.queue.busy)
    return runs.result


def save(window, tmp_path, *results):
    """Store runs as another process would, and update the list."""
    with RunStore(tmp_path / "runs.sqlite") as store:
        for result in results:
            store.save(result)
    window.session.library.refresh()
    wait(lambda: {each.hash for each in results} <= {each.hash for each in window.session.library.runs})


def test_that_training_shows_error_and_misclassified_images_and_a_run_is_computed_once_and_shown_again(window):
    classifier, runs = train(window), window.session.runs
    first = runs.result
    assert str(first.rate) in classifier.rate.text()
    assert len(classifier.gallery.images) == len(first.misclassified)
    assert run(labelled(), runs.spec_of(classifier.svm())).error == first.error
    train(window)
    assert runs.result.timings == first.timings
    assert [each.hash for each in runs.library.runs] == [first.hash]
    open_data(window, labelled(1))
    assert runs.result is None
    open_data(window, labelled())
    wait(lambda: runs.result is not None and runs.result.hash == first.hash)


def test_that_the_empty_parts_of_a_page_opened_during_a_training_are_explained(window):
    window.session.runs.train(window.session.runs.spec_of(QUICK))
    page = show_page(window, "classifier")
    assert page.confusion._placeholder == "The confusion matrix appears after the test."
    assert not page.show_all.isVisible()


def test_that_a_cancelled_training_stores_nothing_and_continues_to_the_same_result(window, every_payload):
    classifier, runs = show_page(window, "classifier"), window.session.runs
    classifier.train_button.click()
    assert classifier.details.text() == "fitting the layers, 1 of 4"  # at once, before any event is processed
    assert not classifier.continue_button.isVisible()

    def cancel_early():
        if runs.training.running and getattr(runs.training.latest, "history", ()):
            classifier.train_button.click()

    runs.training.changed.connect(cancel_early)
    wait(lambda: runs.cancelled is not None)
    runs.training.changed.disconnect(cancel_early)
    spec = runs.cancelled.checked()
    assert spec == runs.spec_of(classifier.svm()).checked()
    assert (classifier.train_button.text(), runs.result, runs.library.runs) == ("Train", None, ())
    seen = runs.training.latest.history
    assert classifier.criterion.history == seen
    assert "depth 4" in classifier.continue_button.toolTip()
    window.workspace.set_parameters(noise=0.8)
    assert classifier._shares._stale
    classifier.continue_button.click()
    assert classifier.details.text().startswith("noise 0.30, depth 4 (the panel’s parameters differ) · ")
    assert not classifier._shares._texts  # no shares of the cancelled training until there are new ones
    assert not classifier.continue_button.isVisible()
    wait(lambda: runs.result is not None and not window.queue.busy)
    assert runs.result.spec == spec
    assert runs.result.classifier.history[: len(seen)] == seen
    assert same_numbers(runs.result, run(labelled(), spec))


def test_that_a_training_that_is_cancelled_or_fails_leaves_the_earlier_result_with_its_marking(window, monkeypatch):
    classifier, runs = train(window), window.session.runs
    earlier = runs.result
    window.workspace.set_parameters(noise=0.8)
    classifier.gallery.set_placeholder("All 60 test rows are classified correctly.")
    classifier.train_button.click()
    assert classifier.train_button.toolTip().startswith("Cancel the training")
    assert runs.result is None
    assert classifier.gallery._placeholder == "Misclassified images appear after a test on the open data."
    classifier.train_button.click()
    assert runs.result is earlier
    assert runs.cancelled.stack.noise == 0.8
    assert classifier.rate.text() == str(earlier.rate)
    assert classifier.cancelled.text() == "Cancelled at noise 0.80, depth 4: fitting the layers, 1 of 4."
    assert "noise 0.30, depth 4 (the panel’s parameters differ)" in classifier.details.text()
    assert "learned widths (span)" in classifier.details.text()
    assert "% with\nmedian widths" in classifier.details.toolTip()
    assert classifier.gallery.stale
    assert len(classifier.gallery.images) == len(earlier.misclassified)
    monkeypatch.setattr(runs_module, "get_or_run", lambda *_, **__: 1 / 0)
    classifier.continue_button.click()
    wait(lambda: not runs.training.running)
    assert runs.result is earlier
    assert runs.cancelled is None
    assert classifier.details.text().startswith("test error on")
    classifier.train_button.click()
    classifier.train_button.click()
    assert classifier.continue_button.isVisible()
    open_data(window, labelled(1))
    assert (runs.cancelled, runs.result) == (None, None)
    assert not classifier.continue_button.isVisible()
    assert classifier.details.toolTip() == ""


def start_sweep(curves, **changes):
    """Start the usual sweep from the dialog after changing some fields."""
    curves.sweep_button.click()
    dialog = curves.findChild(SweepDialog)
    for name, value in changes.items():
        field = getattr(dialog, name)
        setter = {QLineEdit: "setText", type(dialog.splits): "setValue", QCheckBox: "setChecked"}.get(type(field))
        getattr(field, setter)(value) if setter else field.setCurrentIndex(field.findData(value))
    dialog.count()
    assert dialog.start.isEnabled(), dialog.cost.text()
    dialog.start.click()
    return dialog


def test_that_pages_name_the_guard_that_overruled_the_criterion(window, tmp_path):
    spec = window.session.runs.spec_of(SvmParameters(C=1.0))
    stacks = [replace(spec.stack, depth=1, noise=noise) for noise in (0.2, 0.4, 0.6)]
    results = [run(labelled(), replace(spec, stack=stack)) for stack in stacks]
    overruled = ChosenBy("span", True, 0.334, 0.251, 500)
    results[1] = replace(results[1], classifier=replace(results[1].classifier, chosen=overruled))
    save(window, tmp_path, *results)
    curves = show_page(window, "curves")
    assert curves.status.text().startswith("learned widths (span) at 2 points, median widths (guard) at 1 point")
    (point,) = [point for point in curves.points() if point.noise == 0.4]
    assert "median widths (guard)" in lines_of(point)
    text = open_result(window, tmp_path, results[1])
    assert "median widths (guard): 25.1 % of 500 held-out rows misclassified" in text
    assert "33.4 % with learned widths (span)" in text


def test_that_the_page_trains_the_methods_of_its_own_with_the_chosen_variance_and_names_each_share(window):
    page, runs = show_page(window, "classifier"), window.session.runs
    box = page._boxes["variance"]
    assert not box.isVisible()
    page.choose({"method": "slide-white-svm", "variance": "0.95"})
    window.resize(960, 640)
    settle()
    assert [box.shown_text() for box in page._boxes.values()] == [box.currentText() for box in page._boxes.values()]
    assert box.isVisible()
    caption = next(each.geometry() for each in page.findChildren(QLabel) if each.buddy() is page._by)
    assert caption.x() - page._method.geometry().right() > page._by.x() - caption.right()
    train(window)
    assert (runs.result.spec.method, runs.result.spec.kept) == ("slide-white-svm", 0.95)
    assert f"white: {100 * runs.result.classifier.shares[-1]:.1f}" in page._shares.accessibleDescription()
    assert "SLIDE + White, noise" in page.details.text()
    page.choose({"method": "slide-svm-without-input"})
    assert not box.isVisible()
    window.workspace.set_parameters(depth=0)
    assert not page.train_button.isEnabled()
    assert "SLIDE-SVM without h⁰ needs at least one layer" in page.train_button.toolTip()
    window.workspace.set_parameters(depth=1)
    page.train_button.click()
    wait(lambda: runs.result is not None and runs.result.spec.kept is None and not window.queue.busy)
    assert page._shares.accessibleDescription().startswith("h¹: 100.0")
    shown, choices = runs.result.spec.hash, page.choices() | {"method": "raw-svm"}
    runs.show(None)
    page.choose(choices)
    assert page.choices()["run"] == shown, "a session that is saved before the run is loaded keeps it"
    page._show_known()
    wait(lambda: runs.result is not None and runs.result.spec.hash == shown)
    runs.show(None)
    assert page.choices()["run"] == ""


def test_that_data_without_labels_can_be_neither_trained_on_nor_tried_and_say_why(window):
    open_data(window, replace(labelled(), train_labels=None, test_labels=None, label_names=()))
    classifier = show_page(window, "classifier")
    assert not classifier.train_button.isEnabled()
    assert "no labels" in classifier.details.text()
    assert not button(window.panel, "Try on my data").isVisible()
    window.actions_by_name["try"].trigger()
    assert "no labels" in window.notice.accessibleName()
    assert not window.session.runs.trial.running


def test_that_the_dialog_counts_runs_and_time_names_invalid_fields_and_follows_the_criterion_of_the_page(window):
    show_page(window, "classifier").choose({"criterion": "press"})
    curves = show_page(window, "curves")
    wait(lambda: not window.queue.busy)
    curves.sweep_button.click()
    dialog = curves.findChild(SweepDialog)
    assert dialog.criterion.currentData() == curves.setting().spec.svm.criterion == "press"
    settle()
    assert out_of_order(tab_around(dialog, "sweep")[0]) == []
    for field, text, problem in (
        (dialog.noises, "1.5", "Noise is 1.5"),
        (dialog.depths, "1 2", "Depth '1 2': expected FROM:TO"),
        (dialog.seeds, "0 1", "Seeds '0 1': expected FROM:TO"),
        (dialog.splits.lineEdit(), "2,5", "Splits: enter an integer from 1 to 100."),
        (dialog.seeds, "0:999", "4\u202f000 points; request at most 2000"),
    ):
        before = field.text()
        field.setText(text)
        dialog.count()
        assert problem in dialog.cost.text()
        assert not dialog.start.isEnabled()
        field.setText(before)
    for change, runs in ((None, 4), (lambda: dialog.splits.setValue(3), 10), (dialog.choice.click, 3)):
        if change:
            change()
        dialog.count()
        assert dialog.cost.text().startswith(f"{runs} runs, about ")
    assert not dialog.splits.isEnabled()
    assert not window.session.runs.sweep.running
    dialog.reject()


def test_that_a_sweep_computes_and_lists_exactly_its_runs_and_the_classifier_finds_the_final_one(window, permits):
    runs, curves = show_page(window, "runs"), show_page(window, "curves")
    start_sweep(
        curves, noises="0.2,0.5,0.8", depths="1", seeds="0,1", labels=20, criterion="radius-margin", part="validation"
    )
    show_page(window, "runs")
    permits.release(2)
    wait(lambda: len(runs.run_table.shown()) == 2)
    permits.release(5)
    wait(lambda: not window.session.runs.sweep.running)
    state = window.session.runs.sweep.latest
    specs = [answer.point.spec for answer in state.done]
    changes = [(spec.labels, spec.svm.criterion, spec.evaluate, spec.neighbour) for spec in specs]
    assert changes == [(20, "radius-margin", "validation", None)] * 6
    wait(lambda: len(window.session.library.runs) == 7)
    curves = show_page(window, "curves")
    assert curves.shown.currentText().startswith("validation error · trained on 80 % · 20 labels · learned widths (")
    (best,) = [point for point in curves.points() if point.chosen]
    (final,) = state.final
    assert (best.noise, best.depth, best.rate.n_splits) == (final.point.noise, final.point.depth, 2)
    assert f"retrained on all training rows with all labels: test error {final.rate}" in curves.status.text()
    assert "a click opens the run with split 0 and seed 0" in lines_of(best)
    curves._map.point_clicked.emit(best)
    wait(lambda: "· split 0, seed 0 ·" in show_page(window, "classifier").details.text())
    assert "yes" in curves.numbers()
    refit(window, noise=final.point.noise, depth=1)
    show_page(window, "classifier").choose({"criterion": "radius-margin"})
    train(window)
    assert window.session.runs.result.hash == final.point.spec.hash
    assert len(window.session.library.runs) == 7
    curves = show_page(window, "curves")
    first = [each.point.spec.hash for each in state.done if each.point.noise == min({0.2, 0.5} - {best.noise})]
    for gone, words in ((first[:1], "until all splits"), (first[1:], "best on validation (2 points missing): noise")):
        window.session.library.delete(gone)
        wait(lambda words=words: words in curves.status.text())
    assert "best on validation (2 points missing): noise" in curves._plot.accessibleDescription()
    window.session.library.delete([run.hash for run in window.session.library.runs])
    wait(lambda: not window.session.library.runs)
    assert not curves.points()


def test_that_the_curves_show_the_runs_of_one_setting_which_can_be_selected(window, tmp_path):
    spec = window.session.runs.spec_of(SvmParameters(C=1.0))
    stacks = [replace(spec.stack, depth=1, noise=noise) for noise in (0.2, 0.4)]
    specs = [replace(spec, stack=stack, labels=labels) for stack in stacks for labels in (None, 20)]
    save(window, tmp_path, *(run(labelled(), each) for each in specs))
    object.__setattr__(window.workspace.dataset, "key", "rectangles")  # data with a published error
    curves = show_page(window, "curves")
    assert curves.shown.count() == len([point for point in curves.points() if point.key]) == 2
    assert curves.shown.shown_text() == curves.shown.currentText()
    few = next(i for i in range(2) if "20 labels" in curves.shown.itemText(i))
    curves.shown.setCurrentIndex(few)
    curves.shown.activated.emit(few)
    assert (curves.setting().spec.labels, curves._plot._paper) == (20, None)
    assert curves.choices()["shown"] == curves.shown.itemData(few)
    assert "no best point is selected: there are no validation rows" in curves.status.text()


def estimated_part(controller):
    """Return whether the finished estimate is of the validation or the test error; None if it is unfinished."""
    spec, seen = controller.estimated, controller.estimate.latest
    known = [part for part in ("validation", "test") if seen is not None and getattr(seen, part) is not None]
    return known[0] if spec is not None and known == [spec.evaluate] and not controller.estimate.running else None


def test_that_a_resting_slider_gets_an_estimate_of_the_error_shown_also_after_a_sweep_and_moving_drops_it(window):
    curves, controller = show_page(window, "curves"), window.session.runs
    slider, states = window.panel.sliders["noise"].findChild(QSlider), []
    controller.estimate.changed.connect(lambda: states.extend(each.state for each in curves.points()))
    slider.setValue(62)
    wait(lambda: estimated_part(controller) == "test")
    assert set(states) == {"refining"}
    assert "estimates are not exported" in curves.why_nothing_to_export()
    (before,) = curves.points()
    assert (controller.estimated.stack.noise, before.noise) == (0.62, 0.62)
    curves.choose({"shown": Setting.of(replace(controller.estimated, evaluate="validation", training="split")).text})
    wait(lambda: estimated_part(controller) == "validation")
    (after,) = curves.points()
    assert (after.noise, after.depth) == (before.noise, before.depth)
    assert after.rate.n < before.rate.n
    settle()
    assert curves.points() == [after]
    slider.setValue(70)
    assert controller.estimated is None
    for _ in range(2):  # the second sweep does not change the setting of the curves
        controller.start_sweep()
        wait(lambda: not controller.sweep.running and controller.estimated is not None)
    refit(window, depth=0)
    wait(lambda: not curves._rest.isActive())
    assert controller.estimated is None, "the error on the raw input is known at every noise level"
    controller.library.delete([run.hash for run in controller.library.runs if run.depth])
    wait(lambda: {point.depth for point in curves.points()} == {0})
    assert "best point" not in curves.status.text(), "a single run is compared with no other run"


def test_that_runs_are_compared_on_the_same_rows_without_weights_if_other_data_are_open(window):
    for criterion in ("radius-margin", "press"):
        trained(window, SvmParameters(criterion=criterion))
    wait(lambda: len(window.session.library.runs) == 2)
    keys = tuple(run.hash for run in window.session.library.runs)
    runs = show_page(window, "runs")
    QTest.keyClick(runs.tabs.buttons()[0], Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert window.focusWidget().accessibleName() == "Filter runs"
    runs.run_table.compare_requested.emit(keys)
    window.session.library.load(keys[0], lambda _result: None)  # as when another page is opened
    wait(lambda: "McNemar" in runs.comparison.answer.text())
    assert "same 60 rows" in runs.comparison.answer.text()
    window.session.library.delete(keys)
    wait(lambda: runs.comparison._captions[1].text().startswith("B · deleted run · "))
    assert show_page(window, "classifier").details.text().startswith("deleted run · ")
    window.actions_by_name["undo"].trigger()
    wait(lambda: not window.session.library.reading)
    show_page(window, "runs")
    wait(lambda: not window.session.library.reading)
    for undo, mark in ((False, "deleted run"), (True, "test error")):
        with RunStore(window.session.library.path) as other:
            other.delete(keys, undo=undo)
        QCoreApplication.sendEvent(window, QEvent(QEvent.Type.WindowActivate))
        wait(lambda mark=mark: runs.comparison._captions[1].text().startswith(f"B · {mark}"))
        assert show_page(window, "classifier").details.text().startswith("deleted run · ") is not undo
        show_page(window, "runs")
    show_page(window, "runs")
    QTest.keyClick(runs.comparison._pixels, Qt.Key.Key_Down)
    assert runs.comparison.tiles.rows[0].tiles[0].marker == window.workspace.state.selection.pins[1]
    assert all(each.height() >= each.heightForWidth(each.width()) > 20 for each in runs.comparison._captions)
    described = [each.text()[4:] for each in runs.comparison._captions]
    assert sorted(text.rpartition(" widths ")[2] for text in described) == ["(press)", "(radius-margin)"]
    assert all(text.startswith("test error ") for text in described)
    tiles = runs.comparison.tiles
    assert [row.title for row in tiles.rows] == ["A", "B", "A − B"]
    shown = [tile for row in tiles.rows for tile in row.tiles]
    assert (len(shown), len({tile.scale for tile in shown})) == (12, 1)  # without a difference, one scale
    np.testing.assert_array_equal(tiles.rows[2].tiles[0].values, np.zeros((6, 6)))  # both runs have the same stack
    raw = RunSpec(labelled().fingerprint, stack=StackParameters(depth=0), svm=QUICK)
    save(window, window.session.library.path.parent, run(labelled(), raw))
    runs.run_table.compare_requested.emit((window.session.library.runs[-1].hash, keys[0]))
    wait(lambda: runs.comparison.answer.text().endswith(" · A has 0 layers, B has 4"))
    open_data(window, labelled(seed=1))
    runs.run_table.compare_requested.emit(keys)
    wait(lambda: "used the open data" in runs.comparison.why_not.text())
    assert runs.comparison.numbers().startswith("class\tpredicted as class 0\tpredicted as class 1")
    for stop in (window.actions_by_name["cancel"].trigger, lambda: window.queue.stop(max(window.queue._jobs))):
        runs.run_table.compare_requested.emit(keys)
        assert (runs.comparison.answer.text(), runs.comparison.why_not.isVisible()) == ("Comparing…", False)
        stop()
        assert "McNemar" in runs.comparison.answer.text()  # the previous one
        assert runs.comparison.why_not.isVisible()


def test_that_cancel_and_other_data_stop_training_and_sweep_and_the_sweep_is_offered_again(window, permits):
    classifier, curves = show_page(window, "classifier"), show_page(window, "curves")
    runs = window.session.runs
    for stop in (window.actions_by_name["cancel"].trigger, lambda: open_data(window, labelled(seed=1))):
        start_sweep(curves)
        classifier.train_button.click()
        settle(0.05)
        stop()
        assert (runs.sweep.running, runs.training.running) == (False, False)
        assert (classifier.train_button.text(), curves.sweep_button.text()) == ("Train", "Sweep…")
        wait(lambda: not window.queue.busy)
    assert runs.sweep.latest is None
    assert window.notice.accessibleName().startswith("The sweep was stopped: You opened other data or changed")
    assert not [point for point in curves.points() if point.key]
    sweep = curves.choices()["sweep"].replace("squared_hinge", "hinge")
    for text, words in ((sweep[:-9], "estimate: error"), (sweep, "0 of 4 points; press Sweep to continue the sweep")):
        curves.choose({"sweep": text})
        open_data(window, labelled())
        wait(lambda words=words: curves.status.text().startswith(words))
    assert [runs.svm.loss, show_page(window, "classifier").svm().loss] == ["hinge"] * 2, "the sweep continues with it"
    classifier.train_button.click()
    assert not window.notice.isVisible()
    runs.stop()


def test_that_a_run_of_another_results_version_is_listed_and_computed_again(window, tmp_path):
    result = run(labelled(), window.session.runs.spec_of(QUICK))
    versions = tuple((name, "1" if name == "numerics" else version) for name, version in result.versions)
    old = replace(result, versions=versions)
    runs = show_page(window, "runs")
    save(window, tmp_path, old)
    assert runs.subtitle.text() == "1 stored; 1 (grey) with an older or newer results version"
    assert window.session.runs.current_runs() == []
    assert "results version 1 (this program uses another results version)" in open_result(window, tmp_path, old)
    assert trained(window).is_current
    assert "results version" not in show_page(window, "classifier").details.text()
    assert len(window.session.runs.current_runs()) == 1


def open_result(window, tmp_path, result):
    """Open a stored run in the window and return the text below its error on the Classifier page."""
    save(window, tmp_path, result)
    window.session.runs.open_run(result.hash)
    wait(lambda: window.session.runs.result is not None and window.session.runs.result.hash == result.hash)
    return show_page(window, "classifier").details.text()


def test_that_an_opened_run_names_the_rows_of_its_error_and_its_method_and_leaves_the_panel_alone(window, tmp_path):
    given = window.session.runs.spec_of(QUICK)
    window.workspace.set_parameters(noise=0.4, depth=2)
    stack = window.workspace.state.parameters
    other = RunSpec(given.fingerprint, "", "pca-svm", svm=SvmParameters(C=1.0), kept=0.8).checked()
    text = open_result(window, tmp_path, run(labelled(), other))
    assert " · PCA-SVM, 80 % of variance · " in text
    assert "in the panel" not in text
    assert window.workspace.state.parameters == stack
    mean = RunSpec.mean_of([replace(given, stack=replace(stack, noise=noise)) for noise in (0.3, 0.5)])
    text = open_result(window, tmp_path, run(labelled(), mean))
    assert "SLIDE-SVM, mean of five, 2 averaged runs, the first with noise 1 − p = 0.30 (p = 0.70), depth 2" in text
    on_validation = replace(given, evaluate="validation", training="split").checked()
    assert open_result(window, tmp_path, run(labelled(), on_validation)).startswith("validation error on ")
    assert open_result(window, tmp_path, run(labelled(), given)).startswith("test error on ")
    few = run(labelled(), replace(given, svm=replace(QUICK, C=100.0), test_rows=20))
    assert open_result(window, tmp_path, few).startswith("test error on 20 images")
    assert window.pages.shown().gallery._placeholder == "All 20 test rows are classified correctly."


def test_that_the_runs_are_read_while_the_window_computes_and_the_page_reports_it(window, tmp_path):
    (tmp_path / "runs.sqlite").touch()  # another process is creating the store
    finish = threading.Event()
    window.queue.submit("Computing", lambda _progress: finish.wait(200), channel="other")
    window.actions_by_name["page_runs"].trigger()
    runs = window.pages.shown()
    assert runs.subtitle.text() == "reading…"
    wait(lambda: runs.subtitle.text() == "0 stored")
    assert window.queue.busy
    assert not window.notice.isVisible()
    finish.set()


def test_that_a_run_stored_while_the_table_is_being_read_is_listed(window, monkeypatch):
    wait(lambda: window.session.library.listed)
    read, trained_now = RunStore.runs, threading.Event()

    def read_slowly(store):
        rows = read(store)
        trained_now.wait(200)
        return rows

    monkeypatch.setattr(RunStore, "runs", read_slowly)
    window.session.library.refresh()
    trained(window)
    trained_now.set()
    wait(lambda: not window.session.library.reading and len(window.session.library.runs) == 1)


def test_that_an_unreadable_store_is_reported_and_not_waited_for(window, tmp_path):
    (tmp_path / "runs.sqlite").write_bytes(b"no database at all" * 100)
    runs = show_page(window, "runs")
    wait(lambda: not window.session.library.reading)
    assert runs.subtitle.text() == "the stored runs could not be read"
    assert "The runs could not be read" in window.notice.accessibleName()
    window.session.library.tag("a" * 64, "best")
    window.session.library.refresh()
    wait(lambda: not window.session.library.reading)
    assert "The runs could not be changed" in window.notice.accessibleName()
    evaluation = show_page(window, "evaluation")
    wait(lambda: not window.session.evaluation.is_reading)
    assert evaluation.status.text() == ""


def saved(path, seed):
    data = labelled(seed)
    np.savez(path, X_train=data.train, X_test=data.test, y_train=data.train_labels, y_test=data.test_labels)
    return path


def test_that_a_run_of_other_data_offers_to_open_them_and_is_shown_unless_they_changed(window, tmp_path):
    open_file(window, saved(tmp_path / "first.npz", 1))
    key, runs, notice = trained(window).hash, window.session.runs, window.notice
    for changed in (False, True):
        open_file(window, saved(tmp_path / "second.npz", 2))
        window.workspace.set_parameters(noise=0.7)
        saved(tmp_path / "first.npz", 3 if changed else 1)
        runs.open_run(key)
        wait(notice.isVisible)
        assert notice.accessibleName().startswith("The run used different data: The run used first")
        button(notice, "Open first").click()
        if changed:
            wait(lambda: "The data differ from those of the run" in notice.accessibleName())
        else:
            wait(lambda: window.workspace.dataset.name == "first" and not window.queue.busy)
            assert runs.result.hash == key
            assert window.workspace.state.parameters.noise == 0.3
            assert not notice.isVisible()
        wait(lambda: not window.queue.busy)
    open_file(window, saved(tmp_path / "second.npz", 2))
    runs.open_run(key)
    wait(notice.isVisible)
    (tmp_path / "first.npz").unlink()
    button(notice, "Open first").click()
    wait(lambda: "could not be opened" in notice.accessibleName())
    open_data(window, labelled(4))
    assert not notice.isVisible()


def test_that_a_run_opened_during_a_training_neither_replaces_it_nor_is_lost(window, every_payload):
    window.workspace.set_parameters(depth=1)
    classifier, runs = train(window), window.session.runs
    opened = runs.result
    window.workspace.set_parameters(depth=4)
    classifier.train_button.click()

    def open_and_cancel():
        if runs.training.running and getattr(runs.training.latest, "history", ()):
            runs.show(opened)
            classifier.train_button.click()

    runs.training.changed.connect(open_and_cancel)
    wait(lambda: not runs.training.running)
    assert (runs.cancelled.stack.depth, runs.result.hash) == (4, opened.hash)
    assert "depth 4" in classifier.cancelled.text()


def test_that_a_cell_selects_its_images_unequal_classes_get_a_balanced_error_and_ten_classes_their_names(window):
    classifier = show_page(window, "classifier")
    result = trained(window, SvmParameters(widths="median", C=0.001))
    total = len(result.misclassified)
    cell = (0, 1) if result.confusion[0, 1] else (1, 0)
    assert not classifier.show_all.isVisible()
    classifier.confusion.cell_clicked.emit(cell)
    assert classifier.confusion.outlined == (cell,)
    assert len(classifier.gallery.images) == result.confusion[cell]
    assert classifier.filter.text().startswith(f"{result.confusion[cell]} of {total} misclassified image")
    classifier.show_all.click()
    assert (classifier.confusion.outlined, len(classifier.gallery.images)) == ((), total)
    window.workspace.set_parameters(noise=0.5)
    images = classifier.gallery.images
    window.workspace.set_parameters(noise=0.6)
    assert classifier.gallery.images is images  # filled again, they would scroll to the first one
    assert not classifier.show_all.isVisible()
    for _ in range(2):
        classifier.confusion.cell_clicked.emit(cell)
    assert classifier.confusion.outlined == ()
    assert "balanced error" not in classifier.details.text()
    confusion, n = np.zeros_like(result.confusion), len(result.judged)
    confusion[0, 0], confusion[1, 1], confusion[1, 0] = n - 10, 8, 2
    window.session.runs.show(replace(result, confusion=confusion, classifier=replace(result.classifier, C=1e3)))
    texts = "The classes differ in size: the balanced error is 10.0 %, the recall by class is", "C = 1\u202f000 · "
    assert all(text in classifier.details.text() for text in texts)
    window.resize(960, 540)
    window.session.runs.show(replace(result, labels=tuple(range(10)), confusion=np.eye(10, dtype=np.int64)))
    settle()
    assert classifier.confusion.verticalHeader().isVisible()


def test_that_a_try_of_the_data_ends_in_the_command_lines_sentence_with_points_and_bundle(
    window, tmp_path, monkeypatch
):
    monkeypatch.setattr(trial_module, "_GRID", ((0.2, 0.5), (0, 1), 1))
    path = saved(tmp_path / "first.npz", 1)
    open_file(window, path)
    QTest.mouseClick(button(window.panel, "Try on my data"), Qt.MouseButton.LeftButton)
    assert window.pages.name == "curves"
    curves = window.pages.shown()
    assert curves.sentence.text().startswith("Trying these data: ")
    states = []
    window.session.runs.trial.changed.connect(lambda: states.append([point.state for point in curves.points()]))
    wait(lambda: not window.session.runs.trial.running)
    source = DataSource.of([str(path)])
    sentence = try_data(source.load(), source).sentence
    assert curves.sentence.text() == sentence.replace(" %", "\u202f%"), "no line begins with a per cent sign"
    assert curves.status.text().startswith("The trial compared 3 settings of noise and depth on ")
    assert curves.stack.currentIndex() == 1, "the heat map"
    assert any({"done", "running"} == set(each) and len(each) == 4 for each in states), "it fills as results come"
    wait(lambda: len([point for point in curves.points() if point.state == "done"]) == 4)
    assert curves.shown.currentText() == "validation error · trained on 80 % · median widths"
    save(window, tmp_path, run(window.workspace.dataset, window.session.runs.trial.latest.sweep.base.drawn(1, 0)))
    assert [point.chosen for point in curves.points()].count(True) == 1, "an incomplete split is not compared"
    options = curves.export_options()
    assert [option.name for option in options] == ["try", "heat-map", "curves"]
    assert sentence in options[0].export(NO_PROGRESS).extra["try.txt"]
    window.session.runs.estimate.stop()
    open_file(window, saved(tmp_path / "second.npz", 2))
    assert not curves.sentence.isVisible()
    assert "validation" not in curves.shown.currentText(), "the setting of the trial belongs to its data"


def test_that_train_waits_for_a_second_press_while_data_are_being_opened(window):
    classifier = show_page(window, "classifier")
    window.workspace.open(StubSource(labelled(seed=4)))
    classifier.train_button.click()
    assert classifier.details.text() == "The data are still being opened. Press Train when they are open."
    assert not window.session.runs.training.running
    wait(lambda: not window.workspace.is_opening)
    assert train(window).rate.text() == str(window.session.runs.result.rate)

"""A new profile shows shipped results on every page at the first click; the user's runs replace them."""

import lzma
import threading
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from slide_gui.experiments.evaluation.shipped import shipped_results
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.result import unpack_arrays
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.store.store import RunStore
from slide_gui.gui.pages.runs.page import _sentence
from slide_gui.gui.pages.weights.decided import DecidedPart
from slide_gui.gui.state.evaluation import EvaluationChoice
from slide_gui.gui.state.jobs import JobQueue
from slide_gui.gui.state.workspace import State
from slide_gui.resources import resource
from slide_gui.results_version import RESULTS_VERSION, is_current
from tests.experiments.test_shipped import shipping, table_of
from tests.gui.helpers import at_rest, show_page, wait
from tests.gui.test_jobs import working

READING = {"Reading the runs", "Loading a run"}


@pytest.fixture
def jobs(monkeypatch):
    """Record the titles of all jobs that have one. A page that only reads fills within a second on an idle computer."""
    titles, submit = [], JobQueue.submit
    monkeypatch.setattr(
        JobQueue, "submit", lambda *a, **options: titles.extend([a[1]] * bool(a[1])) or submit(*a, **options)
    )
    return titles


@pytest.fixture
def with_full(tmp_path):
    """Add a full table to the shipped results; request it before `fresh`."""
    with shipping(table_of((0.2, 0.25), 3), tmp_path / "shipped"):
        yield


@pytest.fixture
def fresh(with_shipped, jobs, empty_window):
    empty_window.workspace.open(DataSource(key="rectangles", generated=True))
    at_rest(empty_window)
    jobs.clear()
    return empty_window


def test_that_the_shipped_results_are_of_this_results_version_small_and_name_their_origin_and_an_earlier_version():
    assert is_current(shipped_results().version), f"run `make shipped`: the program has version {RESULTS_VERSION}"
    assert all(run.is_current for run in shipped_results().runs)
    assert shipped_results().classifier.is_current
    assert sum(file.stat().st_size for file in resource("shipped").iterdir()) < 500_000
    shipped = shipped_results()
    assert all((shipped.date, shipped.machine, shipped.protocol))
    assert shipped.date in str(shipped)
    assert "an earlier version" in str(replace(shipped, version="1"))
    assert "an earlier version" not in str(shipped)
    spec = shipped.classifier.spec
    assert spec == RunSpec(spec.fingerprint, "generated:rectangles", stack=State().parameters).checked()


def test_that_results_are_written_as_they_were_read(tmp_path):
    shipped_results().save(tmp_path)
    assert (tmp_path / "results.json").read_bytes() == (resource("shipped") / "results.json").read_bytes()
    # Compressed bytes differ between versions of Python and liblzma.
    tables = (folder / "quick.json.xz" for folder in (tmp_path, resource("shipped")))
    assert len({lzma.decompress(table.read_bytes()) for table in tables}) == 1
    archives = (folder / "classifier.npz.xz" for folder in (tmp_path, resource("shipped")))
    written, read = (unpack_arrays(lzma.decompress(file.read_bytes()), str(file)) for file in archives)
    assert written.keys() == read.keys()
    for name, values in written.items():
        np.testing.assert_array_equal(values, read[name])


def test_that_the_curves_are_drawn_at_the_first_click_and_after_a_stopped_trial_and_a_point_is_trained_by_a_click(
    fresh, jobs, monkeypatch
):
    page = show_page(fresh, "curves")
    wait(lambda: sum(point.state == "done" for point in page.points()) >= 20)
    assert set(jobs) <= READING
    assert "shipped" in page.status.text()
    assert (page.status.toolTip().split("\n")[1:2], page._plot.toolTip()) == (["The paper:"], "")
    assert {point.depth for point in page.points()} == {0, 1, 2, 3, 4}
    assert all((page.numbers(), page.export_options()))
    before, runs = page.shown.currentText(), fresh.session.runs
    point = next(point for point in page.points() if (point.noise, point.depth) == (0.1, 1))
    page.stack.currentWidget().point_clicked.emit(point)
    assert (runs.training.running, runs.spec.hash) == (True, point.key)
    assert (fresh.workspace.state.parameters.noise, fresh.workspace.state.parameters.depth) == (0.1, 1)
    runs.training.stop()
    monkeypatch.setattr("slide_gui.experiments.sweeps.executor.run", working(threading.Event()))
    runs.start_trial()
    wait(lambda: page.shown.currentText() != before)
    runs.stop()
    assert page.shown.currentText() == before


def test_that_the_benchmark_fills_its_table_at_the_first_click_and_states_its_cost(fresh, jobs, monkeypatch):
    fresh.session.evaluation.choose(EvaluationChoice.everything("quick"))
    page = show_page(fresh, "evaluation")
    wait(lambda: any(cell.main for row in page.errors.rows for cell in row.cells))
    slide = next(row for row in page.errors.rows if row.key == "slide-svm")
    assert [cell.note for cell in slide.cells] == ["shipped"] * 4
    assert all(cell.keys and "Runs page" in cell.tip for cell in slide.cells)
    assert "shipped with the program" in page.subtitle.text()
    wait(lambda: all(part in page.status.text() for part in ("Start computes up to", "runs, about")))
    assert set(jobs) <= READING
    assert all("generated" in note for _, note in page.errors.heads[:3])
    assert "stand-in for MNIST" in page.errors.heads[3][0]
    state = fresh.session.evaluation.state()
    for first in (state.cells[0], replace(state.cells[0], shipped_rate=None)):
        changed = replace(state, cells=(first, *state.cells[1:]))
        monkeypatch.setattr(fresh.session.evaluation, "state", lambda changed=changed: changed)
        page.refresh()
        assert page._notes.text().endswith("individual test rows.") == (first.shipped_rate is None)


def test_that_the_benchmark_shows_the_full_table_first_if_it_is_shipped(with_full, fresh):
    fresh.actions_by_name["page_evaluation"].trigger()
    page = fresh.pages.page("evaluation")  # before the stored runs have been read
    assert fresh.session.evaluation.choice.extent == "full"
    place = fresh.session.evaluation.choice.data.index("convex")
    notes = {row.key: row.cells[place].note for row in page.errors.rows}
    assert (notes["slide-svm"], notes["raw-svm"], notes["sda"]) == ("shipped", "shipped", "not run yet")
    without_runs = page.errors.rows[list(notes).index("slide-svm")].cells[place]
    assert not without_runs.keys
    assert "Runs page" not in without_runs.tip
    wait(lambda: page.status.text().endswith("; the quick protocol takes a few minutes"))


def test_that_the_runs_are_listed_and_two_compared_at_the_first_click_and_cannot_be_deleted(fresh, jobs):
    page = show_page(fresh, "runs")
    wait(lambda: len(page.run_table.shown()) == len(shipped_results().runs))
    assert set(jobs) <= READING
    assert "shipped with the program" in page.subtitle.text()
    page.run_table.select(page.run_table.shown()[:2])
    fresh.session.library.delete(page.run_table.selected())
    assert fresh.workspace.history.undoText() == ""
    page.run_table.select(())
    page.run_table.set_filter("-shipped")
    assert page.run_table.shown() == ()
    page.tabs.buttons()[1].click()
    wait(lambda: page.comparison.tiles.rows)
    assert page.comparison.answer.text().startswith("Error of A 3.50 %, of B 3.30 %, A − B = +0.20 percentage points")
    compared, scales = page.comparison._shown, [row.tiles[0].scale.high for row in page.comparison.tiles.rows]
    assert scales[0] == scales[1] > 2 * scales[2]
    for more, difference in ((0.0, "0.00"), (2e-5, "−0.002")):
        other = replace(compared.first, error=compared.first.error + more)
        assert f"A − B = {difference} percentage" in _sentence(replace(compared, second=other))
    assert not any(matrix.isVisible() for matrix in page.comparison.matrices)


@pytest.mark.parametrize("readable", [True, False])
def test_that_the_classifier_shows_its_confusion_matrix_and_flow_predicts_with_it(fresh, jobs, readable, monkeypatch):
    if not readable:
        monkeypatch.setattr(RunStore, "__init__", Mock(side_effect=PermissionError(13, "Permission denied", "runs")))
    page = show_page(fresh, "classifier")
    wait(lambda: bool(page.numbers()))
    assert set(jobs) <= READING
    assert readable or "runs: Permission denied" in fresh.notice.accessibleName()
    assert page.numbers().startswith("class\tpredicted as")
    assert page.details.text().startswith("shipped")
    assert page.gallery.images
    fresh.actions_by_name["view_flow"].trigger()
    decided = fresh.findChild(DecidedPart)
    wait(lambda: decided.title.text().startswith("“wider” beats"))
    assert fresh.session.runs.result.hash == shipped_results().classifier.hash


def test_that_a_new_run_replaces_the_shipped_one_and_keeps_the_shipped_benchmark_of_its_data(fresh, tmp_path):
    shipped = shipped_results().classifier
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(shipped)
    library = fresh.session.library
    library.refresh()
    wait(lambda: library.listed and not library.reading)
    assert [run.hash for run in library.stored_runs] == [shipped.hash]
    assert len(library.runs) == len(shipped_results().runs)
    page = show_page(fresh, "classifier")
    wait(lambda: bool(page.numbers()))
    assert not page.details.text().startswith("shipped")
    fresh.session.evaluation.choose(EvaluationChoice.everything("quick"))
    benchmark = show_page(fresh, "evaluation")
    wait(lambda: fresh.session.evaluation.known)
    assert all(cell.rate for cell in fresh.session.evaluation.state().cells if cell.data == "rectangles")
    assert "generated" in benchmark.errors.heads[0][1]

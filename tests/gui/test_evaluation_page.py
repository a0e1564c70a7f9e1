"""The Benchmark page on tiny data fills its cells, resumes a cancelled benchmark and exports its tables."""

import shutil
from dataclasses import replace

import pytest

from slide_gui.core.sda.model import SdaEpoch, SdaHistory
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.run import remaining_cost, run_evaluation
from slide_gui.experiments.evaluation.table import Cell, DataInfo, EvaluationState, SplitProgress
from slide_gui.experiments.runs.run import RunProgress
from slide_gui.experiments.store.store import RunStore
from slide_gui.figures.export import save_export
from slide_gui.figures.style import Style
from slide_gui.gui.pages.benchmark.cells import error_rows
from slide_gui.gui.state import evaluation as evaluation_module
from slide_gui.gui.state.evaluation import EvaluationChoice, merged
from slide_gui.progress import NO_PROGRESS
from tests.experiments.tiny import rectangles
from tests.figures.drawings import answers
from tests.gui.helpers import labelled, settle, show_page, wait

OPENED = labelled

DATA = rectangles(40, 100)
SDA = (("n_units", ((12,),)), ("noise", (0.1,)), ("pretraining_epochs", (2,)), ("fine_tuning_epochs", (3,)))
CELLS = (
    CellPlan("rectangles", "slide-svm", 2, (("noise", (0.3, 0.5)), ("depth", (1,))), widths="median", C=10.0),
    CellPlan("rectangles", "raw-svm", 2, C=10.0),
    CellPlan("rectangles", "pca-svm", 1, (("kept", (0.6, 0.9)),), C=10.0),
    CellPlan("rectangles", "sda", 1, SDA),
    CellPlan("convex", "raw-svm", 1, C=10.0),
)


def tiny_plan(extent="full", data=(), methods=(), splits=None):
    cells = CELLS[: 3 + 2 * (extent == "full")]
    return tuple(c for c in cells if c.data in (data or (c.data,)) and c.method in (methods or (c.method,)))


@pytest.fixture
def small_plan(monkeypatch):
    monkeypatch.setattr(evaluation_module, "plan", tiny_plan)
    monkeypatch.setattr(evaluation_module, "remaining_cost", remaining_cost)
    monkeypatch.setattr(evaluation_module, "load_data", lambda key, progress: named(key))


def named(key):
    return replace(DATA, name={"rectangles": "Rectangles", "convex": "Convex"}[key])


@pytest.fixture(scope="module")
def full_store(tmp_path_factory):
    """Return a store with every run of the small plan on one data set."""
    path = tmp_path_factory.mktemp("full") / "runs.sqlite"
    with RunStore(path) as store:
        run_evaluation(tiny_plan(data=("rectangles",)), lambda key, _progress: named(key), store)
    return path


@pytest.fixture
def full(full_store, tmp_path):
    """Put the full store where the window looks for it; request it before `window`."""
    shutil.copytree(full_store.parent, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def page(small_plan, window):
    shown = show_page(window, "evaluation")
    wait(lambda: window.session.evaluation.known and not window.queue.busy)
    shown.data_sets.boxes["convex"].setChecked(False)
    return shown


def cells_of(page, method):
    return next(row for row in page.errors.rows if row.key == method).cells


def finished(window):
    controller = window.session.evaluation
    wait(lambda: not controller.runs.running and controller.known and not controller.is_reading)


def test_that_empty_cells_are_explained_and_a_long_benchmark_needs_data_and_a_second_click(window, page, monkeypatch):
    ours, other = cells_of(page, "raw-svm")
    assert (ours.main, ours.aside, ours.note) == ("", "paper 2.45", "not run yet")
    assert other.note == "not selected"
    assert cells_of(page, "sda")[1].note == "not in the protocol"
    assert any(row.title == "SdA-3" and row.cells[0].aside == "1.99" for row in page.errors.rows)
    assert (page.export_options(), page.numbers()) == ((), "")
    none = "The full protocol contains none of the selected methods for the selected data sets."
    for data, why in (("", "No data set is selected."), ("convex", none)):
        page.choose({"data sets": data, "methods": "sda"})
        assert (page.start_button.isEnabled(), page.status.text()) == (False, why)
    page.choose({"data sets": "rectangles", "methods": "raw-svm"})
    monkeypatch.setattr("slide_gui.gui.pages.benchmark.page._LONG", 0.0)
    monkeypatch.setattr(page.question, "popup", lambda _place: None)
    page.start_button.click()
    (quick, start), controller = page.question.actions(), window.session.evaluation
    quick.trigger()
    assert (start.text()[:5], controller.choice.extent, page.start_button.isEnabled()) == ("Start", "quick", False)
    wait(page.start_button.isEnabled)
    start.trigger()
    assert controller.runs.running


def test_that_cells_fill_one_after_the_other_and_name_their_significance(window, page, permits):
    page.start_button.click()
    assert page.start_button.text() == "Cancel"
    assert cells_of(page, "raw-svm")[0].note == "waiting"
    permits.release(3)
    wait(lambda: 0 < sum(bool(cell.main) for cell in all_cells(page)) < 4)
    permits.release(100)
    finished(window)
    assert page.start_button.text() == "Start"
    assert sum(bool(cell.main) for cell in all_cells(page)) == 4
    ours, slide = cells_of(page, "raw-svm")[0], cells_of(page, "slide-svm")[0]
    assert ours.main == window.session.evaluation.state().cell("rectangles", "raw-svm").rate.cell
    assert ours.standing in ("better", "worse", "equal")
    assert (ours.note, slide.standing) == ("2 splits", "reference")
    assert all(text in ours.tip for text in ("n = 100 test rows", "McNemar"))
    assert "Selected on validation rows: noise" in slide.tip
    assert [page.running_times.rows[i].cells[0].main[end] for i, end in ((0, -1), (2, 0))] == ["s", "×"]
    assert page.status.text() == "all 6 splits are in the run store"


def all_cells(page):
    return [cell for row in page.errors.rows for cell in row.cells]


def test_that_a_paused_or_cancelled_benchmark_resumes_yields_to_others_and_repeats_no_run(window, page, permits):
    runs = window.session.evaluation.runs
    page.choose({"data sets": "rectangles", "methods": "slide-svm,raw-svm"})
    page.start_button.click()
    page.pause_button.click()
    assert page.status.text() == "paused"
    page.pause_button.click()
    permits.release(3)
    wait(lambda: runs.latest is not None and runs.latest.done == 3)
    window.workspace.set_parameters(noise=0.4)
    wait(lambda: window.workspace.model() is not None)
    assert runs.running
    page.choose({"methods": "sda"})
    assert "selection has not changed" in window.notice.accessibleName()
    page.pause_button.click()
    assert page.pause_button.text() == "Resume"
    permits.release(2)
    settle(0.2)
    assert runs.latest.done == 3
    assert "paused" in page.status.text()
    page.pause_button.click()
    wait(lambda: runs.latest.done == 5)
    window.actions_by_name["cancel"].trigger()
    assert not runs.running
    assert page.start_button.text() == "Start"
    finished(window)
    assert "of 4 splits are in the run store" in page.status.text()
    assert not page.status.text().startswith("0 of")
    before = {run.hash: run.created for run in window.session.library.runs}
    assert before
    permits.release(100)
    page.start_button.click()
    finished(window)
    assert before.items() < {run.hash: run.created for run in window.session.library.runs}.items()
    assert window.session.evaluation.state().cell("rectangles", "slide-svm").complete


def test_that_the_table_of_runs_is_read_once_for_all_pages(small_plan, window, monkeypatch):
    reads = []
    monkeypatch.setattr(RunStore, "runs", lambda store: reads.append(store.path) or [])
    window.actions_by_name["page_evaluation"].trigger()
    wait(lambda: window.session.evaluation.known)
    assert window.session.library.listed
    assert len(reads) == 1


def test_that_both_tables_are_exported_a_click_opens_runs_and_they_are_evaluated_once(full, window, page, tmp_path):
    finished(window)
    assert [offer.name for offer in page.export_options()] == ["errors", "times"]
    main = cells_of(page, "raw-svm")[0].main
    for kind, text in (("md", main), ("tex", main.replace("–", "--")), ("csv", "Rectangles,")):
        for offer in page.export_options():
            save_export(tmp_path / f"{offer.name}.{kind}", offer.export(NO_PROGRESS), Style(width="double"))
        assert text in (tmp_path / f"errors.{kind}").read_text()
    assert main in page.numbers()
    row = [row.key for row in page.errors.rows].index("slide-svm")
    page.errors.clicked.emit(page.errors.model().index(row, 0))
    runs, latest = window.pages.page("runs"), window.session.evaluation.reading.latest
    wait(lambda: window.pages.shown() is runs and runs.run_table.selected())
    assert set(runs.run_table.selected()) == {a.spec_hash for a in latest[1].cell("rectangles", "slide-svm").answers}
    show_page(window, "evaluation")
    finished(window)
    assert window.session.evaluation.reading.latest is latest


def test_that_results_on_other_data_are_not_merged_into_the_table_and_reproduced_ones_keep_their_tests():
    info = DataInfo("rectangles", "Rectangles", False, "aa", 1200, 50_000)
    stored = EvaluationState((info,), (Cell("rectangles", "raw-svm", 2, answers((0.1, 0.1), 1.0)),))
    cells = (Cell("rectangles", "raw-svm", 2),)
    same = EvaluationState((info,), cells)
    other = EvaluationState((DataInfo("rectangles", "Rectangles", True, "bb", 1, 1),), cells)
    assert len(merged(stored, same).cells[0].answers) == 2
    assert merged(stored, other).cells[0].answers == ()
    assert merged(stored, other).data[0].generated
    shipped = replace(stored.cells[0], shipped_rate=stored.cells[0].rate)
    for tables in ((stored, replace(stored, cells=(shipped,))), (replace(stored, cells=(shipped,)), stored)):
        assert merged(*tables).cells[0].shipped_rate is shipped.shipped_rate
    differs = replace(stored, cells=(Cell("rectangles", "raw-svm", 2, answers((0.1, 0.2), 1.0)),))
    assert merged(replace(stored, cells=(shipped,)), differs).cells[0].shipped_rate is None


def test_that_median_widths_have_a_row_below_the_papers_if_widths_are_learned_and_a_running_cell_describes_its_step():
    choice = EvaluationChoice.everything()
    cells = tuple(Cell(cell.data, cell.method, cell.n_splits) for cell in choice.table)
    rows = error_rows(EvaluationState((), cells), choice, False)
    keys = [row.key for row in rows]
    median = rows[keys.index("median")]
    assert (median.title, median.note, keys.index("median")) == ("SLIDE-SVM *", "median widths", 7)
    assert [cell.note for cell in median.cells] == ["not run yet"] * 3 + ["not in the protocol"]
    part = (replace(answers((0.1,), 1.0)[0], row_errors=None),), ErrorRate.of_run(0.1, 1000)
    cells = tuple(Cell(cell.data, cell.method, 3, *part[: 2 * (cell.method == "raw-svm")]) for cell in choice.table)
    epochs = RunProgress(epochs=SdaHistory((SdaEpoch("pre-training", 2, 7, 81.0),)))
    for split, live, note, fraction in (
        (SplitProgress("rectangles", "slide-svm", 1, 7, 28), None, "split 2 of 3: selecting 7 / 28", 7 / 29 / 3),
        (SplitProgress("rectangles", "sda", 0, 0, 1), epochs, "split 1 of 3: pre-training layer 2, epoch 7", 0.0),
    ):
        state = EvaluationState((), cells, (split,), live=live)
        for paused in (False, True):
            rows = {row.key: row for row in error_rows(state, choice, True, paused)}
            wanted = f"split {split.split + 1} of 3: paused" if paused else note
            assert rows[split.method].cells[0].note == wanted
            assert rows[split.method].cells[0].fraction == pytest.approx(0.0 if paused else fraction)
        assert rows["raw-svm"].cells[0].note == "1 of 3, waiting"  # and to its right, the error in the paper

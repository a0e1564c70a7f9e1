"""The evaluation selects on validation rows, tests once and resumes; its table compares results on the same rows."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.entries import entry
from slide_gui.error_rate import ErrorRate, row_errors
from slide_gui.experiments.evaluation import data_sets, table
from slide_gui.experiments.evaluation import protocol as protocol_module
from slide_gui.experiments.evaluation import run as evaluation_run
from slide_gui.experiments.evaluation.data_sets import data_key
from slide_gui.experiments.evaluation.protocol import CellPlan, plan, published, sensitivity, split_seed
from slide_gui.experiments.evaluation.run import remaining_cost, run_evaluation
from slide_gui.experiments.evaluation.table import Cell, DataInfo, EvaluationState, SplitAnswer
from slide_gui.experiments.runs.cost import CostModel
from slide_gui.experiments.runs.fitting import Reuse
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.experiments.statistics import crossed_mean, mcnemar, splits_rate
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps import executor
from slide_gui.experiments.sweeps.selection import PointResult, choose, final_points
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.progress import Cancelled
from slide_gui.resources import toml_resource
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles, same_numbers

DATA = replace(rectangles(80, 150), name="Rectangles")
SDA = (("n_units", ((12,), (12, 8))), ("noise", (0.1,)), ("pretraining_epochs", (2,)), ("fine_tuning_epochs", (3,)))
CELLS = (
    CellPlan("rectangles", "slide-svm", 2, (("noise", (0.3, 0.5)), ("depth", (1,))), widths="median"),
    CellPlan("rectangles", "raw-svm", 2),
    CellPlan("rectangles", "pca-svm", 2, (("kept", (0.6, 0.9)),)),
    CellPlan("rectangles", "sda", 1, SDA),
)


def load(key, progress):
    assert key == "rectangles"
    return DATA


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    path, listener = tmp_path_factory.mktemp("store") / "runs.sqlite", StopAfter()
    with RunStore(path) as store:
        return run_evaluation(CELLS, load, store, progress=listener), path, listener


def answer(split, error=0.1, chosen="", features=None):
    errors = row_errors("convex", np.arange(100), np.arange(round(100 * error)))
    return SplitAnswer(split, f"hash {split}", chosen, error, 60, 100, errors, None, features, 1.0)


def outcome(state):
    """Return the comparisons and the results of all cells, without their times."""
    results = [[(a.split, a.spec_hash, a.error, a.chosen) for a in cell.answers] for cell in state.cells]
    return state.comparisons, results


PAPER = ["slide-svm", "raw-svm", "pca-svm", "white-svm", "randproj-svm", "sda-svm", "sda"]
OWN = ["median", "mean-margin", "without-input", "convolution", "slide-white"]


@pytest.mark.parametrize("extent", ["full", "quick"])
def test_that_the_protocol_has_the_papers_methods_on_every_data_set_and_its_own_on_two_classes(extent):
    methods = {}
    for cell in plan(extent):
        methods.setdefault(cell.data, []).append(cell.method)
    assert {"rectangles", "convex", "rectangles-images", "mnist"} <= methods.keys()
    for data, keys in methods.items():
        assert set(PAPER) <= set(keys)
        assert set(keys) - set(PAPER) == ({"learned"} & set(keys) if data == "mnist" else set(OWN) & set(keys))
        assert extent == "quick" or data == "mnist" or set(OWN) <= set(keys)
        assert keys == sorted(keys, key=toml_resource("protocol.toml")["methods"].index)


@pytest.mark.parametrize("extent", ["full", "quick"])
def test_that_candidates_are_distinct_and_the_selected_one_is_tested(extent):
    for cell in plan(extent):
        points = cell.candidates("ab" * 32, "", 0)
        assert len({point.spec.hash for point in points}) == cell.n_candidates * (cell.draws if cell.selects else 1)
        assert all(point.spec.evaluate == "validation" for point in points)
        final = cell.final(points[0]).spec
        assert (final.evaluate, final.training, final.neighbour) == ("test", "whole", None)


def test_that_up_to_20_000_rows_are_selected_by_cross_validations_more_by_10_000_rows_and_generated_data_have_seeds():
    for cell in plan():
        draws = 1 if cell.data == "mnist" or cell.kind.network else 10
        assert (cell.draws, cell.data == "mnist") == (draws, cell.retune_rows == 60_000)
        assert cell.data != "mnist" or (cell.labels or 0) >= 20_000
    entries = {key: data_sets.data_entry(key) for key in dict.fromkeys(cell.data for cell in plan())}
    assert [key for key in entries if entries[key].key != key] == []
    assert {key.rpartition("-")[2] for key in entries if key[-3:].isdigit()} == {"101", "102", "103"}
    some = data_sets.load_data("rectangles-101")
    assert (some.name, some.generated, data_key(some.name)) == ("Rectangles, seed 101", True, "rectangles-101")
    assert not np.array_equal(some.train[:5], data_sets.load_data("rectangles-102").train[:5])


@pytest.mark.parametrize("extent", ["full", "quick"])
def test_that_slide_svm_learns_its_widths_wherever_there_are_two_classes(extent):
    for cell in plan(extent, methods=["slide-svm", "median", "sda-svm"]):
        for point in (cell.candidates("ab" * 32, "", 0)[0], cell.final(cell.candidates("ab" * 32, "", 0)[0])):
            learned = cell.method != "median" and cell.data != "mnist"
            assert point.spec.svm.widths == ("learn" if learned else "median")
            assert (point.spec.method == "slide-svm") == (cell.method == "slide-svm" and learned)
            assert point.spec.svm.criterion == ("span" if learned else SvmParameters().criterion)


@pytest.mark.parametrize("extent", ["full", "quick"])
def test_that_rows_differ_only_by_their_method_their_axes_and_the_settings_of_the_row(extent):
    own = {"data", "method", "axes", "draws", "averaged", "widths", "criterion"}
    for data in {cell.data for cell in plan(extent)}:
        cells = plan(extent, [data])
        alike = [{one.name: getattr(cell, one.name) for one in fields(cell) if one.name not in own} for cell in cells]
        assert all(one == alike[0] for one in alike)
        axes = {cell.method: cell.axes for cell in cells}
        assert all(axes[name] == axes["slide-svm"] for name in ("median", "mean-margin") if name in axes)


def test_that_a_split_is_a_seed_too():
    assert len({split_seed(split) for split in range(100)}) == 100
    for method in ("slide-svm", "randproj-svm", "sda-svm", "sda", "raw-svm"):
        (cell,) = plan("full", ["rectangles"], [method])
        for split in (0, 3):
            points = cell.candidates("ab" * 32, "", split)
            specs = [spec for point in points for spec in (point.spec, cell.final(point).spec)]
            assert {spec.seed for spec in specs} == {split_seed(split)}
            assert all(spec.sda is None or spec.sda.seed == split_seed(split) for spec in specs)
            assert all(spec.svm.seed in (split_seed(split), 0) for spec in specs)


def results(points, errors, **given):
    pairs = zip(points, [ErrorRate.of_run(error, 240) for error in errors], strict=True)
    return {point.spec.hash: PointResult(point, rate, rate.error, 1.0, **given) for point, rate in pairs}


THREE = CellPlan("rectangles", "slide-svm", 2, (("noise", (0.2, 0.5, 0.8)), ("depth", (1,))), draws=2)


def test_that_a_selection_over_several_folds_counts_their_errors_together():
    points = THREE.candidates("ab" * 32, "", 1)
    assert [point.split for point in points] == [0, 0, 0, 1, 1, 1]
    answers = results(points, (0.1, 0.12, 0.14, 0.2, 0.1, 0.16))  # the first fold selects 0.2, both together 0.5
    best = THREE.select(points, answers)
    assert THREE.select(points, dict(list(answers.items())[:-1])) is None
    assert best.validation_error == (29 + 24) / 480
    assert best.final.spec == THREE.final(points[4]).spec


def test_that_candidates_with_clearly_more_errors_are_not_evaluated_on_further_folds():
    points = THREE.candidates("ab" * 32, "", 0)
    assert THREE.next_points(points, {}) == points[:3]
    first = results(points[:3], (24 / 240, 38 / 240, 41 / 240))  # 24 + 2 √(24 + 41) = 40.1
    assert THREE.next_points(points, first) == points[3:5]
    assert THREE.select(points, first) is None
    both = first | results(points[3:5], (0.3, 0.1))
    assert THREE.next_points(points, both) == ()
    assert THREE.select(points, both).final.noise == 0.5
    assert THREE.select(points, both | results(points[5:], (0.0,))).final.noise == 0.5


def test_that_a_network_is_trained_again_for_the_mean_number_of_epochs_at_which_it_stopped():
    axes = {"n_units": ((4,),), "noise": (0.1,), "fine_tuning_epochs": (50,)}
    cell = CellPlan("rectangles", "sda", 1, tuple(axes.items()), draws=2)
    points = cell.candidates("ab" * 32, "", 0)
    assert cell.selects
    first, second = (results([point], [0.1], best_epoch=best) for point, best in zip(points, (7, 10), strict=True))
    final = cell.select(points, first | second).final.spec
    assert (final.training, final.sda.fine_tuning_epochs) == ("whole", 8)


def test_that_the_mean_margin_has_the_candidates_with_the_least_loss_as_members():
    cell = replace(THREE, method="mean-margin", averaged=2, draws=1)
    points = cell.candidates("ab" * 32, "", 0)
    losses = zip(points, (0.3, 0.1, 0.2), strict=True)
    answers = {key: one for point, loss in losses for key, one in results([point], [0.1], validation_loss=loss).items()}
    final = cell.select(points, answers).final
    assert (final.spec.method, final.noise) == ("mean-margin", 0.5)
    assert [(each.stack.noise, each.training) for each in final.spec.members] == [(0.5, "whole"), (0.8, "whole")]


def test_that_ridges_are_an_axis_and_slide_may_be_fitted_without_the_validation_rows():
    axes = (("noise", (0.3, 0.5)), ("depth", (1,)), ("ridge", (1e-5, 10.0)))
    cell = CellPlan("mnist", "slide-svm", 1, axes, widths="median", fit_rows="split", labels=50)
    specs = [point.spec for point in cell.candidates("ab" * 32, "", 0)]
    assert {(spec.stack.noise, spec.stack.ridge) for spec in specs} == {(n, r) for n in (0.3, 0.5) for r in (1e-5, 10)}
    assert {spec.fit_rows for spec in specs} == {"split"}
    final = cell.final(cell.candidates("ab" * 32, "", 0)[3]).spec
    assert (final.fit_rows, final.labels, final.stack.ridge) == ("training", None, 10.0)


def test_that_a_cell_selects_on_validation_rows_and_tests_once(evaluated, tmp_path):
    state, path, _ = evaluated
    plan_of = CELLS[0]
    chosen = []
    with RunStore(tmp_path / "other.sqlite") as store:
        for split in (0, 1):
            svm = plan_of.candidates(DATA.fingerprint, "rectangles", split)[0].spec.svm
            base = RunSpec(DATA.fingerprint, method="median", svm=svm, training="split", evaluate="validation")
            sweep = SweepSpec(base, (0.3, 0.5), (1,), seeds=(split_seed(split),))
            chosen += choose(run_sweep(DATA, sweep, store).done)
    finals = final_points(chosen)
    cell = state.cell("rectangles", "slide-svm")
    assert [answer.spec_hash for answer in cell.answers] == [point.spec.hash for point in finals]
    assert [answer.validation_error for answer in cell.answers] == [answer.validation_error for answer in chosen]
    with RunStore(path) as store:
        results = [store.load(point.spec.hash) for point in finals]
        (answer,) = state.cell("rectangles", "sda").answers
        network = store.load(answer.spec_hash)
    assert cell.rate == splits_rate([result.rate for result in results], [(each.row_errors,) for each in results])
    assert cell.rate.covers != "splits"
    assert all(result.n_train == 80 for result in (*results, network))
    assert cell.features is not None
    (row,) = table.time_rows(state)
    assert row.sda == answer.features == network.timings.features, "the time of the refitted network"


def test_that_this_projects_own_rows_run_and_their_results_are_those_of_the_selected_runs(tmp_path):
    axes = (("noise", (0.3, 0.5)), ("depth", (1,)))
    given = {"draws": 2, "C": 10.0, "fit_rows": "split"}
    cells = (
        CellPlan("rectangles", "mean-margin", 1, axes, averaged=2, widths="median", **given),
        CellPlan("rectangles", "without-input", 1, axes, **given),
        CellPlan("rectangles", "convolution", 1, (*axes, ("sharing", ("convolution",)), ("window", (3,))), **given),
        CellPlan("rectangles", "slide-white", 1, (*axes, ("kept", (0.5, 0.8))), **given),
    )
    with RunStore(tmp_path / "runs.sqlite") as store:
        state = run_evaluation(cells, load, store)
        assert all(cell.complete and cell.title == protocol_module.row_title(cell.method) for cell in state.cells)
        for cell in state.cells:
            result = store.load(cell.answers[0].spec_hash)
            assert (result.error, result.n_train) == (cell.answers[0].error, 80)
            assert same_numbers(run(DATA, result.spec), result)
        assert outcome(table.stored_evaluation(cells, store.runs())) == outcome(state)


def table_of(*rows):
    """Return a state of SLIDE-SVM and then other methods, by the rows that each split gets wrong."""
    methods = ("slide-svm", "raw-svm", "pca-svm", "white-svm")[: len(rows)]
    cells = tuple(
        Cell("rectangles", method, 3, tuple(answer(split, wrong / 100) for split, wrong in enumerate(row)))
        for method, row in zip(methods, rows, strict=True)
    )
    return EvaluationState((), cells)


def test_that_identical_splits_count_as_one_and_significance_is_by_holm_over_the_whole_table():
    found = table_of((10, 10, 10), (30, 30, 30), (10, 10, 10)).comparisons
    raw, pca = found["rectangles", "raw-svm"], found["rectangles", "pca-svm"]
    assert raw.rows == mcnemar(np.arange(100) < 30, np.arange(100) < 10)
    assert (raw.p, raw.low, raw.high) == (raw.rows.exact, None, None)
    assert (pca.p, pca.significant, pca.difference) == (1.0, False, 0.0)
    alone = table_of((10,), (17,)).comparisons["rectangles", "raw-svm"]
    assert alone.p == pytest.approx(2 / 2**7)
    assert alone.significant
    among = table_of((10,), (17,), (18,), (10,)).comparisons
    assert among["rectangles", "raw-svm"].p == alone.p
    assert among["rectangles", "pca-svm"].adjusted == pytest.approx(3 * 2 / 2**8)
    assert among["rectangles", "raw-svm"].adjusted == pytest.approx(2 * 2 / 2**7)
    assert among["rectangles", "white-svm"].adjusted == 1.0
    crowd = replace(table_of((10,), (17,)), cells=tuple(
        Cell(data, method, 1, (answer(0, wrong / 100),))
        for data in ("rectangles", "convex", "rectangles-images", "mnist")
        for method, wrong in (("slide-svm", 10), ("raw-svm", 17))
    ))  # fmt: skip
    assert not any(one.significant for one in crowd.comparisons.values())


def test_that_progress_rises_the_state_counts_runs_and_the_remaining_cost_can_be_cancelled(evaluated):
    state, _, listener = evaluated
    assert listener.complete
    assert all(cell.complete for cell in state.cells)
    assert (state.done, state.total) == (3 + 3 + 1 + 1 + 3 + 3 + 3, 17)
    assert (listener.payloads[-1], state.active, state.live, state.seconds_left) == (state, (), None, 0.0)
    assert all(len(s.active) <= 1 for s in listener.payloads)
    splits = dict.fromkeys((c.data, c.method, c.split) for s in listener.payloads for c in s.active)
    assert list(splits) == [("rectangles", cell.method, k) for k in (0, 1) for cell in CELLS if k < cell.n_splits]
    assert any(s.seconds_left for s in listener.payloads)
    assert {round(state.total * fraction) for fraction in listener.fractions} == set(range(state.total + 1))
    stopped = StopAfter(3)
    with pytest.raises(Cancelled):
        remaining_cost(CELLS, table.empty_state(CELLS, ()), (), stopped)
    assert 0.0 == stopped.fractions[0] < stopped.fractions[-1] < 1.0


def test_that_the_remaining_cost_has_each_run_once_that_is_not_stored(evaluated):
    with RunStore(evaluated[1]) as store:
        rows = store.runs()
    (info,) = evaluated[0].data
    for left in (rows, rows[::2], rows[1::3], []):
        state = table.stored_evaluation(CELLS, left)
        needed = set()
        for cell in CELLS:
            for split in set(range(cell.n_splits)) - {a.split for a in state.cell(cell.data, cell.method).answers}:
                points = cell.candidates(info.fingerprint if state.data else "", "", split)
                needed |= {point.spec.hash for point in points if cell.selects} | {cell.final(points[-1]).spec.hash}
                # The run on test rows is needed even if it is stored, because another candidate may be selected.
                needed -= {row.hash for row in left} - {cell.final(points[-1]).spec.hash}
        assert len({number for runs in remaining_cost(CELLS, state, left).values() for number in runs}) == len(needed)


def test_that_the_seconds_left_count_each_run_once(tmp_path, monkeypatch):
    monkeypatch.setattr(CostModel, "seconds", lambda *_: 1.0)
    monkeypatch.setattr(CostModel, "measured", lambda *_: True)
    cell = CellPlan("rectangles", "slide-svm", 2, (("noise", (0.3, 0.5)), ("depth", (1,))), widths="median", C=10.0)
    listener = StopAfter()
    with RunStore(tmp_path / "runs.sqlite") as store:
        state = run_evaluation([cell], load, store, progress=listener)
    live = [each.seconds_left for each in listener.payloads if each.live is not None]
    counts = [math.ceil(seconds) for seconds in live if seconds is not None and seconds % 1.0]
    assert list(dict.fromkeys(counts)) == [6, 5, 4, 3, 2, 1]
    assert state.total == 6


def test_that_an_interrupted_evaluation_resumes_to_the_same_results(evaluated, tmp_path, monkeypatch):
    path, measured = tmp_path / "broken.sqlite", []
    monkeypatch.setattr(executor, "POLL_SECONDS", 0.0)
    for reports in (300, 1100, 1500):
        with RunStore(path) as store, pytest.raises(Cancelled):
            run_evaluation(CELLS, load, store, progress=StopAfter(reports))
    with RunStore(path) as store:
        assert outcome(run_evaluation(CELLS, load, store)) == outcome(evaluated[0])
        monkeypatch.setattr(executor, "run", None)  # a second run would fail
        monkeypatch.setattr(CostModel, "add", lambda _cost, _kind, seconds: measured.append(seconds))
        again = run_evaluation(CELLS, load, store)
        assert outcome(again) == outcome(evaluated[0])
        assert again.done == again.total
        assert set(measured) == {row.seconds for row in store.runs()}


def test_that_a_wrong_protocol_is_refused():
    with pytest.raises(ValueError, match="splits is 0"):
        plan("full", splits=0)
    with pytest.raises(ValueError, match="'cifar' is not in the protocol"):
        plan("full", ["cifar"])
    with pytest.raises(ValueError, match="choose methods from: slide-svm"):
        plan("full", (), ["svm"])
    with pytest.raises(ValueError, match="convex, pca-svm: depth is not a parameter of this method"):
        protocol_module._cell("convex", "pca-svm", {"splits": 1, "pca-svm": {"depth": (1,)}}, None)


def test_that_a_cell_uses_the_settings_of_the_protocol():
    own = {"splits": 3, "labels": 50, "C": 2.0, "draws": 2, "sda": {"n_units": ((5,), (5, 4))}}
    cell = protocol_module._cell("convex", "sda", own, None)
    axes = (("n_units", ((5,), (5, 4))),)
    given = {"draws": 1, "criterion": "span", "starts": 1, "labels": 50, "C": 2.0, "fit_rows": "split"}
    assert cell == CellPlan("convex", "sda", 3, axes, **given)
    assert protocol_module._cell("convex", "sda", own, 7).n_splits == 7
    assert [point.spec.sda.n_units for point in cell.candidates("ab" * 32, "", 0)] == [(5,), (5, 4)]


def test_that_the_published_table_figure_and_data_sets_are_known_and_its_error_is_that_of_the_same_method():
    found = {mark.method: mark.error for mark in published("convex")}
    assert found["SLIDE-SVM"] == pytest.approx(0.1218)
    assert found["hyperopt-sklearn"] == pytest.approx(0.113)
    assert len(found) == 7 + 3
    assert published("elsewhere") == ()
    assert sensitivity()[0] == "rectangles"
    assert (data_key("Rectangles"), data_key("my own")) == ("rectangles", "")
    assert cell(method="raw-svm").paper.error == pytest.approx(0.1872)
    assert cell(method="median").paper is None
    assert cell(data="own").paper is None


def cell(*answers, data="convex", method="raw-svm", n_splits=3):
    return Cell(data, method, n_splits, answers)


def test_that_a_cell_has_a_mean_the_median_time_of_features_and_the_most_frequent_selection_of_its_splits():
    assert cell().rate is None
    two = answer(0, 0.1), answer(1, 0.3)
    rates = [ErrorRate.of_run(0.1, 100), ErrorRate.of_run(0.3, 100)]
    assert cell(*two).rate == splits_rate(rates, [(each.row_errors,) for each in two])
    elsewhere = replace(two[1], row_errors=row_errors("mnist", np.arange(100), np.arange(30)))
    assert cell(two[0], elsewhere).rate == ErrorRate.of_splits(rates)
    assert not cell(answer(0), answer(1)).complete
    assert cell(answer(0), answer(1), answer(2)).complete
    assert cell(method="pca-svm").title == "PCA-SVM"
    assert (cell(answer(0)).features, cell(answer(0)).chosen) == (None, "")
    known = [answer(k, features=seconds) for k, seconds in enumerate((4.0, None, 1.0, 2.0))]
    assert cell(*known).features == 2.0
    assert cell(answer(0, chosen="noise 0.3"), answer(1)).chosen == "noise 0.3"
    several = [answer(k, chosen=words) for k, words in enumerate(("a", "b", "b", "", "c"))]
    assert cell(*several).chosen == "b (2 of 4 splits)"


def test_that_data_are_described_with_their_sizes_and_source_and_report_it_if_smaller_than_the_benchmark():
    assert table.info_of("rectangles", DATA) == DataInfo(
        "rectangles", "Rectangles", True, DATA.fingerprint, 80, 150, "generated:rectangles"
    )
    real = replace(DATA, generated=False, source="mine.csv")
    assert table.info_of("rectangles", real).source == "mine.csv"
    assert table.info_of("rectangles", replace(real, key="rectangles")).source == "rectangles"
    known = entry("convex")
    whole = DataInfo("convex", "Convex", False, "f", known.n_train, known.n_test)
    assert whole.reduced == ""
    said = replace(whole, n_test=1000).reduced
    assert said == "Convex: 8\u202f000 training and 1\u202f000 test rows; the benchmark has 8\u202f000 and 50\u202f000."
    assert replace(whole, n_train=10).reduced != ""


def test_that_a_comparison_is_over_common_splits_on_the_same_rows():
    ours = [answer(0, 0.2), answer(1, 0.3), answer(2, 0.1), answer(4, 0.9)]
    elsewhere = replace(answer(2, 0.1), row_errors=row_errors("convex", np.arange(90), np.arange(10)))
    theirs = [answer(0, 0.1), answer(1, 0.1), elsewhere, answer(3, 0.0)]
    found = table.compare(ours, theirs)
    assert (found.n_splits, found.rows) == (2, None)
    assert found.difference == pytest.approx(0.15)
    rows = np.arange(100)
    assert found.p == found.adjusted == crossed_mean([(rows >= 10) & (rows < 20), (rows >= 10) & (rows < 30)]).p
    assert found.test == "t-test over test rows and 2 splits"
    one = table.compare(ours[:1], theirs)
    assert one.rows == mcnemar(rows < 20, rows < 10)
    assert (one.p, one.test) == (one.rows.exact, "McNemar")
    assert table.compare(ours[2:], theirs) is None


def test_that_results_are_ordered_by_split_and_replace_older_ones():
    plans = [CellPlan("convex", "raw-svm", 3), CellPlan("convex", "slide-svm", 3)]
    state = table.empty_state(plans, ())
    assert [each.n_splits for each in state.cells] == [3, 3]
    for split, error in ((2, 0.2), (0, 0.1), (2, 0.4)):
        state = table.with_answer(state, plans[0], answer(split, error))
    first, second = state.cells
    assert [(each.split, each.error) for each in first.answers] == [(0, 0.1), (2, 0.4)]
    assert second.answers == ()
    assert table.with_answer(state, plans[1], None).cells[1].answers == ()


CUT = CellPlan("rectangles", "randproj-svm", 1, (("kept", (20,)),), labels=30, train_rows=40, test_rows=100)
FULL = CellPlan("rectangles", "raw-svm", 1, C=10.0)


def test_that_each_plan_needs_one_run_for_its_single_candidate_and_finds_it_among_those_on_other_rows(tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as store:
        made = {plan: run_evaluation([plan], lambda key, progress: DATA, store) for plan in (FULL, CUT)}
        for plan, state in made.items():
            (answer,) = state.cells[0].answers
            sizes = (80, 150) if plan == FULL else (40, 100)
            assert (state.done, state.total, answer.n_train, answer.n_test) == (1, 1, *sizes)
            found = table.stored_evaluation([plan], store.runs())
            assert [a.spec_hash for a in found.cells[0].answers] == [a.spec_hash for a in state.cells[0].answers]
            assert found.data == state.data


@pytest.mark.parametrize("n_test", [150, 90])
def test_that_stored_data_of_the_sizes_of_the_benchmark_come_first_and_then_real_ones(tmp_path, monkeypatch, n_test):
    monkeypatch.setattr(table, "data_entry", lambda key: replace(entry(key), n_train=80, n_test=150))
    real = replace(DATA, generated=False, train=DATA.train + 1, test=DATA.test[:n_test],
                   test_labels=DATA.test_labels[:n_test])  # fmt: skip
    with RunStore(tmp_path / "runs.sqlite") as store:
        run_evaluation([FULL], lambda key, progress: real, store)
        (alone,) = table.stored_evaluation([FULL], store.runs()).data
        run_evaluation([FULL], lambda key, progress: DATA, store)
        unused = {"hash": "of another plan", "fingerprint": "other", "generated": False, "n_test": 150}
        later = [replace(row, **unused, created=row.created + 1.0) for row in store.runs()]
        (info,) = table.stored_data([FULL], [*store.runs(), *later])
    assert (alone.generated, alone.n_train, alone.n_test) == (False, 80, n_test)
    assert info.fingerprint == (real if n_test == 150 else DATA).fingerprint
    assert (info.generated, info.n_train, info.n_test) == (n_test == 90, 80, 150)


def test_that_autoencoders_of_either_method_give_the_time_and_the_selection():
    info = DataInfo("rectangles", "Rectangles", False, "ab" * 32, 1200, 50_000)

    def timed(method, features, chosen=""):
        return cell(answer(0, chosen=chosen, features=features), data="rectangles", method=method)

    def row(*cells):
        (found,) = table.time_rows(EvaluationState((info,), cells))
        return found

    both = row(timed("slide-svm", 2.0), timed("sda", 80.0, "that of SdA"), timed("sda-svm", 60.0, "that of SdA-SVM"))
    assert (both.slide, both.sda, both.sda_chosen, both.speedup) == (2.0, 60.0, "that of SdA-SVM", 30.0)
    one = row(timed("slide-svm", 2.0), timed("sda", 80.0, "that of SdA"), timed("sda-svm", None))
    assert (one.sda, one.sda_chosen) == (80.0, "that of SdA")
    assert (one.paper_slide, one.paper_sda, one.paper_speedup) == (5.0, 5400.0, 1080.0)
    none = row()
    assert (none.slide, none.sda, none.sda_chosen, none.speedup) == (None, None, "", None)
    assert row(timed("sda", 80.0)).speedup is None


SMALL = rectangles(80, 50)
CELL = CellPlan("rectangles", "slide-svm", 1, (("noise", (0.4,)), ("depth", (1,))), widths="median", C=10.0)


def test_that_the_evaluation_times_features_itself_if_their_fit_was_shared_but_not_the_input(tmp_path, monkeypatch):
    final = CELL.final(CELL.candidates(SMALL.fingerprint, "rectangles", 0)[0]).spec
    alone, shared = run(SMALL, final), run(SMALL, final, reuse=Reuse(deepest=3))
    assert shared.timings.features is None
    monkeypatch.setattr(evaluation_run, "feature_seconds", lambda *_a, **_k: 42.0)
    for result, expected in ((shared, 42.0), (alone, alone.timings.features)):
        with RunStore(tmp_path / f"{expected}.sqlite") as store:
            store.save(result)
            (cell,) = run_evaluation([CELL], lambda *_: SMALL, store).cells
        assert cell.features == pytest.approx(expected)
        assert [each.spec_hash for each in cell.answers] == [final.hash]
    without_layers = replace(CELL, axes=(("noise", (0.0,)), ("depth", (0,))))
    with RunStore(tmp_path / "input.sqlite") as store:
        (cell,) = run_evaluation([without_layers], lambda *_: SMALL, store).cells
    assert (len(cell.answers), cell.features) == (1, None)


def test_that_a_reuse_reports_the_stacks_that_need_no_pass():
    reuse, parameters = Reuse(deepest=2), StackParameters(noise=0.4, depth=2)
    assert not reuse.changes_duration(SMALL, parameters)
    assert reuse.changes_duration(SMALL, StackParameters(noise=0.4, depth=1))  # more layers than requested are fitted
    reuse.stack(SMALL, parameters)
    assert reuse.changes_duration(SMALL, parameters)
    assert reuse.changes_duration(SMALL, StackParameters(noise=0.6, depth=2))  # the first pass ignores the noise
    assert not reuse.changes_duration(rectangles(80, 50, seed=1), parameters)

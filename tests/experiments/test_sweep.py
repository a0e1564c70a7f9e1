"""A sweep resumes with the same bits, selects by validation error with fixed rules, and knows its expected time."""

import copy
import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest

from slide_gui import progress
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import HeldOut
from slide_gui.error_rate import ErrorRate, row_errors
from slide_gui.experiments.runs.cost import CostModel, RunKind, RunShape, peak_bytes, run_parts, typical_seconds
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import LONGEST_CHAIN, RunSpec, SweepPoint, SweepSpec
from slide_gui.experiments.statistics import splits_rate
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps import executor
from slide_gui.experiments.sweeps.curves import error_curves
from slide_gui.experiments.sweeps.selection import (
    PointResult,
    best_words,
    choose,
    chosen_places,
    final_points,
    mean_rate,
    pooled,
)
from slide_gui.experiments.sweeps.sweep import plan_sweep, run_sweep
from slide_gui.progress import Cancelled, Listener
from slide_gui.text import place_name
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles, same_numbers, spec

DATA = rectangles(60, 100)
LEARNED = SweepSpec(
    RunSpec(DATA.fingerprint, svm=SvmParameters(starts=1, C=10.0), training="split"), (0.6, 0.2, 0.4), (0, 1, 2)
)
QUICK = replace(LEARNED.base, svm=SvmParameters(widths="median", C=10.0))
FAST = replace(LEARNED, base=QUICK, splits=(0, 1))


def test_that_points_have_a_fixed_order_and_start_from_the_noise_before_them_and_raw_input_is_one_run():
    points = LEARNED.points()
    assert LEARNED.points() is points
    assert [(point.noise, point.depth) for point in points] == [(n, d) for n in (0.2, 0.4, 0.6) for d in (0, 1, 2)]
    assert points == replace(LEARNED, noises=(0.2, 0.4, 0.6, 0.2), depths=(2, 1, 0)).points()
    points = {(point.noise, point.depth): point.spec for point in LEARNED.points()}
    assert points[0.2, 1].neighbour is None
    assert points[0.4, 2].neighbour == points[0.2, 2]
    assert points[0.6, 2].neighbour == points[0.4, 2]
    assert points[0.2, 0].hash == points[0.6, 0].hash
    assert all(point.spec.neighbour is None for point in replace(LEARNED, warm=False).points())


def test_that_a_long_axis_is_divided_into_chains_and_every_run_has_a_hash():
    points = SweepSpec(RunSpec("ab" * 32), tuple(np.linspace(0.0, 0.9, LONGEST_CHAIN + 5)), (1,)).points()
    assert sum(point.spec.neighbour is None for point in points) == 2
    assert len({point.spec.hash for point in points}) == len(points)
    last = points[LONGEST_CHAIN - 1].spec
    assert copy.deepcopy(last).hash == last.hash
    assert RunSpec.from_document(json.loads(json.dumps(last.document()))).hash == last.hash


def test_that_a_sweep_interrupted_several_times_gives_the_same_bits(tmp_path):
    with RunStore(tmp_path / "whole.sqlite") as whole, RunStore(tmp_path / "broken.sqlite") as broken:
        sweep = replace(LEARNED, depths=(0, 1))
        state = run_sweep(DATA, sweep, whole)
        for fraction in (0.01, 0.1, 0.3, 0.5, 0.7):
            with pytest.raises(Cancelled):
                run_sweep(DATA, sweep, broken, progress=StopAfter(fraction=fraction))
        assert 0 < len(broken.runs()) < 4
        again = run_sweep(DATA, sweep, broken)
        assert len(whole.runs()) == len(broken.runs()) == 4  # depth 0 is one run for three noises
        for line in whole.runs():
            assert same_numbers(whole.load(line.hash), broken.load(line.hash))
        assert [(a.point, a.rate.error) for a in again.done] == [(a.point, a.rate.error) for a in state.done]
        last = state.points[-1].spec
        assert same_numbers(whole.load(last.hash), run(DATA, last))


def test_that_a_finished_sweep_is_only_read(tmp_path, monkeypatch):
    with RunStore(tmp_path / "runs.sqlite") as store:
        first = run_sweep(DATA, FAST, store)
        store.delete([line.hash for line in store.runs()])
        monkeypatch.setattr(executor, "run", None)
        again = run_sweep(DATA, FAST, store)
        assert [answer.rate.error for answer in again.done] == [answer.rate.error for answer in first.done]
        assert len(store.runs()) == len({point.spec.hash for point in FAST.points()})


def test_that_a_damaged_run_is_reported_and_computed_again(tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as store:
        run_sweep(DATA, FAST, store)
        victim = FAST.points()[4].spec
        expected = store.load(victim.hash)
        (file,) = store.folder.glob(f"{victim.hash[:16]}-*")
        file.write_bytes(b"nothing")
        state = run_sweep(DATA, FAST, store)
        assert state.faults == (f"{file}: this file has been altered; compute the run again",)
        assert same_numbers(store.load(victim.hash), expected)
        assert len(state.done) == len(FAST.points())


def test_that_the_state_has_the_completed_points_and_the_time_left(tmp_path, monkeypatch):
    monkeypatch.setattr(CostModel, "seconds", lambda *_: 1.0)
    listener = StopAfter()
    with RunStore(tmp_path / "runs.sqlite") as store:
        final = run_sweep(DATA, FAST, store, progress=listener)
    states = listener.payloads
    assert listener.complete
    assert {round(14 * fraction, 9) for fraction in listener.fractions} >= set(range(15))
    counts = [len(state.done) for state in states]
    assert counts == sorted(counts)
    assert [answer.point for answer in final.done] == list(FAST.points())
    assert any(state.live is not None and state.live.test is not None for state in states)
    running = dict.fromkeys(state.current.spec.hash for state in states if state.live is not None)
    assert list(running) == list(dict.fromkeys(point.spec.hash for point in FAST.points()))
    assert states[0].seconds_left == 14.0
    assert (states[-1], final.current, final.live, final.seconds_left) == (final, None, None, 0.0)
    assert all(state.seconds_left is not None for state in states)


def test_that_a_paused_sweep_starts_no_run_and_can_continue_or_be_cancelled(tmp_path):
    pause, n_stored = Event(), list[int]()

    def listen(_fraction, _payload):
        stored = len(store.runs())
        if pause.is_set():
            n_stored.append(stored)
            if len(n_stored) == 4:
                pause.clear()
            elif len(n_stored) == 8:
                raise Cancelled
        elif stored == 2:
            pause.set()

    pause.set()
    with RunStore(tmp_path / "runs.sqlite") as store, pytest.raises(Cancelled):
        run_sweep(DATA, FAST, store, progress=Listener(listen), pause=pause)
    assert n_stored == [0] * 4 + [2] * 4


def test_that_a_pause_is_no_computing_time(monkeypatch, tmp_path):
    pause, slept = Event(), list[float]()
    later = {name: lambda name=name: getattr(time, name)() + 1e6 * sum(slept) for name in ("monotonic", "perf_counter")}
    for module in (executor, progress):
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=slept.append, **later))

    def listen(_fraction, state):
        if slept:
            pause.clear()
        elif state is not None and state.live is not None and state.live.phase == "learn":
            pause.set()

    with RunStore(tmp_path / "runs.sqlite") as store:
        run_sweep(DATA, FAST, store, progress=Listener(listen), pause=pause)
        assert slept
        assert max(run.seconds for run in store.runs()) < 1000.0


def _sweep_alone(path):
    with RunStore(path) as store:
        run_sweep(DATA, FAST, store)


def test_that_two_processes_may_sweep_into_one_store(tmp_path):
    path = tmp_path / "runs.sqlite"
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(_sweep_alone, [path] * 2)) == [None] * 2
    with RunStore(path) as store:
        assert store.check().faults == {}
        assert len(store.runs()) == len({point.spec.hash for point in FAST.points()})
        assert len(list(store.folder.iterdir())) == len(store.runs())


def test_that_a_selected_run_starts_from_the_same_neighbours_trained_on_all_rows(tmp_path):
    validation = replace(LEARNED, depths=(1,), base=replace(LEARNED.base, evaluate="validation"))
    whole = replace(LEARNED, depths=(1,), base=replace(LEARNED.base, training="whole"))
    finals = final_points([PointResult(validation.points()[-1], ErrorRate.of_run(0.1, 12), 0.1, 1.0)])
    assert finals[0].spec == whole.points()[-1].spec
    assert plan_sweep(finals, DATA, ()).n_runs == 3
    with RunStore(tmp_path / "one.sqlite") as one, RunStore(tmp_path / "all.sqlite") as every:
        run_sweep(DATA, whole, every)
        run_sweep(DATA, validation, one)
        rows = [replace(line, validation_error=1.0 - line.noise) for line in one.runs()]
        assert plan_sweep(replace(validation, choose="each"), DATA, rows).n_runs == 3 + 3
        one.delete([line.hash for line in rows])
        assert len(run_sweep(DATA, finals, one).done) == 1
        assert {line.hash for line in one.runs()} == {point.spec.hash for point in whole.points()}
        for line in one.runs():
            assert same_numbers(one.load(line.hash), every.load(line.hash))


def test_that_a_run_starts_from_its_neighbour_and_no_stored_result_is_kept_in_memory(tmp_path, monkeypatch):
    starts = []
    monkeypatch.setattr(executor, "run", lambda *a, **k: starts.append(list(k["reuse"].results)) or run(*a, **k))
    monkeypatch.setattr(CostModel, "seconds", lambda *_: 1.0)
    monkeypatch.setattr(executor.InlineExecutor, "n_slots", 2)
    specs = [point.spec for point in replace(LEARNED, depths=(1,)).points()]
    with RunStore(tmp_path / "runs.sqlite") as store, executor.RunLoop(store) as loop:
        loop.request([executor.RunRequest(spec, DATA) for spec in specs[::-2]])
        loop.expect([RunKind("a", "slide-svm", 1, 100)])
        left = [(result.hash, loop.seconds_left) for result in loop]
        assert left == [(specs[0].hash, 1.5), (specs[2].hash, 1.0)], "of the runs two at once, and of the announced one"
        assert not loop._results
        loop.request([executor.RunRequest(specs[0], DATA)])
        assert loop.seconds_left == 1.0, "as before, until the run is looked up"
        loop.expect(())
        assert [loop.seconds_left for _ in loop] == [0.0]
    assert starts == [[], [specs[0].hash], [specs[1].hash]]


OTHERS = {"noise": 2.0}, {"depth": 99}, {"setting": None}, {"fingerprint": "other data"}


def test_that_a_plan_has_the_expected_cost_and_the_stored_runs(tmp_path):
    asked = replace(FAST, choose="pooled")
    with RunStore(tmp_path / "runs.sqlite") as store:
        first = plan_sweep(asked, DATA, store.runs())
        assert (first.n_runs, first.n_stored, first.measured) == (2 * (3 * 2 + 1) + 1, 0, False)
        assert str(first).startswith("15 runs, about ")
        run_sweep(DATA, replace(FAST, splits=(0,)), store)
        second = plan_sweep(asked, DATA, store.runs())
        assert (second.n_runs, second.n_stored, second.measured) == (15, 7, True)
        assert str(second).startswith("15 runs, 7 already stored, about ")
        odd = [replace(line, **change) for line in store.runs() for change in OTHERS]
        assert not plan_sweep(asked, DATA, odd).measured
        assert plan_sweep(replace(asked, choose="each"), DATA, store.runs()).n_runs == 16
        one = replace(asked, choose="each", noises=(0.2,), depths=(1,))
        assert plan_sweep(one, DATA, ()).n_runs == 3  # both splits share the run on the test set
        assert plan_sweep(replace(one, base=replace(QUICK, method="sda")), DATA, ()).n_runs == 4  # epochs can differ
        whole = plan_sweep(replace(FAST, splits=(0,)), DATA, store.runs())
        assert (str(whole), whole.seconds) == ("7 runs, all already stored", 0.0)


def test_that_a_sweep_with_selection_ends_with_the_test_error_of_the_selection(tmp_path):
    asked = replace(FAST, base=replace(QUICK, evaluate="validation"), choose="pooled", seeds=(0, 1))
    listener = StopAfter()
    with RunStore(tmp_path / "runs.sqlite") as store:
        state = run_sweep(DATA, asked, store, progress=listener)
        assert [answer.point for answer in state.chosen] == [answer.point for answer in choose(pooled(state.done))]
        (final,) = state.final
        assert chosen_places(state.done) == ((final.point.noise, final.point.depth),)
        result = store.load(final.point.spec.hash)
        assert (result.n_train, result.n_test) == (60, 100)
        assert listener.fractions == sorted(listener.fractions)
        assert len(run_sweep(DATA, replace(asked, choose="each"), store).final) == 4
        few = replace(asked, choose="each", noises=(0.2,), depths=(0, 1))  # several splits select the same point
        run_sweep(DATA, few, store)
        assert str(plan_sweep(few, DATA, store.runs())).endswith("runs, all already stored")
    assert best_words(state.done) == f"best on validation: {place_name(final.point.noise, final.point.depth)}"


FINGERPRINT, RATE = "ab" * 32, ErrorRate.of_run(0.5, 100)


def candidate(error, noise=0.3, depth=1, split=0, seed=0, ridge=1e-5, **spec):
    stack = StackParameters(noise=noise, depth=depth, ridge=ridge)
    own = RunSpec(FINGERPRINT, stack=stack, split=split, seed=seed, **spec)
    return PointResult(SweepPoint(noise, depth, split, seed, own.checked()), RATE, error, 1.0)


def component(error, kept):
    return candidate(error, method="pca-svm", kept=kept)


def network(error, noise):
    return candidate(error, method="sda", training="split", sda=SdaParameters((10,), noise, fine_tuning_rate=0.01))


def line(*places):
    return [candidate(*place) for place in places]


BETWEEN = line((0.1, 0.7), (0.1, 0.1), (0.4, 0.2), (0.4, 0.3), (0.2, 0.6), (0.2, 0.8))
WINNER_FIRST = {
    "the one between better neighbours": BETWEEN,
    "the one between better neighbours of its depth": [*BETWEEN, *line((0.1, 0.15, 2), (0.9, 0.75, 2))],
    "the last, which has the better neighbour of both ends": line((0.1, 0.9), (0.1, 0.1), (0.3, 0.2), (0.2, 0.8)),
    "the first, which has the better neighbour of both ends": line((0.1, 0.1), (0.2, 0.2), (0.3, 0.8), (0.1, 0.9)),
    "the one with the better next noise on either side": line(
        (0.1, 0.3), (0.5, 0.1), (0.2, 0.2), (0.2, 0.4), (0.5, 0.5), (0.25, 0.6), (0.25, 0.7), (0.1, 0.8), (0.25, 0.9)
    ),
    "fewer layers": line((0.1, 0.5, 1), (0.1, 0.5, 2)),
    "less noise": line((0.1, 0.2), (0.1, 0.4)),
    "the one with the better neighbours of its ridge": [
        candidate(error, noise, ridge=ridge)
        for error, noise, ridge in ((0.1, 0.6, 10), (0.1, 0.2, 1), (0.9, 0.3, 1), (0.2, 0.7, 10), (0.9, 0.25, 10))
    ],
    "fewer kept components": [component(0.1, 0.5), component(0.1, 0.9)],
    "more kept components with a better neighbour": list(map(component, (0.1, 0.1, 0.5, 0.2), (0.9, 0.5, 0.6, 0.8))),
    "the least corrupted network, as networks have no neighbours": list(
        map(network, (0.1, 0.1, 0.2, 0.9), (0.1, 0.4, 0.35, 0.15))
    ),
}


@pytest.mark.parametrize("rule", WINNER_FIRST)
def test_that_a_tie_is_won_in_any_order_by(rule):
    results = WINNER_FIRST[rule]
    assert choose(results) == choose(results[::-1]) == (results[0],)


def test_that_each_split_and_seed_has_its_own_selection_but_pooled_candidates_have_the_mean():
    results = [candidate(0.2, 0.3, split=s, seed=k) for s in (1, 0) for k in (1, 0)]
    found = choose([*results, candidate(0.1, 0.6, split=1, seed=0)])
    assert [(one.point.split, one.point.seed) for one in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [one.point.noise for one in found] == [0.3, 0.3, 0.6, 0.3]
    results = [candidate(e, n, split=s) for n, s, e in ((0.3, 0, 0.1), (0.3, 1, 0.4), (0.6, 0, 0.2), (0.6, 1, 0.2))]
    found = pooled(results)
    kept = [(one.point.noise, one.point.split, one.validation_error) for one in found]
    assert kept == [(0.3, 0, 0.25), (0.6, 0, 0.2)]
    fold = candidate(0.1, training="split", evaluate="validation")
    folds = [replace(fold, rate=ErrorRate.of_run(0.1, n), validation_loss=loss) for n, loss in ((100, 0.2), (300, 0.6))]
    assert pooled(folds)[0].validation_loss == 0.5  # the mean over all validation rows
    assert pooled([results[1], results[0], *results[2:]]) == found  # a cluster stores runs in any order
    without_error = [candidate(None, split=0), candidate(0.1, split=1)]
    for wrong, words in ((results[:3], "the same on every split first"), (without_error, "needs validation errors")):
        with pytest.raises(ValueError, match=words):
            pooled(wrong)


def test_that_equal_counts_of_errors_over_the_splits_are_equal_whatever_their_float_means():
    """The float means of 0, 0, 5 and of 0, 2, 3 errors in 240 rows differ in the last bit."""
    counts = {(0.3, 2): (0, 2, 3), (0.3, 1): (0, 0, 5), (0.6, 1): (3, 1, 1)}
    assert len({sum(wrong / 240 for wrong in each) / 3 for each in counts.values()}) > 1
    results = [candidate(n / 240, *place, split=s) for place, each in counts.items() for s, n in enumerate(each)]
    together = pooled(results)
    assert {one.validation_error for one in together} == {5 / 720}
    for order in (together, together[::-1]):
        (best,) = choose(order)
        assert (best.point.noise, best.point.depth) == (0.3, 1)


def test_that_a_mean_over_splits_on_the_same_rows_has_the_interval_over_rows_and_splits():
    def evaluated(*wrong, split):
        errors = row_errors("", np.arange(50), np.array(wrong))
        rate = ErrorRate.of_run(len(wrong) / 50, 50)
        return replace(candidate(0.1, split=split, training="split"), rate=rate, row_errors=errors)

    same = [evaluated(1, 2, 3, split=0), evaluated(2, 3, 4, 5, split=1), evaluated(2, 7, split=2)]
    found = mean_rate(same)
    assert found == splits_rate([one.rate for one in same], [(one.row_errors,) for one in same])
    assert (found.error, found.covers) == (9 / 150, "rows and splits")
    assert mean_rate([*same, same[0]]) == found  # a run that two splits share is counted once
    assert mean_rate([*same, same[0]], every_split=True).error == 12 / 200


@pytest.mark.parametrize(("part", "covers", "n"), [("test", "rows", 150), ("validation", "splits", 50)])
def test_that_rows_of_several_folds_are_counted_together_only_if_no_row_is_evaluated_twice(part, covers, n):
    where = [{"training": "split", "evaluate": part, "held_out": HeldOut(folds=3, fold=fold)} for fold in range(3)]
    folds = [replace(candidate(0.1, **each), rate=ErrorRate.of_run(k / 10, 50)) for k, each in enumerate(where)]
    mean = mean_rate(folds)
    assert (mean.error, mean.covers, mean.n) == (0.1, covers, n)


def test_that_the_best_is_named_or_the_reason_why_not_and_the_final_run_is_the_candidate_on_test_rows():
    assert best_words([]) == ""
    assert best_words([candidate(0.1, 0.3), candidate(0.2, 0.6)]) == "best on validation: noise 0.30, depth 1"
    assert best_words([candidate(0.2), candidate(0.1, depth=0)]) == "best on validation: the raw input"
    assert "without validation rows" in best_words([candidate(0.1), candidate(None, 0.6)])
    unequal = [candidate(0.1, 0.3), candidate(0.1, 0.6), candidate(0.2, 0.3, split=1, training="split")]
    assert best_words(unequal).endswith("until all splits have results at the same noise levels and depths")
    sweeps = [candidate(0.1)], [candidate(0.2, n, 0) for n in (0.3, 0.6)], [candidate(0.1), candidate(0.2, 0.6)]
    marks = [[point.chosen for point in error_curves(SELECTED_DATA, each).points] for each in sweeps]
    assert marks == [[False], [False, False], [True, False]], "at least two are compared"
    selected = candidate(0.1, 0.4, 2, split=3, training="split", evaluate="validation", labels=50, fit_rows="split")
    (point,) = final_points([selected])
    assert replace(point, spec=selected.point.spec) == selected.point
    changed = {"training": "whole", "evaluate": "test", "labels": None, "fit_rows": "training"}
    assert point.spec == replace(selected.point.spec, **changed).checked()
    stopped = replace(candidate(0.1, method="sda", sda=SdaParameters(fine_tuning_epochs=90, patience=3)), best_epoch=7)
    assert final_points([stopped])[0].spec.sda == SdaParameters(fine_tuning_epochs=7), "the epochs to train again"


SELECTED_DATA = rectangles(60, 40)


def final(noise, depth, error, split=0, **changes):
    own = spec(SELECTED_DATA, noise, depth, split=split, training="split", **changes)
    return PointResult(SweepPoint(noise, depth, split, 0, own), ErrorRate.of_run(error, 40), None, 1.0)


def test_that_a_curve_has_the_mean_over_the_splits_and_curves_of_two_methods_or_two_sets_are_refused():
    found = error_curves(
        SELECTED_DATA,
        [final(0.6, 2, 0.3), final(0.3, 2, 0.1), final(0.3, 2, 0.2, 1), final(0.3, 1, 0.4), final(0.3, 2, 0.2, 1)],
    )
    assert (found.dataset, found.generated, found.method, found.evaluate) == ("tiny", True, "SLIDE-SVM", "test")
    assert found.depths == (1, 2)
    assert [(point.noise, point.depth) for point in found.points] == [(0.3, 1), (0.3, 2), (0.6, 2)]
    assert [point.noise for point in found.line(2)] == [0.3, 0.6]
    assert found.line(2)[0].rate == ErrorRate.of_splits([ErrorRate.of_run(error, 40) for error in (0.1, 0.2)])
    assert found.line(1)[0].rate == ErrorRate.of_run(0.4, 40)
    one = final(0.3, 1, 0.1)
    assert error_curves(SELECTED_DATA, [final(0.3, 1, 0.1, labels=30)]).method == "SLIDE-SVM, 30 labels"
    for results in ([], [one, final(0.3, 1, 0.1, method="median")], [one, final(0.3, 1, 0.1, evaluate="validation")]):
        with pytest.raises(ValueError, match=f"{len(results)} combinations were given"):
            error_curves(SELECTED_DATA, results)


TIMED_DATA = rectangles(100, 60)
SHAPE = RunShape(100, 40, 784, 2)


def test_that_data_method_layers_rows_start_widths_and_evaluation_define_the_kind_of_a_run():
    first = spec(TIMED_DATA, 0.3, 2)
    assert RunKind.of(first, SHAPE) == RunKind(TIMED_DATA.fingerprint, "slide-svm", 2, 100)
    assert RunKind.of(first, SHAPE).typical == typical_seconds(first, SHAPE)
    assert RunKind.of(replace(first, labels=30).checked(), SHAPE).rows == 30
    assert RunKind.of(replace(first, labels=300).checked(), SHAPE).rows == 100
    assert RunKind.of(replace(spec(TIMED_DATA, 0.4, 2), neighbour=first).checked(), SHAPE).warm
    assert not RunKind.of(replace(first, svm=replace(first.svm, widths="median")), SHAPE).learns
    assert RunKind.of(replace(first, training="split", evaluate="validation").checked(), SHAPE).evaluate == "validation"


def test_that_the_nearest_kind_measured_is_of_the_same_method_widths_data_rows_and_layers():
    def seconds(*measured):
        model = CostModel()
        for number, kind in enumerate(measured):
            model.add(kind, 10.0 ** (number + 1))
        return model.seconds(RunKind("a", "slide-svm", 1, 100, typical=3.0))

    same = RunKind("a", "slide-svm", 1, 100, typical=1.0)
    assert seconds(replace(same, method="raw-svm"), replace(same, data="b")) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, learns=False), replace(same, data="b")) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, data="b"), replace(same, rows=200)) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, rows=300), replace(same, rows=40)) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, rows=150), replace(same, layers=5)) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, layers=2), replace(same, warm=True)) == pytest.approx(3 * 100.0)
    assert seconds(replace(same, warm=True), replace(same, typical=6.0)) == pytest.approx(50.0)
    assert seconds() == 3.0


def test_that_the_median_of_all_measurements_counts_and_that_of_methods_alike_estimates_another_one():
    model, kind = CostModel(), RunKind("a", "slide-svm", 1, 100)
    for seconds in (1.0, 2.0, 60.0):
        model.add(kind, seconds)
    assert model.seconds(kind) == 2.0
    kinds = {kind: 2, replace(kind, layers=3, typical=2.0): 1}
    assert model.left(kinds, kind, 0.25, 0.0, None) == pytest.approx(2 + 2 + 4 - 0.5)
    model.add(kind, 1.0)
    assert model.seconds(kind) == 1.5
    model, kind = CostModel(), RunKind("a", "slide-svm", 1, 100, typical=10.0)
    for number, seconds in enumerate((5.0, 80.0, 6.0)):
        model.add(replace(kind, method=f"method {number}"), seconds)
    model.add(replace(kind, method="raw-svm", learns=False), 1.0)
    assert model.seconds(kind) == pytest.approx(6.0)
    assert model.seconds(replace(kind, learns=False)) == pytest.approx(1.0)


def test_that_the_first_run_corrects_the_estimate_more_as_it_progresses():
    model, kind = CostModel(), RunKind("a", "slide-svm", 1, 100, typical=10.0)
    assert model.total([kind] * 4) == 40.0
    # The run is four times as slow: half of it corrects its rest by half, and the three runs after it by 4 ** 0.5.
    assert model.left({kind: 4}, kind, 0.5, 20.0, 20.0) == pytest.approx(5.0 + 0.5 * (20.0 - 5.0) + 2.0 * 30.0)
    assert model.left({kind: 4}, kind, 1.0, 40.0, 0.0) == pytest.approx(4.0 * 30.0)
    model.add(kind, 40.0)
    assert model.left({kind: 3}, kind, 0.5, 100.0, 20.0) == pytest.approx(40.0 * 2.5)
    other = replace(kind, method="median")
    assert model.left({other: 1, kind: 3}, other, 0.5, 10.0, 0.0) == pytest.approx(10.0 + 3 * 40.0)


TIMED = spec(TIMED_DATA, 0.3, 2)
SDA = {"sda": SdaParameters(n_units=(3, 4), noise=(0.1, 0.2), pretraining_epochs=16, fine_tuning_epochs=90)}
MEMBERS = {"members": (TIMED, TIMED.on(method="median"))}
SPLIT = {"training": "split", "fit_rows": "split", "evaluate": "validation"}


@pytest.mark.parametrize(
    ("changes", "numbers", "expected"),
    [
        ({}, (60_000, 10_000, 784, 10), (0.853, 34.1, 4.3, 2.92e9)),
        ({}, (12_000, 3_000, 20, 5), (9.79e-5, 42.5, 0.0142, 2.83e8)),
        ({}, (1_010, 3_000, 20, 50), (1e-5, 111, 0.0033, 1.11e7)),
        ({"method": "median"}, (12_000, 3_000, 20, 5), (9.79e-5, 93.2, 0.0142, 2.83e8)),
        ({"method": "median"}, (1_010, 3_000, 20, 50), (1e-5, 36.9, 0.0033, 1.11e7)),
        ({"labels": 60, "test_rows": 7}, (100, 40, 784, 3), (0.117, 0.939, 0.000121, 4.15e7)),
        ({"method": "sda", **SDA}, (1_010, 3_000, 20, 5), (0.000209, 0.00072, 0.0033, 2.29e6)),
        ({"method": "sda-svm", **SDA, **SPLIT}, (1_010, 9, 20, 5), (0.000168, 3.52, 0.000178, 1.63e6)),
        ({"method": "mean-margin", **MEMBERS}, (9, 4, 20, 2), (3.98e-6, 0.651, 1.55e-7, 3.63e4)),
    ],
)
def test_that_the_time_of_each_step_and_the_peak_memory_are_estimated(changes, numbers, expected):
    wanted, shape = replace(TIMED, **changes).checked(), RunShape(*numbers)
    assert (*run_parts(wanted, shape), peak_bytes(wanted, shape)) == pytest.approx(expected, rel=0.01)
    assert typical_seconds(wanted, shape) == pytest.approx(0.03 + sum(expected[:3]), rel=0.01)

"""An interrupted sweep gives the same bits as an uninterrupted one, and computes no run twice."""

import copy
import json
import multiprocessing
from dataclasses import replace
from threading import Event

import numpy as np
import pytest

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import LONGEST_CHAIN, RunSpec, SweepSpec
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps import executor
from slide_gui.experiments.sweeps.selection import PointResult, best_words, choose, chosen_places, final_points, pooled
from slide_gui.experiments.sweeps.sweep import plan_sweep, run_sweep
from slide_gui.progress import Cancelled, Listener
from slide_gui.text import place_name
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles, same_numbers

DATA = rectangles(60, 100)
LEARNED = SweepSpec(
    RunSpec(DATA.fingerprint, svm=SvmParameters(starts=1, C=10.0), training="split"), (0.6, 0.2, 0.4), (0, 1, 2)
)
QUICK = replace(LEARNED.base, svm=SvmParameters(widths="median", C=10.0))
FAST = replace(LEARNED, base=QUICK, splits=(0, 1))


def test_that_points_have_a_fixed_order_and_are_computed_once():
    points = LEARNED.points()
    assert LEARNED.points() is points
    assert [(point.noise, point.depth) for point in points] == [(n, d) for n in (0.2, 0.4, 0.6) for d in (0, 1, 2)]
    assert points == replace(LEARNED, noises=(0.2, 0.4, 0.6, 0.2), depths=(2, 1, 0)).points()


def test_that_a_long_axis_is_divided_into_chains_and_every_run_has_a_hash():
    points = SweepSpec(RunSpec("ab" * 32), tuple(np.linspace(0.0, 0.9, LONGEST_CHAIN + 5)), (1,)).points()
    assert sum(point.spec.neighbour is None for point in points) == 2
    assert len({point.spec.hash for point in points}) == len(points)
    last = points[LONGEST_CHAIN - 1].spec
    assert copy.deepcopy(last).hash == last.hash
    assert RunSpec.from_document(json.loads(json.dumps(last.document()))).hash == last.hash


def test_that_a_point_starts_from_the_noise_before_it_and_raw_input_is_one_run():
    points = {(point.noise, point.depth): point.spec for point in LEARNED.points()}
    assert points[0.2, 1].neighbour is None
    assert points[0.4, 2].neighbour == points[0.2, 2]
    assert points[0.6, 2].neighbour == points[0.4, 2]
    assert points[0.2, 0].hash == points[0.6, 0].hash
    cold = replace(LEARNED, warm=False).points()
    assert all(point.spec.neighbour is None for point in cold)


def test_that_a_sweep_interrupted_several_times_gives_the_same_bits(tmp_path):
    with RunStore(tmp_path / "whole.sqlite") as whole, RunStore(tmp_path / "broken.sqlite") as broken:
        counter, sweep = StopAfter(), replace(LEARNED, depths=(0, 1))
        state = run_sweep(DATA, sweep, whole, progress=counter)
        reports = len(counter.fractions)
        for share in (0.01, 0.1, 0.2, 0.3, 0.3):  # the sweep is still incomplete after these
            with pytest.raises(Cancelled):
                run_sweep(DATA, sweep, broken, progress=StopAfter(int(share * reports)))
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
        assert len(state.faults) == 1
        assert str(file) in state.faults[0]
        assert same_numbers(store.load(victim.hash), expected)
        assert len(state.done) == len(FAST.points())


def test_that_the_state_has_the_completed_points_and_the_time_left(tmp_path):
    listener = StopAfter()
    with RunStore(tmp_path / "runs.sqlite") as store:
        final = run_sweep(DATA, FAST, store, progress=listener)
    states, fractions = listener.payloads, listener.fractions
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0)
    counts = [len(state.done) for state in states]
    assert counts == sorted(counts)
    assert [answer.point for answer in final.done] == list(FAST.points())
    assert any(state.live is not None and state.live.test is not None for state in states)
    running = [(state.live.spec_hash, state.current) for state in states if state.live is not None]
    assert all(current is not None and spec_hash == current.spec.hash for spec_hash, current in running)
    assert states[0].seconds_left > 0.0
    assert states[-1].seconds_left == 0.0
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


def _sweep_alone(path):
    with RunStore(path) as store:
        run_sweep(DATA, FAST, store)


def test_that_two_processes_may_sweep_into_one_store(tmp_path):
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "runs.sqlite"
    children = [context.Process(target=_sweep_alone, args=(path,)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    with RunStore(path) as store:
        assert store.check().faults == {}
        assert len(store.runs()) == len({point.spec.hash for point in FAST.points()})
        assert len(list(store.folder.iterdir())) == len(store.runs())


def test_that_a_selected_run_starts_from_the_same_neighbours_trained_on_all_rows(tmp_path):
    validation = replace(LEARNED, depths=(1,), base=replace(LEARNED.base, evaluate="validation"))
    whole = replace(LEARNED, depths=(1,), base=replace(LEARNED.base, training="whole"))
    last = PointResult(validation.points()[-1], ErrorRate.of_run(0.1, 12), 0.1, 1.0)
    finals = final_points([last])
    assert finals[0].spec == whole.points()[-1].spec
    with RunStore(tmp_path / "one.sqlite") as one, RunStore(tmp_path / "all.sqlite") as every:
        run_sweep(DATA, whole, every)
        state = run_sweep(DATA, finals, one)
        assert len(state.done) == 1
        assert {line.hash for line in one.runs()} == {point.spec.hash for point in whole.points()}
        for line in one.runs():
            assert same_numbers(one.load(line.hash), every.load(line.hash))


def test_that_a_run_starts_from_its_neighbour_and_no_stored_result_is_kept_in_memory(tmp_path, monkeypatch):
    starts = []

    def noted(*arguments, reuse, **options):
        starts.append(list(reuse.results))
        return run(*arguments, reuse=reuse, **options)

    monkeypatch.setattr(executor, "run", noted)
    specs = [point.spec for point in replace(LEARNED, depths=(1,)).points()]
    with RunStore(tmp_path / "runs.sqlite") as store, executor.RunLoop(store) as loop:
        loop.request([executor.RunRequest(spec, DATA) for spec in specs[::-1]])
        assert [result.hash for result in loop] == [spec.hash for spec in specs]
        assert not loop._results
    assert starts == [[], [specs[0].hash], [specs[1].hash]]


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
        each = plan_sweep(replace(asked, choose="each"), DATA, store.runs())
        assert each.n_runs == 16
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
    assert best_words(state.done) == f"best on validation: {place_name(final.point.noise, final.point.depth)}"

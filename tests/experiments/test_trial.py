"""A trial selects on validation rows, tests once on held-out rows and answers in whole sentences within its budget."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.result import Timings
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.splits import with_test_part
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps import executor as executor_module
from slide_gui.experiments.sweeps import trial as trial_module
from slide_gui.experiments.sweeps.selection import choose, final_spec, pooled
from slide_gui.experiments.sweeps.sweep import plan_sweep
from slide_gui.experiments.sweeps.trial import TrialState, plan_trial, trial_seconds, try_data
from slide_gui.figures.run_exports import trial_export
from slide_gui.progress import Listener
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import same_numbers


def flowers():
    """Return rows of two classes, two thirds of them tall, with a quarter of each class held out."""
    random, n = np.random.default_rng(4), 60
    labels = np.array([0, 1, 1])[np.arange(n) % 3]
    rows = (random.normal(size=(n, 5)) * 0.5 + np.eye(5)[labels]).astype("float32")
    return with_test_part(Dataset("flowers", rows, rows[:0], labels, labels[:0], label_names=("small", "tall")))


DATA = flowers()


def tried(**options):
    """Return a trial of few settings, which selects one layer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_module, "_GRID", ((0.5, 0.3), (0, 1), 5))
        return try_data(DATA, DataSource(paths=("flowers.csv",)), **options)


@pytest.fixture(scope="module")
def trial():
    return tried()


def test_that_noise_and_depth_are_selected_on_validation_rows_and_tested_on_held_out_rows(trial):
    assert {answer.point.spec.evaluate for answer in trial.done} == {"validation"}
    (best,) = choose(pooled(trial.done))
    assert same_numbers(trial.result, run(DATA, final_spec(best.point.spec)))
    assert (trial.result.n_train, trial.result.n_test) == (len(DATA.train), len(DATA.test))


def test_that_a_trial_with_a_store_has_the_same_sentence_and_reuses_its_runs(trial, tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as store:
        listener = StopAfter()
        assert tried(store=store, progress=listener).sentence == trial.sentence
        assert listener.fractions == sorted(listener.fractions)
        assert len(set(listener.fractions)) > len(store.runs())
        n_runs = len(store.runs())
        assert tried(store=store).sentence == trial.sentence
        assert len(store.runs()) == n_runs


def changed(trial, wrong, other, depth=1, **changes):
    """Return the trial with `wrong` errors at this depth (0 is raw input), and `other` errors on different rows."""
    finals = []
    for rows, each_depth in ((slice(wrong), depth), (slice(wrong, wrong + other), 1 - depth)):
        spec = replace(trial.result.spec, stack=replace(trial.result.spec.stack, noise=0.1, depth=each_depth))
        rows = trial.result.judged[rows]
        of_rows = {"predicted": np.zeros(len(rows), np.int64), "decisions": np.zeros((len(rows), 1))}
        given = {"confusion": np.array([[8, 0], [0, 7]]), **changes}
        finals.append(replace(trial.result, spec=spec, misclassified=rows, **of_rows, **given))
    return replace(trial, result=finals[0], other=finals[1])


def test_that_the_answer_has_whole_sentences_on_error_guessing_setting_and_the_plain_svm(trial, monkeypatch):
    better = changed(trial, 0, 6)
    assert better.p_value == pytest.approx(2 / 2**6)  # McNemar's test
    assert better.sentence == (
        "SLIDE classifies 100.0 % of 15 held-out rows correctly (error 0.0 %, 95 % interval 0.0–20.4 %). Always "
        "predicting the largest class would misclassify 53 % of the rows. Best setting: noise 0.1, one layer. A plain "
        "SVM on your columns misclassifies 40.0 %: SLIDE is significantly better (p = 0.031)."
    )
    assert better.details == (
        "The trial compared 3 settings of noise and depth on 5 validation sets of 9 rows, with median kernel widths "
        "and tuned C; the trial trained the selected setting and the plain SVM again for a single test on the held-out "
        "rows."
    )
    assert "(p = 0.00049)" in changed(trial, 0, 12).sentence
    assert "misclassifies 0.0 %: SLIDE is significantly worse (p = 0.031)." in changed(trial, 6, 0).sentence
    assert "misclassifies 0.0 %: no significant difference (p = 0.50)." in changed(trial, 2, 0).sentence
    few = changed(trial, 4, 0, judged=np.arange(10_000)).sentence
    assert "classifies 99.96 % of 10\u202f000 held-out rows correctly (error 0.04 %, 95 % interval 0.02–0.1 %)." in few
    monkeypatch.setattr(trial_module.Trial, "p_value", 0.0496)
    assert "SLIDE is significantly better (p = 0.0496)" in changed(trial, 0, 12).sentence


def test_that_layers_that_do_not_help_are_the_first_sentence(trial):
    first = "Layers do not reduce the error on these data. "
    assert changed(trial, 3, 3).sentence.startswith(f"{first}SLIDE classifies")
    raw = changed(trial, 1, 2, depth=0).sentence
    assert raw.startswith(f"{first}A plain SVM on your columns classifies")
    assert "SLIDE with noise 0.1 and one layer misclassifies" in raw
    mixed = changed(trial, 2, 1, depth=0).sentence  # selected on validation rows, but not better on the test rows
    assert mixed.startswith("On validation rows, a plain SVM had the smallest error. A plain SVM")
    assert not changed(trial, 1, 2).sentence.startswith(first)


def test_that_errors_no_better_than_one_class_groups_unequal_classes_and_rows_left_out_are_reported(trial):
    guess = "This is not significantly better than always predicting the largest class, which would misclassify 53 %"
    assert guess in changed(trial, 7, 1).sentence
    assert trial.largest_class == ("tall", pytest.approx(1 / 3, abs=0.05))
    assert "than stated" in changed(replace(trial, dataset=replace(DATA, groups=DATA.train_labels)), 1, 2).sentence
    uneven = changed(trial, 2, 1, confusion=np.array([[4, 1], [1, 9]]), n_train=30)
    assert uneven.sentence.endswith(
        "The classes differ in size: the balanced error is 15.0 %, the recall by class is small: 80.0 %, tall: 90.0 %. "
        f"Trained on 30 of {len(DATA.train)} rows."
    )
    assert uneven.document()["balanced_error"] == pytest.approx(0.15)
    assert uneven.document()["recall"] == {"small": 0.8, "tall": 0.9}


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that the test sets forward."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(trial_module, "time", clock)
    return clock


@pytest.mark.parametrize("n_runs", [1, 2, 4])
def test_that_the_clock_ends_the_comparison_with_the_best_result_so_far(clock, n_runs):
    seen = []

    def listen(_fraction, state):
        if isinstance(state, TrialState):
            seen.append(state)
            clock.now = 30.0 * (len(state.done) >= n_runs)

    ended = tried(progress=Listener(listen), budget=30.0)
    places = {(answer.point.noise, answer.point.depth) for answer in ended.done}
    assert places == {1: {(0.3, 0), (0.5, 0)}, 2: {(0.3, 0), (0.5, 0)}, 4: {*product((0.3, 0.5), (0, 1))}}[n_runs]
    assert {answer.point.split for answer in ended.done} == {0}
    assert "; 3 settings and 5 splits were planned, but the time limit of 30 s was used up" in ended.details
    assert ended.result.n_test == len(DATA.test)
    assert f'"missing": {20 - len(ended.done)}' in trial_export(ended, DATA, DataSource()).extra["try.json"]
    assert (ended.other is None) == ("time ran out before a setting with layers was tested;" in ended.sentence)
    assert ended.document()["layers_help"] is (None if ended.other is None else False)
    assert seen[-1].title == "testing on the held-out rows"


def test_that_a_trial_is_complete_if_its_last_setting_ends_in_the_time_reserved_for_the_test(monkeypatch, clock):
    specs = []

    def counted_run(dataset, spec, **options):
        result = run(dataset, spec, **options)
        specs.append(spec)
        clock.now = 30.0 * (len(specs) >= 15)
        return result

    monkeypatch.setattr(executor_module, "run", counted_run)
    complete = tried(budget=30.0, started=0.0)
    assert (len(specs), complete.budget_ended, "were planned" in complete.details) == (17, False, False)


def test_that_a_stored_run_of_a_later_split_answers_if_the_budget_ends_before_the_first_split(clock, tmp_path):
    stored = next(point for point in tried().sweep.points() if point.split == 1)
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(run(DATA, stored.spec))
        listener = Listener(lambda _, state: state is not None and state.done and vars(clock).update(now=30.0))
        ended = tried(store=store, progress=listener, budget=30.0)
    assert {answer.point.split for answer in ended.done} == {1}


def slow_trial(monkeypatch, clock, test_seconds):
    """Return a trial of at most 20 s, its duration and its expected ends; candidates take 2 s, or 4 s with a layer."""
    clock.now, seconds, ends = 0.0, {0: 2.0, 1: 4.0}, list[float]()
    listener = Listener(lambda _, state: ends.append(round(clock.now + state.seconds_left, 6)) if state else None)

    def slow_run(dataset, spec, *, progress, **options):
        each = (test_seconds if spec.evaluate == "test" else seconds)[spec.stack.depth]
        for part in range(100):
            progress.report(part / 100)
            clock.now += each / 100
        return replace(run(dataset, spec, **options), timings=Timings(0.0, 0.0, each, 0.0))

    monkeypatch.setattr(executor_module, "run", slow_run)
    monkeypatch.setattr(executor_module, "POLL_SECONDS", 0.0)
    return tried(budget=20.0, started=0.0, progress=listener), clock.now, ends


def test_that_the_time_of_the_test_is_reserved_and_a_slower_test_ends_with_the_budget_by_completed_runs(
    monkeypatch, clock
):
    ended, seconds, ends = slow_trial(monkeypatch, clock, {0: 2.0, 1: 90.0})
    assert (ends[:-1], int(seconds)) == ([20.0] * 5, 20)
    assert (ended.result.spec.evaluate, ended.other) == ("test", None)
    assert "before a setting with layers was tested; increase the time limit." in ended.sentence
    ended, seconds, ends = slow_trial(monkeypatch, clock, {0: 90.0, 1: 4.0})
    assert (ends, int(seconds)) == ([20.0] * 5, 20)
    assert ended.other is not None
    assert {ended.result.spec.evaluate, ended.other.spec.evaluate} == {"validation"}
    assert ended.result.error == min(answer.rate.error for answer in ended.done)
    assert f"% of {ended.result.n_test} validation rows correctly" in ended.sentence
    assert "The time ran out before the test on held-out rows; this error is on the rows used" in ended.sentence
    assert ended.details.endswith("; 3 settings and 5 splits were planned, but the time limit of 20 s was used up.")
    assert (ended.document()["evaluated_on"], len(ended.document()["compared_with"])) == ("validation", 1)
    ended, seconds, ends = slow_trial(monkeypatch, clock, {0: 2.0, 1: 4.0})
    assert (ends[:5], ends[-1]) == ([20.0] * 5, round(seconds, 6))
    assert ended.other is not None
    assert [answer.point.depth for answer in ended.done] == [0, 0, 1, 1]
    assert 17.5 < seconds < 20.5, "the test of both settings takes 6 s"


def test_that_cheap_settings_come_first_the_time_left_is_at_most_the_budget_and_too_many_classes_are_refused():
    states = []
    tried(progress=Listener(lambda _, state: states.append(state) if isinstance(state, TrialState) else None))
    order = [(point.split, point.depth, point.noise) for point in states[0].points]
    assert order[:5] == [(0, 0, 0.5), (0, 0, 0.3), (0, 1, 0.5), (0, 1, 0.3), (1, 0, 0.5)]
    assert all(0.0 <= state.seconds_left <= 60.0 for state in states)
    labels = np.repeat(np.arange(200), 6)
    many = Dataset("many", np.zeros((1200, 4), np.float32), np.zeros((200, 4), np.float32), labels, labels[::6])
    with pytest.raises(DataError, match="increase the time limit to 597 s or more, or use fewer classes"):
        plan_trial(many, budget=290.0)
    assert plan_trial(many, budget=310.0)
    for budget in (4.9, 86_401, float("nan"), "much"):
        with pytest.raises(ValueError, match="give 5 to 86400 seconds"):
            plan_trial(DATA, budget=budget)


@pytest.mark.parametrize(("n", "expected"), [(90, None), (3_000, 1680), (40_000, 1845)])
@pytest.mark.parametrize("columns", [4, 784])
def test_that_a_trial_is_planned_for_about_a_minute_whatever_the_size(n, expected, columns):
    labels = np.arange(n) % 3
    rows = np.broadcast_to(np.float32(0.5), (n, columns))
    data = Dataset("large", rows, rows[:300], labels, labels[:300])
    data.__dict__["fingerprint"] = "ab" * 32
    sweep = plan_trial(data)
    assert trial_seconds(replace(sweep, splits=(0,), depths=(0, 1)), data) <= 60.0
    assert (sweep.base.labels, sweep.noises, sweep.depths) == (expected, (0.1, 0.3, 0.5, 0.7), (0, 1, 2, 3))


def test_that_a_trial_repeats_no_fold_of_few_groups_and_names_the_smallest_and_the_largest(trial):
    groups = np.minimum(np.arange(len(DATA.train)) // 10, 2)
    assert plan_trial(replace(DATA, groups=groups)).splits == (0, 1, 2)
    sweep = replace(plan_trial(DATA), splits=(0, 1, 2, 3, 4), noises=(0.3,), depths=(1,))
    assert plan_sweep(sweep, replace(DATA, groups=groups), ()).n_runs == 3
    with pytest.raises(DataError, match="flowers: the training rows have too few groups"):
        plan_trial(replace(DATA, groups=0 * groups))
    rows, labels = np.tile(DATA.train, (40, 1)), np.tile(DATA.train_labels, 40)
    uneven = replace(DATA, train=rows, train_labels=labels, groups=(np.arange(len(rows)) < 200).astype(int))
    assert plan_trial(replace(uneven, held_out=None, order=None, whole=""), budget=5).base.labels == 200
    larger = replace(trial.done[0], rate=replace(trial.done[0].rate, n=25))
    assert "depth on 5 validation sets of 9 to 25 rows" in replace(trial, done=(*trial.done, larger)).details

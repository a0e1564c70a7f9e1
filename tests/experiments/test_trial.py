"""A trial selects on validation rows, tests once on held-out rows and answers in whole sentences within its budget."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.cost import RunShape, typical_seconds
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.splits import with_test_part
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps import trial as trial_module
from slide_gui.experiments.sweeps.selection import choose, final_spec, pooled
from slide_gui.experiments.sweeps.trial import Trial, TrialState, plan_trial, try_data
from slide_gui.progress import Listener

SOURCE = DataSource(paths=("flowers.csv",))
NONE = np.empty(0, np.int64)


def flowers() -> Dataset:
    """Return rows of two kinds, two thirds of them tall, a quarter of each held out."""
    random, n = np.random.default_rng(4), 60
    labels = np.array([0, 1, 1])[np.arange(n) % 3]
    rows = (random.normal(size=(n, 5)) * 0.5 + np.eye(5)[labels]).astype("float32")
    return with_test_part(Dataset("flowers", rows, rows[:0], labels, NONE, label_names=("small", "tall")))


DATA = flowers()


def tried(**options: Any) -> Trial:
    """Return a trial of few points, which selects a layer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_module, "_GRID", ((0.5, 0.3), (0, 1), 5))
        return try_data(DATA, SOURCE, **options)


@pytest.fixture(scope="module")
def trial() -> Trial:
    return tried()


def test_that_noise_and_depth_are_selected_on_validation_rows_and_tested_on_held_out_rows(trial: Trial) -> None:
    assert {answer.point.spec.evaluate for answer in trial.done} == {"validation"}
    (best,) = choose(pooled(trial.done))
    again = run(DATA, final_spec(best.point.spec))
    assert trial.result.spec == again.spec
    assert (trial.result.n_train, trial.result.n_test) == (len(DATA.train), len(DATA.test))
    assert np.array_equal(trial.result.misclassified, again.misclassified)


def test_that_the_p_value_is_mcnemars(trial: Trial) -> None:
    def judged(*wrong: int) -> RunResult:
        rows = trial.result.judged[list(wrong)]
        m = len(rows)
        return replace(trial.result, misclassified=rows, predicted=np.zeros(m, np.int64), decisions=np.zeros((m, 1)))

    def p_value(*finals: RunResult) -> float | None:
        return trial_module._trial(DATA, trial.sweep, trial.done, list(finals)).p_value

    assert p_value(judged(0, 1), judged(*range(11))) == pytest.approx(2 / 2**9)
    assert p_value(judged(0, 1), judged(0, 1)) == 1.0
    assert p_value(judged(0)) is None


def test_that_a_trial_with_a_store_has_the_same_sentence_and_reuses_its_runs(trial: Trial, tmp_path: Path) -> None:
    seen: list[float] = []
    with RunStore(tmp_path / "runs.sqlite") as store:
        listener = Listener(lambda fraction, _: seen.append(fraction))
        assert tried(store=store, progress=listener).sentence == trial.sentence
        assert seen == sorted(seen)
        assert len(set(seen)) > len(store.runs())
        n_runs = len(store.runs())
        assert tried(store=store).sentence == trial.sentence
        assert len(store.runs()) == n_runs


def _with(trial: Trial, wrong: int, other: int, p: float, majority_error: float = 0.9, depth: int = 1) -> Trial:
    """Return the trial with other numbers of errors, of a setting with layers or, at depth 0, of the raw input."""
    finals = []
    for k, each_depth in ((wrong, depth), (other, 1 - depth)):
        spec = replace(trial.result.spec, stack=replace(trial.result.spec.stack, noise=0.1, depth=each_depth))
        rows, zeros = trial.result.judged[:k], np.zeros(k, np.int64)
        changed = replace(trial.result, spec=spec, misclassified=rows, predicted=zeros, decisions=np.zeros((k, 1)))
        finals.append(replace(changed, confusion=np.array([[8, 0], [0, 7]])))
    result, second = finals
    return replace(trial, result=result, other=second, p_value=p, majority_error=majority_error)


def test_that_the_answer_has_whole_sentences_on_error_guessing_setting_and_the_plain_svm(trial: Trial) -> None:
    n = trial.result.n_test
    rate = ErrorRate.of_run(1 / n, n)
    error, low, high = (f"{100 * x:.1f}" for x in (rate.error, rate.low, rate.high))
    assert _with(trial, 1, 3, 0.1).sentence == (
        f"SLIDE classifies {100 - 100 / n:.1f} % of {n} held-out rows correctly (error {error} %, 95 % interval "
        f"{low}–{high} %). Always guessing the largest class would be wrong for 90 %. Best setting: noise 0.1, one "
        f"layer. A plain SVM on your columns errs on {300 / n:.1f} %: no significant difference (p = 0.10)."
    )
    assert "SLIDE is significantly better (p < 0.001)" in _with(trial, 1, 3, 0.0001).sentence
    assert "SLIDE is significantly worse (p = 0.020)" in _with(trial, 3, 1, 0.02).sentence


def test_that_layers_that_do_not_help_are_the_first_sentence(trial: Trial) -> None:
    first = "The layers do not help on these data. "
    assert _with(trial, 3, 3, 1.0).sentence.startswith(f"{first}SLIDE classifies")
    raw = _with(trial, 1, 2, 0.5, depth=0)
    assert raw.sentence.startswith(f"{first}A plain SVM on your columns classifies")
    assert "SLIDE with noise 0.1 and one layer errs on" in raw.sentence
    assert not raw.layers_help
    mixed = _with(trial, 2, 1, 0.5, depth=0).sentence  # selected on validation rows, but not better on the test rows
    assert mixed.startswith("The validation rows selected no layers on these data. A plain SVM")
    assert not _with(trial, 1, 2, 0.5).sentence.startswith(first)


def test_that_an_error_no_better_than_one_class_is_reported(trial: Trial) -> None:
    guess = "This is no better than always guessing the largest class, which would be wrong for 50 %."
    assert guess in _with(trial, trial.result.n_test // 2, 1, 0.4, 0.5).sentence
    assert trial.majority_class == "tall"
    assert trial.majority_error == pytest.approx(1 / 3, abs=0.05)


def test_that_classes_of_unequal_size_have_a_balanced_error_and_recalls(trial: Trial) -> None:
    uneven = replace(trial, result=replace(trial.result, confusion=np.array([[3, 1], [1, 9]])))
    text = "The classes differ in size: the balanced error is 17.5 %, the recall by class is small 75.0 %, tall 90.0 %."
    assert text in uneven.sentence
    document = uneven.document()
    assert document["balanced_error"] == pytest.approx(0.175)
    assert document["recall"] == {"small": 0.75, "tall": 0.9}


class _Clock:
    """A clock that the test sets forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize("n_runs", [1, 2, 4])
def test_that_the_clock_ends_the_comparison_with_the_best_result_so_far(
    monkeypatch: pytest.MonkeyPatch, n_runs: int
) -> None:
    clock, seen = _Clock(), []
    monkeypatch.setattr(trial_module, "time", clock)

    def listen(_fraction: float, state: object) -> None:
        if isinstance(state, TrialState):
            seen.append(state)
            clock.now = 100.0 * (len(state.done) >= n_runs)

    tried_data = tried(progress=Listener(listen), budget=30.0)
    places = {(answer.point.noise, answer.point.depth) for answer in tried_data.done}
    assert places == {1: {(0.3, 0), (0.5, 0)}, 2: {(0.3, 0), (0.5, 0)}, 4: {*product((0.3, 0.5), (0, 1))}}[n_runs]
    assert {answer.point.split for answer in tried_data.done} == {0}
    assert "the budget of 30 s ended the comparison, which had 3 settings and 5 splits planned" in tried_data.details
    assert tried_data.result.n_test == len(DATA.test)
    if tried_data.other is None:
        assert "The budget ended before a setting with layers was compared" in tried_data.sentence
    assert seen[-1].title == "testing on the held-out rows"


def test_that_cheap_settings_come_first_and_the_time_left_is_at_most_the_budget() -> None:
    states: list[TrialState] = []
    tried(progress=Listener(lambda _, state: states.append(state) if isinstance(state, TrialState) else None))
    order = [(point.split, point.depth, point.noise) for point in states[0].points]
    assert order[:5] == [(0, 0, 0.5), (0, 0, 0.3), (0, 1, 0.5), (0, 1, 0.3), (1, 0, 0.5)]
    assert all(0.0 <= state.seconds_left <= 60.0 for state in states)


@pytest.mark.parametrize("budget", [1.0, 1e9, float("nan"), "much"])
def test_that_a_budget_out_of_range_is_refused_with_the_range(budget: Any) -> None:
    with pytest.raises(ValueError, match="give 5 to 86400 seconds"):
        plan_trial(DATA, budget=budget)


@pytest.mark.parametrize("n", [90, 3_000, 40_000])
@pytest.mark.parametrize("columns", [4, 784])
def test_that_a_trial_is_planned_for_about_a_minute_whatever_the_size(n: int, columns: int) -> None:
    labels = np.arange(n) % 3
    rows = np.broadcast_to(np.float32(0.5), (n, columns))
    data = Dataset("large", rows, rows[:300], labels, labels[:300])
    data.__dict__["fingerprint"] = "ab" * 32
    sweep = plan_trial(data)
    specs = {point.spec.hash: point.spec for point in sweep.points()}
    first = [spec for spec in specs.values() if spec.split == 0 and spec.stack.depth < 2]
    assert sum(typical_seconds(spec, RunShape.of(data)) for spec in first) <= 60.0
    assert sweep.base.labels is None or sweep.base.labels >= 500
    assert 0 in sweep.depths
    assert max(sweep.depths) >= 1


def test_that_rows_left_out_are_reported(trial: Trial) -> None:
    result = replace(trial.result, n_train=len(DATA.train))
    assert "rained on" not in replace(trial, result=result).sentence
    result = replace(trial.result, n_train=30)
    assert replace(trial, result=result).sentence.endswith(f"Trained on 30 of {len(DATA.train)} rows.")


def test_that_data_without_labels_or_test_set_are_refused() -> None:
    whole = Dataset("plain", DATA.train, DATA.test, image_shape=None)
    with pytest.raises(DataError, match="no labels"):
        plan_trial(whole)
    alone = Dataset("alone", DATA.train, DATA.train[:0], DATA.train_labels, NONE)
    with pytest.raises(DataError, match="no rows are held out"):
        plan_trial(alone)

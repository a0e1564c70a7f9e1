"""A trial selects on validation rows, tests once on held-out rows and reports in one sentence."""

from __future__ import annotations

from dataclasses import replace
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
from slide_gui.experiments.sweeps.trial import Trial, plan_trial, try_data
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
        patch.setattr(trial_module, "_GRIDS", (((0.3, 0.5), (0, 1), 5),))
        return try_data(DATA, SOURCE, **options)


@pytest.fixture(scope="module")
def trial() -> Trial:
    return tried()


def test_that_noise_and_depth_are_selected_on_validation_rows_and_tested_on_held_out_rows(trial: Trial) -> None:
    assert {answer.point.spec.evaluate for answer in trial.answers} == {"validation"}
    (best,) = choose(pooled(trial.answers))
    again = run(DATA, final_spec(best.point.spec))
    assert trial.result.spec == again.spec
    assert (trial.result.n_train, trial.result.n_test) == (len(DATA.train), len(DATA.test))
    assert np.array_equal(trial.result.misclassified, again.misclassified)


def test_that_p_values_are_mcnemars_with_holms_correction(trial: Trial) -> None:
    def judged(*wrong: int) -> RunResult:
        rows = trial.result.judged[list(wrong)]
        m = len(rows)
        return replace(trial.result, misclassified=rows, predicted=np.zeros(m, np.int64), decisions=np.zeros((m, 1)))

    def p_values(*finals: RunResult) -> list[float]:
        made = trial_module._trial(DATA, trial.sweep, trial.answers, list(finals))
        assert [baseline.result for baseline in made.baselines] == list(finals[1:])
        return [baseline.p_value for baseline in made.baselines]

    chosen, nine_more, five_more = judged(0, 1), judged(*range(11)), judged(*range(2), *range(5, 10))
    assert p_values(chosen, nine_more) == pytest.approx([2 / 2**9])
    assert p_values(chosen, nine_more, five_more) == pytest.approx([2 * 2 / 2**9, 2 / 2**5])
    assert p_values(chosen, chosen) == [1.0]


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


def _with(trial: Trial, wrong: int, p: float, majority_error: float = 0.9) -> str:
    result, rows = trial.result, trial.result.judged[:wrong]
    changed = replace(result, misclassified=rows, predicted=np.zeros(wrong, np.int64), decisions=np.zeros((wrong, 1)))
    baselines = tuple(replace(baseline, p_value=p) for baseline in trial.baselines[:1])
    return replace(trial, result=changed, baselines=baselines, majority_error=majority_error).sentence


def test_that_the_sentence_has_error_interval_rows_and_test(trial: Trial) -> None:
    stack, n = trial.result.spec.stack, trial.result.n_test
    assert trial.sentence.startswith(f"noise {stack.noise:g}, depth {stack.depth}: ")
    assert f" on {n} held-out rows" in trial.sentence
    rate = ErrorRate.of_run(2 / n, n)
    low, high = (f"{100 * end:.1f}" for end in (rate.low, rate.high))
    assert f"{100 * rate.error:.1f} % ({low} to {high}) on {n} held-out rows" in _with(trial, 2, 0.4)
    name = trial.baselines[0].name
    assert f"; not significantly different from {name} (p = 0.4)" in _with(trial, 2, 0.4)
    assert f"than {name} (p < 0.001)" in _with(trial, 2, 0.0001)


def test_that_a_symmetric_interval_has_a_plus_minus_sign() -> None:
    assert trial_module._error_text(ErrorRate.of_run(0.5, 400)) == "50.0 % ± 4.9"
    assert trial_module._error_text(ErrorRate.of_run(0.0, 100)) == "0.0 % (0.0 to 3.7)"


def test_that_an_error_no_better_than_one_class_is_reported(trial: Trial) -> None:
    n = trial.result.n_test
    assert "no better than always predicting" in _with(trial, n // 2, 0.4, majority_error=0.5)
    assert "always predicting" not in _with(trial, 1, 0.4, majority_error=0.66)
    assert trial.majority_class == "tall"
    assert trial.majority_error == pytest.approx(1 / 3, abs=0.05)


@pytest.mark.parametrize("n", [90, 3_000, 40_000])
@pytest.mark.parametrize("columns", [4, 784])
def test_that_a_trial_is_planned_for_about_a_minute_whatever_the_size(n: int, columns: int) -> None:
    labels = np.arange(n) % 3
    rows = np.broadcast_to(np.float32(0.5), (n, columns))
    data = Dataset("large", rows, rows[:300], labels, labels[:300])
    data.__dict__["fingerprint"] = "ab" * 32
    sweep = plan_trial(data)
    specs = {point.spec.hash: point.spec for point in sweep.points()}
    assert sum(typical_seconds(spec, RunShape.of(data)) for spec in specs.values()) <= 60.0
    assert sweep.base.labels is None or sweep.base.labels >= 500
    assert 0 in sweep.depths
    assert max(sweep.depths) >= 1


def test_that_rows_left_out_are_reported(trial: Trial) -> None:
    result = replace(trial.result, n_train=len(DATA.train))
    assert "trained on" not in replace(trial, result=result).sentence
    result = replace(trial.result, n_train=30)
    assert replace(trial, result=result).sentence.endswith(f"trained on 30 of {len(DATA.train)} rows")


def test_that_data_without_labels_or_test_set_are_refused() -> None:
    whole = Dataset("plain", DATA.train, DATA.test, image_shape=None)
    with pytest.raises(DataError, match="no labels"):
        plan_trial(whole)
    alone = Dataset("alone", DATA.train, DATA.train[:0], DATA.train_labels, NONE)
    with pytest.raises(DataError, match="no rows are held out"):
        plan_trial(alone)

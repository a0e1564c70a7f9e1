"""What a store holds of the evaluation, on whichever data it was made."""

from dataclasses import replace

from slide_gui.data.entries import entry
from slide_gui.experiments.evaluation import table
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.evaluation.table import info_of, stored_data, stored_evaluation
from slide_gui.experiments.store.store import RunStore
from tests.experiments.tiny import rectangles

WHOLE = replace(rectangles(80, 150), name="Rectangles")
CUT = CellPlan("rectangles", "raw-svm", 1, C=1.0, train_rows=40, test_rows=100)
FULL = CellPlan("rectangles", "raw-svm", 1, C=10.0)


def test_that_each_plan_finds_its_own_runs_among_those_on_other_rows(tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as store:
        made = {plan: run_evaluation([plan], lambda key, progress: WHOLE, store) for plan in (FULL, CUT)}
        for plan, state in made.items():
            found = stored_evaluation([plan], store)
            assert [a.spec_hash for a in found.cells[0].answers] == [a.spec_hash for a in state.cells[0].answers]
            assert found.data[0].fingerprint == state.data[0].fingerprint
            assert found.data[0].generated


def test_that_real_data_come_before_generated_ones(tmp_path):
    real = replace(WHOLE, generated=False, train=WHOLE.train + 1)
    with RunStore(tmp_path / "runs.sqlite") as store:
        for dataset in (real, WHOLE):
            run_evaluation([FULL], lambda key, progress, own=dataset: own, store)
        (info,) = stored_data([FULL], store.runs())
    assert not info.generated
    assert info.fingerprint == info_of("rectangles", real).fingerprint


def test_that_an_empty_store_knows_no_data(tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as store:
        state = stored_evaluation([FULL], store)
    assert state.data == ()
    assert state.cells[0].answers == ()


def test_that_data_judged_on_another_number_of_rows_come_last_and_their_sizes_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "entry", lambda key: replace(entry(key), n_train=80, n_test=150))
    part = replace(WHOLE, generated=False, train=WHOLE.train[:60], train_labels=WHOLE.train_labels[:60],
                   test=WHOLE.test[:90], test_labels=WHOLE.test_labels[:90])  # fmt: skip
    with RunStore(tmp_path / "runs.sqlite") as store:
        run_evaluation([FULL], lambda key, progress: part, store)
        (alone,) = stored_evaluation([FULL], store).data
        run_evaluation([FULL], lambda key, progress: WHOLE, store)
        (info,) = stored_evaluation([FULL], store).data
    assert (alone.generated, alone.n_train, alone.n_test) == (False, 60, 90)
    assert (info.generated, info.n_train, info.n_test) == (True, 80, 150)

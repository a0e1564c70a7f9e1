"""What a store holds of the evaluation, on whichever data it was made."""

from dataclasses import replace

from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.evaluation.table import info_of, stored_data, stored_evaluation
from slide_gui.experiments.store import RunStore
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

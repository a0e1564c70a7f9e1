"""Records in text files: an evaluation resumes from them in an empty store, and skips unreadable lines."""

import errno
import json
from dataclasses import replace

import pytest

from slide_gui.experiments.evaluation.records import RecordFolder
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.evaluation.table import stored_evaluation
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.progress import NO_PROGRESS, Cancelled
from tests.core.svm_data import StopAfter
from tests.experiments.test_evaluation import CELLS, DATA, load, outcome
from tests.experiments.tiny import rectangles, spec
from tests.faults import faults

CANDIDATE = StoredRun.of(run(DATA, spec(DATA, training="split", evaluate="validation")), 1.7e9)
FINAL = StoredRun.of(run(DATA, spec(DATA, widths="median", C=1.0)), 1.7e9)


def evaluate(folder, path, load=load, progress=NO_PROGRESS):
    """Return the state of an evaluation with records, and the hashes of the runs in its store."""
    with RunStore(path) as store:
        try:
            state = run_evaluation(CELLS, load, store, progress=progress, records=RecordFolder(folder))
        except Cancelled:
            state = None
        return state, {row.hash for row in store.runs()}


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """Return the folder, the state and the hashes of an evaluation without interruption."""
    folder = tmp_path_factory.mktemp("records")
    return folder, *evaluate(folder, folder / "runs.sqlite")


def lines_of(folder):
    return (folder / "rectangles.jsonl").read_bytes().splitlines()


def test_that_an_empty_store_and_the_folder_complete_an_interrupted_evaluation_by_missing_runs(complete, tmp_path):
    _, expected, hashes = complete
    _, before = evaluate(tmp_path, tmp_path / "here.sqlite", progress=StopAfter(fraction=0.5))
    assert 0 < len(before) < len(hashes)
    assert {json.loads(line)["hash"] for line in lines_of(tmp_path)} == before
    state, after = evaluate(tmp_path, tmp_path / "there.sqlite")
    assert after == hashes - before
    assert outcome(state) == outcome(expected)
    assert (state.done, state.total) == (expected.done, expected.total)
    assert [cell.rate for cell in state.cells] == [cell.rate for cell in expected.cells]


def test_that_the_tables_need_the_folder_only(complete, tmp_path):
    folder, expected, _ = complete
    stored = stored_evaluation(CELLS, list(RecordFolder(folder).rows.values()))
    assert outcome(stored) == outcome(expected)
    assert [cell.features for cell in stored.cells] == [cell.features for cell in expected.cells]
    assert stored.data[0].fingerprint == DATA.fingerprint
    again, computed = evaluate(folder, tmp_path / "empty.sqlite")
    assert outcome(again) == outcome(expected)
    assert computed == set()


def test_that_stored_runs_are_recorded_once_without_being_computed(complete, tmp_path):
    folder, _, hashes = complete
    for _ in range(2):
        evaluate(tmp_path, folder / "runs.sqlite")
        assert sorted(json.loads(line)["hash"] for line in lines_of(tmp_path)) == sorted(hashes)


def test_that_torn_and_damaged_lines_are_skipped_and_their_runs_computed_again(complete, tmp_path):
    lines = lines_of(complete[0])
    torn, lost = lines[-1][:-40], json.loads(lines[1])
    damaged = [b"[1]", b"\xff", b"{}", json.dumps(lost | {"wrong": 10**400}).encode(), b"[" * 10**5]
    (tmp_path / "rectangles.jsonl").write_bytes(b"\n".join([lines[0], *damaged, *lines[2:-1], torn]))
    records = RecordFolder(tmp_path)
    assert records.n_damaged == len(damaged) + 1
    assert len(records.rows) == len(lines) - 2
    state, computed = evaluate(tmp_path, tmp_path / "runs.sqlite")
    assert computed == {lost["hash"], json.loads(lines[-1])["hash"]}
    assert outcome(state) == outcome(complete[1])
    assert torn in lines_of(tmp_path)
    assert len(RecordFolder(tmp_path).rows) == len(lines)


def test_that_an_error_of_writing_names_the_file(tmp_path):
    records = RecordFolder(tmp_path)
    with faults("fsync", 1, errno.ENOSPC), pytest.raises(OSError, match=r"No space .*rectangles\.jsonl"):
        records.add("rectangles", FINAL)


def test_that_runs_of_other_results_versions_are_kept_but_not_used(tmp_path):
    RecordFolder(tmp_path).add("rectangles", replace(FINAL, numerics="1"))
    again = RecordFolder(tmp_path)
    assert (again.rows, again.n_damaged, len(lines_of(tmp_path))) == ({}, 0, 1)


def test_that_records_of_other_data_are_never_used(complete, tmp_path):
    other = replace(rectangles(80, 150, seed=1), name="Rectangles")
    (tmp_path / "rectangles.jsonl").write_bytes((complete[0] / "rectangles.jsonl").read_bytes())
    state, computed = evaluate(tmp_path, tmp_path / "runs.sqlite", lambda _key, _progress: other)
    assert len(computed) == state.total
    assert not computed & complete[2]


@pytest.mark.parametrize("row", [FINAL, replace(FINAL, features=None, best_epoch=3, C=1 / 3)])
def test_that_a_run_on_test_rows_is_read_back_exactly(row, tmp_path):
    RecordFolder(tmp_path).add("convex", row)
    assert RecordFolder(tmp_path).rows == {row.hash: replace(row, setting=None)}


def test_that_a_candidate_takes_a_short_line_with_exact_counts_and_without_data(tmp_path):
    longest = replace(
        CANDIDATE, method="slide-svm-without-input", noise=0.95, split=99, seed=9999, C=1000 / 3, n_support=50_000,
        n_train=50_000, n_test=10_000, error=1234 / 10_000, validation_error=1234 / 10_000, seconds=1e5 / 7,
        validation_loss=0.3 / 7, best_epoch=99,
    )  # fmt: skip
    for folder, row in ((tmp_path / "ordinary", CANDIDATE), (tmp_path / "longest", longest)):
        RecordFolder(folder).add("rectangles", row)
        (line,) = lines_of(folder)
        assert len(line) <= 400
        assert DATA.fingerprint.encode() not in line
        (read,) = RecordFolder(folder).rows.values()
        assert (read.error, read.validation_error) == (row.error, row.validation_error)
        kept = ("noise", "depth", "split", "seed", "C", "n_support", "n_train", "n_test", "seconds", "validation_loss")
        assert [getattr(read, name) for name in kept] == [getattr(row, name) for name in kept]

"""Dask arrays and pairs of classes give the same in this process and on two workers."""

import logging
import multiprocessing
import os
import signal
import threading
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from slide_gui import SLIDE, Blocks, LinearImputer
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.core.svm.estimator import MultiWidthSVC
from slide_gui.core.workers import ClusterError, results_of
from slide_gui.progress import Cancelled, Listener
from tests.core.on_workers import slow, tasks, wait_for_file
from tests.core.slide_data import same_layers
from tests.core.svm_data import StopAfter

GREY = np.random.default_rng(0).random((1500, 24)).astype("float32")
SIZES = (*(60 + 14 * (i % 9) for i in range(12)), 234)
ENDS = [0, *np.cumsum(SIZES).tolist()]
PARAMETERS = [
    StackParameters(depth=4),
    StackParameters(depth=3, dtype="float64", squashing="sigmoid"),
    StackParameters(depth=2, fit_on="thresholded", noise=0.05),
]


def chunked(rows=GREY):
    return da.from_array(rows, chunks=(SIZES, rows.shape[1]))


def blocks(rows=GREY):
    return Blocks([rows[a:b] for a, b in pairwise(ENDS)])


@pytest.fixture(scope="module")
def cluster():
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    here = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with dask.config.set({"distributed.comm.timeouts.connect": "20s"}), LocalCluster(**here) as running:
        yield running
    assert [thread.name for thread in threading.enumerate() if "IO loop" in thread.name] == []
    assert multiprocessing.active_children() == []


@pytest.fixture
def client(cluster):
    with Client(cluster) as connected, threadpool_limits(1):
        connected.wait_for_workers(2)
        yield connected


def test_that_a_dask_array_without_a_cluster_is_computed_in_this_thread_and_chunks_without_rows_change_no_bit():
    rows, threads = da.from_array(GREY, chunks=(500, 24)), []
    noted = rows.map_blocks(lambda block: threads.append(threading.get_ident()) or block, meta=GREY[:0])
    slide = SLIDE(depth=1).fit(noted)
    assert set(threads) == {threading.get_ident()}
    assert (slide.n_features_in_, slide.stack_.n_samples) == (24, 1500)
    sizes = (0, *SIZES[:5], 0, *SIZES[5:], 0)
    some = chunked().rechunk((sizes, 24))
    assert some.chunks[0] == sizes
    assert SLIDE(depth=1).fit(GREY).transform(some).compute().shape == (1500, 48)
    for parameters in PARAMETERS:
        same_layers(fit_stack(some, parameters), fit_stack(blocks(), parameters))


@pytest.mark.parametrize("sizes", [SIZES, (1500,)])
def test_that_columns_in_several_chunks_are_joined(sizes):
    split, slide = da.from_array(GREY, chunks=(sizes, 10)), SLIDE(depth=1).fit(GREY)
    same_layers(fit_stack(split, StackParameters()), fit_stack(split.rechunk((sizes, 24)), StackParameters()))
    assert slide.transform(split).chunks == (sizes, (48,))
    np.testing.assert_allclose(slide.transform(split).compute(), slide.transform(GREY), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: chunked()[:, 0], ValueError, "X is a 1-D Dask array of float32; it must be a 2-D array of numbers"),
        (lambda: chunked().astype(str), ValueError, "X is a 2-D Dask array of <U"),
        (lambda: chunked()[chunked()[:, 0] > 0.5], ValueError, r"chunks of unknown sizes; call X.compute_chunk_sizes"),
        (lambda: chunked()[:1], ValueError, "at least 2 samples"),
        (
            lambda: pytest.importorskip("pyarrow") and chunked().to_dask_dataframe(),
            TypeError,
            r"X is a Dask DataFrame, not an array; convert it with to_dask_array\(lengths=True\)",
        ),
    ],
)
def test_that_a_dask_collection_that_cannot_be_fitted_is_refused_with_the_remedy(make, error, words):
    with pytest.raises(error, match=words):
        SLIDE().fit(make())


def test_that_a_transform_of_a_dask_array_is_lazy_and_block_by_block():
    slide, computed = SLIDE(depth=2).fit(GREY), []
    lazy = slide.transform(chunked().map_blocks(lambda block: computed.append(len(block)) or block, meta=GREY[:0]))
    assert computed == []
    assert (lazy.dtype, lazy.shape, lazy.chunks) == (np.float32, (1500, 72), (SIZES, (72,)))
    np.testing.assert_allclose(lazy.blocks[3].compute(), slide.transform(GREY[ENDS[3] : ENDS[4]]), atol=1e-6)
    assert computed == [SIZES[3]]
    np.testing.assert_allclose(lazy.compute(), slide.transform(GREY), atol=1e-6)
    np.testing.assert_array_equal(slide.layers(chunked())[1].compute(), lazy[:, 24:48].compute())
    fitted = SLIDE(depth=2).fit(chunked())
    np.testing.assert_array_equal(SLIDE(depth=2).fit_transform(chunked()), fitted.transform(chunked()))


def test_that_a_transform_of_other_rows_is_refused_at_once_and_of_a_nan_or_a_masked_cell_when_it_is_computed():
    slide = SLIDE(depth=1).fit(GREY)
    for shape, words in (((10, 5), "5 features"), (10, "1 dimensions")):
        with pytest.raises(ValueError, match=f"X has {words}, but this stack was fitted on 24"):
            slide.transform(da.ones(shape))
    bad = GREY.copy()
    bad[777, 3] = np.nan
    with pytest.raises(ValueError, match="row 777, feature 3 is nan"):
        slide.transform(chunked(bad)).compute(scheduler="synchronous")
    masked, imputer = da.ma.masked_greater(chunked(), 0.5), LinearImputer()
    for refused in (imputer.fit, lambda rows: slide.transform(rows).compute(scheduler="synchronous")):
        with pytest.raises(ValueError, match="X has masked cells"):
            refused(masked)


def test_that_only_values_of_the_rows_are_checked_and_not_those_of_hidden_representations():
    slide = SLIDE(depth=1, squashing="identity").fit(np.outer(GREY[0], [1.0, 10.0]))
    rows = np.array([[3e38, 0.0], [1.0, 10.0]], "float32")  # ten times 3e38 exceeds float32
    with np.errstate(over="ignore"):
        expected = slide.transform(rows)
        found = slide.transform(da.from_array(rows)).compute(scheduler="synchronous")
    assert np.isinf(expected[0, 3])
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_that_two_workers_give_the_bits_of_one_machine(client, parameters):
    same_layers(fit_stack(chunked(), parameters), fit_stack(blocks(), parameters))
    with dask.annotate(workers=list(client.scheduler_info()["workers"])[:1], allow_other_workers=False):
        same_layers(fit_stack(chunked(), parameters), fit_stack(blocks(), parameters))


def test_that_a_fit_on_workers_reports_every_chunk_and_layer_and_refuses_missing_values(client):
    listener, rows = StopAfter(), GREY.copy()
    slide = SLIDE(depth=3).fit(slowly(), progress=listener)
    assert listener.complete
    assert len(set(listener.fractions)) > len(SIZES) // 2
    assert [len(stack.layers) for stack in listener.payloads] == [1, 2, 3]
    np.testing.assert_allclose(slide.transform(chunked()).compute(), slide.transform(GREY), atol=1e-5)
    rows[1203, 7] = np.inf
    with pytest.raises(ValueError, match="row 1203, feature 7 is inf"):
        fit_stack(chunked(rows), StackParameters())
    with pytest.raises(ValueError, match="X has masked cells"):
        fit_stack(da.ma.masked_greater(chunked(), 0.5), StackParameters())


def slowly():
    return chunked().map_blocks(slow, meta=GREY[:0])


def once(*act):
    """Return a progress that calls a function at the first report of completed work."""
    left = [*act]
    return Listener(lambda fraction, _: left.pop()() if left and fraction > 0.05 else None)


def test_that_completed_chunks_are_reported_while_workers_compute_others(client, tmp_path):
    first, waiting = GREY[:100], partial(wait_for_file, file=tmp_path / "reported")
    rows = da.concatenate([da.from_array(first), da.from_array(GREY[100:]).map_blocks(waiting, meta=first[:0])])
    assert SLIDE(depth=1).fit(rows, progress=once(waiting.keywords["file"].touch)).stack_.n_samples == 1500


def test_that_a_cancelled_fit_leaves_no_tasks(client):
    with pytest.raises(Cancelled):
        fit_stack(slowly(), StackParameters(), progress=StopAfter(fraction=0.05))
    for _ in range(2000):
        if not client.run_on_scheduler(tasks):
            break
        threading.Event().wait(0.05)
    assert client.run_on_scheduler(tasks) == 0


def test_that_a_worker_that_is_killed_in_the_middle_changes_no_bit(client):
    victim = next(iter(client.run(os.getpid).values()))
    found = fit_stack(slowly(), StackParameters(), progress=once(lambda: os.kill(victim, signal.SIGKILL)))
    same_layers(found, fit_stack(blocks(), StackParameters()))
    assert victim not in client.run(os.getpid).values()


def test_that_a_lost_scheduler_is_named_with_a_remedy():
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0"
    ) as other:
        address = other.scheduler_address
        client = Client(address, timeout=10)
        try:
            for act in ((other.close,), ()):  # close the client during a pass, then before the next fit
                with pytest.raises(ClusterError, match=f"{address} is lost; check that the scheduler is running"):
                    fit_stack(slowly(), StackParameters(), progress=once(*act))
        finally:
            client.close()
    assert SLIDE(depth=1).fit(chunked()).stack_.n_samples == 1500  # a closed client is ignored


def classes(n=600, k=5):
    rng = np.random.default_rng(0)
    codes = rng.integers(k, size=n)
    return rng.standard_normal((n, 8)) + 1.5 * np.eye(k, 8)[codes], np.array(list("abcdefgh"))[codes]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_that_pairs_trained_on_workers_give_the_model_of_this_process(client, loss):
    Z, y = classes()
    svm = MultiWidthSVC(groups=2, widths=[2.0, 2.0], C=3.0, loss=loss, random_state=0)
    here, there = svm.fit(Z, y), MultiWidthSVC(**svm.get_params()).fit(Z, y, client=client)
    np.testing.assert_allclose(there.decision_function(Z), here.decision_function(Z), atol=5e-3)
    assert np.mean(there.predict(Z) == here.predict(Z)) > 0.995
    assert there.dual_coef_.shape[0] == here.dual_coef_.shape[0] == 10
    assert there.n_iter_ > 0


def test_that_an_invalid_client_is_refused_before_anything_is_learned():
    with pytest.raises(TypeError, match="client is 'tcp://head:8786'; it must be a"):
        MultiWidthSVC().fit(*classes(), client="tcp://head:8786", progress=StopAfter(1))


def test_that_training_on_workers_can_be_cancelled(client):
    Z, y = classes()

    def report(*_):
        if any(key.startswith("slide-pair-") for key in client.futures):  # the workers have been given the problems
            raise Cancelled

    with pytest.raises(Cancelled):
        MultiWidthSVC(groups=2, widths=[2.0, 2.0], C=3.0).fit(Z, y, client=client, progress=Listener(report))


@pytest.mark.parametrize(
    ("status", "error", "cancels"), [("running", Cancelled, True), ("closed", ClusterError, False)]
)
def test_that_remaining_tasks_are_cancelled_after_an_error_unless_the_scheduler_is_lost(status, error, cancels):
    ended, left = SimpleNamespace(done=lambda: True), SimpleNamespace(done=lambda: False)
    cancelled = []
    client = SimpleNamespace(status=status, scheduler=None, cancel=cancelled.extend)
    with pytest.raises(error):
        results_of(client, [ended, left], StopAfter(1) if status == "running" else StopAfter())
    assert cancelled == ([left] if cancels else [])

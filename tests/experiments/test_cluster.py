"""Runs on a Dask cluster: any number of workers gives the same bits, and a killed worker loses no run."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from distributed import KilledWorker
from threadpoolctl import threadpool_limits

from slide_gui.cli import main
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.workers import ClusterError, dask_setup, sent
from slide_gui.data.errors import DataError
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.records import RecordFolder
from slide_gui.experiments.evaluation.run import run_evaluation
from slide_gui.experiments.evaluation.table import EvaluationState, SplitProgress
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint, SweepSpec
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps import cluster as cluster_module
from slide_gui.experiments.sweeps import executor
from slide_gui.experiments.sweeps.cluster import Cluster, ClusterChoice, versions_here
from slide_gui.experiments.sweeps.executor import RunLoop, RunRequest, networks_here
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.progress import Cancelled, Listener
from tests.core.svm_data import StopAfter
from tests.experiments.test_evaluation import outcome
from tests.experiments.tiny import numbers, rectangles, spec

DATA = rectangles(40, 60)
SWEEP = SweepSpec(
    RunSpec(DATA.fingerprint, svm=SvmParameters(starts=1, C=10.0), training="split"), (0.2, 0.4, 0.6), (0, 1)
)
GIVEN = SvmParameters(widths="median", C=10.0)


@pytest.fixture(scope="module")
def two():
    with Cluster(ClusterChoice(workers=2)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Return the results of the sweep in this process, with one BLAS thread as on a worker."""
    path = tmp_path_factory.mktemp("here") / "runs.sqlite"
    with threadpool_limits(1, user_api="blas"), RunStore(path) as store:
        run_sweep(DATA, SWEEP, store)
    return results_of(path)


def results_of(path):
    with RunStore(path) as store:
        assert not store.check().faults
        return {line.hash: numbers(store.load(line.hash)) for line in store.runs()}


def test_that_a_sweep_on_two_workers_that_hold_renamed_data_has_the_bits_of_one_process(two, here, tmp_path):
    held = sent(two.client, replace(DATA, name="renamed"), f"slide-data-{DATA.fingerprint}")
    path, listener = tmp_path / "runs.sqlite", StopAfter()
    with RunStore(path) as store:
        state = run_sweep(DATA, SWEEP, store, progress=listener, cluster=two)
    assert held.result().name == "renamed"
    assert results_of(path) == here
    assert len(state.done) == len(SWEEP.points())
    assert state.seconds_left == 0.0
    assert max(listener.fractions) == 1.0


def test_that_a_killed_worker_changes_no_bit_and_loses_no_run(here, tmp_path):
    path, killed = tmp_path / "runs.sqlite", list[int]()

    def kill(_fraction, payload):
        if getattr(payload, "done", ()) and not killed:
            killed.append(min(cluster.client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    with Cluster(ClusterChoice(workers=2)) as cluster, RunStore(path) as store:
        run_sweep(DATA, SWEEP, store, progress=Listener(kill), cluster=cluster)
    assert len(killed) == 1
    assert results_of(path) == here


def test_that_local_workers_keep_freed_memory_for_the_next_arrays(two):
    name = "MALLOC_TRIM_THRESHOLD_"
    assert set(two.client.run(os.getenv, name).values()) == {os.getenv(name, str(256 << 20))}


def test_that_a_cancelled_run_ends_on_the_workers_at_once(two, tmp_path):
    """A run of a minute is cancelled; the workers are free again within seconds."""
    data = rectangles(2500, 100)
    sweep = SweepSpec(replace(SWEEP.base, fingerprint=data.fingerprint, training="whole"), (0.3,), (3,))

    def cancel(_fraction, _payload):
        if any(two.client.run(executing).values()):
            raise Cancelled

    with RunStore(tmp_path / "runs.sqlite") as store, pytest.raises(Cancelled):
        run_sweep(data, sweep, store, progress=Listener(cancel), cluster=two)
    until(lambda: not any(two.client.run(executing).values()))


def test_that_the_progress_of_a_run_is_sent_as_a_plain_number(two):
    events = []
    two.client.subscribe_topic("slide-gui", lambda event: events.append(event[1]))
    two.client.submit(reported, pure=False).result()
    until(lambda: ("abc", 0.25) in events)
    two.client.unsubscribe_topic("slide-gui")


def reported():
    progress = executor._RunProgress("abc")
    progress._reported = 0.0
    progress.report(np.float64(0.25))


def executing(dask_worker):
    return int(dask_worker.state.executing_count)


def test_that_an_evaluation_on_workers_has_the_bits_of_one_process(two, tmp_path):
    data = {"rectangles": replace(DATA, name="Rectangles"), "convex": replace(rectangles(40, 30, 1), name="Convex")}
    cells = (
        CellPlan("rectangles", "slide-svm", 2, (("noise", (0.3, 0.5)), ("depth", (1,))), widths="median", C=10.0),
        CellPlan("convex", "pca-svm", 1, (("kept", (0.6, 0.9)),), C=10.0),
        CellPlan("rectangles", "raw-svm", 1, C=10.0),
    )

    def answers(path, cluster, seen):
        listener = Listener(lambda _, payload: seen.append(payload) if isinstance(payload, EvaluationState) else None)
        options = {"progress": listener, "cluster": cluster, "records": RecordFolder(path.with_suffix(""))}
        with threadpool_limits(1, user_api="blas"), RunStore(path) as store:
            return run_evaluation(cells, lambda key, _: data[key], store, **options)

    paths, seen = (tmp_path / "here.sqlite", tmp_path / "there.sqlite"), list[EvaluationState]()
    alone, spread = answers(paths[0], None, []), answers(paths[1], two, seen)
    assert results_of(paths[0]) == results_of(paths[1])
    assert len({frozenset(RecordFolder(path.with_suffix("")).rows) for path in paths}) == 1
    assert outcome(spread) == outcome(alone)
    assert (spread.done, spread.total) == (alone.done, alone.total) == (10, 10)
    active = {replace(split, answered=0) for state in seen for split in state.active}
    selecting, testing = (SplitProgress("rectangles", "slide-svm", 0, 0, n) for n in (2, 1))
    assert {selecting, testing, replace(selecting, split=1), SplitProgress("rectangles", "raw-svm", 0, 0, 1)} <= active
    assert list(dict.fromkeys(state.done for state in seen)) == list(range(11))
    filled = [sum(len(cell.answers) for cell in state.cells) for state in seen]
    assert set(filled) == {0, 1, 2, 3, 4}  # each is reported as soon as it is computed
    assert any(state.seconds_left for state in seen)


def test_that_workers_of_other_versions_are_refused_and_both_versions_named(idle):
    for name, wanted in versions_here():
        theirs = tuple({**dict(versions_here()), name: "0.0"}.items())
        idle.run.return_value = {"tcp://gone:1": OSError(), "tcp://there:1": theirs}
        message = f"worker tcp://there:1 has {name} 0.0, expected {wanted}; install the expected version on the"
        more = "; if the processor types differ, start all workers with the same OPENBLAS_CORETYPE" * (name == "BLAS")
        with pytest.raises(ClusterError, match=f"^{re.escape(message)} computer of this worker{more}$"):
            Cluster(ClusterChoice(workers=1))


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (ClusterChoice(workers=-1), "workers is -1"),
        (ClusterChoice(workers=65), "workers is 65; it must be an integer, 0 to 64"),
        (ClusterChoice(2, "tcp://there:1"), "cannot be used together"),
        (ClusterChoice(scheduler="there:1"), r"expected tcp://HOST:PORT, tls://HOST:PORT, or the \.json file"),
    ],
)
def test_that_an_impossible_choice_is_refused(choice, message):
    with pytest.raises(ValueError, match=message):
        choice.checked()


def test_that_a_scheduler_that_cannot_be_reached_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster_module, "CONNECTING", 0.5)
    with pytest.raises(ClusterError, match=r"cannot connect to tcp://127\.0\.0\.1:1 \(.*\); check that a scheduler is"):
        Cluster(ClusterChoice(scheduler="tcp://127.0.0.1:1"))
    file = tmp_path / "scheduler.json"
    for content in (None, "", "{", "[]", "{}", '{"address": null}', "\x00" * 10, "[" * 100_000):
        if content is not None:
            file.write_text(content)
        with pytest.raises(ClusterError, match=r"scheduler\.json does not exist or contains no scheduler address"):
            Cluster(ClusterChoice(scheduler=str(file)))


def test_that_the_workers_of_this_computer_end_if_their_scheduler_cannot_be_reached(monkeypatch):
    local = MagicMock()
    monkeypatch.setattr("distributed.LocalCluster", lambda **_: local)
    monkeypatch.setattr("distributed.Client", MagicMock(side_effect=OSError("refused")))
    with pytest.raises(ClusterError, match=r"^cannot connect to 1 worker on this .* \(refused\); use fewer workers$"):
        Cluster(ClusterChoice(workers=1))
    local.close.assert_called_once()


def test_that_waiting_for_a_scheduler_can_be_cancelled(monkeypatch):
    connect = MagicMock(side_effect=TimeoutError)

    def cancel(_fraction, _payload):
        if connect.call_count == 3:
            raise Cancelled

    monkeypatch.setattr(cluster_module.socket, "create_connection", connect)
    with pytest.raises(Cancelled):
        Cluster(ClusterChoice(scheduler="tcp://127.0.0.1:8786"), progress=Listener(cancel))
    assert [call.args[0] for call in connect.call_args_list] == [("127.0.0.1", 8786)] * 3


@pytest.fixture
def idle(monkeypatch):
    """Return a mock of the client and the local cluster, with one worker that never completes a task."""
    client = MagicMock(status="running", scheduler=None)
    client.scheduler_info.return_value = {"workers": {"tcp://there:1": {"nthreads": 1}}}
    client.run.return_value = {"tcp://there:1": versions_here()}
    client.submit.return_value.done.return_value = False
    monkeypatch.setattr(cluster_module, "_connect", lambda *_: (client, client))
    monkeypatch.setattr(executor, "POLL_SECONDS", 0.001)
    return client


def first_submitted(client, specs, rank=lambda _: 0):
    """Return the hashes of the runs that are submitted before any is completed."""
    client.submit.reset_mock()
    loop = RunLoop(None, Cluster(ClusterChoice(workers=1)), progress=StopAfter(len(specs) + 4))
    loop.request([RunRequest(each, DATA, rank(each)) for each in specs])
    with pytest.raises(Cancelled):
        next(iter(loop))
    keys = [call.kwargs["key"] for call in client.submit.call_args_list]
    return [key.removeprefix("slide-run-") for key in keys if key.startswith("slide-run-")]


def test_that_closing_a_cluster_ends_its_workers_and_the_connection(idle):
    idle.close.side_effect = TimeoutError  # on a busy computer
    with Cluster(ClusterChoice(workers=1)):
        assert idle.close.call_count == 0
    assert idle.close.call_count == 2


def test_that_missing_workers_and_those_that_cannot_compute_runs_are_refused(idle, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECTING", 0.1)
    idle.run.return_value = {"a": ImportError("old")}
    for workers, message in (
        ({}, r"the scheduler \(1 worker on this computer\) has no workers; .*: dask worker ADDRESS --nthreads 1"),
        ({"a": 1, "b": 2}, "worker b runs 2 tasks at once, .* several workers with --nthreads 1 instead"),
        ({"a": 1}, r"worker a cannot run this program \(old\); install slide-gui \S+ on the .*"),
    ):
        idle.scheduler_info.return_value = {"workers": {name: {"nthreads": each} for name, each in workers.items()}}
        with pytest.raises(ClusterError, match=f"^{message}$"):
            Cluster(ClusterChoice(workers=1))
    assert idle.close.call_count == 2 * 3


def test_that_a_lost_run_is_computed_again_ten_times_under_other_keys(idle):
    future, asked = idle.submit.return_value, spec(DATA)
    future.add_done_callback = lambda call: call(future)
    for error, message in (
        (OSError("gone"), r"was lost 11 times \(gone\); completed results are stored; start the same computation"),
        (KilledWorker("", None, 10), "^several workers terminated while computing .*, probably because they ran out"),
    ):
        idle.submit.reset_mock()
        future.result.side_effect = error
        loop = RunLoop(None, Cluster(ClusterChoice(workers=1)))
        loop.request([RunRequest(asked, DATA)])
        with pytest.raises(ClusterError, match=message):
            next(iter(loop))
        keys = [call.kwargs["key"].partition(asked.hash)[2] for call in idle.submit.call_args_list[1:]]
        assert keys == ["", *(f"-again-{number}" for number in range(1, 11) if "lost" in message)]


@pytest.mark.parametrize(("slots", "count"), [(1, 2), (3, 6), (0, 2)])
def test_that_two_runs_per_worker_are_submitted_and_some_for_workers_that_start_later(idle, slots, count):
    specs = [point.spec for point in replace(SWEEP, depths=(0, 1, 2), warm=False).points()]
    facts = {f"tcp://there:{number}": {"nthreads": 1} for number in range(slots)}
    idle.scheduler_info.side_effect = [idle.scheduler_info.return_value, *[{"workers": facts}] * 99]
    assert len(first_submitted(idle, specs)) == count


def test_that_lower_ranks_are_submitted_first_then_runs_that_begin_the_longest_chains(idle):
    first = spec(DATA, 0.2, 1)
    then, longer = spec(DATA, 0.4, 1, neighbour=first), spec(DATA, 0.2, 2)
    assert first_submitted(idle, [longer, then]) == [first.hash, longer.hash]
    high, low = (call.kwargs["priority"] for call in idle.submit.call_args_list if "priority" in call.kwargs)
    assert high > low
    short, long = spec(DATA, method="raw-svm"), spec(DATA, 0.2, 4)
    assert first_submitted(idle, [short, long]) == [long.hash, short.hash]
    assert first_submitted(idle, [long, short], lambda each: int(each.hash == long.hash)) == [short.hash, long.hash]


@contextmanager
def started(*words):
    """Start a Python process with these arguments, and kill it at the end."""
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def until(happens):
    deadline = time.monotonic() + 200.0
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def scheduler_and_worker(path):
    """Start a scheduler and a worker from the command line, and wait for both."""
    from distributed import Client

    file, no_dashboard = path / "scheduler.json", ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")
    words = ("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *no_dashboard)
    with started(*words, "--scheduler-file", str(file)) as scheduler:
        until(lambda: file.exists() and file.read_text(encoding="utf-8").rstrip().endswith("}"))
        words = ("-m", "distributed.cli.dask_worker", *no_dashboard, "--death-timeout", "200", "--nthreads", "1")
        with started(*words, "--scheduler-file", str(file)):
            with Client(scheduler_file=str(file), set_as_default=False, timeout=200) as client:
                client.wait_for_workers(1, timeout=200)
            yield ClusterChoice(scheduler=str(file)), scheduler


def test_that_a_sweep_with_a_lost_scheduler_resumes_in_one_process(here, tmp_path):
    path = tmp_path / "runs.sqlite"
    with RunStore(path) as store:
        with scheduler_and_worker(tmp_path) as (choice, scheduler), Cluster(choice) as cluster:

            def kill(_fraction, payload):
                if getattr(payload, "done", ()):
                    scheduler.kill()

            with pytest.raises(ClusterError, match=r"connection to the scheduler at .* is lost; check that the"):
                run_sweep(DATA, SWEEP, store, progress=Listener(kill), cluster=cluster)
        assert 0 < len(store.runs()) < len(here)
    with threadpool_limits(1, user_api="blas"), RunStore(path) as store:
        run_sweep(DATA, SWEEP, store)
    assert results_of(path) == here


def test_that_a_killed_client_leaves_no_process_and_its_sweep_resumes(two, tmp_path):
    data, store = tmp_path / "outlines.npz", tmp_path / "runs.sqlite"
    parts = {"X_train": DATA.train, "y_train": DATA.train_labels, "X_test": DATA.test, "y_test": DATA.test_labels}
    np.savez(data, **parts)
    words = ["sweep", str(data), "--widths", "median", "--noise", "0.1,0.3,0.5", "--depth", "0:3", "--store"]
    with started("-m", "slide_gui", *words, str(store), "--workers", "2") as client:
        until(lambda: has_results(store))
        children = descendants(client.pid)
        client.kill()
        client.wait()
    first = hashes(store)
    until(lambda: not any(map(alive, children)))
    assert main([*words, str(store), "--scheduler", str(two.client.scheduler_info()["address"])]) == 0
    assert main([*words, str(tmp_path / "other.sqlite")]) == 0
    assert first <= hashes(store) == hashes(tmp_path / "other.sqlite")


def test_that_autoencoders_shared_by_runs_are_trained_once_in_the_cluster(two, tmp_path):
    data = rectangles(40, 20)
    specs = [
        RunSpec(
            data.fingerprint, method=method, training="split", svm=GIVEN, sda=SdaParameters(n_units, noise, 0.005, 2)
        ).checked()
        for method in ("sda-svm", "sda")
        for noise in (0.1, 0.3)
        for n_units in ((6,), (6, 5), (6, 5, 4))
    ]
    by_workers, alone = tmp_path / "by_workers.sqlite", tmp_path / "alone.sqlite"
    with without_stealing(two), RunStore(by_workers) as store:
        run_sweep(data, points_of(specs), store, cluster=two)
    assert sum(two.client.run(lambda key: len(networks_here(key)._pretrained), data.fingerprint).values()) == 2
    with threadpool_limits(1, user_api="blas"), RunStore(alone) as store:
        run_sweep(data, points_of(specs), store)
    assert len(specs) == len(results_of(alone))
    assert results_of(by_workers) == results_of(alone)


@contextmanager
def without_stealing(cluster):
    """Prevent idle workers from taking tasks that wait for another worker."""

    async def steals(wanted: bool, dask_scheduler: Any) -> None:
        stealing = dask_scheduler.extensions["stealing"]
        await (stealing.start() if wanted else stealing.stop())

    cluster.client.run_on_scheduler(steals, False)
    yield
    cluster.client.run_on_scheduler(steals, True)


def points_of(specs):
    return tuple(SweepPoint(0.0, spec.layers, spec.split, spec.seed, spec) for spec in specs)


def has_results(path):
    try:
        return path.exists() and len(hashes(path)) > 0
    except DataError:  # the store is being created
        return False


def hashes(path):
    with RunStore(path, read_only=True) as store:
        return {line.hash for line in store.runs()}


def descendants(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def alive(pid):
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals are masked on POSIX alone")
def test_that_signals_do_not_reach_workers_that_are_starting(name, monkeypatch):
    def blocked():
        return getattr(signal, name) in signal.pthread_sigmask(signal.SIG_BLOCK, [])

    assert not blocked()
    asked = f"import signal; print(signal.{name} in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with cluster_module._blocked_interrupt():
        process = multiprocessing.get_context("spawn").Process(target=int)  # as Dask starts its workers
        process.start()
        process.join()
        assert blocked()  # by default, starting a process unblocks the signal
        child = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        dask_setup(None)
        assert blocked() == (name == "SIGINT")  # Dask ends workers with SIGTERM
    assert child.stdout == "True\n"
    assert not blocked()

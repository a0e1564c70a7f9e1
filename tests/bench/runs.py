"""Measure reading data and cancelling work, and compare two workers with one."""

import gzip
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.core.svm.criteria import CRITERIA
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import fit_svm, median_width_search
from slide_gui.core.svm.training import TrainingSet
from slide_gui.core.svm.widths import WidthsSample, learn_widths
from slide_gui.data.catalogue import find
from slide_gui.data.dataset import Dataset
from slide_gui.data.open import open_data
from slide_gui.experiments.runs.run import predict_in_blocks, predictor_of
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.experiments.runs.splits import Classes
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.cluster import Cluster, ClusterChoice
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.progress import NO_PROGRESS, Cancelled, Listener, Progress
from tests.bench.data import digits, layers, rectangles
from tests.bench.measurement import SMALL, Figure, PeakMemory, in_child, interleaved, percentile, scaled


def reading() -> Iterator[Figure]:
    """Compare opening MNIST and the 643 MB of text of Rectangles with only unpacking their files."""
    for name in ("mnist", "rectangles"):
        paths = find(name)
        if not paths:
            print(f"open-{name}: the files were not found (set SLIDE_GUI_DATA)")
            continue
        unpacked, opened, peak, arrays = in_child(_read, [str(path) for path in paths])
        yield Figure(f"open-{name}", opened, "s", unpacked, "against unpacking alone", 2.5)
        yield Figure(f"open-{name}-memory", peak, "MiB", arrays, "peak above the start against the arrays", 2.0)


def _read(names: list[str]) -> tuple[float, float, float, float]:
    paths = [Path(name) for name in names]

    def unpack() -> None:
        for path in paths:
            if path.suffix == ".gz":
                with gzip.open(path) as member:
                    while member.read(1 << 20):
                        pass
            else:
                with zipfile.ZipFile(path) as archive:
                    archive.testzip()  # reads every member

    # The first round uses new memory, which takes longer than the work on some machines, so there are several rounds.
    unpacking, opening = interleaved([unpack, lambda: open_data(paths)], rounds=4)
    with PeakMemory() as memory:
        data = open_data(paths)
    return unpacking, opening, memory.above, (data.train.nbytes + data.test.nbytes) / 2**20


# Cancelling ----------------------------------------------------------------------------------------------------------


def cancel() -> Iterator[Figure]:
    """Cancel fits, trainings, width criteria, grids, a sweep and 50 000 predictions at random moments."""
    rows, data = digits()
    wide = (np.random.default_rng(0).random((scaled(2000, 200), scaled(3000, 300))) > 0.7).astype(np.float32)
    some = rows[: scaled(8000, 600)]
    Z = layers(some, 2)
    bright = some[:, :392].sum(axis=1)
    codes = (bright > np.median(bright)).astype(np.intp)
    labelled, depth4 = TrainingSet(Z, codes, (784,) * 3), StackParameters(depth=4)

    def svm(loss: str, C: float | None) -> Callable[[Progress], Any]:
        return lambda p: fit_svm(Z, codes, SvmParameters(groups=3, widths="median", loss=loss, C=C), progress=p)

    def learned(criterion: str, progress: Progress) -> Any:
        parameters = SvmParameters(criterion=criterion)
        sample = WidthsSample.of(labelled, parameters, progress.part(0.0, 0.0))
        return learn_widths(sample, parameters, progress=progress)

    sweep, predictions = _sweep_and_predictions()
    works: dict[str, tuple[Callable[[Progress], Any], float]] = {
        "fit": (lambda p: fit_stack(rows, depth4, progress=p), 1.5),
        "fit-wide": (lambda p: fit_stack(wide, depth4, progress=p), 2.5),
        "svm": (svm("squared_hinge", 10.0), 1.5),
        "svm-hinge": (svm("hinge", 10.0), 1.5),
        **{f"widths-{name}": (lambda p, name=name: learned(name, p), 4.0) for name in CRITERIA},
        "tuning": (svm("squared_hinge", None), 4.0),
        "grid": (lambda p: median_width_search(labelled, SvmParameters(loss="hinge"), progress=p), 4.0),
        "sweep": (sweep, 6.0),
        "predictions": (predictions, 2.0),
    }
    floor = percentile(_waits(_bare, 0.1), 0.99)
    for name, (work, longest) in works.items():
        waits = _waits(work, longest)
        note = f"p99 of {len(waits)}, max {max(waits):.0f} ms, against a loop that checks every millisecond; {data}"
        yield Figure(f"cancel-{name}", percentile(waits, 0.99), "ms", floor, note, most=200.0)


def _bare(progress: Progress) -> None:
    while True:
        time.sleep(0.001)
        progress.report(0.0)


def _sweep_and_predictions() -> tuple[Callable[[Progress], Any], Callable[[Progress], Any]]:
    dataset, _ = rectangles()
    classes = Classes.of(dataset)
    stack = fit_stack(dataset.train, StackParameters(noise=0.5, depth=2))
    svm = SvmParameters(groups=3, widths="median", C=10.0)
    predictor = predictor_of(stack, fit_svm(stack.transform(dataset.train), classes.train, svm))
    order = np.random.default_rng(0).permutation(len(dataset.test))
    spec = SweepSpec(RunSpec(dataset.fingerprint), (0.3, 0.5, 0.7), (0, 1, 2, 3, 4))
    return (
        lambda p: _swept(dataset, spec, progress=p),
        lambda p: predict_in_blocks(predictor, dataset.test, classes.test, order, progress=p),
    )


def _waits(work: Callable[[Progress], Any], longest: float) -> list[float]:
    """Return how many ms the work continued after it was cancelled, each time within its first `longest` seconds."""
    random, waits, off = np.random.default_rng(1), list[float](), threading.Event()

    def check(_fraction: float, _payload: object) -> None:
        if off.is_set():
            raise Cancelled

    with ThreadPoolExecutor(1) as worker:
        while len(waits) < scaled(30, 2):
            off.clear()
            started, working = time.perf_counter(), worker.submit(work, Listener(check))
            wait([working], random.uniform(0.0, longest))
            start = time.perf_counter()
            off.set()
            try:
                working.result()
                longest = min(longest, start - started)  # the work was complete before: cancel earlier from now on
            except Cancelled:
                waits.append(1000 * (time.perf_counter() - start))
    return waits


# Workers -------------------------------------------------------------------------------------------------------------


def workers() -> Iterator[Figure]:
    """Compare two workers of one thread each with one, and with this process, in a sweep."""
    dataset, name = rectangles()
    n_test = scaled(5000, 500)
    noises, depths = tuple(i / 10 for i in range(scaled(10, 2))), tuple(range(scaled(5, 2)))
    svm = SvmParameters(widths="median", C=10.0) if SMALL else SvmParameters()
    spec = SweepSpec(RunSpec(dataset.fingerprint, svm=svm, test_rows=n_test), noises, depths)
    two, one = (_by_workers(dataset, spec, n) for n in (2, 1))
    (here,) = interleaved([lambda: _swept(dataset, spec)], rounds=1)
    note = f"sweep of {len(noises)} noise levels × {len(depths)} depths, {name}, widths learned, {n_test} test rows"
    yield Figure("sweep-workers", two, "s", one, f"against one worker; {note}", 1 / 1.8)
    yield Figure("sweep-process", two, "s", here, f"against this process with all threads; {note}", 1 / 1.4)


def _by_workers(dataset: Dataset, spec: SweepSpec, n: int) -> float:
    with Cluster(ClusterChoice(n)) as cluster:
        return interleaved([lambda: _swept(dataset, spec, cluster=cluster)], rounds=1)[0]


def _swept(dataset: Dataset, spec: SweepSpec, cluster: Cluster | None = None, progress: Progress = NO_PROGRESS) -> None:
    with tempfile.TemporaryDirectory() as folder, RunStore(Path(folder) / "runs.sqlite") as store:
        run_sweep(dataset, spec, store, progress=progress, cluster=cluster)


BENCHMARKS = {"open": reading, "cancel": cancel, "workers": workers}

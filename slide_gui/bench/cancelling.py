"""How long work runs on after it was cancelled."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.bench.measurement import Measurement, absolute, digits
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.data.catalogue import load
from slide_gui.progress import Cancelled, Progress

__all__ = ["cancel", "cancel_runs"]

_TRIES = 30
_BOUND = 200.0  # ms
_C = 10.0


class _Switch(Progress):
    def __init__(self) -> None:
        self.off = threading.Event()
        self.cancelled = False

    def report(self, fraction: float, payload: object = None) -> None:
        if self.off.is_set():
            raise Cancelled

    def watch(self, work: Callable[[Progress], Any]) -> None:
        """Do the work, and note whether it was cancelled."""
        try:
            work(self)
        except Cancelled:
            self.cancelled = True


def cancel() -> list[Measurement]:
    """A fit of four layers on 60 000 rows, and one on 3 000 features, cancelled at random moments."""
    rows, data = digits()
    wide = (np.random.default_rng(0).random((2_000, 3_000)) > 0.7).astype(np.float32)
    parameters = StackParameters(depth=4)
    return [
        _figure("cancel", lambda p: fit_stack(rows, parameters, progress=p), 1.5, f"fit of 60 000 × 784, {data}"),
        _figure("cancel-wide", lambda p: fit_stack(wide, parameters, progress=p), 2.5, "fit of 2 000 × 3 000"),
    ]


def cancel_runs() -> list[Measurement]:
    """SVM training, learning widths by each criterion, grids, a sweep and 50 000 predictions, cancelled at random."""
    from slide_gui.core.svm.criteria import CRITERIA
    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.core.svm.selection import median_width_search
    from slide_gui.core.svm.training import fit_svm
    from slide_gui.core.svm.widths import WidthOptions, learn_widths

    Z, codes, data = _layers()
    sizes = (784,) * 3
    note = f"{len(Z):,} × {Z.shape[1]:,}, {data}".replace(",", " ", 2)

    def svm(loss: str, C: float | None) -> Callable[[Progress], Any]:
        parameters = SvmParameters(groups=3, widths="median", loss=loss, C=C)
        return lambda p: fit_svm(Z, codes, parameters, progress=p)

    def widths(criterion: str) -> Callable[[Progress], Any]:
        return lambda p: learn_widths(Z, codes, sizes, WidthOptions(criterion), progress=p)

    return [
        _figure("cancel-svm", svm("squared_hinge", _C), 1.5, f"training, squared hinge, {note}"),
        _figure("cancel-svm-hinge", svm("hinge", _C), 1.5, f"training, hinge, {note}"),
        *(
            _figure(f"cancel-widths-{name}", widths(name), 4.0, f"learning widths on 2 500 of {note}")
            for name in CRITERIA
        ),
        _figure("cancel-tuning", svm("squared_hinge", None), 4.0, f"widths’ scale and C on held-out rows, {note}"),
        _figure(
            "cancel-grid", lambda p: median_width_search(Z, codes, 3, progress=p), 4.0, f"cross-validated grid, {note}"
        ),
        *_runs(),
    ]


def _runs() -> list[Measurement]:
    """Cancel a sweep, and the judging of 50 000 rows."""
    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.core.svm.training import fit_svm
    from slide_gui.experiments.run import SvmPredictor, judge
    from slide_gui.experiments.spec import SweepSpec
    from slide_gui.experiments.splits import Classes
    from slide_gui.experiments.store import RunStore
    from slide_gui.experiments.sweep import run_sweep

    dataset = load("rectangles")
    asked = SweepSpec(dataset.fingerprint, noises=(0.3, 0.5, 0.7), depths=(0, 1, 2, 3, 4))

    def sweep(progress: Progress) -> None:
        with tempfile.TemporaryDirectory() as folder, RunStore(Path(folder) / "runs.sqlite") as store:
            run_sweep(dataset, asked, store, progress=progress)

    classes = Classes.of(dataset)
    stack = fit_stack(dataset.train, StackParameters(noise=0.5, depth=2))
    parameters = SvmParameters(groups=3, widths="median", C=_C)
    model = fit_svm(stack.transform(dataset.train), classes.train, parameters)
    predictor = SvmPredictor(stack, model)
    order = np.random.default_rng(0).permutation(len(dataset.test))
    note = f"{len(dataset.test)} test rows, {len(model.support)} support vectors, {dataset.name}"
    return [
        _figure("cancel-sweep", sweep, 6.0, f"sweep of 3 noises × 5 depths, {dataset.name}"),
        _figure(
            "cancel-judging",
            lambda p: judge(predictor, dataset.test, classes.test, order, progress=p),
            2.0,
            note,
        ),
    ]


def _layers() -> tuple[NDArray[np.float32], NDArray[np.intp], str]:
    """Return 8 000 digits with two layers, and two classes: odd and even, or without labels a bright upper half."""
    rows, data = digits()
    some = np.sort(np.random.default_rng(0).choice(len(rows), 8000, replace=False))
    labels = load("mnist").train_labels if data == "MNIST" else None
    upper = rows[some, :392].sum(axis=1)
    codes = (upper > np.median(upper)).astype(np.intp) if labels is None else (labels[some] % 2).astype(np.intp)
    return fit_stack(rows[some], StackParameters(depth=2)).transform(rows[some]), codes, data


def _figure(name: str, work: Callable[[Progress], Any], longest: float, note: str) -> Measurement:
    """Return the 99th percentile of the time from the cancel, within the first `longest` seconds, to the work's end."""
    waits = _waits(work, longest)
    note = f"p99 of {_TRIES} at random moments, max {max(waits):.0f} ms, {note}"
    return absolute(name, float(np.quantile(waits, 0.99)), "ms", _BOUND, note)


def _waits(work: Callable[[Progress], Any], longest: float) -> list[float]:
    """Return, in ms, how long the work ran on after each cancel."""
    random, waits = np.random.default_rng(1), list[float]()
    while len(waits) < _TRIES:
        switch, started = _Switch(), time.perf_counter()
        worker = threading.Thread(target=switch.watch, args=(work,))
        worker.start()
        worker.join(float(random.uniform(0.0, longest)))
        start = time.perf_counter()
        switch.off.set()
        worker.join()
        if switch.cancelled:
            waits.append(1000 * (time.perf_counter() - start))
        else:  # it was over before: the next cancels come earlier
            longest = min(longest, start - started)
    return waits

"""What jobs are said to need before they start against what they took, each in a process of its own."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.bench.measurement import Measurement, absolute, in_child
from slide_gui.bench.memory import PeakMemory
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset

__all__ = ["JOBS", "Job", "estimated_and_peak", "memory_guard"]

_MIB = 1 << 20
_CHILD = ("-m", "slide_gui.bench.memory_guard")

Job = Callable[[float], tuple[int, Callable[[], object]]]
"""Takes a share of its full size; returns what is estimated in bytes, and what does the job."""


def _rows(n: int, d: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).random((n, d), np.float32)


def _classes(rows: NDArray[np.float32], n_classes: int = 2) -> NDArray[np.intp]:
    """Return classes by the difference of two halves of the features."""
    d = rows.shape[1]
    sums = rows[:, : d // 2].sum(axis=1) - rows[:, d // 2 :].sum(axis=1)
    return np.asarray(np.digitize(sums, np.quantile(sums, np.linspace(0, 1, n_classes + 1)[1:-1])), np.intp)


def _fit(n: int, d: int, parameters: StackParameters) -> tuple[int, Callable[[], object]]:
    from slide_gui.core.slide.stack import fit_bytes, fit_stack

    rows = np.round(_rows(n, d))
    return fit_bytes(n, d, parameters), lambda: fit_stack(rows, parameters)


def _transform(share: float) -> tuple[int, Callable[[], object]]:
    from slide_gui.core.slide.stack import features_bytes, fit_stack

    rows, parameters = np.round(_rows(int(30_000 * share), 784)), StackParameters(depth=3)
    stack = fit_stack(rows[:1000], parameters)
    return features_bytes(len(rows), 784, parameters), lambda: stack.transform(rows)


def _svm(n: int, classes: int, parameters: SvmParameters) -> tuple[int, Callable[[], object]]:
    from slide_gui.core.svm.training import fit_svm, svm_bytes

    rows = _rows(n, 400)
    codes, groups = _classes(rows, classes), parameters.groups
    assert isinstance(groups, int)
    estimate = svm_bytes(np.bincount(codes).tolist(), rows.shape[1], groups, parameters)
    return estimate, lambda: fit_svm(rows, codes, parameters)


def _autoencoders(share: float) -> tuple[int, Callable[[], object]]:
    from slide_gui.core.sda.training import autoencoder_bytes, pretrain

    rows, units = _rows(int(20_000 * share), 784), (1500, 1500)
    parameters = SdaParameters(n_units=units, pretraining_epochs=1, batch_size=200)
    return autoencoder_bytes(len(rows), 784, units), lambda: pretrain(rows, parameters)


def _labelled(share: float) -> Dataset:
    rows = np.round(_rows(int(7500 * share), 784))
    codes, n = _classes(rows).astype(np.int64), int(5000 * share)
    return Dataset("rows", rows[:n], rows[n:], codes[:n], codes[n:])


def _run(share: float) -> tuple[int, Callable[[], object]]:
    from slide_gui.experiments.run import run, run_bytes
    from slide_gui.experiments.spec import RunSpec

    data = _labelled(share)
    spec = RunSpec(data.fingerprint, stack=StackParameters(depth=2), svm=SvmParameters(starts=1)).checked()
    return run_bytes(spec, *_sizes(data)), lambda: run(data, spec)


def _sweep(share: float) -> tuple[int, Callable[[], object]]:
    from slide_gui.experiments.representation import Reuse
    from slide_gui.experiments.run import run, run_bytes
    from slide_gui.experiments.spec import SweepSpec

    data = _labelled(share)
    svm = SvmParameters(widths="median", C=1.0, memory=1 << 28)
    sweep = SweepSpec(data.fingerprint, noises=(0.3, 0.6), depths=(1, 3), svm=svm)
    specs, reuse = list({point.spec.hash: point.spec for point in sweep.points()}.values()), Reuse()
    return max(run_bytes(spec, *_sizes(data)) for spec in specs), lambda: [run(data, s, reuse=reuse) for s in specs]


def _sizes(data: Dataset) -> tuple[int, list[int], int]:
    assert data.train_labels is not None
    return len(data.train), np.bincount(data.train_labels).tolist(), data.n_features


def _read(share: float) -> tuple[int, Callable[[], object]]:
    from slide_gui.data.open import open_data

    file, rows = Path(tempfile.mkdtemp()) / "rows.amat", _rows(int(12_000 * share), 784)
    np.savetxt(file, np.column_stack([rows, _classes(rows)]), fmt="%.10f")
    return rows.nbytes, lambda: open_data([file])


def _export(share: float) -> tuple[int, Callable[[], object]]:
    from slide_gui.figures.export import figure_bytes, picture_bytes
    from slide_gui.figures.style import Style

    images = _rows(24, 784).reshape(24, 28, 28)

    def draw(figure: Any) -> None:
        figure.set_size_inches(7, 6)
        for axes, image in zip(figure.subplots(4, 6).ravel(), images, strict=True):
            axes.imshow(image)

    figure_bytes(draw, ".png", Style(dpi=50))  # the fonts are read
    style = Style(dpi=int(1200 * share**0.5))
    return picture_bytes(7, 6, style.dpi), lambda: figure_bytes(draw, ".png", style)


JOBS: dict[str, Job] = {
    "fit": lambda share: _fit(int(60_000 * share), 784, StackParameters(depth=4)),
    "fit-wide": lambda share: _fit(4000, int(2500 * share**0.5), StackParameters(depth=2)),
    "transform": _transform,
    "svm": lambda share: _svm(int(9000 * share), 2, SvmParameters(groups=2, widths=(8.0, 8.0), C=1.0, memory=1 << 30)),
    "svm-ten": lambda share: _svm(
        int(12_000 * share), 10, SvmParameters(groups=2, widths=(8.0, 8.0), C=1.0, memory=1 << 29)
    ),
    "widths": lambda share: _svm(int(2400 * share), 2, SvmParameters(groups=4, starts=1, C=10.0)),
    "run": _run,
    "sweep": _sweep,
    "autoencoders": _autoencoders,
    "read": _read,
    "export": _export,
}
"""Name → job."""


def estimated_and_peak(name: str, share: float = 1.0) -> tuple[float, float]:
    """Return the estimate and the measured peak of a job above its input, in MiB."""
    said = in_child(*_CHILD, name, str(share))
    return said["estimated"], said["peak"]


def memory_guard() -> list[Measurement]:
    """Peak memory of eleven jobs against what is estimated before they start."""
    measurements = []
    for name in JOBS:
        estimate, peak = estimated_and_peak(name)
        note = f"estimated {estimate:.0f} MiB, peak {peak:.0f} MiB above the input"
        measurements.append(absolute(f"memory-guard-{name}", 100 * abs(estimate / peak - 1.0), "% off", 25.0, note))
    return measurements


def _measure(name: str, share: float) -> None:
    estimate, work = JOBS[name](share)
    warm = np.ones((2048, 784), np.float32)
    np.linalg.inv(warm.T @ warm + np.eye(784))  # the products' own buffers are there before anything is counted
    with PeakMemory() as memory:
        work()
    print(json.dumps({"estimated": estimate / _MIB, "peak": memory.above}))


if __name__ == "__main__":
    _measure(sys.argv[1], float(sys.argv[2]))

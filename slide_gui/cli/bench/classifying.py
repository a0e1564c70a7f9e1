"""The multi-width SVM against scikit-learn's SVC at the same loss, widths and C, and on whole MNIST."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.cli.bench.figure import Figure, absolute, relative
from slide_gui.cli.bench.memory import PeakMemory

__all__ = ["svm", "svm_mnist"]

_C = 10.0
_ROWS = 60_000
# scikit-learn-intelex’s SVC, same rows, features and C, measured once on two cores with AVX-512; never measured here
_INTELEX_SECONDS = 144.0 + 14.0
_INTELEX_GIGABYTES = 5.0


def svm() -> list[Figure]:
    """8 000 rows of three layers, one pair of digits of five, and learning five widths."""
    data = _digits()
    if data is None:
        return []
    from slide_gui.core.widths import learn_widths
    from slide_gui.core.widths_objective import WidthOptions

    rows, labels, test, test_labels = data
    random = np.random.default_rng(0)
    some = random.choice(len(rows), 8000, replace=False)
    three = _features(rows, 2)
    odd = _against_svc("svm-8000", three[some], labels[some] % 2, _features(test, 2, rows), test_labels % 2, 1 / 9)
    del three
    five = _features(rows, 4)
    pair, judged = np.isin(labels, (3, 8)), np.isin(test_labels, (3, 8))
    deep = _features(test, 4, rows)[judged]
    codes = (labels[pair] == 8).astype(int), (test_labels[judged] == 8).astype(int)
    digits = _against_svc("svm-pair", five[pair], codes[0], deep, codes[1], 1 / 5)
    start = time.perf_counter()
    learn_widths(five[pair], codes[0], (784,) * 5, WidthOptions())
    learned = time.perf_counter() - start
    note = "five widths and C by radius-margin on 2 500 points, MNIST 3 against 8"
    return [*odd, *digits, absolute("learn-widths", learned, "s", 30.0, note)]


def _against_svc(
    name: str, Z: NDArray[Any], codes: NDArray[Any], test: NDArray[Any], wanted: NDArray[Any], bound: float
) -> list[Figure]:
    from sklearn.svm import SVC

    from slide_gui.core.svm import SvmParameters, fit_svm

    parameters = SvmParameters(groups=Z.shape[1] // 784, widths="median", loss="hinge", C=_C)
    start = time.perf_counter()
    model = fit_svm(Z, codes.astype(np.intp), parameters)
    ours = time.perf_counter() - start
    scaled = np.hstack([Z[:, 784 * t : 784 * (t + 1)] / np.float32(w) for t, w in enumerate(model.widths)])
    start = time.perf_counter()
    other = SVC(C=_C, gamma=1.0, cache_size=2000).fit(scaled, codes)
    theirs = time.perf_counter() - start
    scaled = np.hstack([test[:, 784 * t : 784 * (t + 1)] / np.float32(w) for t, w in enumerate(model.widths)])
    errors = np.mean(model.predict(test) != wanted), np.mean(other.predict(scaled) != wanted)
    note = f"{Z.shape[0]} × {Z.shape[1]}, hinge, C = {_C:g}; errors {100 * errors[0]:.2f} and {100 * errors[1]:.2f} %"
    return [
        relative(name, ours, "s", theirs, bound, f"against scikit-learn's SVC, {note}"),
        absolute(f"{name}-error", 100 * abs(float(errors[0] - errors[1])), "points", 0.1, "apart from SVC's"),
    ]


def svm_mnist() -> list[Figure]:
    """All of MNIST, five layers, one-vs-one, training and testing, in a process of its own."""
    if _digits() is None:
        return []
    done = subprocess.run(
        [sys.executable, "-m", "slide_gui.cli.bench.classifying", str(_ROWS)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    note = (
        f"{found['rows']} × 3 920, 45 pairs, train {found['train']:.1f} s + test {found['test']:.1f} s, "
        f"{found['support']} support vectors, error {found['error']:.2f} %; the reference, scikit-learn-intelex’s SVC, "
        f"is a constant measured earlier (144 s + 14 s)"
    )
    memory = f"all private memory, features included; scikit-learn-intelex {_INTELEX_GIGABYTES:g} GB (a constant)"
    return [
        relative("svm-mnist", found["train"] + found["test"], "s", _INTELEX_SECONDS, 1.0, note),
        absolute("svm-mnist-memory", found["mebibytes"], "MiB", 4096.0, memory),
    ]


def _measure(n_rows: int) -> None:
    """Print what the training on so many rows of MNIST, and the test on all 10 000, cost."""
    from slide_gui.core.parameters import StackParameters
    from slide_gui.core.stack import fit_stack
    from slide_gui.core.svm import SvmParameters, fit_svm

    with PeakMemory() as memory:
        data = _digits()
        assert data is not None
        rows, labels, test, test_labels = data
        stack = fit_stack(rows, StackParameters(depth=4))
        Z, judged = stack.transform(rows[:n_rows]), stack.transform(test)
        start = time.perf_counter()
        parameters = SvmParameters(groups=5, widths="median", loss="hinge", C=_C)
        model = fit_svm(Z, labels[:n_rows].astype(np.intp), parameters)
        trained = time.perf_counter()
        error = 100 * float(np.mean(model.predict(judged) != test_labels))
        tested = time.perf_counter()
    found = {
        "rows": len(Z),
        "train": trained - start,
        "test": tested - trained,
        "error": error,
        "support": len(model.support),
        "mebibytes": memory.above,
    }
    print(json.dumps(found))


def _features(rows: NDArray[Any], depth: int, fitted_on: NDArray[Any] | None = None) -> NDArray[Any]:
    from slide_gui.core.parameters import StackParameters
    from slide_gui.core.stack import fit_stack

    return fit_stack(rows if fitted_on is None else fitted_on, StackParameters(depth=depth)).transform(rows)


def _digits() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]] | None:
    from slide_gui.data.catalogue import find, load

    if not find("mnist"):
        print("svm: MNIST was not found, so that nothing is measured (set SLIDE_GUI_DATA)", file=sys.stderr)
        return None
    data = load("mnist")
    assert data.train_labels is not None
    assert data.test_labels is not None
    return data.train, data.train_labels, data.test, data.test_labels


if __name__ == "__main__":
    _measure(int(sys.argv[1]))

"""The multi-width SVM and the learning of its widths, against other programs' SVMs measured in the same run."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.bench.measurement import Measurement, absolute, in_child, interleaved, relative
from slide_gui.bench.memory import PeakMemory

if TYPE_CHECKING:
    from slide_gui.core.svm.widths import LearnedWidths

__all__ = ["svm", "svm_hard", "svm_mnist", "svm_ten", "widths"]

_C = 10.0
_HARD_C = 1000.0
_ALL = 60_000
_JUDGED = 4000


def svm() -> list[Measurement]:
    """Two classes against scikit-learn's SVC: 8 000 rows of three layers, and one pair of digits of five."""
    data = _digits("svm")
    if data is None:
        return []
    rows, labels, test, test_labels = data
    some = np.random.default_rng(0).choice(len(rows), 8000, replace=False)
    three = _features(rows, 2)
    odd = _against_svc("svm-8000", three[some], labels[some] % 2, _features(test, 2, rows), test_labels % 2, 1 / 15)
    del three
    five, deep, pair, judged = _pair_of_digits(data)
    digits = _against_svc("svm-pair", five, pair, deep, judged, 1 / 8)
    return [*odd, *digits]


def _against_svc(
    name: str, Z: NDArray[Any], codes: NDArray[Any], test: NDArray[Any], wanted: NDArray[Any], bound: float
) -> list[Measurement]:
    from sklearn.svm import SVC

    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.core.svm.training import fit_svm

    parameters = SvmParameters(groups=Z.shape[1] // 784, widths="median", loss="hinge", C=_C)
    models = []
    (ours,) = interleaved([lambda: models.append(fit_svm(Z, codes.astype(np.intp), parameters))], rounds=3)
    model = models[-1]
    rows = _scaled(Z, model.widths)
    start = time.perf_counter()
    other = SVC(C=_C, gamma=1.0, cache_size=2000).fit(rows, codes)
    theirs = time.perf_counter() - start
    errors = np.mean(model.predict(test) != wanted), np.mean(other.predict(_scaled(test, model.widths)) != wanted)
    note = f"{Z.shape[0]} × {Z.shape[1]}, hinge, C = {_C:g}; errors {100 * errors[0]:.2f} and {100 * errors[1]:.2f} %"
    return [
        relative(name, ours, "s", theirs, bound, f"against scikit-learn's SVC, {note}"),
        absolute(f"{name}-error", 100 * abs(float(errors[0] - errors[1])), "points", 0.1, "apart from SVC's"),
    ]


def svm_ten() -> list[Measurement]:
    """Ten digits of two layers, training and testing, against scikit-learn-intelex: 2 500, 8 000 and 60 000 rows."""
    other, data = _intelex("svm-ten"), _digits("svm-ten")
    if data is None or other is None:
        return []
    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.core.svm.training import fit_svm

    rows, labels, test, test_labels = data
    features, judged = _features(rows, 1), _features(test, 1, rows)
    parameters = SvmParameters(groups=2, widths="median", loss="hinge", C=_C)
    figures = []
    for count in sorted({min(count, len(rows)) for count in (2500, 8000, _ALL)}):
        some = np.sort(np.random.default_rng(0).choice(len(rows), count, replace=False))
        Z, codes = features[some], labels[some].astype(np.intp)
        widths = fit_svm(Z[:1000], codes[:1000], parameters).widths
        given = SvmParameters(groups=2, widths=widths, loss="hinge", C=_C)
        there, new = _scaled(Z, widths), _scaled(judged, widths)
        answers: dict[str, NDArray[Any]] = {}

        def ours(Z: NDArray[Any] = Z, codes: NDArray[Any] = codes, given: SvmParameters = given) -> None:
            answers["ours"] = fit_svm(Z, codes, given).predict(judged)  # noqa: B023

        def theirs(there: NDArray[Any] = there, codes: NDArray[Any] = codes, new: NDArray[Any] = new) -> None:
            answers["theirs"] = other(C=_C, gamma=1.0, cache_size=2000).fit(there, codes).predict(new)  # noqa: B023

        seconds = interleaved([ours, theirs], rounds=1 if count == len(rows) else 3)
        errors = [100 * float(np.mean(answers[who] != test_labels)) for who in ("ours", "theirs")]
        note = (
            f"against scikit-learn-intelex's SVC, training and {len(test)} test rows; {count} × {Z.shape[1]}, "
            f"45 pairs, hinge, C = {_C:g}; errors {errors[0]:.2f} and {errors[1]:.2f} %"
        )
        figures.append(relative(f"svm-ten-{count}", seconds[0], "s", seconds[1], 1 / 1.7, note))
    return figures


def svm_hard() -> list[Measurement]:
    """A large C on hard data against scikit-learn's SVC: the 8 000 rows of Convex, two layers, widths by hold-out."""
    from sklearn.svm import SVC

    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.core.svm.training import fit_svm
    from slide_gui.core.svm.widths import WidthOptions, learn_widths

    Z, codes, data = _convex(depth=2)
    learned = learn_widths(Z, codes, (784,) * 3, WidthOptions("hold-out"))
    parameters = SvmParameters(groups=3, widths=learned.widths, loss="hinge", C=_HARD_C)
    start = time.perf_counter()
    model = fit_svm(Z, codes, parameters)
    ours = time.perf_counter() - start
    rows = _scaled(Z, model.widths)
    start = time.perf_counter()
    other = SVC(C=_HARD_C, gamma=1.0, cache_size=2000).fit(rows, codes)
    theirs = time.perf_counter() - start
    note = f"{len(Z)} × {Z.shape[1]}, {data}, noise .5, hinge, C = {_HARD_C:g}"
    vectors = f"{len(model.support)} and {len(other.support_)} support vectors"
    return [
        relative("svm-hard", ours, "s", theirs, 1 / 5, f"against scikit-learn's SVC, {note}, {vectors}"),
        absolute("svm-hard-gap", model.gap, "margins", parameters.tol, "largest violation of the conditions"),
    ]


def widths() -> list[Measurement]:
    """Widths and C learned on 2 500 rows by each criterion: five layers of a pair of digits, four of Convex."""
    from slide_gui.core.svm.criteria import CRITERIA
    from slide_gui.core.svm.widths import WidthOptions, learn_widths

    problems = []
    digits = _digits("widths")
    if digits is not None:
        five, _, pair, _ = _pair_of_digits(digits)
        problems.append(("digits", five, pair.astype(np.intp), 8.0, "five layers, MNIST 3 against 8"))
    convex, classes, data = _convex(depth=3)
    problems.append(("convex", convex, classes, 20.0, f"four layers, {data}, noise .5"))
    figures = []
    for name, Z, codes, bound, note in problems:
        sizes = (784,) * (Z.shape[1] // 784)
        for criterion in CRITERIA:
            start = time.perf_counter()
            learned = learn_widths(Z, codes, sizes, WidthOptions(criterion))
            seconds = time.perf_counter() - start
            chosen = f"σ {', '.join(f'{width:.3g}' for width in learned.widths)}, C {learned.C:.3g}"
            judged = _on_other_rows(Z, codes, learned)
            figures.append(absolute(f"widths-{name}-{criterion}", seconds, "s", bound, f"{note}: {chosen}; {judged}"))
    return figures


def _on_other_rows(Z: NDArray[Any], codes: NDArray[np.intp], learned: LearnedWidths) -> str:
    """Return the error on rows that the widths were not learned on, the SVM trained on those that they were."""
    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.core.svm.training import fit_svm

    subset, others = learned.subset, np.setdiff1d(np.arange(len(Z)), learned.subset)[:_JUDGED]
    parameters = SvmParameters(groups=len(learned.widths), widths=learned.widths, C=learned.C)
    model = fit_svm(Z[subset], codes[subset], parameters)
    error = 100 * float(np.mean(model.predict(Z[others]) != codes[others]))
    return f"error {error:.2f} % on {len(others)} other rows"


def svm_mnist() -> list[Measurement]:
    """All of MNIST, five layers, one-vs-one, training and testing, in a process of its own; then the other program."""
    if _digits("svm-mnist") is None:
        return []
    ours = in_child("-m", "slide_gui.bench.classifying", "ours")
    memory = absolute("svm-mnist-memory", ours["mebibytes"], "MiB", 4096.0, "all private memory, features included")
    if _intelex("svm-mnist") is None:
        return [memory]
    theirs = in_child("-m", "slide_gui.bench.classifying", "theirs")
    note = (
        f"against scikit-learn-intelex's SVC, {theirs['mebibytes']:.0f} MiB; {ours['rows']} × 3 920, 45 pairs, "
        f"train {ours['train']:.1f} s + test {ours['test']:.1f} s, {ours['support']} support vectors, "
        f"errors {ours['error']:.2f} and {theirs['error']:.2f} %"
    )
    seconds = [each["train"] + each["test"] for each in (ours, theirs)]
    return [relative("svm-mnist", seconds[0], "s", seconds[1], 1 / 1.7, note), memory]


def _measure(who: str) -> None:
    """Print what the training on all rows of MNIST, and the test on all 10 000, cost."""
    from slide_gui.core.svm.kernel import median_distances, widths_from
    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.core.svm.training import fit_svm

    with PeakMemory() as memory:
        data = _digits("svm-mnist")
        assert data is not None
        rows, labels, test, test_labels = data
        Z, judged = _features(rows, 4), _features(test, 4, rows)
        del rows, data
        widths = tuple(widths_from(median_distances(Z, (784,) * 5), 5.0).tolist())
        if who == "theirs":
            Z, judged = _scaled(Z, widths), _scaled(judged, widths)
        start = time.perf_counter()
        if who == "ours":
            model = fit_svm(Z, labels.astype(np.intp), SvmParameters(groups=5, widths=widths, loss="hinge", C=_C))
            support = len(model.support)
        else:
            model = _intelex("svm-mnist")(C=_C, gamma=1.0, cache_size=2000).fit(Z, labels)
            support = len(model.support_)
        trained = time.perf_counter()
        error = 100 * float(np.mean(model.predict(judged) != test_labels))
        tested = time.perf_counter()
    measured = {
        "rows": len(Z),
        "train": trained - start,
        "test": tested - trained,
        "error": error,
        "support": support,
        "mebibytes": memory.above,
    }
    print(json.dumps(measured))


def _features(rows: NDArray[Any], depth: int, fit_rows: NDArray[Any] | None = None) -> NDArray[Any]:
    from slide_gui.core.slide.parameters import StackParameters
    from slide_gui.core.slide.stack import fit_stack

    return fit_stack(rows if fit_rows is None else fit_rows, StackParameters(depth=depth)).transform(rows)


def _pair_of_digits(data: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], ...]:
    """Return five layers of the threes and eights, those of the test rows, and whether each is an eight."""
    rows, labels, test, test_labels = data
    pair, judged = np.isin(labels, (3, 8)), np.isin(test_labels, (3, 8))
    features, deep = _features(rows, 4)[pair], _features(test, 4, rows)[judged]
    return features, deep, (labels[pair] == 8).astype(int), (test_labels[judged] == 8).astype(int)


def _digits(figure: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]] | None:
    from slide_gui.data.catalogue import find, load

    if not find("mnist"):
        print(f"{figure}: MNIST was not found, so that nothing is measured on it (set SLIDE_GUI_DATA)", file=sys.stderr)
        return None
    data = load("mnist")
    assert data.train_labels is not None
    assert data.test_labels is not None
    return data.train, data.train_labels, data.test, data.test_labels


def _convex(depth: int) -> tuple[NDArray[Any], NDArray[np.intp], str]:
    """Return layers and classes of the 8 000 training rows of Convex: the real ones where a file of them is found."""
    from slide_gui.core.slide.parameters import StackParameters
    from slide_gui.core.slide.stack import fit_stack
    from slide_gui.data.catalogue import data_folders, find, load
    from slide_gui.data.open import open_data

    alone = [path for folder in data_folders() for path in sorted(folder.glob("**/convex_train*"))]
    data = open_data(alone[:1]) if alone and not find("convex") else load("convex")
    assert data.train_labels is not None
    stack = fit_stack(data.train, StackParameters(noise=0.5, depth=depth))
    name = "generated Convex" if data.generated else "Convex"
    return stack.transform(data.train), data.train_labels.astype(np.intp), name


def _intelex(figure: str) -> Any:
    """Return scikit-learn-intelex's SVC, or None where it is not installed, after saying so for this figure."""
    try:
        from sklearnex.svm import SVC
    except ImportError:
        print(
            f"{figure}: scikit-learn-intelex is not installed, so that nothing is measured against it "
            '(pip install "slide-gui[bench]")',
            file=sys.stderr,
        )
        return None
    return SVC


def _scaled(Z: NDArray[Any], widths: tuple[float, ...]) -> NDArray[Any]:
    """Return [h⁰/σ_0 | h¹/σ_1 | …] of blocks of equal size, where the kernel is that of one width."""
    size = Z.shape[1] // len(widths)
    parts = (Z[:, size * t : size * (t + 1)] / np.float32(width) for t, width in enumerate(widths))
    return np.hstack(list(parts))


if __name__ == "__main__":
    _measure(sys.argv[1])

"""Compare the multi-width SVM, and the learning of its widths, with scikit-learn's SVC or scikit-learn-intelex."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from slide_gui.core.svm.criteria import CRITERIA
from slide_gui.core.svm.parameters import SelectedWidths, SvmParameters
from slide_gui.core.svm.selection import fit_svm
from slide_gui.core.svm.training import TrainingSet
from slide_gui.core.svm.widths import WidthsSample, learn_widths
from tests.bench.data import convex, labelled_digits, layers
from tests.bench.measurement import Figure, interleaved, scaled

_C = 10.0
_HARD_C = 1000.0


def two_classes() -> Iterator[Figure]:
    """Measure two classes: odd and even digits (three layers), a pair of digits (five), and Convex with a large C."""
    rows, labels, test, test_labels, data = labelled_digits()
    some = np.random.default_rng(0).choice(len(rows), scaled(8000, 600), replace=False)
    Z, tested = layers(rows[some], 2, rows), layers(test, 2, rows)
    yield from _against_svc("svm-odd", Z, labels[some] % 2, tested, test_labels % 2, _C, 1 / 20, data)
    pair, other = np.isin(labels, (3, 8)), np.isin(test_labels, (3, 8))
    Z, tested = layers(rows[pair], 4, rows), layers(test[other], 4, rows)
    yield from _against_svc("svm-pair", Z, labels[pair] == 8, tested, test_labels[other] == 8, _C, 1 / 8, data)
    Z, codes, data = convex(depth=2)
    n = len(Z) // 8
    yield from _against_svc("svm-hard", Z[n:], codes[n:], Z[:n], codes[:n], _HARD_C, 1 / 5, data)


def _against_svc(
    name: str, Z: NDArray[Any], codes: NDArray[Any], test: NDArray[Any], truth: NDArray[Any], C: float, most: float,
    data: str,
) -> Iterator[Figure]:  # fmt: skip
    parameters = SvmParameters(groups=Z.shape[1] // 784, widths="median", loss="hinge", C=C)
    models = []
    (ours,) = interleaved([lambda: models.append(fit_svm(Z, codes.astype(np.intp), parameters))], rounds=3)
    model = models[-1]
    widths = model.trained.widths
    rows, other = _divided(Z, widths), SVC(C=C, gamma=1.0, cache_size=2000)
    (theirs,) = interleaved([lambda: other.fit(rows, codes)], rounds=1)
    errors = np.mean(model.predict(test) != truth), np.mean(other.predict(_divided(test, widths)) != truth)
    note = f"scikit-learn's SVC, {Z.shape[0]} × {Z.shape[1]}, {data}, hinge, C = {C:g}; {_errors(errors)}"
    yield Figure(name, ours, "s", theirs, note, most)
    yield Figure(f"{name}-error", 100 * abs(errors[0] - errors[1]), "points", 100 * errors[1], "difference", most=0.1)


def ten_classes() -> Iterator[Figure]:
    """Measure training and testing on ten digits with two layers; compare with intelex if installed."""
    try:
        from sklearnex.svm import SVC as Other

        program, counts, most = "scikit-learn-intelex's SVC", (2500, 8000, 60_000), 1 / 3
    except ImportError:
        print("scikit-learn-intelex is not installed; the reference is scikit-learn's SVC on up to 8 000 rows")
        Other, program, counts, most = SVC, "scikit-learn's SVC", (2500, 8000), 1 / 5
    rows, labels, test, test_labels, data = labelled_digits()
    features, tested = layers(rows, 1), layers(test, 1, rows)
    for count in sorted({min(count, len(rows), scaled(count, 600)) for count in counts}):
        some = np.sort(np.random.default_rng(0).choice(len(rows), count, replace=False))
        Z, codes = features[some], labels[some].astype(np.intp)
        median = SvmParameters(groups=2, widths="median", loss="hinge", C=_C)
        parameters = replace(median, widths=fit_svm(Z[:1000], codes[:1000], median).trained.widths)
        there, new = _divided(Z, parameters.widths), _divided(tested, parameters.widths)
        predicted: dict[str, NDArray[Any]] = {}

        def ours() -> None:
            predicted["ours"] = fit_svm(Z, codes, parameters).predict(tested)  # noqa: B023

        def theirs() -> None:
            predicted["theirs"] = Other(C=_C, gamma=1.0, cache_size=2000).fit(there, codes).predict(new)  # noqa: B023

        seconds = interleaved([ours, theirs], rounds=1 if count == len(rows) else 3)
        errors = _errors(np.mean(predicted[who] != test_labels) for who in ("ours", "theirs"))
        note = f"{program}, training and {len(test)} test rows; {count} × {Z.shape[1]}, {data}, 45 pairs; {errors}"
        yield Figure(f"svm-ten-{count}", seconds[0], "s", seconds[1], note, most)


def widths() -> Iterator[Figure]:
    """Measure learning widths and C on 2 500 rows by each criterion, with five layers of digits and four of Convex."""
    rows, labels, _, _, name = labelled_digits()
    pair = np.isin(labels, (3, 8))
    problems: list[tuple[str, Callable[[], tuple[Any, ...]]]] = [
        ("digits", lambda: (layers(rows[pair], 4, rows), (labels[pair] == 8).astype(np.intp), name)),
        ("convex", lambda: convex(depth=3)),
    ]
    for problem, make in problems:
        Z, codes, data = make()
        sizes = (784,) * (Z.shape[1] // 784)
        for criterion in CRITERIA:
            parameters = SvmParameters(criterion=criterion)
            results: list[tuple[WidthsSample, SelectedWidths]] = []

            def work(parameters: SvmParameters = parameters, results: list[Any] = results) -> None:
                sample = WidthsSample.of(TrainingSet(Z, codes, sizes), parameters)  # noqa: B023
                results.append((sample, learn_widths(sample, parameters)))

            (seconds,) = interleaved([work], rounds=1)
            sample, learned = results[0]
            subset = _divided(Z[sample.rows], learned.widths), sample.codes
            (one,) = interleaved([lambda s=subset, C=learned.C: SVC(C=C, gamma=1.0).fit(*s)], rounds=3)
            note = (
                f"one fit of scikit-learn's SVC with these widths, {len(subset[1])} rows, {len(sizes)} groups, {data}"
            )
            yield Figure(f"widths-{problem}-{criterion}", seconds, "s", one, note, most=5.0)


def _errors(errors: Any) -> str:
    return "errors {:.2f} and {:.2f} %".format(*(100 * float(error) for error in errors))


def _divided(Z: NDArray[Any], widths: tuple[float, ...]) -> NDArray[Any]:
    """Return [h⁰/σ_0 | h¹/σ_1 | …] for groups of equal size; on these, a kernel of width 1 equals our kernel."""
    size = Z.shape[1] // len(widths)
    return np.hstack([Z[:, size * t : size * (t + 1)] / np.float32(width) for t, width in enumerate(widths)])


BENCHMARKS = {"svm": two_classes, "svm-ten": ten_classes, "widths": widths}

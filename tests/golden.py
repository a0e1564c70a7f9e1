"""Small runs whose numbers are stored in `tests/golden.json`: `python -m tests.golden` rewrites that file."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from slide_gui.core.baselines import Estimator
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import run
from slide_gui.results_version import RESULTS_VERSION
from tests.experiments.tiny import rectangles, spec

FILE = Path(__file__).with_name("golden.json")
TWO, THREE = rectangles(70, 60), rectangles(75, 60, seed=1, n_classes=3)
GREY = np.random.default_rng(2).random((90, 12))
SDA = SdaParameters((12, 8), noise=0.2, pretraining_epochs=2, fine_tuning_epochs=4, fine_tuning_rate=0.025)
KNN = Estimator.of("neighbors.KNeighborsClassifier", {"n_neighbors": 3})
PCA = Estimator.of("decomposition.PCA", {"n_components": 6, "svd_solver": "full"})

STACKS = {
    "threshold": StackParameters(noise=0.4, depth=3, dtype="float64"),
    "float32": StackParameters(noise=0.3, depth=2),
    "sigmoid, thresholded": StackParameters(
        noise=0.2, depth=2, squashing="sigmoid", fit_on="thresholded", dtype="float64"
    ),
    "tanh, ridge": StackParameters(noise=0.6, depth=2, squashing="tanh", ridge=0.1, dtype="float64"),
}
NEAR = spec(TWO, 0.3, 1)
RUNS = {
    "slide-svm": (TWO, spec(TWO, 0.4, 2)),
    "from a neighbour": (TWO, spec(TWO, 0.4, 1, neighbour=NEAR)),
    "radius-margin": (TWO, spec(TWO, 0.4, 1, criterion="radius-margin")),
    "three classes": (THREE, spec(THREE, 0.4, 1)),
    "hold-out, hinge": (THREE, spec(THREE, 0.4, 1, criterion="hold-out", loss="hinge", C=1.0)),
    "validation": (TWO, spec(TWO, 0.4, 1, training="split", evaluate="validation", split=1, seed=3, fit_rows="split")),
    "labels": (TWO, spec(TWO, 0.4, 1, method="median", labels=30, fit_rows="labelled", test_rows=40)),
    "raw-svm": (THREE, spec(THREE, method="raw-svm")),
    "pca-svm": (TWO, spec(TWO, method="pca-svm", kept=0.8)),
    "white-svm": (TWO, spec(TWO, method="white-svm", kept=0.8)),
    "randproj-svm": (TWO, spec(TWO, method="randproj-svm", kept=15)),
    "sda-svm": (TWO, spec(TWO, method="sda-svm", sda=SDA, widths="median", C=1.0)),
    "sda": (TWO, spec(TWO, method="sda", sda=SDA, training="split")),
    "custom": (THREE, spec(THREE, method="custom", transformer=PCA, classifier=KNN)),
}


def numbers() -> Iterator[tuple[str, list[float]]]:
    """Yield the numbers of each stack and run, which agree to 1e-5 between BLAS kernels."""
    for name, parameters in STACKS.items():
        stack = fit_stack(GREY, parameters)
        features = stack.transform(GREY[:5])
        sums = [float(np.abs(layer.weights).sum()) for layer in stack.layers]
        path = float(np.abs(stack.noise_path(1).weights(0.7)).sum())
        errors = [layer.error for layer in stack.layers]
        yield f"stack, {name}", [*sums, path, *errors, *features[0, 12:24].tolist()]
    for name, (dataset, asked) in RUNS.items():
        yield name, _numbers_of(run(dataset, asked))


def _numbers_of(result: RunResult) -> list[float]:
    learned = result.classifier
    svm = []
    if learned is not None:
        coefficients = float(np.abs(learned.coefficients).sum())
        svm = [learned.C, *learned.widths, coefficients, len(learned.history), len(learned.grid)]
    validation = [] if result.validation_error is None else [result.validation_error]
    decisions = float(np.abs(result.decisions).sum())
    return [len(result.judged), len(result.misclassified), result.train_error, *validation, decisions, *svm]


def hashes() -> dict[str, str]:
    """Return the hash of each run."""
    return {name: asked.hash for name, (_, asked) in RUNS.items()}


def document() -> dict[str, object]:
    """Return the content to be stored in `tests/golden.json`."""
    return {"results_version": RESULTS_VERSION, "hashes": hashes(), "numbers": dict(numbers())}


if __name__ == "__main__":
    FILE.write_text(json.dumps(document(), indent=1) + "\n", "utf-8")
